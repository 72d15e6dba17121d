"""A kernel that Triton made: its layout is said as Triton's compiler has it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("elftools")

from bankwise import triton as replaying
from tests import gluon_kernels as kernels

pytestmark = pytest.mark.slow


def test_a_layout_of_triton_is_said_in_its_words() -> None:
    data = np.arange(4096, dtype=np.float32).reshape(64, 64)
    turned = np.zeros_like(data)
    with replaying() as launches:
        kernels.transpose[1,](data, turned, N=64)
    assert (turned == data.T).all()
    (report,) = launches
    (fix,) = report.fixes()
    assert fix.triton == "#ttg.padded_shared<[256:+4] {order = [1, 0]}>"
    assert (fix.before.bank_conflicts, fix.after.bank_conflicts) == (3968, 384)
    assert fix.proved
    swizzled = fix.alternatives[0]
    assert swizzled.after == fix.after
    assert f"Triton, of rows of 256 elements: {swizzled.triton}." in swizzled.sentences
