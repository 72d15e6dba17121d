"""Layouts as kernels and compilers print them, against their definitions in plain Python."""

from __future__ import annotations

import re
from itertools import product

import pytest

from layouts import Layout, LayoutError, Tile
from layouts.triton import read_triton


def xor_swizzle(bits: int, base: int, shift: int, address: int) -> int:
    """`Swizzle<B,M,S>` of CUTLASS's swizzle.hpp, for a positive S."""
    return address ^ (address >> shift & ((1 << bits) - 1) << base)


@pytest.mark.parametrize(
    ("text", "element"),
    [
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)", 2),
        ("Sw<3,4,3>_smem_ptr[16b](0x7f1200000000) o (_128,_64):(_64,_1)", 2),
        ("Sw<2,4,3>_smem_ptr[32b](0x400) o (_16,_16):(_16,_1)", 4),
        ("Sw<3,4,3> o smem_ptr[8b](unset) o (_8,_128):(_128,_1)", 1),
        ("Sw<1,4,3>_gmem_ptr[64b](0x0) o (8,4):(4,1)", 8),
    ],
)
def test_a_pointers_swizzle_moves_byte_addresses(text: str, element: int) -> None:
    """pointer_swizzle.hpp: the address of an element is swizzled, not its number."""
    bits, base, shift = map(int, re.findall(r"\d", text)[:3])
    layout, tile = Layout.parse(text), Tile.parse(text)
    assert tile.element == element
    for row, col in product(range(tile.rows), range(tile.cols)):
        address = (row * tile.cols + col) * element
        assert layout(row, col) * element == xor_swizzle(bits, base, shift, address)
        assert tile(row, col) == layout(row, col)


def test_a_pointer_that_does_not_begin_a_block_is_swizzled_by_where_it_lies() -> None:
    text = "Sw<3,4,3>_smem_ptr[16b](0x7f0000000080) o (_4,_64):(_64,_1)"
    tile = Tile.parse(text)
    for row, col in product(range(4), range(64)):
        address = 0x7F0000000080 + 2 * (64 * row + col)
        moved = xor_swizzle(3, 4, 3, address)
        assert tile(row, col) == (moved - 0x7F0000000000) // 2 == Layout.parse(text)(row, col)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("smem_ptr[16b](0x7f00) o (_8,_64):(_64,_1)", "(8,64):(64,1)"),
        ("gmem_ptr[32b](0x0) o (8,64):(64,1)", "(8,64):(64,1)"),
        ("ptr[16b](0x12) o (8,64):(64,1)", "(8,64):(64,1)"),
        ("ptr[16b]((nil)) o (8,64):(64,1)", "(8,64):(64,1)"),
        ("gmem_[16b] o (8,64):(64,1)", "(8,64):(64,1)"),
        ("smem_ptr[16b](0x0) o Sw<3,3,3> o 0 o (8,64):(64,1)", "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        ("S<3,4,3> o 0 o (8,64):(64,1)", "Sw<3,4,3> o 0 o (8,64):(64,1)"),
        ("Swizzle<3,4,3> o _0 o (_8,_64):(_64,_1)", "Sw<3,4,3> o 0 o (8,64):(64,1)"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)", "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        ("Sw<0,4,3>_smem_ptr[64b](0x8) o (_8,_8):(_8,_1)", "(8,8):(8,1)"),
    ],
)
def test_what_cute_prints_is_read(text: str, plain: str) -> None:
    assert str(Layout.parse(text)) == plain


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Sw<3,2,3> o smem_ptr[64b](unset) o (_8,_64):(_64,_1)", "splits elements of 8 bytes"),
        ("Sw<3,4,3>_smem_ptr[16b](0x1) o (_8,_64):(_64,_1)", "0x1 is not a multiple of"),
        ("Sw<3,4,3> o smem_ptr[4b](unset) o (_8,_64):(_64,_1)", "8, 16, 32, 64 or 128 bits"),
        ("smem_ptr(unset) o (_8,_64):(_64,_1)", "the bits of an element and an address"),
        ("tmem_ptr[16b](0x0) o (_8,_64):(_64,_1)", "expected a shape or 'Sw<B,M,S> o'"),
        ("Sw<1,0,3> o Sw<1,1,5> o 0 o (_8,_64):(_64,_1)", "has 2 swizzles (accepted: one"),
        ("Sw<3,4,3> (8,64):(64,1)", "expected 'o' at column 11 (such as Sw<3,3,3> o 0 o (64,"),
        ("Sw<3,4,3> o (8,64):(64,1)", "the offset, an integer at column 13 (such as Sw<3,3,3> o"),
        ("smem_ptr[16b](0x0) (8,64):(64,1)", "expected 'o' at column 20"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o 0 o (8,64):(64,1)", "expected ':' at column 38"),
    ],
)
def test_pointers_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=re.escape(message)):
        Layout.parse(text)


def test_a_tile_takes_several_swizzles() -> None:
    for between in (" o ", " o 0 o "):
        tile = Tile.parse(f"Sw<1,0,3>{between}Sw<1,1,5> o 0 o (8,16):(16,1)")
        for row, col in product(range(8), range(16)):
            offset = xor_swizzle(1, 1, 5, 16 * row + col)
            assert tile(row, col) == xor_swizzle(1, 0, 3, offset)


def swizzled_by_row(row: int, col: int, vec: int, per_phase: int, phases: int, cols: int) -> int:
    """Return a column as TritonGPUAttrDefs.td describes it: vectors move by the row's phase."""
    phase = row // per_phase % phases
    return (col // vec ^ phase % max(cols // vec, 1)) * vec + col % vec


@pytest.mark.parametrize(
    ("vec", "per_phase", "phases", "cols"),
    [(1, 1, 4, 8), (2, 1, 4, 8), (8, 1, 8, 64), (8, 2, 4, 32), (4, 4, 2, 16), (1, 1, 1, 8),
     (8, 1, 8, 32)],
)  # fmt: skip
@pytest.mark.parametrize("order", ["[1, 0]", "[0, 1]"])
def test_tritons_swizzled_shared(
    vec: int, per_phase: int, phases: int, cols: int, order: str
) -> None:
    text = (
        f"#ttg.swizzled_shared<{{vec = {vec}, perPhase = {per_phase}, maxPhase = {phases},"
        f" order = {order}}}>"
    )
    rows = 32
    shape = (rows, cols) if order == "[1, 0]" else (cols, rows)
    layout, tile = Layout.parse(text, shape), Tile.parse(text, shape)
    for row, col in product(range(rows), range(cols)):
        at = (row, col) if order == "[1, 0]" else (col, row)
        wanted = row * cols + swizzled_by_row(row, col, vec, per_phase, phases, cols)
        assert layout(*at) == tile(*at) == wanted


@pytest.mark.parametrize("width", [0, 32, 64, 128])
@pytest.mark.parametrize("element", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(64, 256), (512, 128)])
def test_tritons_nvmma_shared(
    width: int, element: int, transposed: bool, shape: tuple[int, int]
) -> None:
    """PTX's tensor-core layout: panels as wide as the swizzle, 16-byte chunks XORed by address."""
    if transposed:
        shape = shape[1], shape[0]
    text = (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = {str(transposed).lower()},"
        f" elementBitWidth = {8 * element}}}>"
    )
    layout = Layout.parse(text, shape)
    assert Tile.parse(text, shape).element == element
    height, breadth = (shape[1], shape[0]) if transposed else shape
    box = min(height, 256), width // element or min(breadth, 256)  # of one copy by TMA
    for row, col in product(range(0, height, 29), range(0, breadth, 3)):
        # Boxes follow one another: by dimension 0 first with a swizzle, by dimension 1 without.
        panels = [row // box[0], col // box[1]]
        many = [height // box[0], breadth // box[1]]
        first = (1 if transposed else 0) if width else (0 if transposed else 1)
        number = panels[first] + panels[1 - first] * many[first]
        byte = (number * box[0] * box[1] + row % box[0] * box[1] + col % box[1]) * element
        if width:
            byte ^= byte >> 3 & (width // 16 - 1) << 4  # address bits 7-9 onto bits 4-6
        at = (col, row) if transposed else (row, col)
        assert layout(*at) * element == byte


@pytest.mark.parametrize(
    ("paddings", "order"),
    [("64:+8", "[1, 0]"), ("32:+4, 128:+8", "[1, 0]"), ("16:+1", "[0, 1]"), ("1024:+2", "[1, 0]")],
)
def test_tritons_padded_shared(paddings: str, order: str) -> None:
    """After every interval of elements its padding is inserted; several add up."""
    text = f"#ttg.padded_shared<[{paddings}] {{order = {order}, shape = [32, 64]}}>"
    pairs = [tuple(map(int, pair.split(":+"))) for pair in paddings.split(",")]
    layout, tile, memory = Layout.parse(text), Tile.parse(text), 0
    for place in range(32 * 64):
        if place:
            memory += 1 + sum(padding for interval, padding in pairs if place % interval == 0)
        at = divmod(place, 64) if order == "[1, 0]" else (place % 32, place // 32)
        assert layout(*at) == tile(*at) == memory


def test_padding_of_rows_that_are_permuted() -> None:
    """Bases as Triton's tests have them: rows 2 and 1 change places."""
    text = "#ttg.padded_shared<[4:+1] {offset = [[0, 1], [0, 2], [2, 0], [1, 0]], block = []}>"
    layout = Layout.parse(text)
    assert [layout(row, 0) for row in range(4)] == [0, 10, 5, 15]


def test_tritons_shared_linear() -> None:
    """Each bit of the offset has a base; the bases of its set bits XOR to the coordinates."""
    bases = [(0, 1), (0, 2), (1, 1), (2, 2)]
    text = f"#ttg.shared_linear<{{offset = {[list(base) for base in bases]}}}, alignment = 16>"
    layout, tile = Layout.parse(text), Tile.parse(text)
    for offset in range(16):
        row = col = 0
        for bit, base in enumerate(bases):
            if offset >> bit & 1:
                row, col = row ^ base[0], col ^ base[1]
        assert layout(row, col) == tile(row, col) == read_triton(text).offset(row, col) == offset


def test_a_linear_layout_beyond_one_swizzle_is_a_tile_of_terms() -> None:
    bases = [[0, 1], [0, 2], [0, 4], [1, 1], [2, 1], [4, 6]]
    text = f"#ttg.shared_linear<{{offset = {bases}}}, alignment = 16>"
    with pytest.raises(LayoutError, match="is not a layout behind one XOR swizzle"):
        Layout.parse(text)
    tile = Tile.parse(text)
    assert tile.terms
    assert all(tile(*divmod(place, 8)) == read_triton(text).offset(*divmod(place, 8))
               for place in range(64))  # fmt: skip


def test_a_memory_descriptor_says_shape_and_element() -> None:
    text = (
        "!ttg.memdesc<64x32xf16, #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4,"
        " order = [1, 0]}>, #ttg.shared_memory, mutable>"
    )
    tile = Tile.parse(text)
    assert (tile.rows, tile.cols, tile.element) == (64, 32, 2)
    assert tile.cute() == "Sw<2,3,3> o 0 o (64,32):(32,1)"


SWIZZLED = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        (SWIZZLED, None, "does not say its tensor's shape"),
        (SWIZZLED, "48x64", "not made of powers of two"),
        (SWIZZLED.replace("8,", "7,"), "64x64", "numbers that are not powers of two"),
        (SWIZZLED.replace("[1, 0]", "[1, 1]"), "64x64", "each dimension once"),
        (SWIZZLED.replace("vec", "vector"), "64x64", "vec None of"),
        (SWIZZLED.replace("}", ", CTAsPerCGA = [2, 1]}"), "64x64", "several blocks"),
        ("#ttg.blocked<{order = [1, 0]}>", "64x64", "is not a layout of shared memory"),
        ("!ttg.memdesc<64x64xf16, #shared, #smem>", None, "is not a layout of shared memory"),
        ("#ttg.nvmma_shared<{swizzlingByteWidth = 96, elementBitWidth = 16}>", "64x64",
         "swizzlingByteWidth 96"),
        ("#ttg.nvmma_shared<{swizzlingByteWidth = 128, elementBitWidth = 8, fp4Padded = true}>",
         "64x128", "padded fp4"),
        ("#ttg.nvmma_shared<{swizzlingByteWidth = 128, elementBitWidth = 16}>", "64x32",
         "smaller than a core matrix"),
        ("#ttg.padded_shared<[3:+2] {order = [1, 0], shape = [4, 4]}>", None, "do not fit"),
        ("#ttg.padded_shared<[4:2] {order = [1, 0], shape = [4, 4]}>", None, "interval:+padding"),
        ("#ttg.shared_linear<{offset = [[0, 1], [0, 1]]}>", None, "its own offset"),
        ("#ttg.shared_linear<{offset = [[0, 1], [1, 0]], block = [[2, 0]]}>", None,
         "several blocks"),
        ("#ttg.shared_linear<{offset = 3}>", None, "not a list of bases"),
        ("#ttg.shared_linear<{offset = [[0, 1], [1, 0]]}>", "4x4", "has shape (2, 2)"),
        ("#ttg.shared_linear<{offset = [[0, 1}>", None, "cannot be read"),
        ("!ttg.memdesc<64x64xi4, " + SWIZZLED + ">", None, "not of whole bytes"),
    ],
)  # fmt: skip
def test_texts_of_triton_that_are_refused(text: str, shape: str | None, message: str) -> None:
    for read in (Layout.parse, Tile.parse):
        with pytest.raises(LayoutError, match=re.escape(message)):
            read(text, shape)
