"""Questions on the command line: the tasks of a new user take one command each."""

from __future__ import annotations

import errno
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from simulator import explain
from simulator.cli import main

COLUMN = "float smem[32][32]; smem[threadIdx.x][threadIdx.y]"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


class Run:
    """Runs the command in this process; gives what it prints, or what it says on failure."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *args: str, code: int = 0) -> str:
        assert main(args) == code
        printed = self.capsys.readouterr()
        return printed.err if code == 2 else printed.out


def test_task_a_a_column_and_its_padding(said: Run) -> None:
    printed = said(COLUMN, "--block", "32x32")
    assert printed == f"{explain(COLUMN, block='32x32')}\n"
    assert printed.startswith("32-way bank conflict: 32 wavefronts where 1 is enough\n")
    assert "pad to float smem[32][33]" in printed
    assert "swizzle smem[threadIdx.x][threadIdx.y ^ threadIdx.x]" in printed
    assert "Assumed" not in printed


def test_task_b_a_tile_that_is_copied_and_read_as_matrices(said: Run) -> None:
    printed = said(
        "optimize", "--block", "128", "--loop", "k=2",
        "--access", "cp.async.cg.shared.global: half t[128][32]; t[tid/4][tid%4*8] = g",
        "--access", "ldmatrix.sync.aligned.m8n8.x4.shared.b16:"
        " half t[128][32]; t[lane%16][16*k + lane/16*8]",
    )  # fmt: skip
    assert "Sw<2,3,3> o 0 o (128,32):(32,1)" in printed
    assert "Proved" in printed


def test_task_d_a_test_of_ones_own(said: Run, tmp_path: Path) -> None:
    test = tmp_path / "test_mine.py"
    test.write_text(
        "def test_tile(assert_conflict_free):\n"
        f"    assert_conflict_free({COLUMN.replace('[32];', '[33];')!r}, block='32x32')\n"
        "def test_bad(assert_conflict_free):\n"
        f"    assert_conflict_free({COLUMN!r})\n"
        "def test_pair(assert_wavefronts):\n"
        "    assert_wavefronts('LDS', 'half t[32][66]; lane, 0', at_most=1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "pytest_bankwise", "-p", "no:cacheprovider",
         str(test)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    assert "1 failed, 2 passed" in done.stdout, done.stdout
    assert f"{COLUMN}: LDS has 31 bank conflicts (accepted: 0); that is warp 0, the worst of" in (
        done.stdout
    )


def test_task_h_four_wavefronts_are_no_conflict(said: Run) -> None:
    printed = said("float4 s[32]; s[lane]")
    assert printed.splitlines()[0] == (
        "Conflict-free: its 4 wavefronts are the 4 phases that every LDS.128 needs"
        " (Nsight calls that 4-way)"
    )
    assert "Cure     nothing to do" in printed
    said("float4 s[32]; s[lane]", "--fail-on-conflict")
    said(COLUMN, "--fail-on-conflict", code=1)


def test_task_i_one_screen_of_a_notebook() -> None:
    html = explain("LDS", [128 * lane for lane in range(32)])._repr_html_()
    shown, _, folded = html.partition("<details>")
    assert shown.count("\n") < 15
    assert folded.count("<tr>") > 32  # the rows of each wavefront, until one asks for them


@pytest.mark.parametrize("command", ["explain", "count"])
def test_every_command_takes_the_same_text(said: Run, command: str) -> None:
    shown = json.loads(said(command, COLUMN, "--format", "json"))
    assert shown["totals"]["wavefronts"] == (32 if command == "explain" else 1024)
    if command == "count":
        assert len(shown["rows"]) == 32
        few = json.loads(said(command, COLUMN, "--block", "16x4", "--format", "json"))
        assert [row["wavefronts"] for row in few["rows"]] == [16, 16]


def test_pairs_and_ptx(said: Run) -> None:
    printed = said("count", "--op", "ld.shared.v4.f32", "float s[64][32]; lane, 0")
    table, *_ = printed.partition("\n\n")
    assert table.split()[-7:] == ["4", "32", "4", "28", "28", "32", "32"]
    said("count", "--op", "LDS", "lane, 0", code=2)
    printed = said("count", "--op", "LDS", "--warps", "2", "threadIdx.x*32")
    assert "total" in printed


def test_a_first_word_is_a_question_or_a_command(said: Run) -> None:
    assert said("float s[32]; s[lane]").startswith("Conflict-free")
    assert said("half t[64][64]; &t[lane%16][lane/16*8]", "--op", "ldmatrix.x4").startswith("8-way")
    problem = said("explian", code=2)
    assert problem.startswith("bankwise: No such command 'explian': did you mean explain?")
    problem = said("lane*4", code=2)
    assert "bankwise explain 'lane*4' asks it in C" in problem
    problem = said("s[threadIdx.x][threadIdx.y]", code=2)
    assert problem.splitlines() == [
        "bankwise: s is not declared (accepted: float s[32][32]; before it) at column 1",
        "  s[threadIdx.x][threadIdx.y]",
        "  ^",
    ]
    problem = said(COLUMN, "--block", "64x32", code=2)
    assert problem == "bankwise: block 64x32 has 2,048 threads (accepted: up to 1,024)\n"
    problem = said("count", COLUMN, "--block", "32x32", "--warps", "2", code=2)
    assert "--warps and --block both say how many warps there are" in problem


@pytest.mark.parametrize("command", [(), ("explain",), ("count",)])
@pytest.mark.parametrize(
    "question",
    [
        "float4 s[32]; s[lane].y",
        "struct P {float x,y,z;}; P s[64]; s[tid].y",
        "float2 s[32]; s[tid].x",
    ],
)
def test_a_question_may_end_in_a_member(said: Run, command: tuple[str, ...], question: str) -> None:
    assert said(*command, question) == said(*command, f"{question};")


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (
            ["--chip", "H100", "float s[8]; s[0]"],
            "the question (accepted: bankwise 'float s[8]; s[0]' --chip H100)",
        ),
        (["--format=csv", "ops"], "the command (accepted: bankwise ops --format=csv)"),
    ],
)
def test_options_before_the_question_are_told_where_they_stand(
    said: Run, words: list[str], way: str
) -> None:
    option = words[0]
    assert said(*words, code=2) == f"bankwise: {option}: options go after {way}\n"
    assert "No such option '--what'" in said("--what", code=2)


def test_a_question_may_begin_with_a_minus(said: Run) -> None:
    assert said("-lane + 31", "--op", "LDS").startswith("Conflict-free")
    assert said("explain", "--op", "LDS", "--", "-lane + 31").startswith("Conflict-free")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--access", COLUMN, "--access", "LDS: lane, 0"], "some are questions in C, some are not"),
        (["--access", COLUMN, "--access", "half t[8][8]; t[0][lane%8]"], "are two arrays"),
        (["--access", "LDS: lane, 0", "--tile", "32x32", "--block", "64"], "--block is for an"),
        (["--access", "float s[8][8]; ((float4*)s)[lane%16]"], "runs over the ends of rows of s"),
        (["--access", "float s[8]; s[lane]"], "8 is outside of s[8]"),
    ],
)
def test_what_optimize_refuses(said: Run, words: list[str], problem: str) -> None:
    assert problem in said("optimize", *words, code=2)


def test_optimize_counts_every_warp_and_turn(said: Run) -> None:
    options = ["--loop", "k=4", "--block", "64", "--format", "json"]
    shown = json.loads(said("optimize", "--access", "float s[64][32]; s[tid][k]", *options))
    assert shown["rows"][0]["requests"] == 8
    assert shown["rows"][0]["bank_conflicts_before"] == 8 * 31
    assert shown["rows"][0]["bank_conflicts"] == 0
    weighed = ["--access", "3*LDS: tx, 0", "--tile", "32x32", "--format", "json"]
    shown = json.loads(said("optimize", *weighed))
    assert (shown["rows"][0]["requests"], shown["rows"][0]["cycles_before"]) == (3, 96)


def test_formats_say_the_same(said: Run) -> None:
    printed = said(COLUMN)
    assert said(COLUMN, "--format", "md") == f"```text\n{printed}```\n"
    both = said(COLUMN, "--compare")
    assert both.count("32-way bank conflict") == 2
    assert "By the documented rule:\n" in both
    verbose = said(COLUMN, "--verbose")
    assert verbose.startswith(printed)
    assert "By convention, wavefront k serves" in verbose
    assert verbose.count("\n") > 40


def on_a_terminal(*words: str, columns: int = 0, **environment: str) -> str:
    """Run the command on a pseudo-terminal, which has 80 columns unless `columns` says so."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns or 80, 0, 0))
    unset = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen(
        [sys.executable, "-m", "simulator", *words], stdout=theirs, stdin=subprocess.DEVNULL,
        env={**unset, **environment},
    ) as process:  # fmt: skip
        os.close(theirs)
        printed = b""
        try:
            while part := os.read(ours, 65536):
                printed += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.wait() == 0
    return printed.decode().replace("\r\n", "\n")


def test_colours_mean_conflict_or_not() -> None:
    conflict = on_a_terminal(COLUMN)
    assert conflict.startswith("\x1b[31m32-way bank conflict")
    free = on_a_terminal("float s[32]; s[lane]")
    assert free.startswith("\x1b[32mConflict-free")
    assert free.count("\x1b[3") == 1
    assert "\x1b" not in on_a_terminal(COLUMN, NO_COLOR="1")


def test_force_color_and_no_color_decide_in_a_pipe(
    said: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in said(COLUMN)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert said(COLUMN).startswith("\x1b[31m")
    assert "\x1b[31m31\x1b[0m" in said("count", COLUMN)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in said(COLUMN)


TABLES = [
    ("simulate",), ("ops",), ("kernels",), ("replay", "leimao.v02"), ("count", COLUMN),
    ("optimize", "--access", COLUMN),
]  # fmt: skip


@pytest.mark.parametrize("columns", ["40", "60", "80", "120"])
@pytest.mark.parametrize("command", TABLES, ids=lambda words: words[0])
def test_tables_fit_and_never_wrap(
    said: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], columns: str
) -> None:
    wide = said(*command)
    monkeypatch.setenv("COLUMNS", columns)
    lines = said(*command).splitlines()
    rule = next(k for k, line in enumerate(lines) if line.startswith("---"))
    end = next((k for k in range(rule, len(lines)) if not lines[k]), len(lines))
    table = lines[rule - 1 : end]
    assert max(map(len, table)) <= int(columns)
    assert len(table) > 2
    first = wide.splitlines()[rule - 1].split()[0]
    assert table[0].startswith(first)  # the first column stays
    if any(len(line) > int(columns) for line in wide.splitlines() if line.startswith("---")):
        assert "Left out, to fit" in "\n".join(lines) or "…" in "\n".join(table)


def test_a_terminals_own_width_counts() -> None:
    table = on_a_terminal("simulate", columns=60, NO_COLOR="1").splitlines()
    assert "n-way" not in "\n".join(line for line in table if line.startswith("fragment"))
    assert max(len(line) for line in table if line.startswith("---")) <= 60
    assert any(
        line.startswith("Left out, to fit 60 columns: instructions, ideal") for line in table
    )


def test_help_is_by_task_with_an_example_each(said: Run) -> None:
    from simulator.cli.commands import cli
    from simulator.cli.help import COMMANDS

    printed = said("--help")
    places = [printed.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)
    assert "..." not in printed.replace("[ARGS]...", "")
    assert sorted(COMMANDS) == sorted(cli.list_commands(None))  # type: ignore[arg-type]
    for name, (_, example) in COMMANDS.items():
        assert example.split()[0] == "bankwise"
        assert example in printed
        assert example in said(name, "--help") or name == "sweep"


@pytest.mark.parametrize(
    ("words", "word", "found"),
    [
        ("count --op", "lds.1", {"LDS.16", "LDS.128"}),
        ("count --op", "ldmatrix.x4", {"ldmatrix.x4", "ldmatrix.x4.trans"}),
        ("simulate --rule", "", {"silicon", "documented"}),
        ("simulate --lane-order", "z", {"z-order"}),
        ("simulate --fragment", "s", {"split"}),
        ("optimize --objective", "c", {"cycles"}),
        ("replay", "leimao.v07", {"leimao.v07", "leimao.v07_unskewed"}),
        ("sass --by", "", {"instruction", "line"}),
        ("", "sw", {"sweep"}),
    ],
)
def test_shells_complete_choices(words: str, word: str, found: set[str]) -> None:
    from click.shell_completion import BashComplete

    from simulator.cli.commands import cli

    complete = BashComplete(cli, {}, "bankwise", "_BANKWISE_COMPLETE")
    offered = {item.value for item in complete.get_completions(words.split(), word)}
    assert found <= offered
    assert all(each.lower().startswith(word) for each in offered)


def test_an_element_may_be_named_by_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    for element in ("2", "half"):
        assert (
            main(["count", "--op", "LDS.U16", "--element", element, "lane*64", "--format", "csv"])
            == 0
        )
    first, second = capsys.readouterr().out.split("\n\n")[0].splitlines()[1::2]
    assert first == second
    assert main(["count", "--op", "LDS", "--element", "hlaf", "lane"]) == 2
    assert "accepted: 1 to 16 bytes, or a type such as half" in capsys.readouterr().err


def test_conflicts_of_a_geometry_that_cost_nothing_are_said_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["simulate", "--warp-shape", "2x16"]) == 0
    out = capsys.readouterr().out
    assert "Its 4 bank conflicts cost nothing: 8 wavefronts, which is also the ideal number." in out
    assert main(["simulate", "--warp-shape", "4x8"]) == 0
    assert "cost nothing" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "under"),
    [
        (
            ("--op", "LDS.128", "lane*4"),
            "Conflict-free: its 4 wavefronts are the 4 phases that every LDS.128 needs (Nsight"
            " calls that 4-way).\n\nAssumed: 4 bytes per element; block 32x1: one warp.",
        ),
        (
            ("float s[32][32]; s[tx][ty]", "--block", "32x4"),
            "The worst of 4: 32-way bank conflict: 32 wavefronts where 1 is enough.",
        ),
    ],
)
def test_count_says_whether_it_conflicts_and_in_which_units(
    said: Run, words: tuple[str, ...], under: str
) -> None:
    """A "4-way" load may be free of conflicts, and an index may count bytes in its user's head."""
    assert said("count", *words).endswith(f"\n\n{under}\n")


def test_count_names_the_instruction_of_each_verdict(said: Run, tmp_path: Path) -> None:
    lanes = range(32)
    rows = [("LDS", 4), ("LDS.64", 64), ("LDS", 128)]
    lines = [",".join(["op", *(f"lane{lane}" for lane in lanes)])]
    lines += [",".join([op, *(str(step * lane) for lane in lanes)]) for op, step in rows]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    *_, first, _, second = said("count", str(tmp_path / "a.csv")).splitlines()
    assert first == "LDS, the worst of 2: 32-way bank conflict: 32 wavefronts where 1 is enough."
    assert second.startswith("LDS.64: 8-way bank conflict in each of its 2 phases: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("explain", "--op", "float4", "lane"), "'float4' is a type, which a declaration says"),
        (("simulate", "--pad", "-1"), "-1 elements after a row (accepted: 0 to 999999999)"),
        (("simulate", "--pad", "A=1,B=-2"), "-2 elements after a row (accepted: 0 to 999999999)"),
        (("simulate", "--block-tile", "999999999999x8x8"), "has a size of 12 digits (accepted: up"),
    ],
)
def test_a_refusal_speaks_of_the_value_and_not_of_its_form(
    said: Run, words: tuple[str, ...], message: str
) -> None:
    assert message in said(*words, code=2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("explain", "--op", "LDS", "lane*2", "--compare"), ("--both-rules",)),
        (("explain", "FILE", "--access", "1"), ("--row", "1")),
        (("sweep", "simulate", "--pad", "0..4", "--by", "wavefronts"), ("--best-by", "wavefronts")),
    ],
)
def test_options_that_meant_two_things_have_a_name_of_their_own(
    said: Run, tmp_path: Path, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    lanes = range(32)
    rows = ["op," + ",".join(f"lane{lane}" for lane in lanes)]
    rows += ["LDS," + ",".join(str(step * lane) for lane in lanes) for step in (4, 128)]
    file = tmp_path / "a.csv"
    file.write_text("\n".join(rows))
    words = [str(file) if word == "FILE" else word for word in old]
    assert said(*words[: -len(new)], *new) == said(*words) != ""


class Gone(io.StringIO):
    """A pipe whose reader went away, as `head -1` does."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_a_reader_that_went_away_is_no_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code was 1, as for --fail-on-conflict."""
    monkeypatch.setattr(sys, "stdout", Gone())
    assert main(["ops"]) == 141
    assert main(["float s[32]; s[lane]"]) == 141
