"""`replay_file`: what is refused before anything is compiled; its docstring replays a file."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankwise import replay_compiled, replay_file
from simulator import Chip
from simulator.errors import LaunchError
from tests.sass_kernels import needs_compiler, needs_tools

KERNEL = "__global__ void twice(float* a, int n) { a[threadIdx.x] *= n; }\n"
KERNEL_AND_HOST = (
    "__global__ void one(float* a) {\n  a[threadIdx.x] = 1;\n}\n"
    "int main() {\n  float* a;\n  cudaMalloc(&a, 128);\n  one<<<1, 32>>>(a);\n}\n"
)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (KERNEL, {}, "no launch is in k.cu"),
        (KERNEL, {"kernel": "twise"}, "has no kernel 'twise': did you mean twice"),
        (
            f"{KERNEL}void run(float* a, int n) {{ twice<<<n, 32>>>(a, 5); }}",
            {},
            r"k.cu:2: twice is launched with values that are not known: .*accepted: let=",
        ),
        ("\x7fELF\0\0", {}, "is compiled code, which has no launch"),
    ],
)
def test_what_cannot_be_replayed_is_refused_at_once(
    tmp_path: Path, text: str, options: dict[str, Any], said: str
) -> None:
    file = tmp_path / "k.cu"
    file.write_text(text)
    with pytest.raises(LaunchError, match=said):
        replay_file(file, **options)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"let": [("n", 8)]}, r"let \[\('n', 8\)\] is not a mapping"),
        ({"let": {"n": "8"}}, r"let \{'n': '8'\} is not a name with a number"),
        ({"let": {"n": None}}, r"let \{'n': None\} is not a name with a number"),
        ({"let": {"n": float("nan")}}, r"let \{'n': nan\} is not a name with a number"),
        ({"let": {5: 8}}, r"let \{5: 8\} is not a name with a number"),
        ({"kernel": 3}, "kernel 3 is not a name"),
    ],
)
def test_what_is_not_a_number_or_a_name_is_refused(asked: Any, said: str) -> None:
    with pytest.raises(LaunchError, match=said):
        replay_file("no.cu", **asked)


def test_numbers_of_numpy_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "grid.cu"
    file.write_text(
        "__global__ void k(int n) {}\nint main(int c, char **v) { int n = atoi(v[1]);"
        " k<<<n, 32>>>(n); }"
    )
    (report,) = replay_file(file, let={"n": np.int64(3)})
    assert report.grid == (3, 1, 1)


@pytest.mark.parametrize("chip", ["H200", "RTX 4090"])
def test_host_code_is_told_of_the_chip(tmp_path: Path, chip: str) -> None:
    file = tmp_path / "grid.cu"
    file.write_text(
        "__global__ void k() {}\nint main() { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);"
        " k<<<p.multiProcessorCount, 32>>>(); }"
    )
    (report,) = replay_file(file, chip=chip)
    assert report.grid == (Chip.of(chip).multiprocessors, 1, 1)


def test_what_both_take_is_the_same() -> None:
    """Its docstring says "those of `replay_compiled`": with their types and defaults."""
    ours, others = (signature(each).parameters for each in (replay_file, replay_compiled))
    shared = [name for name in ours if name in others and name != "kernel"]
    assert len(shared) == 9
    for name in shared:
        assert ours[name] == others[name]


@needs_tools
@needs_compiler
@pytest.mark.parametrize(
    "text",
    [KERNEL_AND_HOST.encode("utf-8-sig"),
     b"// caf\xe9, \xc4\xe3\xba\xc3\r\n" + KERNEL_AND_HOST.replace("\n", "\r\n").encode(),
     b'#include "own.h"\n' + KERNEL_AND_HOST.encode()],
)  # fmt: skip
def test_a_source_need_not_be_plain_utf_8(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "own.h").write_bytes(b"\xef\xbb\xbf// gr\xfc\xdfe\n")
    (tmp_path / "k.cu").write_bytes(text)
    (report,) = replay_file(tmp_path / "k.cu")
    assert (report.outputs[0] == 1).all()
