"""Tensor maps: every recorded call of the driver, and what tensormap.replace writes."""

from __future__ import annotations

import gzip
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.errors import TensorMapError
from simulator.sass.run.map_fields import CHOICES, ELEMENT_TYPES, MapFields
from simulator.sass.run.map_rules import broken_rules
from simulator.sass.run.tensor_map import CLEARED, FIELDS, decode, encode
from tests.sass_kernels import needs_compiler

DATA = Path(__file__).parents[3] / "silicon" / "hopper" / "tensor_maps.json.gz"
ENUMS = {"interleave": "interleave", "swizzle": "swizzle", "l2": "l2_promotion", "fill": "fill"}


@lru_cache
def recorded() -> list[dict[str, Any]]:
    return json.loads(gzip.decompress(DATA.read_bytes()))["rows"]


def fields_of(row: dict[str, Any]) -> MapFields:
    """The driver's arguments; a number outside an enumeration stays a number."""
    names = list(ELEMENT_TYPES)
    choices: dict[str, Any] = {}
    for given, name in ENUMS.items():
        values = dict(CHOICES)[name]
        choices[name] = values[row[given]] if row[given] < len(values) else row[given]
    shape = {
        name: tuple(row[name]) if isinstance(row[name], list) else row[name]
        for name in ("box", "lower", "upper", "channels", "pixels")
        if name in row
    }
    return MapFields(
        element=names[row["dtype"]] if row["dtype"] < len(names) else str(row["dtype"]),
        kind=row["kind"], address=row["address"], sizes=tuple(row["dims"]),
        strides=tuple(row["strides"]), element_strides=tuple(row["element_strides"]),
        **choices, **shape,
    )  # fmt: skip


def accepted_rows() -> list[dict[str, Any]]:
    return [row for row in recorded() if not row["status"]]


def test_encoded_bytes_equal_the_drivers() -> None:
    rows = accepted_rows()
    assert len(rows) == 1394
    for row in rows:
        assert encode(fields_of(row)).hex() == row["bytes"], row


def test_decoding_gives_the_arguments_back() -> None:
    for row in accepted_rows():
        assert decode(bytes.fromhex(row["bytes"])) == fields_of(row), row


# Which rule an argument that alone is wrong may break, where the name says it differently.
VARIED = {
    "dtype": {"element", "box row"},
    "address": {"address", "address alignment"},
    "dims": {"size", "bounding box"},
    "strides": {"stride", "stride alignment"},
    "element_strides": {"element stride"},
    "box": {"box size", "box row", "box bytes"},
    "interleave": {"interleave", "rank"},
    "swizzle": {"swizzle", "rank"},
    "l2": {"l2_promotion"},
    "fill": {"fill"},
    "lower": {"corner", "bounding box"},
    "upper": {"corner", "bounding box"},
    "channels": {"channels", "box row"},
    "pixels": {"pixels"},
}


def test_every_refused_call_is_refused_by_the_rule_of_the_argument_that_was_varied() -> None:
    refused = [row for row in recorded() if row["status"]]
    assert len(refused) == 590
    bases = {(row["kind"], len(row["dims"])): row for row in reversed(recorded()[:3])}
    named = 0
    for row in refused:
        with pytest.raises(TensorMapError) as caught:
            encode(fields_of(row))
        assert caught.value.rule in str(caught.value)
        base = bases.get((row["kind"], len(row["dims"])), {})
        varied = [name for name in VARIED if name in row and row[name] != base.get(name)]
        if len(varied) == 1:
            assert caught.value.rule in VARIED[varied[0]], (row, caught.value)
            named += 1
    assert named == 239


def test_what_the_driver_accepts_breaks_no_rule() -> None:
    for row in accepted_rows():
        assert not list(broken_rules(fields_of(row))), row


@pytest.mark.parametrize("image", [b"", bytes(127), (1 << 1000).to_bytes(128, "little")])
def test_bytes_that_are_not_a_map_are_refused(image: bytes) -> None:
    with pytest.raises(TensorMapError):
        decode(image)


@pytest.mark.parametrize("bit", [65, 83, 85, 86, 90, 431, 545, 640, 1023])
def test_a_bit_of_unknown_meaning_is_refused(bit: int) -> None:
    image = int.from_bytes(bytes.fromhex(accepted_rows()[0]["bytes"]), "little") | 1 << bit
    with pytest.raises(TensorMapError, match=f"bit {bit} "):
        decode(image.to_bytes(128, "little"))


def test_a_number_of_values_that_is_not_the_rank_is_refused() -> None:
    with pytest.raises(TensorMapError, match="strides"):
        MapFields("float16", 0, (64, 64), (), (1, 1), (8, 8))


# tensormap.replace, compiled: which bits each form stores.
FORMS = [
    ("global_address", "b64", "l", ["address"], 0), ("rank", "b32", "r", ["rank"], 0),
    ("elemtype", "b32", "10", ["type"], 0), ("elemtype", "b32", "11", ["type", "tfloat32"], 0),
    ("interleave_layout", "b32", "2", ["interleave"], 0),
    ("swizzle_mode", "b32", "3", ["swizzle"], 0), ("fill_mode", "b32", "1", ["fill"], 0),
    *[("box_dim", "b32", "r", ["box"], axis) for axis in range(5)],
    *[("global_dim", "b32", "r", ["size"], axis) for axis in range(5)],
    *[("global_stride", "b64", "l", ["stride", "stride_high"], axis) for axis in range(4)],
    *[("element_stride", "b32", "r", ["element_stride"], axis) for axis in range(5)],
]  # fmt: skip
CALL = """    asm volatile("tensormap.replace.tile.{field}.shared::cta.b1024.{width} "
                 "[%0], {axis}{value};"
                 :: "r"(a){operand} : "memory");"""


@needs_compiler
def test_tensormap_replace_writes_the_bits_of_the_table() -> None:
    from simulator.sass.code.compiling import compile_source
    from simulator.sass.code.nvdisasm import disassemble

    calls = ""
    for number, (field, width, value, _, axis) in enumerate(FORMS):
        operand = value in "lr"
        calls += CALL.format(
            field=field, width=width, value="%1" if operand else value,
            axis=f"{axis}, " if "dim" in field or "stride" in field else "",
            operand=f', "{value}"({value})' if operand else "",
        ).replace("(a)", f"(a + {128 * number})") + "\n"  # fmt: skip
    source = (
        'extern "C" __global__ void k(unsigned long long l, unsigned r) {\n'
        "    extern __shared__ char s[]; unsigned a = __cvta_generic_to_shared(s);\n" + calls + "}"
    )
    stored = stored_bits(disassemble(compile_source(source, "sm_90a", "replace.cu").cubin, "k"))
    cleared = {"global_address": CLEARED[0].put(-1), "swizzle_mode": CLEARED[1].put(-1)}
    for number, (field, _, _, names, axis) in enumerate(FORMS):
        wanted = cleared.get(field, 0)
        for name in names:
            wanted |= FIELDS[name].put(-1, axis)
        if field == "global_address":
            wanted |= (1 << 64) - 1  # it stores all 64 bits
        assert stored >> 1024 * number & ((1 << 1024) - 1) == wanted, (field, axis)


def stored_bits(instructions: Any) -> int:
    """The bits of shared memory that change: those of LOP3's masks, or all that a store writes."""
    masks: dict[str, int] = {}
    constants: dict[str, int] = {}
    written = 0
    for each in instructions:
        operands = [text.replace(".reuse", "") for text in each.operands.split(",")]
        if each.opcode == "LOP3.LUT":
            # 0xb8: the immediate is the mask. 0xd8: it is the value, and a register the mask.
            mask = int(operands[2], 16)
            if operands[4] == "0xd8":
                assert mask & ~constants[operands[3]] == 0
                mask = constants[operands[3]]
            masks[operands[0]] = masks.get(operands[1], 0) | mask
        elif each.opcode.startswith("STS"):
            offset = re.search(r"\+0x([0-9a-f]+)", operands[0])
            bits = 64 if ".64" in each.opcode else 32
            mask = masks.get(operands[1], (1 << bits) - 1)
            written |= mask << 8 * (int(offset[1], 16) if offset else 0)
        else:
            masks.pop(operands[0], None)
            if each.opcode in ("MOV", "IMAD.MOV.U32") and operands[-1].startswith("0x"):
                constants[operands[0]] = int(operands[-1], 16)
            elif each.opcode.startswith("HFMA2"):
                low, high = (np.float16(text).view(np.uint16) for text in operands[-1:-3:-1])
                constants[operands[0]] = int(high) << 16 | int(low)
    return written
