"""`bankwise estimate`: each estimate by its name, with what it takes."""

from __future__ import annotations

import json

import pytest

from simulator.cli import main
from simulator.gemm import estimates


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["estimate", *words]) == 0
    return capsys.readouterr().out


def test_lists_every_estimate_with_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "--format", "json"))["rows"]
    assert [row["estimate"] for row in rows] == [
        name for name in estimates.__all__ if name[0].islower()
    ]
    takes = {row["estimate"]: row["takes"] for row in rows}
    assert takes["gemm_flops"] == "m n k epilogue=0"
    assert takes["load_ffma_ratio"].startswith("m_tile n_tile k_tile m_frag n_frag ldg_latency")


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("gemm_flops", "m=2", "n=3", "k=4"), [estimates.gemm_flops(2, 3, 4)]),
        (("least_seconds", "amount=1.5e12", "rate=3e13"), [0.05]),
        (("split_k", "k=4096", "parts=3"), list(estimates.split_k(4096, 3))),
        (
            ("load_ffma_ratio", "m_tile=128", "n_tile=128", "k_tile=8", "m_frag=8", "n_frag=8",
             "ldg_latency=300", "sts_latency=30"),
            [estimates.load_ffma_ratio(estimates.instruction_mix(128, 128, 8, 8, 8), 300, 30)],
        ),
        (("instruction_mix", "m_tile=128", "n_tile=128", "k_tile=8", "m_frag=8", "n_frag=8"),
         [256, 8, 8, 64, 512]),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)  # fmt: skip
def test_gives_what_the_function_gives(
    words: tuple[str, ...], values: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = json.loads(run(capsys, *words, "--format", "json"))["rows"]
    assert [row["value"] for row in rows] == pytest.approx(values)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["gemm_flop"], "did you mean gemm_flops?"),
        (["gemm_flops", "m=2"], "gemm_flops needs n, k (accepted: m n k epilogue=0"),
        (["gemm_flops", "m=2", "m=2"], "what is 'm=2'?"),
        (["gemm_flops", "q=2"], "what is 'q=2'?"),
        (["gemm_flops", "m=nan", "n=1", "k=1"], "'m=nan' is not a number"),
        (["gemm_flops", "m=1.5", "n=1", "k=1"], "m 1.5 is not a size"),
        (["gemm_flops", f"m={'9' * 5000}", "n=1", "k=1"], "is not a number"),
    ],
)
def test_refuses_what_it_cannot_read(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", *words]) == 2
    assert says in capsys.readouterr().err
