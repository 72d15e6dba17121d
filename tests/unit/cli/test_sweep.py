"""`bankwise sweep`: its grid of options, what it prints and writes, how it is interrupted."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from layouts import Swizzle
from simulator import simulate, sweep
from simulator.cli import main
from simulator.gemm.geometry import PARAMETERS
from tests.unit.sweeps.test_sweep import ORDERS, SHAPES

LONG = ("sweep", "simulate", "--warp-shape", "all", "--lane-order", "all", "--pad", "0..400")


def run(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert main(["sweep", *args]) == code
    printed = capsys.readouterr()
    return printed.err if code == 2 else printed.out


def read(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    return json.loads(run(capsys, *args, "--format", "json"))


def test_simulate_is_swept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    shown = read(
        capsys, "simulate", "--warp-shape", "all", "--lane-order", "all", "--pad", "0..16",
        "--lds", "all", "--top", "7", "--csv", str(file),
    )  # fmt: skip
    found = sweep(
        simulate,
        {"warp_shape": SHAPES, "lane_order": ORDERS, "pad": range(17), "lds": [32, 64, 128]},
    )
    assert shown["rows"] == found.best(7)
    assert shown["totals"] == {**found.to_dict()["totals"], "reasons": found.skipped}
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [int(row["cycles"]) for row in rows] == found.columns()["cycles"]


def test_values_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    shown = read(
        capsys, "simulate", "--pad", "0..8:4,(0,4)", "--swizzle", "none,Sw<2,2,3>,(1,2,3)",
        "--lane-order", "z-order,(4,8):(8,1)", "--lds=64,128", "--rule", "all", "--by",
        "wavefronts", "--top", "999", "--limit", "90",
    )  # fmt: skip
    found = sweep(
        simulate,
        {
            "pad": [0, 4, 8, (0, 4)],
            "swizzle": [None, "Sw<2,2,3>", (1, 2, 3)],
            "lane_order": ["z-order", "(4,8):(8,1)"],
            "lds": [64, 128],
            "rule": ["silicon", "documented"],
        },
        limit=90,
    )
    assert shown["rows"] == found.best(999, by="wavefronts")


@pytest.mark.parametrize("pad", ["(0,4),8", "(A=0,B=4),8", "0;4,8"])
@pytest.mark.parametrize(
    "swizzle", ["(A=1,2,3,B=none),none", "Sw<1,2,3>;none,none", "(1,2,3);none,none"]
)
def test_pairs_among_values(capsys: pytest.CaptureFixture[str], pad: str, swizzle: str) -> None:
    shown = read(capsys, "simulate", "--pad", pad, "--swizzle", swizzle, "--top", "9")
    pairs = {"pad": [(0, 4), 8], "swizzle": [(Swizzle(1, 2, 3), None), None]}
    assert shown["rows"] == sweep(simulate, pairs).best(9)
    alone = read(capsys, "simulate", "--pad", "A=0,B=4", "--swizzle", "A=1,2,3,B=none")
    assert alone["totals"]["combinations"] == 1


def test_a_kernel_is_swept(capsys: pytest.CaptureFixture[str]) -> None:
    shown = read(capsys, "junstar92.warptiling", "--padding", "0,4", "--m", "1024", "--processes")
    found = sweep("junstar92.warptiling", {"padding": [0, 4], "m": 1024, "n": 1024, "k": 1024})
    figures = [{name: row[name] for name in found.figures} for row in shown["rows"]]
    assert figures == [{name: row[name] for name in found.figures} for row in found.best(10)]
    table = run(capsys, "junstar92.warptiling", "--padding", "0,4", "--m", "1024", "--jobs", "1")
    assert (
        "junstar92.warptiling, m 1024, n 1024, k 1024\n2 combinations, 2 counted; the best 2\n"
        in table
    )
    assert "  padding" in table  # what varies is a column


def test_reasons_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run(capsys, "simulate", "--pad", "0..3")
    assert "3 skipped: LDS.128 of A would be misaligned: byte 516" in printed
    # Reasons that differ in more than their numbers are reasons of their own; five are printed.
    printed = run(
        capsys, "simulate", "--pad", "(1,0),(0,1)", "--element", "4,2", "--lds", "all", "--swizzle",
        "none,Sw<1,0,3>",
    )  # fmt: skip
    assert printed.startswith("simulate, element 4, lds 32\n")
    assert "4 skipped: LDS.128 reads 4 neighbouring elements of A, but" in printed
    assert printed.count(" skipped: ") == 5
    assert printed.endswith("6 skipped for 4 other reasons.\n")


def test_parquet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    file = tmp_path / "rows.parquet"
    run(capsys, "simulate", "--pad", "0,4", "--parquet", str(file))
    assert file.read_bytes()[:4] == b"PAR1"


def test_plot_is_the_former_name_of_html(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("viz")
    words = ["simulate", "--pad", "0,4", "--lane-order", "all", "--cdn", "--force"]
    pages = []
    for option in ("--plot", "--html"):
        file = tmp_path / "page.html"
        assert main(["sweep", *words, option, str(file)]) == 0
        former = "bankwise: --plot is the former name of --html, which 0.3 drops\n"
        said = former * (option == "--plot") + f"Wrote {file}\n"
        assert capsys.readouterr().err == said
        pages.append(file.read_text().replace(option, "--html"))
    assert pages[0] == pages[1]
    assert "plotly" in pages[0]
    printed = run(capsys, *words, "--html", "a.html", "--plot", "b.html", code=2)
    assert "--plot is the former name of --html" in printed
    printed = run(capsys, "simulate", "--pad", "0", "--plot", str(tmp_path / "x.png"), code=2)
    assert "x.png' ends in .png, and a page is HTML" in printed
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_html_without_plotly_is_refused_before_the_work(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for option in ("--plot", "--html"):
        words = ["sweep", "simulate", "--pad", "0", option, "x.html", "--store", str(store)]
        code = f"""
import sys
sys.modules["plotly"] = None
from simulator.cli import main
sys.exit(main({words!r}))
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=False, text=True
        )
        assert done.returncode == 2
        assert "viz draws with plotly, which is not installed" in done.stderr
        assert "[viz]" in done.stderr
        assert not store.exists()


def test_parquet_without_pyarrow_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    store, rows = tmp_path / "store", str(tmp_path / "rows")
    printed = run(
        capsys, "simulate", "--pad", "0", "--parquet", rows, "--store", str(store), code=2
    )
    assert "Parquet files need pyarrow, which is not installed" in printed
    assert not store.exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("simulate --pad x", "pad 'x' is not a number of elements (accepted: 0, 1, 2"),
        ("simulate --pad 0,x", "pad 'x' is not a number"),
        ("simulate --rule silicon,nope", "unknown rule 'nope': accepted: silicon, documented"),
        ("simulate --warp-shape 4x8,4x9", "warp shape '4x9' has 36 lanes, a warp has 32"),
        (
            "simulate --warp-shape all,4x8",
            "--warp-shape: 'all,4x8' has 'all' together with other values",
        ),
        ("simulate --lane-order z-order,zz", "unknown lane order 'zz': accepted: row-major"),
        ("simulate --lane-order (4,4):(4,1)", "has 16 elements (accepted: 32, one per lane)"),
        ("simulate --fragment nope", "unknown fragment 'nope': accepted: contiguous, split"),
        ("simulate --fragment (8,8):(1", "(8,8):(1"),
        ("simulate --lds 96", "lds 96 is not a load width in bits (accepted: 32, 64, 128)"),
        ("simulate --lds 1..16", "lds 16 is not a load width"),
        ("simulate --element none", "element None is not a size in bytes (accepted: 4, 2, 1)"),
        ("simulate --a-layout z-order", "unknown a_layout 'z-order': accepted: transposed"),
        ("simulate --swizzle 3,3", "swizzle 3 is not three integers (B, M, S)"),
        ("simulate --thread-tile 8x8,8", "thread tile 8 is not MxN with positive integers"),
        ("simulate --block-tile 128x128", "block tile '128x128' is not MxNxK"),
        ("junstar92.2d --m 64 --rule nope", "unknown rule 'nope': accepted: silicon"),
        ("junstar92.2d --m 64 --form written,nope", "unknown form 'nope': accepted: compiled"),
        ("junstar92.2d --m 64,x --n 64 --k 64", "m = 'x' is not a matrix size (accepted: 1 to"),
        ("junstar92.warptiling --padding 4,x", "padding = 'x' is not a size (accepted: 0 to"),
        ("illustrated.layout_2x16 --transposed 1", "transposed = '1' is not a truth value"),
        ("illustrated.layout_2x16 --lane-order nope", "unknown lane order 'nope': accepted: row"),
        (
            "illustrated.layout_4x8 --lane-order z-order,(4,4):(4,1)",
            "has 16 elements (accepted: 32",
        ),
        ("illustrated.layout_4x8 --warp 2x16,4x9", "warp shape '4x9' has 36 lanes, a warp has 32"),
        ("cutlass-notes.sgemm_128x128 --fragment contiguous,nope", "unknown fragment 'nope': acc"),
        ("cutlass-notes.sgemm_128x128 --fragment (8,8):(1", "(8,8):(1"),
        ("cutlass-notes.sgemm_128x128 --lane-order none", "unknown lane order 'none'"),
    ],
)
def test_a_value_that_no_combination_could_have_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, args: str, said: str
) -> None:
    store = tmp_path / "store"
    printed = run(capsys, *args.split(), "--store", str(store), code=2)
    assert said in printed
    assert printed.count("\n") == (3 if "malformed" in printed else 1)  # a caret under the fault
    assert not store.exists()  # before the work


def test_every_parameter_of_simulate_is_checked() -> None:
    assert set(PARAMETERS) == set(signature(simulate).parameters)


def test_a_range_of_which_some_values_fit(capsys: pytest.CaptureFixture[str]) -> None:
    """What a range passes on its way is skipped, as ever."""
    assert [row["lds"] for row in read(capsys, "simulate", "--lds", "0..128:32")["rows"]] == [
        128, 64, 32,
    ]  # fmt: skip
    assert "'pad' has no values" in run(capsys, "simulate", "--pad", "5..3", code=2)


def test_truth_values_are_words(capsys: pytest.CaptureFixture[str]) -> None:
    shown = read(
        capsys, "illustrated.layout_2x16", "--transposed", "true,false", "--m", "128",
    )  # fmt: skip
    found = sweep(
        "illustrated.layout_2x16", {"m": 128, "n": 128, "k": 128, "transposed": [True, False]}
    )
    assert shown["rows"] == found.best(2)


def test_a_sweep_of_nothing_that_exists(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    heading = "pad,instructions,wavefronts,ideal,excessive,bank_conflicts,n_way,cycles\n"
    file = tmp_path / "rows.csv"
    nothing = ("simulate", "--pad", "1..3")
    assert run(capsys, *nothing, "--format", "csv", "--csv", str(file), code=1) == heading
    assert file.read_text() == heading
    shown = json.loads(run(capsys, *nothing, "--format", "json", code=1))
    assert shown["rows"] == []
    assert [*shown["totals"]["reasons"].values()] == [3]
    printed = run(capsys, "simulate", "--pad", "1", code=1)
    assert printed.startswith("simulate\n1 combination, 0 counted\n")
    assert "1 skipped: LDS.128 of A would be misaligned" in printed


def test_the_answer_is_printed_even_if_the_disk_has_filled_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["sweep", "simulate", "--pad", "0,4", "--csv", str(tmp_path / "rows")]) == 2
    printed = capsys.readouterr()
    assert "2 combinations, 2 counted; the best 2" in printed.out
    assert printed.err.endswith("rows cannot be written: No space left on device\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["simulate"],
            "no parameter to sweep: grid {} is empty (accepted: at least one, with values)",
        ),
        (["simulat", "--pad", "0"], "unknown kernel 'simulat'"),
        (["simulate", "--pad"], "--pad needs a value"),
        (["simulate", "4x8"], "'4x8' is not an option (accepted: --NAME VALUE)"),
        (["simulate", "--pad", " "], "' ' is not a list of values"),
        (["simulate", "--pad", "1, ,2"], "'1, ,2' is not a list of values"),
        (["simulate", "--pad", "0", "--pad", "1"], "--pad is given twice"),
        (
            ["simulate", "--swizzle", "1,2,3;none"],
            "'3;none' can belong to the value before it or to the one after it",
        ),
        (["simulate", "--pad", "0..4:0"], "'0..4:0' is not a range (accepted: 0..16, 0..64:8)"),
        (["simulate", "--pad", "0..99999999999999999999"], "is not a range"),
        (["simulate", "--lds", "32,64.."], "'64..' is not a range"),
        (["simulate", "--pad", "0", "--csv", "a", "--html", "./a"], "--csv and --html are one"),
        (["simulate", "--pad", "0", "--store", "a", "--csv", "a"], "--store and --csv are one"),
        (["simulate", "--pad", "0", "--store", ""], "store '' cannot be written"),
        (["simulate", "--pad", "1,,2"], "'1,,2' is not a list of values"),
        (["simulate", "--pad", "5..1"], "'pad' has no values: range(5, 2)"),
        (
            ["simulate", "--pad", "all"],
            "'all' means every value of a list, but there is no list here",
        ),
        (["simulate", "--padd", "1"], "simulate has no parameter 'padd': did you mean pad?"),
        (["simulate", "--pad", "0..9999999999"], "10,000,000,000 combinations"),
        (["simulate", "--pad", "0", "--by", "cost"], "unknown figure 'cost'"),
        (["simulate", "--pad", "0", "--store", "missing/store"], "cannot be written"),
        (["simulate", "--pad", "0", "--csv", "missing/rows"], "missing/rows cannot be written"),
        (["leimao.v02", "--m", "64,128"], "--n is needed where --m has several values"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    printed = run(capsys, *args, code=2)
    assert printed.startswith("bankwise: ")
    assert message in printed
    assert printed.count("\n") == 1


def chunks(store: Path) -> dict[int, str]:
    with closing(sqlite3.connect(store)) as database:
        return dict(database.execute("SELECT start, outcome FROM chunks"))


def is_whole(store: Path) -> bool:
    """Whether the newest transaction is over: else SQLite takes back what has made it grow."""
    journal = Path(f"{store}-journal")
    with suppress(FileNotFoundError), journal.open("rb") as file:
        return not any(file.read(8))  # SQLite blanks its head when a transaction is whole
    return True


def interrupt(command: list[str], store: Path, how: signal.Signals) -> None:
    """Run a sweep, and interrupt it when it has kept some chunks, which take some 3,000 bytes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "simulator", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that starts the tests in the background may have told them to ignore SIGINT.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    end = time.monotonic() + 60
    while not (store.exists() and store.stat().st_size > 40_000 and is_whole(store)):
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert said.strip() == f"{store} keeps what is done: the same command continues."


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_an_interrupted_sweep_continues(tmp_path: Path, how: signal.Signals) -> None:
    whole = tmp_path / "whole.csv"
    assert main([*LONG, "--store", str(tmp_path / "all"), "--csv", str(whole)]) == 0
    for attempt in range(5):
        store, rows = tmp_path / f"store{attempt}", tmp_path / f"rows{attempt}.csv"
        command = [*LONG, "--jobs", "1", "--store", str(store), "--csv", str(rows)]
        interrupt(command, store, how)
        done = chunks(store)
        if len(done) < len(chunks(tmp_path / "all")):
            break  # else the sweep was quicker than this process
    assert not rows.exists()
    assert 9 < len(done) < len(chunks(tmp_path / "all"))
    assert main(command) == 0
    assert done.items() <= chunks(store).items()  # and went on from there
    assert not list(tmp_path.glob("store?-*"))
    assert rows.read_bytes() == whole.read_bytes()


def test_the_bar_is_for_terminals() -> None:
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    command = [sys.executable, "-m", "simulator", *LONG]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # Linux says so when the other end is closed
            pass
        os.close(ours)
        assert process.stdout is not None
        printed = process.stdout.read()
    bar = shown.decode()
    assert "simulate: 100%" in bar
    assert "<00:" in bar  # time left
    assert " combinations/s]" in bar  # rate
    assert b"combinations/s" not in printed
    assert b"counted; the best 10" in printed
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""


def test_the_example_of_a_kernel_finds_combinations(capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "--help")
    example = next(line.split() for line in told.splitlines() if "sweep junstar92" in line)
    assert "3 combinations, 3 counted" in run(capsys, *example[2:])
