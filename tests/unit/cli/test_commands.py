"""The command: what it prints, in every format, and how it fails."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import count, explain, simulate
from tests.command import command

EXAMPLE = "(lane/8)*132 + (lane%8)*4"


def run(*args: str, code: int = 0, stdin: bytes = b"") -> str:
    """Run the command; returns what it prints."""
    done = command(*args, stdin=stdin)
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    return done.err if code == 2 else done.out


def read(*args: str, code: int = 0, stdin: bytes = b"") -> Any:
    return json.loads(run(*args, "--format", "json", code=code, stdin=stdin))


def test_simulate_prints_the_report() -> None:
    printed = run("simulate", "--warp-shape", "4x8", "--lds", "128")
    report = simulate("4x8", 128)
    for part in report.fragments:
        assert part.reason in printed
        row = next(line for line in printed.splitlines() if line.startswith(f"{part.name} "))
        figures = [part.instructions, part.wavefronts, part.ideal, part.excessive]
        assert [int(cell) for cell in row.split()[2:6]] == figures
    assert "\x1b" not in printed  # no colour unless on a terminal


def test_simulate_flags_are_the_parameters() -> None:
    shown = read(
        "simulate", "--warp-shape", "16x2", "--lds", "64", "--thread-tile", "4x8",
        "--block-tile", "64x64x16", "--lane-order", ",".join(map(str, reversed(range(32)))),
        "--fragment", "split", "--a-layout", "row-major", "--pad", "2,4",
        "--swizzle", "2,3,3;none", "--element", "2", "--rule", "documented",
    )  # fmt: skip
    report = simulate(
        "16x2", 64, thread_tile="4x8", block_tile="64x64x16",
        lane_order=list(reversed(range(32))), fragment="split", a_layout="row-major",
        pad=(2, 4), swizzle=((2, 3, 3), None), element=2, rule="documented",
    )  # fmt: skip
    assert shown["totals"] == report.to_dict()["totals"]
    assert shown["rows"] == [{**row, "rule": "documented"} for row in report.rows()]


def test_pairs_of_pads_and_swizzles_are_told_apart() -> None:
    rows = ["simulate", "--lane-order", "row-major"]
    first, second, both = (
        [row["wavefronts"] for row in read(*rows, "--swizzle", pair)["rows"]]
        for pair in ("none;1,2,3", "1,2,3;none", "1,2,3")
    )
    assert first == both == [4, 8]
    assert second == [4, 16]
    for pair, same in (("A=none,B=1,2,3", first), ("A=Sw<1,2,3>, B=none", second)):
        assert [row["wavefronts"] for row in read(*rows, "--swizzle", pair)["rows"]] == same
    for pair in ("0,4", "(0, 4)", "0 4", "0;4", "A=0,B=4"):
        assert read(*rows, "--pad", pair)["rows"] == read(*rows, "--pad", "A=0, B=4")["rows"]
    a_only = read("simulate", "--warp-shape", "2x16", "--lane-order", "row-major",
                  "--a-layout", "row-major", "--pad", "1,0")  # fmt: skip
    assert [row["wavefronts"] for row in a_only["rows"]] == [8, 16]


def test_compare_shows_both_rules() -> None:
    shown = read("simulate", "--compare")
    assert [row["rule"] for row in shown["rows"]] == ["silicon"] * 2 + ["documented"] * 2
    assert shown["totals"]["silicon"]["wavefronts"] == 12
    assert shown["totals"]["documented"]["wavefronts"] == 16
    table = run("simulate", "--compare")
    assert [line.split()[-1] for line in table.splitlines() if line.startswith("total")] == [
        "silicon",
        "documented",
    ]


def test_count_of_an_expression() -> None:
    shown = read("count", "--op", "LDS.128", "--element", "4", EXAMPLE)
    counts = count("LDS.128", [4 * (lane // 8 * 132 + lane % 8 * 4) for lane in range(32)])
    assert shown["totals"] == counts.totals()
    assert shown["rows"] == [
        {
            "access": 0,
            "op": "LDS.128",
            **{name: column[0] for name, column in counts.to_dict()["accesses"].items()},
            "n_way": 4.0,
            "rule": "silicon",
        }
    ]


def test_loops_of_atomics_are_counted_and_explained() -> None:
    totals = read("count", "--op", "add.f32", "lane%4")["totals"]
    assert totals["wavefronts"] == 16
    said = run("explain", "--op", "add.u64", "lane%16", "--element", "8")
    assert "2 rounds of 2 wavefronts" in said


def test_count_with_names_warps_and_masks() -> None:
    shown = read(
        "count", "--op", "LDS", "-D", "ld=0x21", "-D", "k=-1", "--warps", "3",
        "--active", "lane < 16", "tid*ld + k + 1",
    )  # fmt: skip
    assert [row["access"] for row in shown["rows"]] == [0, 1, 2]
    assert shown["totals"]["wavefronts"] == 3
    assert read("count", "--op", "LDS", "--mask", "0x7", "lane*32")["totals"]["wavefronts"] == 3


def test_count_of_files_and_standard_input(tmp_path: Path) -> None:
    addresses = np.array([[4 * lane for lane in range(32)], [128 * lane for lane in range(32)]])
    arrays, array, table = (tmp_path / f"a.{kind}" for kind in ("npz", "npy", "csv"))
    np.savez(arrays, op=["LDS", "STS"], address=addresses, mask=[0xFFFFFFFF, 0x7])
    np.save(array, addresses)
    np.savetxt(table, addresses, fmt="%d", delimiter=",")
    rows = read("count", str(arrays))["rows"]
    assert [(row["op"], row["wavefronts"]) for row in rows] == [("LDS", 1), ("STS", 3)]
    for path in (array, table):
        assert read("count", "--op", "LDS", str(path))["totals"]["wavefronts"] == 33
        for dash in (["-"], []):
            shown = read("count", "--op", "LDS", *dash, stdin=path.read_bytes())
            assert shown["totals"]["wavefronts"] == 33


def test_mixed_instructions_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "mixed.npz"
    ops = ["LDS", "STS.64", "LDS", "ATOMS.ADD"]
    np.savez(path, op=ops, address=[[8 * lane for lane in range(32)]] * 4)
    shown = read("count", str(path), "--compare")
    assert [row["op"] for row in shown["rows"]] == ops * 2
    table = run("count", str(path))
    assert [line.split()[1] for line in table.splitlines()[2:6]] == ops


def test_long_tables_are_cut_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "many.npy"
    np.save(path, np.zeros((45, 32), dtype=int))
    printed = run("count", "--op", "LDS", str(path))
    assert "5 more rows: --format csv, json or md shows all." in printed
    assert len(run("count", "--op", "LDS", str(path), "--format", "csv").splitlines()) == 46


def test_explain_prints_sentences_and_words() -> None:
    printed = run("explain", "--op", "LDS.128", "--element", "4", EXAMPLE, "--verbose")
    explanation = explain("LDS.128", [4 * (lane // 8 * 132 + lane % 8 * 4) for lane in range(32)])
    for sentence in explanation.sentences[1:]:
        assert sentence in printed
    shown = read("explain", "--op", "LDS.128", "--element", "4", EXAMPLE)
    answer = shown["totals"].pop("answer")  # what explain says of a text beside its figures
    assert answer["verdict"].startswith("Conflict-free")
    assert answer["assumed"] == ["block 32x1: one warp"]
    assert shown["totals"] == explanation.to_dict()["totals"]
    assert shown["rows"] == [{**row, "rule": "silicon"} for row in explanation.rows()]


def test_explain_chooses_a_warp_or_an_access(tmp_path: Path) -> None:
    shown = read("explain", "--op", "LDS", "--warp", "2", "tid")
    assert shown["rows"][0]["byte"] == 256
    path = tmp_path / "a.npy"
    np.save(path, [[0] * 32, [8] * 32])
    shown = read("explain", "--op", "LDS", "--access", "1", str(path))
    assert [row["byte"] for row in shown["rows"]] == [8]
    both = run("explain", "--op", "LDS.64", "lane", "--element", "8", "--compare", "-v")
    assert both.count("By convention") == 2


def test_csv_and_markdown() -> None:
    rows = list(csv.DictReader(io.StringIO(run("simulate", "--format", "csv"))))
    assert [row["wavefronts"] for row in rows] == ["8", "4"]
    served = list(
        csv.DictReader(io.StringIO(run("explain", "--op", "LDS", "lane/2", "--format", "csv")))
    )
    assert served[3]["lanes"] == "6 7"
    assert "| A          | LDS.128 |" in run("simulate", "--format", "md")


def test_ops_lists_every_instruction() -> None:
    shown = read("ops")
    by_name = {row["op"]: row for row in shown["rows"]}
    assert by_name["LDGSTS.E"]["least_cycles"] == "2 3"
    assert by_name["LDS.128"]["fuses"] is True
    assert shown["totals"]["instructions"] == len(by_name)
    assert "least cycles" in run("ops")
    assert len(run("ops", "--format", "csv").splitlines()) == len(by_name) + 1


def test_fail_on_conflict() -> None:
    run("simulate", "--lane-order", "row-major", code=0)
    run("simulate", "--lane-order", "row-major", "--fail-on-conflict", code=1)
    run("simulate", "--fail-on-conflict", code=0)
    run("count", "--op", "LDS", "lane*2", "--fail-on-conflict", code=1)
    run("count", "--op", "LDS", "lane", "--fail-on-conflict", code=0)
    run("explain", "--op", "LDS", "lane*2", "--fail-on-conflict", code=1)


def test_it_is_conflicts_that_fail_not_excess() -> None:
    excess = ["--op", "LDS.128", "lane*4", "--mask", "0x08040201"]
    conflicts = ["--op", "LDS.128", "lane/2%8*8"]
    for name in ("count", "explain"):
        totals = read(name, *excess)["totals"]
        assert (totals["excessive"], totals["bank_conflicts"]) == (1, 0)
        run(name, *excess, "--fail-on-conflict", code=0)
        totals = read(name, *conflicts)["totals"]
        assert (totals["excessive"], totals["bank_conflicts"]) == (0, 2)
        run(name, *conflicts, "--fail-on-conflict", code=1)
        # The rule decides, also where both are shown.
        run(name, *conflicts, "--rule", "documented", "--fail-on-conflict", code=0)
        run(name, *conflicts, "--rule", "documented", "--compare", "--fail-on-conflict", code=0)
    run(
        "simulate", "--lane-order", "z-order", "--fail-on-conflict", code=1
    )  # 4 conflicts, no excess


def test_version_and_help() -> None:
    assert run("--version").startswith("bankwise 0.")
    for words in ([], ["--help"]):
        assert "simulate" in run(*words)
    assert "--warp-shape" in run("simulate", "-h")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["simulate", "--warp-shape", "4x9"], "warp shape '4x9' has 36 lanes"),
        (["simulate", "--lds", "many"], "'many' is not a valid integer"),
        (["simulate", "--pad", "a"], "Invalid value for --pad: 'a' is not N or A,B"),
        (["simulate", "--swizzle", "1,2"], "swizzle '1,2' is not three integers"),
        (["simulate", "--pad", "1,2,3"], "'1,2,3' is not N or A,B"),
        (["simulate", "--pad", "A=1,B="], "'A=1,B=' is not N or A,B (elements; accepted: 4, or"),
        (["simulate", "--pad", "1;2;3"], "Invalid value for --pad: '1;2;3' has more than two"),
        (["simulate", "--swizzle", "none;none;none"], "has more than two parts"),
        (["simulate", "--lane-order", "1,2,3"], "lane order [1, 2, 3] is not a permutation"),
        (["simulate", "--format", "xml"], "'xml' is not one of 'table', 'json', 'csv', 'md'"),
        (["simulate", "--rule", "x"], "unknown rule 'x': accepted: silicon, documented"),
        (["simulat"], "No such command 'simulat'"),
        (["count", "--op", "LDS", "--warps", "0", "lane"], "0 is not in the range 1<=x<=32"),
        (["count", "lane"], "an expression needs --op (see `bankwise ops`), such as --op LDS"),
        (["count", "--op", "LDZ", "lane"], "unknown instruction 'LDZ' (accepted, nearest first"),
        (["count", "--op", "LDS.128", "lane"], "address 4 of lane 1 of access 0 is misaligned"),
        (["count", "--op", "LDS", "lane-1"], "address -4 of lane 0 of access 0 is outside shared"),
        (["count", "--op", "LDS", "-D", "x", "lane"], "'x' is not NAME=VALUE"),
        (["count", "--op", "LDS", "-D", "tid=3", "lane"], "lane, tid, warp have their own meaning"),
        (["count", "--op", "LDS", "-D", "x=1.5", "lane"], "'1.5' is not a decimal or 0x integer"),
        (["count", "--op", "LDS", "--mask", "ffff", "lane"], "'ffff' is not a decimal or 0x"),
        (["count", "--op", "LDS", "--mask", "0x1ffffffff", "lane"], "mask 0x1ffffffff is not 32"),
        (["count", "--op", "ldmatrix.x4", "--mask", "1", "0"], "leaves lanes of LDSM.16.M88.4"),
        (["count", "--op", "LDS", "gone.csv"], "gone.csv cannot be read: No such file"),
        (["count", "--op", "LDS", "--element", "4", "gone.csv"],
         "--element: for an expression, not for data"),
        (["count", "--op", "LDS", "--warps", "2", "-"], "--warps: for an expression, not for"),
        (["count", "--op", "LDS"], "standard input is empty (accepted: CSV"),
        (["count", "--op", "LDS", "-D", "x=1", "-D", "x=2", "lane"], "x is given twice"),
        (["count", "--op", "LDS", "-lane+31"],
         "No such option '-l'. (put -- before an expression that begins with -)"),
        (["count", "--op", "LDS", "data.txt"],
         "data.txt is neither an expression nor a file of a known kind (accepted: .csv, .npy"),
        (["count", "--op", "LDS", "x\ny.csv"], "x y.csv cannot be read: No such file"),
        (["explain", "--op", "LDS", "--access", "2", "lane"], "no access 2 (accepted: 0 to 0)"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_2(args: list[str], message: str) -> None:
    printed = run(*args, code=2)
    assert printed.startswith("bankwise: ")
    assert message in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize("command", ["count", "explain"])
@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.arange(32) * 4 + 0.7, "have type float64 (accepted: integers"),
        (np.full(32, np.nan), "have type float64"),
        (np.zeros(32, bool), "have type bool"),
        (np.zeros(32, [("a", int)]), "have type [('a', '<i8')]"),
    ],
)
def test_data_that_is_no_integers(
    tmp_path: Path, command: str, array: np.ndarray[Any, Any], message: str
) -> None:
    np.save(tmp_path / "a.npy", array)
    assert message in run(command, "--op", "LDS", str(tmp_path / "a.npy"), code=2)
    np.savez(tmp_path / "a.npz", address=[[0] * 32], mask=[1.5])
    printed = run(command, "--op", "LDS", str(tmp_path / "a.npz"), code=2)
    assert "masks" in printed
    assert "(accepted: integers" in printed


def test_names_are_fitted_to_int() -> None:
    printed = run("count", "--op", "LDS", "-D", f"x={2**62}", "x", code=2)
    assert f"x = {2**62} does not fit a 32-bit int" in printed


def test_an_expression_may_begin_with_a_sign() -> None:
    printed = run("count", "--op", "LDS", "--format", "json", "--", "-lane+31")
    assert json.loads(printed)["totals"]["wavefronts"] == 1


def test_csv_of_nothing_has_a_header() -> None:
    printed = run("explain", "--op", "LDS", "lane", "--mask", "0", "--format", "csv")
    assert printed == "phase,wavefront,bank,word,byte,lanes,rule\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line(form: str, unbuffered: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "simulator", "simulate", "--format", form],
            stdout=full, stderr=subprocess.PIPE, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == b"bankwise: cannot write: No space left on device\n"


def test_a_malformed_expression_gets_a_caret() -> None:
    printed = run("count", "--op", "LDS", "(lane", code=2)
    first, source, caret = printed.splitlines()
    assert first.startswith("bankwise: expression ends too early at column 6")
    assert (source, caret) == ("  (lane", "       ^")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("no_colour", "form", "coloured"),
    [("", "table", True), ("1", "table", False), ("", "md", False), ("", "json", False)],
)
def test_colour_on_a_terminal_only_in_tables(no_colour: str, form: str, coloured: bool) -> None:
    ours, theirs = os.openpty()
    subprocess.run(
        [sys.executable, "-m", "simulator", "simulate", "--format", form],
        stdout=theirs,
        check=True,
        env={**os.environ, "NO_COLOR": no_colour},
    )
    os.close(theirs)
    assert (b"\x1b[" in os.read(ours, 1 << 16)) is coloured
    os.close(ours)


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "many.npy"
    np.save(path, np.zeros((20_000, 32), dtype=int))
    with subprocess.Popen(
        [sys.executable, "-m", "simulator", "count", "--op", "LDS", "--format", "csv", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": ""},  # else Python drops what no pipe takes
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.skipif(os.name != "posix", reason="needs a shell that closes a descriptor")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_descriptor_is_no_traceback(closed: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m simulator"
    for words, code in (("simulate", 0), ("replay junstar92.1d --m 64", 0), ("simulat", 2)):
        done = subprocess.run(
            ["sh", "-c", f"{command} {words} {closed}"], capture_output=True, check=False
        )
        assert done.returncode == code
        assert b"Traceback" not in done.stdout + done.stderr
