"""`bankwise report`, and --html of every command: a page whole or not at all."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from simulator import explain
from simulator.cli import main
from simulator.cli.commands import cli
from simulator.cli.html import are_compared
from tests.pages import Page
from viz import markdown


@pytest.mark.parametrize(
    ("arguments", "figures"),
    [
        (["explain", "--op", "LDS", "lane*2"], 0),
        (["explain", "--op", "LDS", "lane*2", "--compare"], 0),
        (["simulate", "--warp-shape", "2x16"], 0),
        (["replay", "junstar92.2d", "--block-m", "64"], 1),
        (["sweep", "simulate", "--pad", "0..8:4", "--warp-shape", "all"], 1),
        (["optimize", "--access", "LDS: lane*32", "--free", "swizzle"], 0),
        (["count", "float s[32][32]; s[tx][ty]"], 0),
        (["count", "--op", "LDS", "lane*32", "--warps", "2"], 0),
        (["compare", "float s[32]; s[lane]", "float s[64]; s[2*lane]"], 0),
    ],
)
def test_commands_write_what_they_print(
    arguments: list[str], figures: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    place = tmp_path / "page.html"
    given = [*arguments, "--html", str(place), "--cdn"]
    assert main(given) == 0
    captured = capsys.readouterr()
    assert captured.out == printed
    assert captured.err == f"Wrote {place}\n"
    page = Page(place.read_text(encoding="utf-8"))
    assert len(page.figures["figures"]) == figures
    assert any(
        text.startswith(f"bankwise {arguments[0]}") and str(place) in text for text in page.texts
    )
    assert main(given) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*given, "--force"]) == 0


def test_report_puts_several_results_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "sweep.csv"
    sweep.write_text("pad,lane order,wavefronts\n0,row-major,32\n1,z-order,1.5\n")
    place = tmp_path / "page.html"
    inputs = ["simulate --pad 4", "explain --op LDS 'lane * 2'", "replay junstar92.1d", str(sweep)]
    assert main(["report", str(place), *inputs, "--title", "All of it", "--cdn"]) == 0
    assert capsys.readouterr().out == ""
    page = Page(place.read_text(encoding="utf-8"))
    assert page.texts.count("All of it") == 2
    kinds = [figure["id"].partition("-")[0] for figure in page.figures["figures"]]
    assert kinds == ["kernel_bars", "sweep_heatmap"]
    assert [a["id"] for t, a in page.tags if t == "section"] == [f"part-{n}" for n in range(1, 5)]
    assert page.figures["figures"][-1]["figure"]["data"][0]["z"] == [[32, None], [None, 1.5]]


def test_an_empty_cell_of_a_table_is_a_configuration_without_an_outcome(tmp_path: Path) -> None:
    sweep, checked, place = (tmp_path / name for name in ("sweep.csv", "gpu.csv", "page.html"))
    sweep.write_text("pad,wavefronts\n0,\n1,7\n")
    checked.write_text("op,cycles,measured_cycles\nLDS,3,\nLDS,2,3\nSTS,1,5\n")
    assert main(["report", str(place), str(sweep), str(checked), "--cdn"]) == 0
    page = Page(place.read_text(encoding="utf-8"))
    assert page.figures["figures"][0]["figure"]["data"][0]["z"] == [[None, None], [None, 7]]
    assert "cycles: 2 rows" in page.figures["figures"][1]["figure"]["layout"]["title"]["text"]


QUESTION = "float s[32][32]; s[threadIdx.x][threadIdx.y]"
EVERY = [
    f"explain '{QUESTION}'", f"count '{QUESTION}'", QUESTION, "simulate --warp-shape 2x16",
    "replay junstar92.2d", "sweep simulate --pad 0..8:4",
    "optimize --tile 32x32 --access 'LDS: lane, 0'", f"compare '{QUESTION}' 'float s[32]; s[lane]'",
]  # fmt: skip


def test_a_report_for_a_pull_request_is_short_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "report.md"
    assert main(["report", str(place), *EVERY]) == 0
    assert capsys.readouterr().out == ""
    text = place.read_text(encoding="utf-8")
    assert text.count("\n") <= 60
    assert text.startswith("## 8 results, ")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(EVERY)
    assert "float s[32][33]" in text
    assert "words       32  ." in text  # the banks
    assert main(["report", str(tmp_path / "more.txt"), *EVERY * 9, "--format", "md"]) == 0
    more = (tmp_path / "more.txt").read_text(encoding="utf-8")
    assert more.count("\n") <= 60
    assert "26 more results" in more


def test_text_stays_text_in_markdown() -> None:
    table = {"pad": ["<img src=x>|a", "`b`"], "wavefronts": [1, 2]}
    asked = explain("float s[32]; s[lane] /* `<b>` | */")
    text = markdown(table, asked, title="# <i>*x*</i>", command="a | `b` <c>")
    assert text.startswith("## # &lt;i>\\*x\\*&lt;/i>\n")
    for line in text.splitlines():
        outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", line).replace("<sub>", "")
        assert "<" not in outside.replace("</sub>", "")
    row = next(line for line in text.splitlines() if "s[lane]" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 7


def test_figures_are_written_as_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, given in enumerate(EVERY):
        place = tmp_path / f"{number}.svg"
        words = [given] if given == QUESTION else shlex.split(given)
        if words[0] == "sweep":
            continue
        assert main([*words, "--svg", str(place)]) == 0
        assert capsys.readouterr().err.endswith(f"Wrote {place}\n")
        root = ElementTree.fromstring(place.read_text(encoding="utf-8"))  # noqa: S314 (our own)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        drawn = "".join(root.itertext())
        assert "prefers-color-scheme:dark" in drawn
        if given == QUESTION:
            assert "32-way bank conflict" in drawn
            assert "float s[32][33]" in drawn
            cells = [each for each in root.iter() if "lanes " in (each.text or "")]
            assert len(cells) == 32 * 3  # as written, padded, swizzled
    assert main([QUESTION, "--svg", str(tmp_path / "0.svg")]) == 2
    assert "exists already" in capsys.readouterr().err


def test_kernels_that_one_input_launches_are_not_compared() -> None:
    one, two = (SimpleNamespace(kernel=name) for name in ("pairsum", "turn"))
    assert not are_compared([one, two])
    assert are_compared([one, two], inputs=2)
    assert are_compared([one, one])  # by two rules
    assert are_compared([object(), object()])


def test_report_tells_of_conflicts(tmp_path: Path) -> None:
    asked = ["simulate --fail-on-conflict", "explain --op LDS 'lane*2' --fail-on-conflict"]
    assert main(["report", str(tmp_path / "a.html"), asked[0], "--cdn"]) == 0
    assert main(["report", str(tmp_path / "b.html"), *asked, "--cdn"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["report", "{}/a.html", "frobnicate"],
            "not a command with a report .accepted: check, chips, compare, count, estimate",
        ),
        (["report", "{}/a.html", ""], "not a command with a report"),
        (["report", "{}/a.html", "schema"], "not a command with a report"),
        (["report", "{}/a.html", "explain 'lane"], "No closing quotation"),
        (["report", "{}/a.html", "simulate --lds 77"], "lds 77 is not a load width"),
        (["report", "{}/a.html", "simulate --help"], "'simulate --help': --help is not for"),
        (["report", "{}/a.html", "explain --op LDS lane --help"], "--help is not for an input"),
        (
            ["report", "{}/a.html", "simulate --html {}/b.html"],
            "--html and --svg are not for an input",
        ),
        (["report", "{}/a.html", "{}/none.csv"], "none.csv cannot be read"),
        (["report", "{}/a.html", "{}/uneven.csv"], "uneven.csv, line 3: not a table"),
        (["report", "{}/a.html", "{}/twice.csv"], "twice.csv, line 1: not a table"),
        (["report", "{}/a.html", "{}/empty.csv"], "empty.csv, line 1: not a table"),
        (["report", "{}/a.html", "{}/latin.csv"], "latin.csv cannot be read: it is not UTF-8"),
        (["report", "{}/no/a.html", "simulate"], "there is no folder"),
        (["report", "{}/a.html"], "Missing argument"),
        (["simulate", "--force"], "--cdn and --force are for --html"),
        (["simulate", "--svg", "{}/a.png"], "a.png' does not end in .svg"),
        (["simulate", "--svg", "{}/no/a.svg"], "there is no folder"),
        (["sweep", "simulate", "--pad", "0", "--svg", "{}/a.svg"], "nothing to draw as SVG"),
        (["report", "{}/a.md", "simulate", "--cdn"], "--cdn is for a page"),
        (["report", "{}/a.html", "simulate --svg {}/b.svg"], "--svg are not for an input"),
        (["simulate", "--html", "{}"], "is not a file"),
        (["simulate", "--html", "{}/a.png"], "a.png' ends in .png, and a page is HTML"),
        (["report", "{}/a.md", "simulate", "--format", "html"], "a.md' ends in .md"),
        (["report", "{}/a.pdf", "simulate"], "accepted: a name that ends in .html or .md;"),
        (["report", "{}/a.html", "sweep simulate --pad 0 --plot {}/b.html"], "are not for"),
    ],
)
def test_bad_input_is_said_and_nothing_is_written(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "uneven.csv").write_text("a,wavefronts\n1,2\n1\n")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "latin.csv").write_bytes(b"\xe9,wavefronts\n1,2\n")
    assert main([each.replace("{}", str(tmp_path)) for each in arguments]) == 2
    captured = capsys.readouterr()
    assert re.search(said, captured.err)
    assert captured.err.count("\n") == 1
    assert not [*tmp_path.glob("*.html"), *tmp_path.glob("*.svg"), *tmp_path.glob("*.md")]


def test_help_of_report_can_be_read() -> None:
    shown = CliRunner().invoke(cli, ["report", "--help"]).stdout
    assert "Each of INPUTS is a command in quotes" in shown


# Without plotly

WITHOUT = """
import sys
sys.modules["plotly"] = None
from simulator.cli import main
"""


def test_without_plotly_one_error_names_the_extra(tmp_path: Path) -> None:
    code = (
        WITHOUT
        + """
import layouts, simulator
try:
    import viz
except simulator.BankwiseError as error:
    print(type(error).__name__, isinstance(error, ImportError), error)
"""
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == (
        "MissingPackageError True viz draws with plotly, which is not installed"
        " (in a checkout of bankwise: pip install '.[viz]')\n"
    )
    place = str(tmp_path / "page.html")
    code = (
        WITHOUT
        + f"""
print(main(["simulate"]), main(["ops", "--format", "json"]))
print(main(["simulate", "--html", {place!r}]), main(["report", {place!r}, "simulate"]))
simulator = __import__("simulator")
print("<table" in simulator.simulate()._repr_html_())
"""
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    codes = [line for line in done.stdout.splitlines() if re.fullmatch(r"(\d \d)|True", line)]
    assert codes == ["0 0", "2 2", "True"]
    assert done.stderr.count("pip install '.[viz]'") == 2
    assert not Path(place).exists()
