"""A listing is read as nvdisasm's JSON has it, which the simulator does without."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from simulator.errors import CubinError
from simulator.sass.code.nvdisasm import disassemble, tool
from tests.sass_kernels import cubin, needs_tools

pytestmark = [needs_tools, pytest.mark.usefixtures("afresh")]


def plain(operands: str) -> str:
    """Operands without remarks, blanks and commas.

    nvdisasm 13.0 loses or moves a comma in JSON, and the order of operands with brackets.
    """
    text = re.sub(r"\(\*.*?\*\)|[\s,]", "", operands)
    return "".join(sorted(text)) if "[" in text else text


@pytest.mark.parametrize(
    "name",
    [
        "softmax",  # calls and returns
        pytest.param("bitonic", marks=pytest.mark.slow),  # labels; predicates in a register
        pytest.param("divergent", marks=pytest.mark.slow),  # a table of targets
        pytest.param("tensor_gemm", marks=pytest.mark.slow),
    ],
)
def test_it_is_what_the_json_has(name: str, tmp_path: Path) -> None:
    path = tmp_path / "image.cubin"
    path.write_bytes(cubin(name))
    printed = subprocess.run(
        [tool("nvdisasm"), "-json", str(path)], capture_output=True, check=True
    )
    for function in json.loads(printed.stdout)[1]:
        found = disassemble.__wrapped__(cubin(name), function["function-name"])
        entries = function["sass-instructions"]
        assert [each.address for each in found] == list(range(0, 16 * len(entries), 16))
        for each, entry in zip(found, entries, strict=True):
            guard = entry.get("predicate", "")
            assert each.guard == (guard if guard.startswith("@") else "")  # PR, of P2R
            assert each.opcode == entry["opcode"]
            assert plain(each.operands) == plain(entry.get("operands", "")), each


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(CubinError, match="does not show a kernel 'nobody'"):
        disassemble(cubin("softmax"), "nobody")
