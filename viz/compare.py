"""`compare`: two accesses, geometries or kernels on the same scales."""

from __future__ import annotations

import plotly.graph_objects as go

from layouts.errors import plural
from simulator.gemm.simulate import Operand
from simulator.results.sites import SiteTable
from viz.bank_heatmap import bank_panel
from viz.errors import DrawError
from viz.figure import assemble
from viz.kernel_bars import kernel_bars
from viz.strips import strips
from viz.theme import Theme

__all__ = ["compare"]

_NAMES = ("Before", "After")
_WIDEST = 640  # pixels of one panel's cells


def compare(
    before: object,
    after: object,
    *,
    fragment: Operand | None = None,
    names: tuple[str, str] | None = None,
    title: str | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Draw two results next to each other: as bank heat maps, or as the bars of two kernels.

    Raises DrawError for results that cannot be compared.

    Parameters
    ----------
    before, after
        Both what `explain` or `simulate` returned, or both what `replay` returned.
    fragment
        "A" or "B", of what `simulate` returned.
    names
        What the two are called, by default Before and After; kernels have names of their own.
    title
        The figure's, instead of the one that says what is seen.
    theme
        "light" or "dark".

    Examples
    --------
    >>> from bankwise import explain
    >>> column = [[4 * pitch * lane for lane in range(32)] for pitch in (32, 33)]
    >>> compare(explain("LDS", column[0]), explain("LDS", column[1])).layout.title.text
    'Before: 32 wavefronts. After: 1 wavefront'
    """
    if isinstance(before, SiteTable) or isinstance(after, SiteTable):
        if not (isinstance(before, SiteTable) and isinstance(after, SiteTable)):
            raise DrawError(
                f"{type(before).__name__} and {type(after).__name__} have no common scale"
                " (accepted: two kernels, or two results of explain or simulate)"
            )
        return kernel_bars([before, after], names=names, title=title, theme=theme)
    found = [strips(result, fragment) for result in (before, after)]
    panels = [bank_panel(each.strips, "lane") for each in found]
    costs = [sum(strip.explanation.wavefronts for strip in each.strips) for each in found]
    said = []
    for panel, each, when, cost in zip(panels, found, names or _NAMES, costs, strict=True):
        panel.heading = f"{when}: {plural(cost, 'wavefront')}"
        said += [f"{when}: {each.subject}, {each.cost}.", each.left_out]
    finding = ". ".join(panel.heading for panel in panels)
    return assemble(
        "compare",
        panels,
        finding if title is None else title,
        " ".join(filter(None, said)),
        theme=theme,
        widest=_WIDEST,
    )
