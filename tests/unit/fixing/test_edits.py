"""Fixes as changes of a text: what is written into declarations and subscripts, and what is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from layouts.term import Term
from layouts.tile import Tile
from simulator.fixing.arrays import SharedArray
from simulator.fixing.declared import Declared, declarations, resolved
from simulator.fixing.edits import applied, edits_of, kernels_with
from simulator.fixing.fix import Fix
from simulator.fixing.layouts import Candidate, Kind
from simulator.fixing.said import wording_of

PAD, XOR = Tile(32, 32, 1), Tile(32, 32, terms=(Term(5, 31),))
SIZE = 4096
USE = "t[y][x] = a[x];\nb[x] = t[x][y];"
FLAT = "t[y * 32 + x] = a[x];\nb[x] = t[x * 32 + y];"


def kernel(declared: str, use: str = USE, head: str = "") -> str:
    return f"{head}__global__ void k() {{\n{declared}\n{use}\n}}\n"


def known(text: str) -> Declared:
    sources = {"k.cu": tuple(text.split("\n"))}
    (found,) = (each for each in declarations(sources) if each.name == "t")
    return resolved(found, SIZE, "k", sources)


def written(text: str, tile: Tile, kind: Kind) -> str:
    """The changed text; else why it is left."""
    declared, bytes_ = known(text), np.arange(SIZE)
    rows = np.zeros(0, np.int64)
    array = SharedArray("t", (0,), SIZE, declared, not declared.is_dynamic, rows, (), ())
    table = tile.offset(bytes_ // 4) * 4 + bytes_ % 4
    candidate = Candidate(kind, tile, 4, table, 128)
    fix: Any = SimpleNamespace(
        array="t", target=array, candidate=candidate, wording=wording_of(array, candidate),
        calls="", by_hand="", behind="",
    )  # fmt: skip
    fix.written = Fix.written.fget(fix)  # type: ignore[attr-defined]
    found = edits_of(cast("Any", fix), text)
    return found if isinstance(found, str) else applied(text, set(found))


PADDED = {
    "float t[32][32];": "float t[32][33];",
    "float t\n    [32] // rows\n    [32];": "float t\n    [32] // rows\n    [33];",
    "float u[4], t[32][32], v;": "float u[4], t[32][33], v;",
    "float t[/* y */ 32][ 32 /* x */ ];": "float t[/* y */ 32][ 33 /* x */ ];",
    "volatile float t[N][N];": "volatile float t[N][N + 1];",
    "__align__(16) real t[32][2 * 16];": "__align__(16) real t[32][2 * 16 + 1];",
}


@pytest.mark.parametrize("declared", PADDED)
def test_a_padding_is_written_into_the_last_size(declared: str) -> None:
    head = "#define N 32\ntypedef float real;\n"
    text = kernel(f"__shared__ {declared}", head=head)
    assert written(text, PAD, "pad") == kernel(f"__shared__ {PADDED[declared]}", head=head)


@pytest.mark.parametrize(
    ("declared", "head", "owner"),
    [
        ("__shared__ Rows t;", "typedef float Rows[32][32];\n", "the type Rows"),
        ("__shared__ Row t[32];", "using Row = float[32];\n", "the type Row"),
        ("TILE(t);", "#define TILE(name) __shared__ float name[32][32]\n", "the macro TILE"),
        ("T(float, t, 32);", "#define T(k, n, c) __shared__ k n[c][c]\n", "the macro T"),
    ],
)
def test_sizes_of_types_and_macros_are_known_but_not_written(
    declared: str, head: str, owner: str
) -> None:
    text = kernel(declared, head=head)
    assert (known(text).sizes, known(text).element) == ((32, 32), 4)
    said = f"t: its sizes are those of {owner}; write t[32][33]"
    assert written(text, PAD, "pad") == said
    mixed = "t[y][x ^ y] = a[x];\nb[x] = t[x][y ^ x];"
    assert written(text, XOR, "swizzle") == kernel(declared, mixed, head)


def test_a_macro_may_stand_for_the_qualifier() -> None:
    head = "#define LOCAL __shared__\n"
    text = kernel("LOCAL float t[32][32];", head=head)
    assert written(text, PAD, "pad") == kernel("LOCAL float t[32][33];", head=head)


def test_a_flat_index_is_padded_or_mixed_wherever_it_stands() -> None:
    text = kernel("__shared__ float t[1024];", f"{FLAT}\nt[0] = 1;")
    padded = (
        "t[(y * 32 + x) + (y * 32 + x) / 32] = a[x];\nb[x] = t[(x * 32 + y) + (x * 32 + y) / 32];"
    )
    assert written(text, PAD, "pad") == kernel("__shared__ float t[1056];", f"{padded}\nt[0] = 1;")
    mixed = (
        "t[(y * 32 + x) ^ ((y * 32 + x) >> 5)] = a[x];\n"
        "b[x] = t[(x * 32 + y) ^ ((x * 32 + y) >> 5)];"
    )
    assert written(text, XOR, "swizzle") == kernel(
        "__shared__ float t[1024];", f"{mixed}\nt[0] = 1;"
    )
    made = kernel("TILE(t);", FLAT, "#define TILE(n) __shared__ float n[1024]\n")
    assert "its last row must be whole" in written(made, PAD, "pad")
    assert written(made, XOR, "swizzle") == made.replace(FLAT, mixed)


LEFT = {
    "f(t);": "uses it without all its subscripts",
    "t[y][x++] = 1;": "does more than name a place",
    "t[y][f(x)] = 1;": "does more than name a place",
    "float *p = t[y]; p[x] = 1;": "uses it without all its subscripts",
    "float *p = &t[0][0]; p[x] = 1;": "line 5 takes its address",
    "t[y][x <<= 1] = 1;": "does more than name a place",
    "t[y][x // column\n] = 1;": "a subscript of line 5 has a comment",
    "{ float t[2][4]; t[0][1] = 1; }": "line 5 declares another t",
    "{ unsigned r = 1, t[2][4]; t[0][1] = r; }": "line 5 declares another t",
}


@pytest.mark.parametrize("use", LEFT)
def test_what_an_index_cannot_be_written_into_is_left(use: str) -> None:
    text = kernel("__shared__ float t[32][32];", f"{USE}\n{use}")
    assert LEFT[use] in written(text, XOR, "swizzle")


USED = {
    # A comparison may stand before a name; a member of that name is another.
    "r = 1>t[y][x] ? p->t[y][x] : s . t[y][x];": "r = 1>t[y][x ^ y] ? p->t[y][x] : s . t[y][x];",
    "return t[y][x];": "return t[y][x ^ y];",
    "r = t[y][t[x][0] & 31];": "r = t[y][(t[x][x] & 31) ^ y];",
    "r = t[t[x][y]][x];": "r = t[t[x][y ^ x]][x ^ (t[x][y ^ x])];",
    "r = t[ROW][COL(y)];": "r = t[ROW][(COL(y)) ^ (ROW)];",
    "r = t[y][min(x, 31)];": "r = t[y][(min(x, 31)) ^ y];",
}


@pytest.mark.parametrize("use", USED)
def test_an_index_is_written_wherever_the_array_is_used(use: str) -> None:
    head = "#define ROW x ? y : 0\n#define COL(i) (i + 1)\n"
    text = kernel("__shared__ float t[32][32];", use, head)
    assert written(text, XOR, "swizzle") == text.replace(use, USED[use])


def test_a_macro_that_has_the_name_hides_subscripts() -> None:
    head = "#define AT(r, c) t[r][c]\n#define SQUARE(t) ((t) * (t))\n"
    text = kernel("__shared__ float t[32][32];", f"{USE}\nAT(y, x) = 2;", head)
    left = "t: the macro AT has its name; write t[row][col ^ row] for each t[row][col]"
    assert written(text, XOR, "swizzle") == left
    assert written(text, PAD, "pad") == text.replace("[32][32];", "[32][33];")
    plain = text.replace("#define AT(r, c) t[r][c]\n", "").replace("AT(y, x) = 2;", "")
    assert written(plain, XOR, "swizzle") == plain.replace("[y][x]", "[y][x ^ y]").replace(
        "[x][y]", "[x][y ^ x]"
    )


def test_an_array_of_other_rows_or_parts_is_left() -> None:
    other = kernel("__shared__ float t[16][64];")
    assert written(other, PAD, "pad").startswith(
        "t: its rows are others; write t[index + index / 32]"
    )
    parts = kernel("__shared__ short t[2048];", "t[x] = a[x];")
    assert "parts of its elements" in written(parts, XOR, "swizzle")
    dynamic = kernel("extern __shared__ float t[];", FLAT)
    said = (
        "t: its size is in the launch; write t[index + index / 32] for each t[index] and launch"
        " with 128 bytes more"
    )
    assert written(dynamic, PAD, "pad") == said
    pairs = kernel("extern __shared__ float2 t[];", "t[x].x = a[x];")
    assert written(pairs, XOR, "swizzle") == (
        "t: its size is in the launch; write t[index ^ (index >> 5)] for each t[index] (index"
        " counted in 4 bytes)"
    )


def test_kernels_that_share_an_array_are_known() -> None:
    one, other = kernel(""), "__global__ void other(float *o) {\n{ o[0] = t[0][1]; }\n}\n"
    above = "__shared__ float t[32][32];\n"
    assert kernels_with(known(above + one + other), above + one + other) == ("k", "other")
    inside = f"namespace n {{ {above}{one} }}\n{other.replace('t[', 'u[')}"
    assert kernels_with(known(inside), inside) == ("k",)
    own = kernel("__shared__ float t[32][32];") + other
    assert kernels_with(known(own), own) == ()
    bounded = above + one.replace("void k", "void __launch_bounds__(32 * (2 + 2)) k")
    assert kernels_with(known(bounded), bounded) == ("k",)
