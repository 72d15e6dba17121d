"""What a kernel asks of the system: printf, malloc, free, assert; variables that nobody set."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import ExecutionError
from simulator.sass.report import CompiledReport
from simulator.sass.run.system import formatted
from tests.sass_kernels import needs_tools

CUBIN = (Path(__file__).parent / "system.cubin").read_bytes()


def run(kernel: str, args: list[Any], **more: Any) -> CompiledReport:
    launch = {"grid": 1, "block": 32, "kernel": kernel, "args": args, **more}
    return replay_compiled(CUBIN, **launch)


@needs_tools
def test_what_a_kernel_prints_is_in_the_report() -> None:
    report = run("prints", [np.arange(32, dtype=np.int32)], grid=2)
    lines = tuple(f"{i}: {1.5 * i:5.2f}|ab  |z% 10000000000 3" for i in range(3))
    assert report.printed == lines * 2
    text = report.table().text
    assert text[1:4] == ["The kernel printed, in 2 blocks:", *(f"  {each}" for each in lines[:2])]


@needs_tools
def test_malloc_gives_memory_until_there_is_none() -> None:
    out = run("takes", [np.zeros(32, np.int32), np.uint64(64)]).outputs[0]
    assert out.tolist() == [1 + i for i in range(32)]
    out = run("takes", [np.zeros(32, np.int32), np.uint64(1 << 20)]).outputs[0]
    assert out.tolist() == [1 + i if i < 8 else 0 for i in range(32)]


@needs_tools
def test_an_assert_that_fails_says_what_and_where() -> None:
    run("fails", [np.zeros(32, np.int32)])
    with pytest.raises(
        ExecutionError, match=r"a\[threadIdx.x\] < 7, in .*fails.*system.cu:23"
    ) as no:
        run("fails", [np.arange(32, dtype=np.int32)])
    assert "thread (7, 0, 0)" in str(no.value)


@needs_tools
def test_a_variable_that_is_read_and_was_never_set_gives_a_note() -> None:
    out = np.zeros(32, np.float32)
    (note,) = run("reads", [out]).notes
    assert note.startswith(
        "the variable unset is read and was never set: it is zero (set it: --set"
    )
    report = run("reads", [out], symbols={"unset": np.arange(32, dtype=np.int32)})
    assert report.notes == ()
    assert report.outputs[0].tolist() == [2 * i + 32 for i in range(32)]


def _taking(*values: bytes) -> Iterator[bytes]:
    return iter(values)


@pytest.mark.parametrize(
    ("text", "data", "printed"),
    [
        ("no arguments 100%%", [], "no arguments 100%"),
        ("%i|%+d|% d|%05d", [b"\xff\xff\xff\xff", *[b"\7\0\0\0"] * 3], "-1|+7| 7|00007"),
        ("%u|%x|%X|%#x|%o|%#o", [b"\xff\xff\xff\xff", *[b"\x1f\0\0\0"] * 5],
         "4294967295|1f|1F|0x1f|37|037"),
        ("%ld|%zu", [b"\xfe" + b"\xff" * 7] * 2, "-2|18446744073709551614"),
        ("%hd|%hhd", [b"\xff\xff\0\0", b"\x80\1\0\0"], "-1|-128"),
        ("%e|%8.3f|%-8g|%a", [struct.pack("<d", 0.5)] * 4,
         "5.000000e-01|   0.500|0.5     |0x1.0000000000000p-1"),
        ("%f", [struct.pack("<d", float("inf"))], "inf"),
        ("%*d|%.*f", [b"\4\0\0\0", b"\1\0\0\0", b"\1\0\0\0", struct.pack("<d", 2.25)], "   1|2.2"),
        ("%.*f|%.*d",
         [b"\xff\xff\xff\xff", struct.pack("<d", 2.25), b"\xfe\xff\xff\xff", b"\7\0\0\0"],
         "2.250000|7"),
        ("%p|%5c|%5s", [b"\x10" + b"\0" * 7, b"a\0\0\0", b"\0" * 8], "0x10|    a|    @"),
        ("%q and 5%", [], "%q and 5%"),
    ],
)  # fmt: skip
def test_printf_prints_as_c_does(text: str, data: list[bytes], printed: str) -> None:
    values = _taking(*data)
    assert formatted(text, lambda size: next(values), lambda at: "@") == printed
    assert next(values, None) is None
