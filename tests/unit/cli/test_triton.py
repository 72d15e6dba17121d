"""`bankwise sass --triton`: kernels by name, scripts, lists; skipped without Triton."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from simulator.cli import main

pytest.importorskip("triton")
pytest.importorskip("elftools")

KERNELS = str(Path(__file__).parents[2] / "triton_kernels.py")
ADD = [
    "sass", "--triton", f"{KERNELS}:add", "--arg", "random:f32[1000]", "--arg", "random:f32[1000]",
    "--arg", "zeros:f32[1000]", "--arg", "i32=1000",
]  # fmt: skip


def test_a_kernel_is_launched_by_name_with_a_grid_in_c(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = ["--grid", "(n + BLOCK - 1) / BLOCK", "--constexpr", "BLOCK=128", "--warps", "2"]
    assert main([*ADD, *grid, "--blocks", "all", "--save-outputs", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "add (sm_90), grid 8x1x1, block 64x1x1" in said
    assert "n i32, BLOCK=128, num_warps=2" in said
    assert "tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)" in said
    x, y, total = (np.load(tmp_path / f"argument_{place}.npy") for place in range(3))
    np.testing.assert_array_equal(total, x + y)


def test_a_signature_gives_constants_and_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    grid = ["--grid", "8", "--signature"]
    assert main([*ADD, *grid, "*fp32:16,*fp32,*fp32,i32,128"]) == 0
    assert "BLOCK=128" in capsys.readouterr().out
    for signature, said in (
        ("*fp16,*fp32,*fp32,i32,128", "has *fp16 for x, and Triton launches it with *fp32"),
        ("*fp32,*fp32,*fp32,i64,128", "has i64 for n, and Triton launches it with i32"),
        ("*fp32,*fp32,*fp32,128", "4 entries for the parameters x, y, out, n, BLOCK"),
        ("*fp32,*fp23,*fp32,i32,128", "'*fp23' in a signature"),
    ):
        assert main([*ADD, *grid, signature]) == 2
        assert said in capsys.readouterr().err


TUNED = ["sass", "--triton", f"{KERNELS}:tuned_sum", "--grid", "(n + BLOCK - 1) / BLOCK",
         "--arg", "random:f32[1000]", "--arg", "zeros:f32[1]", "--arg", "i32=1000",
         "--format", "json"]  # fmt: skip


def test_all_configurations_are_told_or_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(TUNED) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["grid"] for row in rows} == {"8x1x1", "4x1x1"}
    assert main([*TUNED, "--config", "BLOCK=256"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["grid"] for row in rows} == {"4x1x1"}


def test_a_script_runs_and_its_launches_are_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def double(x, BLOCK: tl.constexpr):\n"
        "    at = tl.arange(0, BLOCK)\n"
        "    tl.store(x + at, 2 * tl.load(x + at))\n"
        "x = np.ones(64, np.float32)\n"
        "double[1,](x, BLOCK=64)\n"
        "double[1,](x, BLOCK=64)\n"
        "assert (x == 4).all()\n"
    )
    assert main(["sass", "--triton", str(script), "--by", "line"]) == 0
    assert capsys.readouterr().out.count("double (sm_90), grid 1x1x1") == 2
    assert main(["sass", "--triton", str(script), "--grid", "4"]) == 2
    assert "runs the script's own launches" in capsys.readouterr().err
    # Its kernel is found although the script goes on to launch it.
    kernel = ["sass", "--triton", f"{script}:double", "--arg", "zeros:f32[32]"]
    assert main([*kernel, "--constexpr", "BLOCK=32"]) == 0
    assert "BLOCK=32" in capsys.readouterr().out
    script.write_text("raise KeyError('so')\n")
    assert main(["sass", "--triton", str(script)]) == 2
    assert "KeyError: 'so'" in capsys.readouterr().err


def test_a_script_may_hold_a_with_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "own.py"
    text = (
        "import bankwise, numpy as np\n"
        "from tests.triton_kernels import add\n"
        "x, y = np.ones(1000, np.float32), np.zeros(1000, np.float32)\n"
        "with bankwise.triton() as launches:\n"
        "    add[8,](x, x, y, 1000, BLOCK=128, num_warps=2)\n"
        "assert (y == 2).all() and len(launches) == 1  # all blocks ran\n"
    )
    script.write_text(text)
    assert main(["sass", "--triton", str(script), "--by", "line"]) == 0
    assert capsys.readouterr().out.count("add (sm_90), grid 8x1x1") == 1
    script.write_text(text.replace("triton()", "triton(arch='sm_80')"))
    assert main(["sass", "--triton", str(script)]) == 2
    said = capsys.readouterr().err
    assert "bankwise.triton(arch='sm_80') in a script that is replayed with arch='sm_90'" in said
    assert "run the script with python" in said
    assert main(["sass", "--triton", str(script), "--list"]) == 0


def test_kernels_of_a_file_are_listed_with_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sass", "--triton", KERNELS, "--list"]) == 0
    said = capsys.readouterr().out
    assert "layer_norm(x, out, weight, bias, cols, eps, BLOCK: tl.constexpr)" in said
    assert f"bankwise sass --triton {KERNELS}:layer_norm --grid '<grid>' --arg '<x>'" in said
    assert "--config 1: BLOCK_M: 32, BLOCK_N: 64" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--triton", f"{KERNELS}:ad"], "has no Triton kernel 'ad': did you mean add?"),
        (["--triton", "nothing_here:add"], "No module named 'nothing_here'"),
        (["--triton", "kernels"], "accepted: module:kernel, file.py:kernel, or file.py"),
        ([*ADD[1:], "--constexpr", "BLOCK"], "accepted: BLOCK=64, ACTIVATION=leaky_relu"),
        ([*ADD[1:]], "constants without a value: BLOCK"),
        ([*ADD[1:5], "--constexpr", "BLOCK=64"], "1 arguments for 4 parameters (x, y, out, n)"),
        ([*ADD[1:], "--constexpr", "BLOCK=64", "--constexpr", "BLOK=1"], "did you mean BLOCK?"),
        ([*ADD[1:], "--constexpr", "BLOCK=65"], "add does not compile"),
        ([*ADD[1:], "--constexpr", "BLOCK=64", "--grid", "m / BLOCK"], "unknown name 'm'"),
        ([*ADD[1:], "--constexpr", "BLOCK=tl.flaot"], "'tl.flaot' is not in triton.language"),
    ],
)  # fmt: skip
def test_what_cannot_be_launched_is_said(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sass", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_compiled_kernel_whose_lines_cannot_be_right_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A load of 16 bytes at line 9 was shown at line 12, which is blank, without a note."""
    path = tmp_path / "own.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def k(x, y, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n    m = i < n\n"
        "    a = tl.load(x + i, mask=m, other=0.0)\n\n\n\n    tl.store(y + i, a, mask=m)\n"
    )
    given = ["--arg", "random:f32[1024]", "--arg", "zeros:f32[1024]", "--arg", "i32=1024"]
    assert main(["sass", "--triton", f"{path}:k", *given, "--constexpr", "B=1024"]) == 0
    assert (
        "own.py has nothing in its line 12, which the code names: lines near it are not sure"
        in (capsys.readouterr().out)
    )
