"""Reading accesses from expressions, CSV, NPY and NPZ."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pytest

from simulator import AddressError, BankwiseError, InstructionError, MaskError, count
from simulator.errors import ExpressionError, InputError, OptionError
from simulator.inputs.asked import read
from simulator.inputs.files import Accesses, asked_accesses, from_data

LINEAR = [4 * lane for lane in range(32)]
HEADER = ",".join(f"lane{lane}" for lane in range(32))
ROW = ",".join(map(str, LINEAR))


def from_expression(text: str, op: str, **options: Any) -> Accesses:
    return asked_accesses(read(text, op, **options))


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_an_expression_is_an_index_of_elements() -> None:
    found = from_expression("(lane/8)*132 + (lane%8)*4", "LDS.128", element=4)
    assert found.ops == ["LDS.128"]
    assert found.masks is None
    assert found.addresses.tolist() == [
        [4 * (lane // 8 * 132 + lane % 8 * 4) for lane in range(32)]
    ]
    assert from_expression("lane", "LDS", element=2).addresses[0, 3] == 6


def test_each_warp_is_an_access() -> None:
    found = from_expression("tid*ld + warp", "LDS", warps=range(1, 3), names={"ld": 5})
    assert found.addresses.tolist() == [
        [4 * ((32 * warp + lane) * 5 + warp) for lane in range(32)] for warp in (1, 2)
    ]


def test_inactive_lanes_are_not_evaluated() -> None:
    found = from_expression("64/lane", "LDS", active="lane > 0", mask=0xFF)
    assert found.masks is not None
    assert found.masks.tolist() == [0xFE]
    assert found.addresses[0, 1] == 256
    with pytest.raises(ExpressionError, match="division by zero"):
        from_expression("64/lane", "LDS")
    with pytest.raises(MaskError, match="mask 0x100000000 is not 32 bits"):
        from_expression("lane", "LDS", mask=2**32)


def test_instructions_are_grouped_by_their_sass_name() -> None:
    found = from_data(f"op,{HEADER}\nLDS,{ROW}\nSTS,{ROW}\nlds.32,{ROW}".encode(), "f")
    groups = {op: where.tolist() for op, where in found.by_op().items()}
    assert groups == {"LDS": [0, 2], "STS": [1]}
    with pytest.raises(InstructionError, match="unknown instruction 'LDX'"):
        from_data(f"op,{HEADER}\nLDX,{ROW}".encode(), "f").by_op()


@pytest.mark.parametrize(
    "text",
    [
        ROW,
        f"{HEADER}\n{ROW}\n",
        f"\ufeff{HEADER.upper()}\r\n\r\n{ROW}\r\n",
        ",".join(map(hex, LINEAR)),
        ",".join(map(str, range(32))) + f"\n{ROW}",
    ],
)
def test_csv(text: str) -> None:
    found = from_data(text.encode(), "f.csv", op="LDS", mask=0xF)
    assert found.addresses.tolist()[-1] == LINEAR
    assert found.masks is not None
    assert set(found.masks.tolist()) == {0xF}


def test_csv_columns_may_come_in_any_order() -> None:
    header = ",".join(f"lane{lane}" for lane in reversed(range(32)))
    row = ",".join(map(str, reversed(LINEAR)))
    found = from_data(f"mask,{header},op\n0xff,{row},STS".encode(), "f")
    assert found.addresses.tolist() == [LINEAR]
    assert found.ops == ["STS"]
    assert found.masks is not None
    assert found.masks.tolist() == [255]


def test_arrays() -> None:
    assert from_data(npy(np.array(LINEAR)), "f", op="LDS").addresses.shape == (1, 32)
    assert from_data(npy(np.array([[LINEAR] * 2] * 3)), "f", op="LDS").addresses.shape == (6, 32)
    found = from_data(npz(op=["LDS", "STS"], mask=[1, 2], address=[LINEAR] * 2, extra=[0]), "f")
    assert found.ops == ["LDS", "STS"]
    assert found.masks is not None
    assert found.masks.tolist() == [1, 2]


def test_names_of_instructions_may_be_bytes() -> None:
    assert from_data(npz(op=np.array([b"LDS"]), address=[LINEAR]), "f").ops == ["LDS"]


def test_integers_beyond_64_bits_reach_the_check() -> None:
    row = ",".join(map(str, [2**63, -1, *LINEAR[2:]]))
    found = from_data(row.encode(), "f", op="LDS", mask=0b100)
    assert count("LDS", found.addresses, found.masks).wavefronts.tolist() == [1]
    with pytest.raises(AddressError, match=f"address {2**63} of lane 0 of access 0 is outside"):
        count("LDS", found.addresses)


def test_unknown_names_are_found_even_if_no_lane_needs_them() -> None:
    with pytest.raises(ExpressionError, match="unknown name 'foo'"):
        from_expression("foo", "LDS", mask=0)
    with pytest.raises(ExpressionError, match="unknown name 'foo'"):
        from_expression("lane", "LDS", active="1 || foo")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"", {"op": "LDS"}, "f is empty (accepted: CSV with 32 byte addresses per row"),
        (HEADER.encode(), {"op": "LDS"}, "f is empty"),
        (b"1,2,3", {"op": "LDS"}, "f, row 1: 3 cells, not 32"),
        (f"{HEADER}\n{ROW},5".encode(), {"op": "LDS"}, "f, row 2: 33 cells, not 32"),
        (b"a,b\n1,2", {"op": "LDS"}, "f has the columns 'a, b' (accepted: CSV with 32 byte"),
        (f"{HEADER},lane3\n{ROW},1".encode(), {"op": "LDS"}, "f has the columns 'lane0, lane1"),
        (f"{HEADER}\n{ROW.replace('124', '1e2')}".encode(), {"op": "LDS"},
         "f, row 2, column lane31: '1e2' is not an integer (accepted: decimal or 0x numbers)"),
        (f"{HEADER}\n{ROW.replace('0,4', '0,')}".encode(), {"op": "LDS"}, "column lane1: ''"),
        (b"\xff\xfe\x00", {"op": "LDS"},
         "cannot be read: \"UnicodeDecodeError: 'utf-8' codec can't decode"),
        (b'"unclosed', {"op": "LDS"}, "f cannot be read: 'Error: unexpected end of data'"),
        (b"\x93NUMPY", {"op": "LDS"}, "f cannot be read: "),
        (npy(np.array(LINEAR))[:-9], {"op": "LDS"}, "f cannot be read: "),
        (b"PK\x03\x04 no zip", {"op": "LDS"},
         "f cannot be read: 'BadZipFile: File is not a zip file'"),
        (npy(np.array([{}] * 32, dtype=object)), {"op": "LDS"},
         "f cannot be read: 'ValueError: Object arrays"),
        (zipped("address.npy", b"hello"), {"op": "LDS"}, "f has the arrays ['address']"),
        (zipped("address", b"hello"), {"op": "LDS"}, "f has the arrays ['address']"),
        (npy(np.zeros((1, 32), int)).replace(b"(1, 32)", b"(2**70)"), {"op": "LDS"},
         "f cannot be read: "),
        (f"{'x' * 50_000},{HEADER}\n".encode(), {"op": "LDS"}, "xxx... (accepted: CSV"),
        (npy(np.zeros(31, int)), {"op": "LDS"}, "f has addresses of shape (31,)"),
        (npz(addr=[LINEAR]), {"op": "LDS"}, "f has the arrays ['addr'] (accepted: CSV"),
        (npz(address=[LINEAR], mask=[1, 2]), {"op": "LDS"},
         "f: mask has shape (2,) (accepted: (1,))"),
        (ROW.encode(), {}, "f does not name its instruction (accepted: --op, or a column op)"),
        (npz(address=[LINEAR], op=["LDS"]), {"op": "STS"},
         "f has its own instructions, and --op STS was given (accepted: only one of them)"),
        (npz(address=[LINEAR], mask=[1]), {"op": "LDS", "mask": 3},
         "f has its own masks, and --mask 0x3 was given (accepted: only one of them)"),
    ],
)  # fmt: skip
def test_refusals(data: bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        from_data(data, "f", **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
    assert isinstance(caught.value, BankwiseError)


@pytest.mark.parametrize("element", [0, -4, 17, 2**62, 1.5, True])
def test_an_element_that_has_no_such_size_is_refused(element: Any) -> None:
    with pytest.raises(OptionError, match=r"is not a size \(accepted: 1 to 16 bytes\)"):
        from_expression("lane", "LDS", element=element)
    assert read("lane", "LDS", element=None).element == 4  # as if it were not given


def test_names_of_instructions_that_are_not_ascii() -> None:
    data = io.BytesIO()
    np.savez(data, address=np.zeros((1, 32), int), op=np.array([b"\xff"]))
    with pytest.raises(InputError, match=r"a: op holds bytes that are not ASCII"):
        from_data(data.getvalue(), "a")
