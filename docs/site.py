"""Makes the site's reference pages, and its links to files that are no documents."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from importlib import import_module
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
_PACKAGES = (
    "simulator", "simulator.search", "simulator.testing", "simulator.testing.strategies",
    "simulator.gemm.estimates", "layouts", "viz", "gpu_check",
)  # fmt: skip


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
        "reference/json.md": _json,
        "reference/instructions.md": _instructions,
    }.get(page.file.src_uri)
    return _LINK.sub(link, markdown) + "\n".join(made() if made else ())


def _python() -> Iterator[str]:
    """List the public names of each package, by the module that defines them, each once."""
    shown = {"simulator.kernels"}
    for package in _PACKAGES:
        exports = import_module(package)
        yield f"\n## {'bankwise, simulator' if package == 'simulator' else package}\n"
        for name in exports.__all__:
            value = getattr(exports, name)
            known = getattr(value, "__name__", None) == name
            path = f"{value.__module__ if known else package}.{name}"
            if path not in shown:
                shown.add(path)
                yield f"::: {path}\n    options:\n      heading_level: 3\n"


def _json() -> Iterator[str]:
    """List what each command's --format json holds, a row per key."""
    from simulator.results.schema import PRINTED, schema

    for command in PRINTED:
        yield f"\n## bankwise {command}\n\n| key | type | meaning |\n|---|---|---|"
        seen = set()
        for path, kind, says in _keys(schema(command)):
            if path not in seen:
                seen.add(path)
                yield f"| `{path}` | {kind} | {says} |"


def _keys(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield each key of a schema: its path, its type, and what is said of it."""
    for name, inner in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        kinds = inner.get("type", "one of these" if "enum" in inner else "")
        text = " or ".join([kinds] if isinstance(kinds, str) else kinds)
        choices = ", ".join(f"`{each}`" for each in inner.get("enum", ()))
        yield place, text, inner.get("description", "") or choices
        yield from _keys(inner, place)
    for choice in schema.get("anyOf", ()):
        yield from _keys(choice, path)
    for held, sign in (("items", "[]"), ("additionalProperties", ".NAME")):
        if isinstance(schema.get(held), dict):
            yield from _keys(schema[held], path + sign)


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
