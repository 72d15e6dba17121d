"""The lifted machine against the interpreter: the same results, executions and figures."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

from simulator.sass.arguments import argument
from simulator.sass.code.cubin import read_cubin
from simulator.sass.code.nvdisasm import disassemble
from simulator.sass.decode.decoder import lower
from simulator.sass.launch import GridRun as Interpreted
from simulator.sass.lift.program import decode
from simulator.sass.run.grid import GridRun as Lifted
from tests.sass_kernels import HERE, needs_tools

pytestmark = needs_tools

CASES = {case["name"]: case for case in json.loads((HERE / "cases.json").read_text())}


@pytest.mark.parametrize("name", CASES)
def test_both_machines_do_the_same(name: str) -> None:
    case = CASES[name]
    cubin = read_cubin((HERE / "cubins" / case["cubin"]).read_bytes())
    kernel = cubin.kernel(case["kernel"])
    instructions = disassemble(cubin.image, kernel.name)
    args = [argument(text, place) for place, text in enumerate(case["args"])]
    grid, block = ((*case[each], 1, 1)[:3] for each in ("grid", "block"))
    blocks = [(x, y, z) for z, y, x in product(*map(range, reversed(grid)))]
    program = decode(instructions, kernel)
    new = Lifted(cubin, program, grid, block, args, case["shared"])
    old: Any = Interpreted(cubin, lower(instructions, kernel), grid, block, args, case["shared"])
    old.run_all(blocks)
    new.run_all(blocks)
    for left, right in zip(old.outputs(), new.outputs(), strict=True):
        assert np.asarray(left).tobytes() == np.asarray(right).tobytes()
    assert (old.done.executed == new.done.executed).all()
    assert old.done.threads == new.done.threads
    shared = [place for place, site in enumerate(program.sites) if site.space == "shared"]
    assert (old.done.figures == new.done.figures[shared, :5]).all()
