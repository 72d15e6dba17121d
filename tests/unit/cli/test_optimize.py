"""`bankwise optimize`."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from simulator.cli import main
from simulator.search import Access, optimize

TRANSPOSE = ("--access", "LDS: lane, i", "--access", "STS: i, lane", "--loop", "i=32")


def run(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert main(["optimize", *args]) == code
    printed = capsys.readouterr()
    return printed.err if code == 2 else printed.out


def read(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    return json.loads(run(capsys, *args, "--format", "json"))


def test_a_tile(capsys: pytest.CaptureFixture[str]) -> None:
    accesses = [
        Access("LDS", "lane, i", loops={"i": 32}),
        Access("STS", "i, lane", loops={"i": 32}),
    ]
    found = optimize(accesses, tile="32x32")
    shown = read(capsys, *TRANSPOSE, "--tile", "32x32")
    assert shown["rows"] == found.rows()
    assert shown["totals"] == {**found.totals(), "optimum": found.summary()}
    table = run(capsys, *TRANSPOSE, "--tile", "32x32")
    assert all(sentence in table for sentence in found.sentences)
    padded = read(capsys, *TRANSPOSE, "--tile", "32x32", "--free", "pad=0..32")
    assert padded["totals"]["optimum"]["expression"] == "row*33 + col"
    listed = read(capsys, *TRANSPOSE, "--tile", "32x32", "--free", "pad=2,3")
    assert listed["totals"]["optimum"]["values"] == {"pad": 3}


def test_expressions_with_free_names_weights_and_swizzles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = read(
        capsys, "--access", "LDS.128: (lane/8)*(LD+pad) + lane%8*4",
        "--access", "4*STS: lane*(LD + pad)", "-D", "LD=32", "--free", "pad=0..32",
        "--free", "swizzle",
    )  # fmt: skip
    accesses = [
        Access("LDS.128", "(lane/8)*(LD+pad) + lane%8*4"),
        Access("STS", "lane*(LD + pad)", weight=4),
    ]
    space = {"pad": range(33), "swizzle": "xor"}
    assert shown["rows"] == optimize(accesses, names={"LD": 32}, space=space).rows()
    # `;` between them is the former way: these accesses have no A and B that it could part.
    for swizzle in ("xor", "cute", "none", "none;Sw<5,0,5>", "none,Sw<5,0,5>", "5,0,5"):
        one = read(capsys, "--access", "LDS: lane*32", "--free", f"swizzle={swizzle}")
        assert one["totals"]["optimum"]["cost"] == (32 if swizzle == "none" else 1)


def test_loops_only_where_they_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    shown = read(capsys, "--access", "LDS: lane + 32*k", "--access", "STS: lane", "--loop", "k=8")
    assert [row["requests"] for row in shown["rows"]] == [8, 1]
    shown = read(capsys, "--access", "LDS: tid", "--loop", "warp=4")
    assert [row["requests"] for row in shown["rows"]] == [4]


def test_a_kernel_and_its_array(capsys: pytest.CaptureFixture[str]) -> None:
    shown = read(
        capsys, "--kernel", "leimao.v07", "--m", "512", "--free", "pad_m=0..16:8",
        "--free", "pad_n=0..16:8",
    )  # fmt: skip
    assert shown["totals"]["optimum"]["values"] == {"pad_m": 8, "pad_n": 8}
    shown = read(
        capsys, "--kernel", "junstar92.vectorized", "--array", "As", "--tile", "8x64",
        "--m", "64", "--n", "128", "--k", "8",
    )  # fmt: skip
    assert shown["totals"]["optimum"]["notation"] == "Sw<3,2,4> o 0 o (8,64):(64,1)"


def test_a_fragment(capsys: pytest.CaptureFixture[str]) -> None:
    shown = read(
        capsys, "--fragment", "thread_tile=8x8", "--fragment", "warp_shape=4x8",
        "--free", "lane_order=row-major,z-order", "--free", "fragment=all",
    )  # fmt: skip
    assert shown["totals"]["optimum"]["cost"] == 8
    assert shown["totals"]["optimum"]["values"]["fragment"] == "split"


def test_a_pair_for_a_and_b_is_one_value(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--fragment", "warp_shape=2x16", "--fragment", "lane_order=row-major")
    for free in ("pad=A=0,B=4", "pad=(A=0,B=4)", "pad=(0,4)", "pad=0;4"):
        found = read(capsys, *words, "--free", free)["totals"]["optimum"]
        assert found["values"] == {"pad": "(0, 4)"}
    for free in ("swizzle=none,Sw<1,2,3>;none", "swizzle=A=1,2,3,B=none", "swizzle=A=none,B=none"):
        read(capsys, *words, "--free", free)
    printed = run(capsys, *words, "--free", "swizzle=1,2,3;none", code=2)
    assert (
        "'3;none' can belong to the value before it or to the one after it"
        " (accepted: A=1,2,3,B=none" in printed
    )
    fixed = read(capsys, *words, "--fragment", "pad=A=0,B=4", "--free", "lds=all")
    assert (
        fixed["rows"]
        == read(capsys, *words, "--fragment", "pad=(0,4)", "--free", "lds=all")["rows"]
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "give exactly one of accesses, kernel and fragment"),
        (("--access", "LDS lane"), "is not OP:INDEX"),
        (("--access", "LDX: lane"), "unknown instruction"),
        (("--access", "LDS: lane+"), "ends too early"),
        (("--access", "0*LDS: lane", "--tile", "8x8"), "is not a count"),
        (("--access", "LDS: lane*ld"), "no value for ld"),
        (("--access", "LDS: lane", "--free", "pad=0..4"), "there is no tile"),
        (("--access", "LDS: lane", "--free", "ld=0..4"), "no parameter 'ld'"),
        (("--access", "LDS: lane*ld", "--free", "ld=4..0"), "has no values"),
        (("--access", "LDS: lane*ld", "--free", "ld=0..4:0"), "'0..4:0' is not a range"),
        (("--access", "LDS: lane*ld", "--free", "ld"), "is not NAME=VALUES"),
        (("--access", "LDS: lane*ld", "--free", "ld=-4..4"), "'-4..4' is not a range"),
        (("--access", "LDS: lane*ld", "--free", "ld=1,,3"), "'1,,3' is not a list of values"),
        (("--access", "LDS: lane*ld", "--free", "ld=1", "--free", "ld=2"), "ld is given twice"),
        (("--access", "LDS: lane, 0", "--tile", "32x32", "--array", "As"), "has no effect"),
        (("--kernel", "leimao.v07", "--free", "pad_m=0,8", "-D", "X=1"), "has no effect"),
        (("--access", "LDS: lane", "-D", "lane=1"), "have their own meaning"),
        (("--access", "LDS: lane", "--loop", "k"), "is not NAME=VALUE"),
        (("--access", "LDS: lane", "--loop", "k=4"), "--loop k: no --access names it"),
        (("--access", "LDS: lane", "--m", "64"), "--m: would have no effect without --kernel"),
        (
            ("--access", "LDS: lane", "--form", "written"),
            "--form: would have no effect without --kernel",
        ),
        (
            ("--fragment", "element=4", "--n", "8", "--k", "8"),
            "--n, --k: would have no effect without --kernel",
        ),
        (("--access", "LDS: lane", "--objective", "x"), "unknown objective"),
        (("--kernel", "leimao.v07", "--loop", "k=2", "--free", "pad_m=0,8"), "is for --access"),
        (("--kernel", "leimao.v7", "--free", "pad_m=0,8"), "did you mean"),
        (("--fragment", "thread_tile", "--free", "fragment=all"), "is not NAME=VALUE"),
        (("--fragment", "thread_tile=8x8", "--free", "swizle=xor"), "did you mean swizzle"),
    ],
)
def test_bad_input_exits_2(
    capsys: pytest.CaptureFixture[str], args: tuple[str, ...], message: str
) -> None:
    assert message in run(capsys, *args, code=2)


def test_the_commands_that_weigh_two_accesses_can_be_pasted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A second access is of the array that the first one declares."""
    assert main(["float s[32][32]; s[tx][ty]; s[ty][tx] = 0"]) == 2
    said = capsys.readouterr().err
    assert "(accepted: one; bankwise optimize --access 'float s[32][32]; s[tx][ty]'" in said
    command = said.partition("; bankwise ")[2].partition(" finds a layout for both")[0]
    assert main(shlex.split(command)) == 0
    assert "1,056 → 64 cycles" in capsys.readouterr().out
    assert main(["float s[32][32]; s[tx][ty]"]) == 0
    line = next(each for each in capsys.readouterr().out.splitlines() if "bankwise opt" in each)
    assert main(shlex.split(line)[1:]) == 0
    assert "1,056 → 64 cycles" in capsys.readouterr().out
    assert (
        main(["optimize", "--access", "float s[32][32]; s[tx][ty]", "--access", "t[tx][ty]"]) == 2
    )
    assert "t is not declared" in capsys.readouterr().err
