"""Compiling CUDA source."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import (
    CompileError,
)
from tests.sass_kernels import TURN, needs_compiler

pytestmark = needs_compiler

ODD = ['a"b', "a\\\\b", "a\nb", "é λ", "%s${x}", "a'b"]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", ["file", "folder"])
def test_any_file_name_compiles(tmp_path: Path, odd: str, place: str) -> None:
    folder = tmp_path / odd if place == "folder" else tmp_path
    folder.mkdir(exist_ok=True)
    (folder / "size.h").write_text("#define SIZE 32\n")
    path = folder / (f"{odd}.cu" if place == "file" else "turn.cu")
    path.write_text(f'#include "size.h"\n{TURN.replace("* 32", "* SIZE")}')
    a = np.zeros((32, 32), np.float32)
    options = {
        "kernel": "turn", "grid": 1, "block": (32, 32), "args": [a, a, np.int32(32)],
        "shared_bytes": 4096,
    }  # fmt: skip
    rows = replay_compiled(path, **options).instructions
    assert set(rows["file"]) == {str(path)}
    places = zip(rows["opcode"], rows["line"], rows["space"], strict=True)
    shared = [(opcode, line) for opcode, line, space in places if space == "shared"]
    assert shared == [("STS", 6), ("LDS", 8)]
    path.write_text("__global__ void k() { nothing; }")
    with pytest.raises(CompileError) as caught:
        replay_compiled(path, **options)
    assert f"{path}(1)" in str(caught.value)
