"""`bankwise kernels` and `bankwise replay`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator import kernels, replay
from simulator.cli import main


def run(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert main(args) == code
    printed = capsys.readouterr()
    return printed.err if code == 2 else printed.out


def read(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    return json.loads(run(capsys, *args, "--format", "json"))


def test_kernels_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    shown = read(capsys, "kernels")
    assert [row["kernel"] for row in shown["rows"]] == kernels.names()
    assert shown["totals"] == {"kernels": len(kernels.names())}
    assert "junstar92.2d" in run(capsys, "kernels")


def test_replay_prints_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    report = replay("junstar92.2d", m=4096, n=4096, k=4096)
    shown = read(capsys, "replay", "junstar92.2d", "--m", "4096")
    assert shown["totals"] == report.totals()
    assert shown["rows"] == [{**row, "rule": "silicon"} for row in report.rows()]
    table = run(capsys, "replay", "junstar92.2d", "--m", "4096")
    (loads,) = (line for line in table.splitlines() if line.startswith("shared loads"))
    assert loads.split()[-1] == "402,653,184"


def test_sizes_forms_rules_and_tile_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    shown = read(
        capsys, "replay", "junstar92.warptiling", "--m", "128", "--n", "256", "--k", "64",
        "--form", "written", "--rule", "documented", "--padding=0", "--block-m", "128",
        "--threads", "128",
    )  # fmt: skip
    report = replay(
        "junstar92.warptiling", m=128, n=256, k=64, form="written", rule="documented",
        padding=0, block_m=128, threads=128,
    )  # fmt: skip
    assert shown["totals"] == report.totals()
    shown = read(capsys, "replay", "cutlass-notes.sgemm_128x128", "--lane-order", "row-major")
    report = replay("cutlass-notes.sgemm_128x128", m=4096, n=4096, k=4096, lane_order="row-major")
    assert shown["totals"] == report.totals()


@pytest.mark.parametrize(
    ("kernel", "option", "parameter"),
    [
        ("illustrated.layout_4x8", ("--transposed", "False"), {"transposed": False}),
        ("illustrated.layout_2x16", ("--transposed=true",), {"transposed": True}),
        ("illustrated.layout_4x8", ("--warp", "8x4"), {"warp": "8x4"}),
        ("illustrated.layout_4x8", ("--lane-order", "3,4,0,1,2"), {"lane_order": (3, 4, 0, 1, 2)}),
        ("illustrated.layout_4x8", ("--lane-order=(4,8):(8,1)",), {"lane_order": "(4,8):(8,1)"}),
    ],
)
def test_parameters_that_are_no_numbers(
    capsys: pytest.CaptureFixture[str],
    kernel: str,
    option: tuple[str, ...],
    parameter: dict[str, Any],
) -> None:
    report = replay(kernel, m=256, n=256, k=256, **parameter)
    shown = read(capsys, "replay", kernel, "--m", "256", *option)
    assert shown["rows"] == [{**row, "rule": "silicon"} for row in report.rows()]


def test_compare_has_totals_of_both_rules(capsys: pytest.CaptureFixture[str]) -> None:
    shown = read(capsys, "replay", "junstar92.2d", "--m", "64", "--compare")
    # A's loads fuse, but then two rows of it collide: as many wavefronts, more conflicts.
    silicon, documented = (shown["totals"][rule]["load"] for rule in ("silicon", "documented"))
    assert silicon["wavefronts"] == documented["wavefronts"]
    assert silicon["bank_conflicts"] > documented["bank_conflicts"]


def test_fail_on_conflict(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "replay", "junstar92.2d", "--m", "64", "--fail-on-conflict", code=1)
    run(capsys, "replay", "junstar92.smem", "--m", "64", "--fail-on-conflict", code=0)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["junstar92.3d"], "unknown kernel 'junstar92.3d': did you mean junstar92.2d"),
        (["junstar92.2d", "--m", "0"], "m = 0 is not a matrix size (accepted: 1 to 2147483647)"),
        (["junstar92.2d", "--m", "64", "--tile", "3"], "junstar92.2d has no parameter 'tile'"),
        (["junstar92.2d", "--block-m"], "--block-m needs a value"),
        (["junstar92.2d", "--block-m", "x"], "block_m = 'x' is not a size (accepted: 1 to 65536)"),
        (
            ["illustrated.layout_4x8", "--transposed", "maybe"],
            "transposed = 'maybe' is not a truth value (accepted: True, False)",
        ),
        (["junstar92.2d", "64"], "'64' is not an option (accepted: --NAME VALUE)"),
        (["leimao.v02", "--form", "ptx"], "unknown form 'ptx': accepted: compiled, written"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    printed = run(capsys, "replay", *args, code=2)
    assert printed.startswith("bankwise: ")
    assert message in printed
    assert printed.count("\n") == 1
