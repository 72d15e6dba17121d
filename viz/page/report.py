"""`report`: results as one HTML file that needs nothing else."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from viz.errors import DrawError
from viz.page.file import check_page, write_page
from viz.page.page import page
from viz.page.sections import compared, section

__all__ = ["report"]


def report(
    *results: object,
    file: str | os.PathLike[str] | None = None,
    title: str | None = None,
    command: str | None = None,
    cdn: bool = False,
    force: bool = False,
    compare: bool = True,
) -> str:
    """Return an HTML page on results, and write it to `file`: tables, sentences, figures.

    The page of one result begins with its verdict, that of several with a table of them. The same
    results give the same bytes.

    Raises ReportError for a file that cannot be written (an existing one needs `force`) or whose
    name ends in something else than .html. Raises DrawError for something that is not a result, or
    where there is no result.

    Parameters
    ----------
    *results
        Each what `explain`, `simulate`, `replay`, `replay_compiled`, `optimize` or `compare`
        returned, the columns of a sweep, or a comparison with a GPU (see `viz.parity`).
    file
        Where the page is written, too.
    title
        The page's; by default the verdict of one result.
    command
        What the page names as its origin.
    cdn
        Whether the page loads Plotly from Plotly's server, and is small. Otherwise it works without
        a network.
    force
        Whether an existing file is overwritten.
    compare
        Whether two results of the same kind are compared, too.

    Examples
    --------
    >>> from bankwise import explain
    >>> html = report(explain("LDS", range(0, 128, 4)), cdn=True)
    >>> html.splitlines()[0], len(html) < 300_000
    ('<!doctype html>', True)
    """
    if file is not None:
        check_page(file, force=force)
    if not results:
        raise DrawError("nothing to report (accepted: one or more results)")
    sections = [section(result) for result in results]
    if compare and len(results) == 2:
        sections = [*compared(*results), *sections]
    made = command
    if made is None:
        made = f"viz.report({', '.join(type(result).__name__ for result in results)})"
    html = page(title, sections, [made, *_versions()], cdn=cdn)
    if file is not None:
        write_page(file, html, force=force)
    return html


def _versions() -> list[str]:
    found = []
    for name in ("bankwise", "plotly", "numpy"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # run from a checkout
            found.append(f"{name} (not installed)")
    return [*found, f"Python {platform.python_version()}"]
