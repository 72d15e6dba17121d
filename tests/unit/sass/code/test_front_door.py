"""What is given in place of a source: no pipe is waited for, and no text is read without an end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from simulator.errors import CompileError, CubinError
from simulator.sass.code.images import load
from simulator.sass.code.preprocessor import branches, directives, left_out
from simulator.sass.found import is_source, launches_in

pytest.importorskip("tree_sitter_cuda")

KERNEL = "__global__ void k(float *a) { a[0] = 1; }\nint main() { k<<<1, 32>>>(0); }\n"


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """It was waited for, without an end."""
    pipe = tmp_path / "pipe.cu"
    os.mkfifo(pipe)
    with pytest.raises(CubinError, match=r"pipe\.cu is a pipe, a socket or a device \(accepted"):
        is_source(pipe)
    with pytest.raises(CubinError, match="is a pipe"):
        load(pipe, "sm_90", None)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_a_device_is_refused(tmp_path: Path) -> None:
    """All of it was read, until the memory was full."""
    (tmp_path / "zero.cu").symlink_to("/dev/zero")
    with pytest.raises(CubinError, match="or a device"):
        is_source(tmp_path / "zero.cu")


def test_a_source_that_is_too_long_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """Its host code was read first, which took minutes for 50 MB on one line."""
    file = tmp_path / "long.cu"
    file.write_text(f"{KERNEL}// {'x' * 5_000_000}\n")
    with pytest.raises(CompileError, match=r"long\.cu has 5\d{6} characters .*accepted: up to 4"):
        launches_in(file)


def test_deep_conditionals_are_read() -> None:
    """Each line asked all the conditionals around it: 200,000 of them took more than 100 s."""
    text = "#if 1\n" * 20_000 + KERNEL
    lines = directives(text)
    assert branches(text, lines, last=False).strip() == KERNEL.strip()
    assert left_out(text, lines, {}).endswith(KERNEL)


@pytest.mark.parametrize("last", [False, True])
def test_a_branch_inside_one_that_is_left_out_is_left_out(last: bool) -> None:
    text = "#if 0\n#if 1\nint a;\n#endif\nint b;\n#else\nint c;\n#endif\nint d;"
    assert branches(text, directives(text), last).split() == ["int", "c;", "int", "d;"]
    asked = text.replace("#if 0", "#ifdef A")
    left = left_out(asked, directives(asked), {})
    assert [name for name in "abcd" if f"int {name};" in left] == ["c", "d"]
