"""Makes the site's reference pages, and its links to files that are no documents."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from griffe import Extension, Object

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\[([^\[\]]+)\]\(([\w./-]*[./][\w./-]*)(#[^)\s]*)?\)")
_EXAMPLE = re.compile(r"^( *)>>> (?:.*\n?)(?:\1\S.*\n?)*", re.MULTILINE)
_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md")


class Examples(Extension):
    """Sets the examples of docstrings as code; else their brackets read as links."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Fence the examples of one object's docstring."""
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(
                lambda match: f"{match[1]}```pycon\n{match[0].rstrip()}\n{match[1]}```\n",
                obj.docstring.value,
            )


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the site's files with the pages that stand at the top of the repository."""
    from mkdocs.structure.files import File

    for name in _PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with its generated part, and with links to files outside of the site as text.

    A file that is not there fails the build.
    """
    folder = "docs" if page.file.src_uri not in _PAGES else ""
    here = posixpath.dirname(page.file.src_uri)

    def link(match: re.Match[str]) -> str:
        label, path, anchor = match[1], match[2], match[3] or ""
        target = posixpath.normpath(posixpath.join(folder, here, path))
        uri = target.removeprefix("docs/")
        if files.get_file_from_path(uri):
            return f"[{label}]({posixpath.relpath(uri, here or '.')}{anchor})"
        if not (ROOT / target).exists():
            raise FileNotFoundError(f"{page.file.src_uri} links to {path}, which is not there")
        return label if label in (path, target) else f"{label} (`{target}`)"

    made = {
        "reference/python.md": _python,
        "reference/command-line.md": _command_line,
        "reference/columns.md": _columns,
        "reference/instructions.md": _instructions,
    }.get(page.file.src_uri)
    return _LINK.sub(link, markdown) + "\n".join(made() if made else ())


def _python() -> Iterator[str]:
    """List the public names, each by the module that defines it."""
    import simulator

    for name in simulator.__all__:
        module = getattr(getattr(simulator, name), "__module__", "simulator")
        if name != "kernels":
            yield f"::: {module}.{name}\n"


def _command_line() -> Iterator[str]:
    import click

    from simulator.cli.commands import cli

    context = click.Context(cli, info_name="bankwise")
    yield f"```text\n{cli.get_help(context)}\n```\n"
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None:
            inner = click.Context(command, info_name=f"bankwise {name}", max_content_width=90)
            yield f"## bankwise {name}\n\n```text\n{command.get_help(inner)}\n```\n"


def _columns() -> Iterator[str]:
    from simulator.results.columns import COLUMNS

    yield "| column | title | unit | Nsight Compute |\n|---|---|---|---|"
    for column in COLUMNS.values():
        yield f"| `{column.name}` | {column.heading} | {column.unit} | {column.nsight} |"


def _instructions() -> Iterator[str]:
    from click.testing import CliRunner

    from simulator.cli.commands import cli

    yield CliRunner().invoke(cli, ["ops", "--format", "md"]).stdout
