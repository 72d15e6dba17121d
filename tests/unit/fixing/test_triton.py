"""A kernel that Triton made: its layout is said as Triton's compiler has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("elftools")

from triton._C.libtriton import ir

from bankwise import triton as replaying
from layouts.tile import Tile
from tests import gluon_kernels as kernels
from tests.unit.fixing.test_triton_layouts import SAID

pytestmark = pytest.mark.slow


def test_a_layout_of_triton_is_said_in_its_words() -> None:
    data = np.arange(4096, dtype=np.float32).reshape(64, 64)
    turned = np.zeros_like(data)
    with replaying() as launches:
        kernels.transpose[1,](data, turned, N=64)
    assert (turned == data.T).all()
    (report,) = launches
    (fix,) = report.fixes()
    assert fix.triton == "#ttg.padded_shared<[256:+4] {order = [1, 0], shape = [16, 256]}>"
    assert (fix.before.bank_conflicts, fix.after.bank_conflicts) == (3968, 384)
    assert fix.proved
    swizzled = fix.alternatives[0]
    assert swizzled.after == fix.after
    assert (
        f"Triton, of 16 rows of 256 elements of 4 bytes: {swizzled.triton}." in swizzled.sentences
    )


@pytest.mark.parametrize("tile", SAID, ids=str)
def test_tritons_compiler_reads_what_is_said(tile: Tile, tmp_path: Path) -> None:
    file = tmp_path / "layout.ttgir"
    kind = f"!ttg.memdesc<{tile.rows}x{tile.cols}xf32, #shared, #ttg.shared_memory>"
    file.write_text(
        f'#shared = {SAID[tile]}\nmodule attributes {{"ttg.num-ctas" = 1 : i32,'
        f' "ttg.num-warps" = 4 : i32}} {{\n  tt.func private @f({kind})\n}}\n'
    )
    context = ir.context()
    ir.load_dialects(context)
    assert SAID[tile] in str(ir.parse_mlir_module(str(file), context))
