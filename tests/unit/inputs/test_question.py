"""Questions in C: what each means, and what is refused where."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import BankwiseError, ExpressionError, InstructionError, OptionError, instruction
from simulator.inputs.asked import AskedAccess, read

COLUMN = "float s[32][32]; s[threadIdx.x][threadIdx.y]"


def byte(asked: AskedAccess, warp: int, lane: int) -> int:
    return int(asked.addresses()[warp, lane])


def test_a_column_of_a_tile() -> None:
    asked = read(COLUMN)
    assert asked.instruction.name == "LDS"
    assert str(asked.block) == "32x32"
    assert asked.assumed == ("block 32x32, because the question uses threadIdx.y",)
    assert asked.addresses().tolist() == [[4 * (32 * x + y) for x in range(32)] for y in range(32)]
    assert read(COLUMN, block="32x32").assumed == ()


@pytest.mark.parametrize(
    ("text", "op", "address"),
    [
        # Thread 37 of 64 in a row: lane 5 of warp 1.
        ("float s[64]; s[threadIdx.x]", "LDS", 4 * 37),
        ("extern __shared__ double s[]; s[tid] = 1.5 + g(x)", "STS.64", 8 * 37),
        ("half2 t[128][33]; t[tid/4][tid%4]", "LDS", 4 * (9 * 33 + 1)),
        ("half t[128][33]; t[tid/4][tid%4]", "LDS.U16", 2 * (9 * 33 + 1)),
        ("int8_t t[128][33]; t[tid/4][tid%4]", "LDS.S8", 9 * 33 + 1),
        ("int8_t t[128][33]; t[tid/4][tid%4] = 0", "STS.U8", 9 * 33 + 1),
        ("unsigned char t[64]; t[tid]", "LDS.U8", 37),
        ("unsigned long long t[64]; t[tid]", "LDS.64", 8 * 37),
        ("const __shared__ cutlass::half_t t[64]; t[tid]", "LDS.U16", 2 * 37),
        ("__shared__ __align__(16) float4 t[64]; float4 v = t[tid];", "LDS.128", 16 * 37),
        ("float s[64][64]; *(float4*)&s[tid/16][tid%16*4]", "LDS.128", 4 * (2 * 64 + 20)),
        ("float s[64][64]; *(const float4 *)&s[tid/16][4*(tid%16)]", "LDS.128", 4 * (128 + 20)),
        ("float s[64][64]; reinterpret_cast<float4&>(s[warp][4*lane%64]) = v;", "STS.128", 336),
        ("float s[64][64]; reinterpret_cast<float2*>(s)[tid]", "LDS.64", 8 * 37),
        ("float s[64][64]; *(s[lane] + warp)", "LDS", 4 * (5 * 64 + 1)),
        ("float s[64][64]; *(&s[lane][8] - warp)", "LDS", 4 * (5 * 64 + 7)),
        ("float s[64][64]; ((float4*)s[lane])[warp]", "LDS.128", 4 * 5 * 64 + 16),
        ("half t[64][64]; &t[lane%16][lane/16*8]", "LDS.U16", 2 * 5 * 64),
        ("float a[8][4][4], b[64]; b[tid]; ", "LDS", 4 * 37),
        ("float a[8][4][4]; a[lane/4%8][lane%4][warp]", "LDS", 4 * (1 * 16 + 1 * 4 + 1)),
        ("float s[32][33]; lane, warp", "LDS", 4 * (5 * 33 + 1)),
        ("int row = tid/8, x; float s[9][33]; s[row][tid%8]", "LDS", 4 * (4 * 33 + 5)),
        ("int row = tid/8; const int P = 1; float s[9][32+P]; s[row][tid%8]", "LDS", 4 * 137),
        ("float s[64]; sum += s[tid]", "LDS", 4 * 37),
        ("float s[64]; s[(int)threadIdx.x ^ (lane & 1 ? 0u : 0)] // a row", "LDS", 4 * 37),
        ("float s[128]; s[tid << 1]", "LDS", 8 * 37),
        ("float s[64]; s[laneid + 32*warpid]", "LDS", 4 * 37),
        ("float s[64]; s[threadIdx.y*blockDim.x + tx]", "LDS", 4 * 37),
    ],
)
def test_what_people_write(text: str, op: str, address: int) -> None:
    asked = read(text, block=64)
    assert (asked.instruction.name, byte(asked, 1, 5)) == (op, address)


def test_without_a_declaration_the_instruction_is_needed() -> None:
    assert byte(read("s[tid]", "LDS", block=64), 1, 5) == 4 * 37
    assert byte(read("tid*2", "LDS.64", block=64), 1, 5) == 8 * 37
    assert byte(read("tid*2", "LDS.U8", block=64, element=1), 1, 5) == 2 * 37
    assert read("tid", "LDS").assumed == ("4 bytes per element", "block 32x1: one warp")
    with pytest.raises(OptionError, match=r"an expression needs --op .* or a declaration"):
        read("tid*2")
    for text, name in (("s[tid]", "s"), ("float s[32][32]; q[threadIdx.x]", "q")):
        problem = rf"^{name} is not declared \(accepted: .*float {name}\[.* or .*--op LDS.*toml"
        with pytest.raises(OptionError, match=problem):
            read(text)


@pytest.mark.parametrize(
    ("text", "problem", "column"),
    [
        ("mytype s[32]; s[lane]", "mytype is not a type known here (accepted: float", 0),
        ("float s[32][32]; s[lane]", "s has 2 dimensions, of which 1 is indexed", 17),
        ("float s[32]; s[lane].x", "a member alone is not accepted", 20),
        ("s[lane][0]", "s is not declared (accepted: float s[32][32]; before it)", 0),
        ("float s[32]; s[idx[lane]]", "the elements of idx are not known here", 15),
        ("float s[32]; s[lane", "expression ends too early at column 20: ']' is missing", 19),
        ("float s[32]; s[f(lane)]", "f() cannot be called in an index", 15),
        ("for (;;) s[lane]", "'for' is not accepted here (accepted: the access alone", 0),
        ("float s[32]; s[1.5*lane]", "1.5 is not an integer", 15),
        ("float s[32]; s[lane] += 1", "a load and a store at once (accepted: s[...] for", 21),
        ("float s[n]; s[lane]", "a dimension must be a number, and n is not one", 8),
        (
            "float s[2 * blockDim.x]; s[lane]",
            "a dimension must be a number, and blockDim.x is not one (accepted: n for blockDim.x in"
            " the brackets, with const int n = 32; before the array, or -D n=32)",
            12,
        ),
        ("float s[tid]; s[lane]", "a dimension must be a number, and tid is not one", 8),
        ("float s[0]; s[lane]", "a dimension of 0 (accepted: 1 to 232448)", 7),
        ("", "an access is missing, such as float s[32][32]", 0),
        ("float s[32][8]", "an access is missing, such as s[threadIdx.y][threadIdx.x]", 14),
        ("int s[2][2][2][2]", "an access is missing, such as s[0][threadIdx.z][threadIdx.y]", 17),
        (
            "float s[32]; s[threadidx.x]",
            "threadidx.x is not a number of a thread (did you mean threadIdx.x? accepted",
            15,
        ),
        (
            "threadIDX.Y * 4",
            "threadIDX.Y is not a number of a thread (did you mean threadIdx.y? accepted",
            0,
        ),
        ("float s[32]; s[blockIdx.x]", "blockIdx.x is not a number of a thread", 15),
        ("float s[99999]; s[lane]", "s takes 399,996 bytes (accepted: up to 232,448", 6),
        ("float s[32]; s[lane]; s[lane]", "this is a second access", 22),
        ("float s[32]; s[lane]; block 32x8", "'block 32x8' is not an access (accepted", 22),
        ("float s[32]; s[lane], s[lane]", "this is a second access", 21),
        ("lane, 0", "a row and a column need a declaration (accepted: float s[32][32];", 0),
        (
            "float s[3,3]; s[lane]",
            "a comma is not allowed inside brackets (accepted: s[row][column]) at column 10",
            9,
        ),
        ("float s[32]; s[lane, 0]", "a comma in brackets at column 20 (accepted: s[row]", 19),
        ("float x, s[32]; s[lane]", "the size of an array is missing (accepted: float x[32]", 7),
        ("float s[32]; *(mytype*)&s[lane]", "(mytype*) is not a cast known here", 14),
        ("float s[32]; x = ", "an access is missing, such as s[threadIdx.x]", 16),
        ("float s[][]; s[0][lane]", "only the first dimension may be empty", 9),
        ("float* p; p[lane]", "p is a pointer: the size of its array is not known", 7),
        ("float s[32]; s", "s is an array: which element? (accepted: s[...])", 13),
        (
            "float s[32][32]; s + lane",
            "s + ... would count whole rows (accepted: &s[0][0] + ...)",
            19,
        ),
        ("float s[32]; &&s[lane]", "unexpected '&'", 13),
        ("float s[32]; *s[lane]", "* needs an address (accepted: *(float4*)&s[...]", 13),
        ("float s[32]; (float4*)s[lane]", "a cast to float4* is of an address", 13),
        ("float s[32]; s[lane][0]", "s has no more dimensions (accepted: s[...])", 20),
        ("float s[32]; s[lane + 1]", "32 is outside of s[32] (accepted: 0 to 31), for thread", 15),
        ("float s[32][4]; lane, lane", "4 is outside of s[32][4] (accepted: 0 to 3)", 22),
        ("float s[32]; s[lan]", "unknown name 'lan': did you mean lane", 15),
        ("float s[32]; s[64/lane]", "division by zero at column 18", 17),
    ],
)
def test_every_refusal_points_at_its_column(text: str, problem: str, column: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        read(text, "LDS")
    message, shown, caret = str(caught.value).split("\n")
    assert message.startswith(problem)
    assert shown == f"  {text}"
    assert caret == f"  {' ' * column}^"


def test_pointers_may_not_leave_the_array() -> None:
    asked = read("float s[64]; ((float4*)s)[lane]")
    with pytest.raises(ExpressionError, match=r"byte 256 of lane 16 of warp 0 is outside of s"):
        asked.check()
    read("float s[128]; ((float4*)s)[lane]").check()


def test_misaligned_lanes_are_told_what_the_index_counts() -> None:
    with pytest.raises(BankwiseError, match="the index counts elements of 4 bytes") as caught:
        read("lane", "LDS.128").check()
    assert str(caught.value).startswith("address 4 of lane 1 of access 0 is misaligned")
    read("lane", "LDS.128", element=16).check()


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("s[threadIdx.x]", "32x1"),
        ("s[ty]", "32x32"),
        ("s[threadIdx.z]", "8x8x8"),
        ("int r = threadIdx.y; s[r]", "32x32"),
    ],
)
def test_the_block_follows_from_the_names(text: str, block: str) -> None:
    assert str(read(text, "LDS").block) == block


def test_a_block_may_end_within_a_warp() -> None:
    asked = read("float s[64]; s[tid]", block=(10, 4))
    assert asked.warps == (0, 1)
    assert asked.masks.tolist() == [0xFFFFFFFF, 0xFF]
    assert not asked.whole
    for bad in ("8x", 0, "2000", (1, 2, 3, 4), 1.5, (8, -1)):
        with pytest.raises(OptionError, match=r"^block .*accepted"):
            read("s[tid]", "LDS", block=bad)
    with pytest.raises(OptionError, match=r"warp 2: a block of 64x1 has 2 \(accepted: 0 to 1\)"):
        read("s[tid]", "LDS", block=64, warps=[2])


def test_names_and_conditions() -> None:
    asked = read("float s[32][32 + PAD]; s[lane][k]", names={"PAD": 1, "k": 3}, active="lane < 4")
    assert asked.masks.tolist() == [0xF]
    assert byte(asked, 0, 2) == 4 * (2 * 33 + 3)
    assert byte(read("tx*2", "LDS", names={"tx": 5}), 0, 0) == 40  # what is given is meant
    with pytest.raises(OptionError, match="have their own meaning"):
        read("tid", "LDS", names={"tid": 5})
    with pytest.raises(OptionError, match="the declaration of s says that an element is a float"):
        read("float s[32]; s[lane]", element=2)
    with pytest.raises(OptionError, match="no instruction moves the 12 bytes of a float3"):
        read("float3 s[32]; s[lane]")
    assert read("float3 s[32]; s[lane]", "LDS").element == 12


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("ld.shared.v4.f32", "LDS.128"),
        ("ld.shared.v2.b32", "LDS.64"),
        ("ld.volatile.shared::cta.s16", "LDS.S16"),
        ("LD.SHARED.B32;", "LDS"),
        ("st.shared.v2.u16", "STS"),
        ("st.shared.f64", "STS.64"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "LDSM.16.M88.4"),
        ("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16", "LDSM.16.MT88.2"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16", "STSM.16.M88"),
        ("cp.async.cg.shared.global", "LDGSTS.E.BYPASS.128"),
        ("cp.async.cg.shared.global.L2::128B", "LDGSTS.E.BYPASS.128"),
        ("cp.async.ca.shared.global, 8", "LDGSTS.E.64"),
        ("atom.shared.add.u32", "ATOMS.ADD"),
        ("red.relaxed.cta.shared::cta.max.s32", "ATOMS.MAX"),
        ("atom.shared.cas.b64", "ATOMS.CAS.64"),
        ("LDSM.x4", "LDSM.16.M88.4"),
        ("sts128", "STS.128"),
        ("LDGSTS.128", "LDGSTS.E.128"),
    ],
)
def test_instructions_in_ptx(spelling: str, name: str) -> None:
    assert instruction(spelling).name == name


@pytest.mark.parametrize(
    "spelling",
    ["ld.shared.v4.f64", "cp.async.ca.shared.global", "cp.async.cg.shared.global 4",
     "atom.shared.add.u64", "ldmatrix.sync.aligned.m8n8.x3.shared.b16"],
)  # fmt: skip
def test_ptx_that_is_not_modelled_is_refused(spelling: str) -> None:
    with pytest.raises(InstructionError, match="unknown instruction"):
        instruction(spelling)


@given(
    st.integers(1, 64), st.integers(1, 64), st.integers(1, 40), st.integers(1, 40),
    st.sampled_from([("char", 1), ("half", 2), ("float", 4), ("float2", 8), ("float4", 16)]),
)  # fmt: skip
def test_every_thread_goes_where_c_says(
    rows: int, cols: int, x: int, y: int, kind: tuple[str, int]
) -> None:
    """Against loops over the block, thread by thread."""
    if x * y > 1024 or rows * cols * kind[1] > 1 << 17:
        return
    text = f"{kind[0]} a[{rows}][{cols}]; a[(ty*3 + tx) % {rows}][(tx ^ ty) % {cols}]"
    asked = read(text, block=(x, y))
    found: dict[tuple[int, int], Any] = {}
    for thread in range(x * y):
        tx, ty = thread % x, thread // x
        place = (ty * 3 + tx) % rows * cols + (tx ^ ty) % cols
        found[thread // 32, thread % 32] = place * kind[1]
    addresses, masks = asked.addresses(), asked.masks
    for warp in range(asked.block.warps):
        for lane in range(32):
            active = bool(masks[warp] >> lane & 1)
            assert active == ((warp, lane) in found)
            assert addresses[warp, lane] == found.get((warp, lane), 0)


def test_a_long_sum_is_read_once() -> None:
    """Each term once took twice as long as the one before."""
    terms = " + ".join(["lane%2"] * 64)
    assert read(f"float s[65][3]; s[{terms}][0]").addresses()[0, 1] == 64 * 12
    with pytest.raises(ExpressionError, match="the elements of s are not known"):
        read(f"float s[9]; s[{terms} + s[0]]")


WORDS = st.sampled_from(
    ["float", "s", "[32]", "[lane]", ";", "s[lane]", "=", "*(float4*)&", "(", ")", "+", "tx", ",",
     "reinterpret_cast<float2*>", "(int)", "0x1F", "//", "/*", "\n", "?", ":", "int r", "[", "]",
     "struct P {", "union {", "}", "P p[4];", "p[lane]", ".x", "->", "#define N(a) a", "N", "&",
     "float *q =", "q", "typedef", "using T =", "T", "atomicAdd(&", "min(", "sizeof(float)", "++"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=30))
def test_any_text_is_a_question_or_a_typed_error(text: str) -> None:
    with suppress(BankwiseError):
        read(text).check()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("float s[32][32]; float* p = s[lane]; *p", "float s[32][32]; s[lane][0]"),
        ("float s[32][32]; *s[lane]", "float s[32][32]; s[lane][0]"),
        ("float s[32][32]; **s", "float s[32][32]; s[0][0]"),
        ("float s[32]; *s", "float s[32]; s[0]"),
        (
            "static constexpr auto N = 32; float s[N][N + 1]; s[lane][0]",
            "float s[32][33]; s[lane][0]",
        ),
    ],
)
def test_what_is_followed_is_its_first_element(text: str, same: str) -> None:
    here, there = (read(each, op="LDS") for each in (text, same))
    assert np.array_equal(here.addresses(), there.addresses())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "float s[4]; for (int i = 0; i < 4; ++i) s[i]",
            "a value for the variable of the loop, such as -D k",
        ),
        ("float s[4]; if (tid < 4) s[tid]", "choose its lanes by --active or --mask"),
        ("float s[4]; { s[0]; }", "braces are not accepted at column 13"),
        ("float s[99]; float (*t)[33] = (float (*)[33])s; t[lane][0]", "a pointer to rows is not"),
        ("std::array<float, 32> s; s[lane]", "the type std::array<float, 32> is not known here"),
        ("half s[64][64]; cp_async16(&s[lane][0], g)", "cp_async16() is not known here (accepted"),
        ("__shared__ float \u00df[32]; \u00df[lane]", "'\u00df' is not allowed in a name"),
        ("float a[16][16]; a[ty][3]", "(assumed: a block of 32x32; to change it: --block XxY)"),
    ],
)
def test_a_refusal_says_what_is_to_be_written(text: str, said: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        read(text)
    assert said in str(refused.value).replace(" at column 17 ", " ")


def test_a_store_says_that_the_load_to_its_right_was_not_asked() -> None:
    """`s[0][lane]` is free of conflicts; of `s[lane][0]` nothing was said."""
    noted = "only the store is counted; ask about the load to the right of = separately"
    assert noted in read("float s[32][32]; s[0][lane] = s[lane][0];").assumed
    assert noted not in read("float s[32][32]; s[0][lane] = in[lane];").assumed


@pytest.mark.parametrize(
    ("text", "places"),
    [
        # sizeof is unsigned, and so are min and max of an unsigned number: -1 is the greatest.
        ("lane - 8 < sizeof(float)", [int(8 <= each < 12) for each in range(32)]),
        ("(lane - 8) % sizeof(float4)", [each % 16 for each in range(-8, 24)]),
        ("min(threadIdx.x - 1, 40)", [40, *range(31)]),
        ("max(threadIdx.x - 1, 0) & 63", [63, *range(31)]),
        ("max((int)threadIdx.x - 1, 0)", [0, *range(31)]),
        # A name is of its type.
        ("i", [each * 16 % 256 for each in range(32)]),
        ("j + 128", [(each * 16 + 128) % 256 for each in range(32)]),
        ("b", [each >> 2 & 1 for each in range(32)]),
    ],
)
def test_numbers_are_of_the_types_that_c_gives_them(text: str, places: list[int]) -> None:
    declared = "uint8_t i = lane * 16; char j = lane * 16; bool b = lane & 4; float s[256];"
    asked = read(f"{declared} s[{text}]", block=32)
    assert asked.addresses()[0].tolist() == [4 * each for each in places]


@pytest.mark.parametrize("step", ["++x", "--x", "x++ + 1", "x-- - 1"])
def test_an_index_that_changes_a_variable_is_refused(step: str) -> None:
    with pytest.raises(ExpressionError, match=r"(\+\+|--) changes a variable, at column \d+"):
        read(f"int x = 3; float s[64]; s[{step}]")


@pytest.mark.parametrize("blanks", [1, 200])
def test_a_long_question_is_refused_in_the_same_words(blanks: int) -> None:
    with pytest.raises(ExpressionError, match="a comma in brackets at column") as refused:
        read(f"float s[64][64];{' ' * blanks}s[lane, 1]")
    assert refused.value.column == 22 + blanks


def test_a_name_set_from_itself_is_calculated_once() -> None:
    asked = read(f"int a = lane; {'a = a & a; ' * 60}float s[32]; s[a]")
    assert asked.addresses()[0].tolist() == [4 * lane for lane in range(32)]


def test_names_that_are_deep_together_are_refused() -> None:
    deep = "".join(f"int a = a{'+0' * 400}; " for _ in range(4))
    with pytest.raises(ExpressionError, match="nested too deeply"):
        read(f"int a = lane; {deep}float s[32]; s[a]")


def test_a_name_that_is_set_again_keeps_its_type() -> None:
    narrow = read("unsigned char a = 255; a = a + 1; float s[512]; s[a]")
    assert not narrow.addresses().any()
    signed = read("int x = 0; x = threadIdx.x - 1; float s[64]; s[x / 2]", block=32)
    assert signed.addresses()[0, :4].tolist() == [0, 0, 0, 4]


@pytest.mark.parametrize(
    ("asked", "plain"),
    [("float s[64]; s[lane*sizeof(s[0])/4]", "float s[64]; s[lane]"),
     ("double s[64][2]; s[lane*sizeof(*s)/16][0]", "double s[64][2]; s[lane][0]"),
     ("float s[8][33]; s[0][sizeof(s)/sizeof(s[0])/8+lane]", "float s[8][33]; s[0][1+lane]"),
     ("half s[256]; s[lane*sizeof s[0]]", None)],
)  # fmt: skip
def test_sizeof_of_an_element(asked: str, plain: str | None) -> None:
    if plain is None:
        with pytest.raises(ExpressionError):
            read(asked)
        return
    assert (read(asked).addresses() == read(plain).addresses()).all()
