"""The source beside its figures: for the terminal, and as a page with its heat."""

from __future__ import annotations

from html import escape
from pathlib import Path

from simulator.results.files import save
from simulator.sass.report import CompiledReport

__all__ = ["by_line", "source_lines", "write_page"]

_SOURCES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".py", ".inl")
_LARGEST = 1 << 22

Figures = dict[int, tuple[int | None, int | None]]


def by_line(report: CompiledReport, file: str) -> Figures:
    """Give wavefronts and bank conflicts by line number of one file."""
    lines = report.lines()
    return {
        line: (wavefronts, conflicts)
        for name, line, wavefronts, conflicts in zip(
            lines["file"], lines["line"], lines["wavefronts"], lines["bank_conflicts"], strict=True
        )
        if name == file and line
    }


def source_lines(report: CompiledReport, given: Path | None) -> dict[str, list[str]]:
    """Read the source files that the report names, where they can be found.

    Looked for: the file given, if it is the one, and a file of that name beside it. Device code may
    name any file of this machine: none is opened for that.
    """
    found = {}
    for name in dict.fromkeys(report.instructions["file"]):
        if not name or given is None:
            continue
        plain = Path(name.replace("\\", "/")).name
        place = given if given.name == plain else given.parent / plain
        if place.suffix not in _SOURCES:
            continue
        try:
            if place.is_file() and place.stat().st_size <= _LARGEST:
                found[name] = place.read_text(errors="replace").split("\n")
        except OSError:
            continue
    return found


def write_page(path: Path, report: CompiledReport, sources: dict[str, list[str]]) -> None:
    """Write one HTML file, without scripts: totals, each source with its heat, each instruction.

    Raises OutputError where it cannot be written.
    """
    parts = [_HEAD, f"<h1>{escape(report.kernel)}</h1>", _totals(report)]
    parts += [f"<p>{escape(note)}</p>" for note in report.notes]
    for file, lines in sources.items():
        parts.append(_source(file, lines, by_line(report, file)))
    parts.append(_instructions(report))
    parts.append("</body></html>\n")
    save(path, lambda file: file.write_text("\n".join(parts), encoding="utf-8"))


_HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>bankwise sass</title><style>
body { font: 14px system-ui, sans-serif; margin: 2em; color-scheme: light dark }
table { border-collapse: collapse } td, th { padding: 1px 8px; text-align: right }
td.code, td.name, th.name { text-align: left; font-family: monospace; white-space: pre }
th { border-bottom: 1px solid gray } td.line { opacity: .6 }
</style></head><body>"""


def _totals(report: CompiledReport) -> str:
    figures = report.totals()
    names = list(figures["all"])
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join(
        f"<tr><th class='name'>{kind}</th>"
        + "".join(f"<td>{row[name]:,}</td>" for name in names)
        + "</tr>"
        for kind, row in figures.items()
    )
    grid, block = ("x".join(map(str, shape)) for shape in (report.grid, report.block))
    said = f"{report.arch}, grid {grid}, block {block}, {report.blocks} blocks executed"
    return f"<p>{escape(said)}</p><table><tr><th></th>{head}</tr>{rows}</table>"


def _source(file: str, lines: list[str], figures: Figures) -> str:
    most = max((wavefronts or 0 for wavefronts, _ in figures.values()), default=0)
    rows = []
    for number, text in enumerate(lines, 1):
        cells, style = "<td></td><td></td>", ""
        if number in figures:
            wavefronts, conflicts = figures[number]
            share = (wavefronts or 0) / most if most else 0
            hue = 0 if conflicts else 130
            style = f' style="background: hsl({hue} 80% 50% / {0.08 + 0.4 * share:.2f})"'
            cells = f"<td>{_number(wavefronts)}</td><td>{_number(conflicts)}</td>"
        rows.append(
            f"<tr{style}>{cells}<td class='line'>{number}</td>"
            f"<td class='code'>{escape(text)}</td></tr>"
        )
    head = "<tr><th>wavefronts</th><th>bank conflicts</th><th></th><th></th></tr>"
    return f"<h2>{escape(Path(file).name)}</h2><table>{head}{''.join(rows)}</table>"


def _instructions(report: CompiledReport) -> str:
    columns = report.instructions
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = []
    for row in zip(*columns.values(), strict=True):
        cells = [
            f"<td class='name'>{escape(value)}</td>"
            if isinstance(value, str)
            else f"<td>{f'{value:#06x}' if name == 'address' else _number(value)}</td>"
            for name, value in zip(columns, row, strict=True)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<h2>Instructions</h2><table><tr>{head}</tr>{''.join(rows)}</table>"


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"
