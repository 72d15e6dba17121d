"""The law, the reader of C and the cures of `bankwise explore`, as a real browser runs them."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpu_check import packaged
from gpu_check.probe.ops import probe_op
from layouts.expression import Expression
from layouts.swizzle import Swizzle
from simulator.errors import ExpressionError
from simulator.law import specification
from simulator.law.accesses import ALL_LANES, WarpAccess
from simulator.law.instructions import INSTRUCTIONS, RULES, Instruction, Rule
from tests.examples import examples
from tests.strategies import accesses, learnt_instructions
from viz.explore.write import emitted

COLUMN = "float s[32][32]; s[threadIdx.x][threadIdx.y]"
FIGURES = ("phases", "wavefronts", "ideal", "excessive", "bank_conflicts", "cycles")


def run(page: Any, script: str, *given: Any) -> Any:
    """What a function of the page gives for values. They travel as text, which is quickest."""
    answer = page.evaluate(
        f"(given) => JSON.stringify(({script})(...JSON.parse(given)))", json.dumps(given)
    )
    return json.loads(answer)


# Many are asked at once: the way to the browser and back takes longer than counting.
COUNT = """(cases) => cases.map(([op, addresses, mask, rule]) => {
  const known = typeof op === "string" ? Law.INSTRUCTIONS.get(op) : op;
  return Law.countAccess(known, addresses, mask, rule); })"""


def asked(page: Any, text: str, **state: Any) -> Any:
    """What the page's functions answer: figures by warp, or the problem and its place."""
    return page.evaluate(
        """([text, state]) => { try {
             const { instruction, question, block, now, refused } =
               Ask.ask({ ...State.EMPTY, text, ...state });
             return { op: instruction.name, store: question.store, block, figures: now.figures,
                      addresses: now.laid, bytes: now.bytes, wavefronts: now.wavefronts, refused };
           } catch (problem) {
             if (!(problem instanceof Problem)) throw problem;
             return { problem: problem.message, at: text.slice(problem.start, problem.end) };
           } }""",
        [text, state],
    )


# The law


@pytest.mark.parametrize(("chip", "rows"), [("h200", 24_040), ("h100", 1_952)])
def test_every_recorded_access_is_equal(law: Any, chip: str, rows: int) -> None:
    compared = 0
    for each in packaged(f"{chip}_accesses").measurements:
        if each.wavefronts is None:
            continue
        whole = probe_op(each.op).is_matrix
        masks = [ALL_LANES] * len(each) if whole else each.masks.tolist()
        counted = run(
            law,
            """(op, addresses, masks) => addresses.map((each, k) => {
                 const found = Law.countAccess(Law.INSTRUCTIONS.get(op), each, masks[k], "silicon");
                 return [found.wavefronts, found.bank_conflicts];
               })""",
            probe_op(each.op).name,
            each.addresses.tolist(),
            masks,
        )
        wavefronts, conflicts = np.array(counted).T
        assert np.array_equal(wavefronts, each.wavefronts), each.op
        assert np.array_equal(conflicts, each.bank_conflicts), each.op
        compared += len(each)
    assert compared == rows


ruled = st.tuples(accesses(), st.sampled_from(RULES))


@given(cases=st.lists(ruled, min_size=1, max_size=8))
def test_all_figures_are_the_specifications(law: Any, cases: list[tuple[WarpAccess, str]]) -> None:
    given_ = [[one.op, [*one.addresses], one.mask, rule] for one, rule in cases]
    for (one, rule), counted in zip(cases, run(law, COUNT, given_), strict=True):
        expected = specification.count_access(INSTRUCTIONS[one.op], one.addresses, one.mask, rule)
        assert tuple(counted[name] for name in FIGURES) == expected


@st.composite
def learnt(draw: st.DrawFn) -> tuple[Instruction, list[int], int, Rule]:
    known = draw(learnt_instructions())
    few = st.integers(0, draw(st.sampled_from([1, 3, 2000]))).map(lambda n: n * known.width)
    addresses = draw(st.lists(few, min_size=32, max_size=32))
    mask = draw(st.integers(0, ALL_LANES) | st.just(ALL_LANES))
    return known, addresses, mask, draw(st.sampled_from(RULES))


@given(cases=st.lists(learnt(), min_size=1, max_size=4))
def test_instructions_of_any_chip_are_counted(law: Any, cases: list[Any]) -> None:
    found = run(law, COUNT, [[emitted(known), *rest] for known, *rest in cases])
    for (known, addresses, mask, rule), counted in zip(cases, found, strict=True):
        expected = specification.count_access(known, addresses, mask, rule)
        assert tuple(counted[name] for name in FIGURES) == expected


@given(access=accesses(), rule=st.sampled_from(RULES))
def test_phases_and_queues_are_the_specifications(law: Any, access: WarpAccess, rule: str) -> None:
    known = INSTRUCTIONS[access.op]
    groups, queues = law.evaluate(
        """([op, addresses, mask, rule]) => {
             const known = Law.INSTRUCTIONS.get(op);
             const groups = Law.phases(known, addresses, mask, rule);
             return [groups, groups.map((lanes) => [...Law.bankQueues(known, addresses, lanes)]
               .map(([bank, queue]) => [bank, queue.map((entry) => [entry.word, entry.lanes])]))];
           }""",
        [access.op, list(access.addresses), access.mask, rule],
    )
    expected = specification.phases(known, access.addresses, access.mask, rule)
    assert groups == [list(lanes) for lanes in expected]
    for lanes, found in zip(expected, queues, strict=True):
        wanted = specification.bank_queues(known, access.addresses, lanes)
        assert {bank: [(word, on) for word, on in queue] for bank, queue in found} == wanted


@given(st.integers(0, 5), st.integers(0, 7), st.integers(0, 9), st.integers(0, 1 << 17))
def test_a_swizzle_is_that_of_layouts(
    law: Any, bits: int, base: int, more: int, offset: int
) -> None:
    fields = {"bits": bits, "base": base, "shift": bits + more}
    moved = law.evaluate("([offset, fields]) => Ask.swizzled(offset, fields)", [offset, fields])
    assert moved == Swizzle(bits, base, bits + more)(offset)


# The reader of C

BINARY = (
    "+", "-", "*", "/", "%", "<<", ">>", "&", "^", "|", "&&", "||", "<", "<=", ">", ">=", "==",
    "!=",
)  # fmt: skip
leaves = st.sampled_from(["lane", "tx", "7", "0x1F", "2u", "0", "33", "2147483647"])
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(
            inner,
            st.sampled_from(BINARY),
            inner,
            st.sampled_from(["{} {} {}", "({} {} {})"]),
        ).map(lambda parts: parts[3].format(*parts[:3])),
        st.tuples(inner, inner, inner).map("{0[0]} ? {0[1]} : ({0[2]})".format),
        st.tuples(st.sampled_from(["~", "-", "!", "+"]), inner).map("{0[0]}({0[1]})".format),
    ),
    max_leaves=8,
)


@given(cases=st.lists(st.tuples(expressions, st.integers(0, 31)), min_size=1, max_size=8))
def test_expressions_are_worth_what_the_command_line_says(
    law: Any, cases: list[tuple[str, int]]
) -> None:
    found = run(
        law,
        """(cases) => cases.map(([source, lane]) => { try {
             return Expression.read(new Expression.Reader(source), new Map())({ lane, tx: lane });
           } catch (problem) { return problem.message; } })""",
        cases,
    )
    for (source, lane), here in zip(cases, found, strict=True):
        try:
            expected: Any = Expression(source)({"lane": lane, "tx": lane})
        except ExpressionError as error:
            expected = str(error).split(" at column")[0]
        assert here == expected, source


@given(text=st.text(alphabet="s[]()&*+-=;, 0123456789floatintlanetid.<>?:/#\n'", max_size=60))
@example(text="a.")  # a member without a name, at the end
def test_any_text_is_an_answer_or_a_problem_with_a_place(law: Any, text: str) -> None:
    found = asked(law, text)
    assert ("figures" in found) or found["problem"]


ASKED = [
    (COLUMN, "LDS", 32, 1024),
    ("float s[32][33]; s[threadIdx.x][threadIdx.y]", "LDS", 1, 32),
    ("half2 t[128][33]; t[tid/4][tid%4]", "LDS", 4, 4),
    ("__shared__ half s[64]; s[lane] = x;", "STS.U16", 1, 1),
    ("extern __shared__ double s[]; s[threadIdx.x]", "LDS.64", 2, 2),
    ("float s[64][32]; *(float4*)&s[lane][0]", "LDS.128", 32, 32),
    ("float s[64][32]; *reinterpret_cast<const float4*>(&s[lane][0])", "LDS.128", 32, 32),
    ("float s[64][32]; reinterpret_cast<float4&>(s[lane][0]) = v;", "STS.128", 32, 32),
    ("float s[64][32]; ((float4*)&s[lane][0])[1]", "LDS.128", 32, 32),
    ("float s[2048]; *(float4*)(s + 4*tid)", "LDS.128", 4, 4),
    ("float s[2048]; ((float4*)s)[lane]", "LDS.128", 4, 4),
    ("float a[32][32], b[32][33]; int r = threadIdx.x; float v = b[r][threadIdx.y];", "LDS", 1, 32),
    ("unsigned char s[32]; /* rows */ s[(int)lane] // load", "LDS.U8", 1, 1),
    ("int8_t s[32]; s[lane]", "LDS.S8", 1, 1),
    ("float s[32][33]; lane, 0", "LDS", 1, 1),
    ("lane*2", "LDS", 2, 2),
    ("float s[4][8][32+1]; s[tz % 4][ty][tx]", "LDS", None, None),
    ("float s[64]; s[static_cast<int>(tid) * 2u]", "LDS", 2, 2),
    ("int s[65]; s[lane ? 64/lane : 0]", "LDS", None, None),
    ("float s[32][32]; float* p = s[lane]; p[0]", "LDS", 32, 32),
    ("float s[32][33]; const float *__restrict__ p = &s[lane][0]; *p", "LDS", 1, 1),
    ("char m[8192]; half *b = (half*)(m + 4096), *c = b; c[2*tid] = x", "STS.U16", 1, 1),
    ("float s[64][32]; float4* p = (float4*)s; p[lane*8]", "LDS.128", 32, 32),
    ("float s[2048]; float *p = s + 4*tid; *(float4*)(p + 4)", "LDS.128", 4, 4),
    ("float s[32][32]; float& r = s[lane][0]; r = 1", "STS", 32, 32),
]


@pytest.mark.parametrize(("text", "op", "worst", "total"), ASKED)
def test_c_as_people_write_it(
    law: Any, text: str, op: str, worst: int | None, total: int | None
) -> None:
    found = asked(law, text)
    assert "problem" not in found, found
    assert found["op"] == op
    if worst is not None:
        assert max(figures["wavefronts"] for figures in found["figures"]) == worst
    if total is not None:
        assert found["wavefronts"] == total


REFUSED = [
    ("float s[32][32]; s[threadIdx.x][threadIdx.w]", "threadIdx.w", "unknown name threadIdx.w"),
    ("float s[32]; s[lane/0]", "/", "division by zero, for thread (0, 0, 0), warp 0 lane 0"),
    ("float s[32]; s[1 << 40]", "<<", "shift by 40 (accepted: 0 to 31)"),
    ("float s[32]; s[2147483647 + lane + 1]", "+", "2147483648 does not fit a 32-bit int"),
    ("float s[32]; s[65536*65536*2]", "*", "4294967296 does not fit a 32-bit int"),
    ("float s[32]; s[lane+1]", "lane+1", "32 is outside of s[32], for thread (31, 0, 0)"),
    ("float s[32][32]; s[lane]", "lane", "s has 2 dimensions, of which 1 is indexed"),
    ("float s[32]; s[lane", "", "the text ends too early: expected ']'"),
    ("float s[32]; s[lane].x", ".", "a member alone"),
    ("float s[32]; s[lane] += 1;", "+=", "a load and a store at once"),
    ("float s[32]; s[0]; s[1]", "s", "one access at a time"),
    ("float s[64]; *(float4*)&s[lane]", "lane", "is misaligned: LDS.128 needs multiples of 16"),
    ("float3 s[32]; s[lane]", "float3", "no instruction moves the 12 bytes"),
    ("tile[ty][tx]", "tile", "tile is not declared (accepted: float tile[32][32]; before it)"),
    ("float s[tid]; s[0]", "tid", "a dimension must be a number"),
    ("float s[99999]; s[lane]", "s", "s takes 399996 bytes (accepted: up to 232448"),
    ("floot s[32]; s[lane]", "floot", "floot is not a type known here"),
    ("float s[1.5]; s[0]", ".", "unexpected '.'"),
    ("float s[32]; s[lane$2]", "$", "unexpected '$'"),
    ("if (tid < 32) s[tid]", "if", "'if' is not accepted here"),
    ("float s[32]; s[s[lane]]", "[", "the elements of s are not known here"),
    ("/* never ends", "/", "a comment that does not end"),
    ("(" * 400 + "lane", "(", "nested too deeply"),
    ("lane" * 2000, "l", "8000 characters (accepted: up to 4096)"),
    ("", "", "an access is missing"),
]


@pytest.mark.parametrize(("text", "at", "problem"), REFUSED)
def test_a_refusal_points_at_its_place(law: Any, text: str, at: str, problem: str) -> None:
    found = asked(law, text)
    assert problem in found["problem"]
    assert found["at"] == at


@pytest.mark.parametrize("known", INSTRUCTIONS.values(), ids=INSTRUCTIONS)
def test_every_instruction_can_be_chosen(law: Any, known: Any) -> None:
    found = asked(law, f"char s[64][64]; s[lane][{known.width} * 0]", op=known.name)
    expected = specification.count_access(
        known, [64 * lane for lane in range(32)], ALL_LANES, "silicon"
    )
    assert [found["figures"][0][name] for name in FIGURES] == list(expected)
    for spelling in (known.name.lower(), *known.aliases):
        read = law.evaluate("(op) => State.read('#text=x&op=' + op).op", spelling)
        assert read == known.name


# The cure

tiles = st.tuples(
    st.sampled_from([("float", 4), ("half", 2), ("float2", 8), ("float4", 16), ("char", 1)]),
    st.sampled_from([(32, 32), (64, 16), (16, 48), (32, 8), (64, 64)]),
    st.sampled_from(
        ["lane % {0}][0", "lane % {0}][lane / 8 % {1}", "lane / 4 % {0}][lane % 4 * 2 % {1}",
         "lane * 2 % {0}][1", "lane / 2 % {0}][lane % 2"]
    ),
)  # fmt: skip


def cost(found: Any, addresses: list[list[int]]) -> int:
    known = INSTRUCTIONS[found["op"]]
    return sum(
        specification.count_access(known, each, ALL_LANES, "silicon")[1] for each in addresses
    )


@settings(max_examples=examples(20))
@given(tile=tiles)
def test_the_cures_are_the_best_of_all_and_can_be_copied(law: Any, tile: Any) -> None:
    (name, size), (rows, columns), index = tile
    text = f"{name} s[{rows}][{columns}]; s[{index.format(rows, columns)}]"
    found = asked(law, text)
    elements = [[address // size for address in each] for each in found["addresses"]]
    best = law.evaluate(
        """(text) => { const asked = Ask.ask({ ...State.EMPTY, text });
             return [Ask.bestPad(asked), Ask.bestSwizzle(asked)].map((best) =>
               ({ ...best, text: Cure.write(asked.question, best.pad, best.swizzle) })); }""",
        text,
    )
    padded, swizzled = best
    by_pad = [
        cost(found, [[(e + e // columns * pad) * size for e in each] for each in elements])
        for pad in range(33)
    ]
    assert padded["wavefronts"] == min(by_pad)
    assert padded["pad"] == by_pad.index(min(by_pad))
    top = (rows * columns - 1).bit_length()
    by_swizzle = [
        cost(found, [[swizzle(e) * size for e in each] for each in elements])
        for bits, base, shift in itertools.product(range(6), range(top), range(top))
        if bits <= shift and bits + base <= top and base + shift < top
        for swizzle in [Swizzle(bits, base, shift)]
    ]
    assert swizzled["wavefronts"] == min([*by_swizzle, found["wavefronts"]])
    for cure in best:
        state = {"pad": cure["pad"], "swizzle": cure["swizzle"]}
        here, copied = asked(law, text, **state), asked(law, cure["text"])
        assert here["wavefronts"] == cure["wavefronts"]
        assert copied["addresses"] == here["addresses"], cure


@pytest.mark.parametrize("text", [
    "float s[24][24]; s[lane % 24][lane / 24]",
    "float s[4][8][32]; s[lane / 8][lane % 8][0]",
    "float s[1024]; s[lane * 32]",
    "float t[2048]; t[lane / 8 * 64 + lane % 8 * 8]",
    "float s[64][32]; *(float4*)&s[lane][0]",
])  # fmt: skip
@pytest.mark.parametrize("swizzle", [(1, 2, 4), (3, 2, 3), (2, 2, 6), (2, 3, 2)])
@pytest.mark.parametrize("pad", [0, 4])
def test_what_is_copied_is_what_is_counted(law: Any, text: str, swizzle: Any, pad: int) -> None:
    fields = dict(zip(("bits", "base", "shift"), swizzle, strict=True))
    copied = law.evaluate(
        """([text, pad, swizzle]) =>
             Cure.write(Ask.ask({ ...State.EMPTY, text }).question, pad, swizzle)""",
        [text, pad, fields],
    )
    here = asked(law, text, pad=pad, swizzle=fields)
    if text.count("][") == 0 and pad:
        assert here["refused"] == f"{text[6]} has one dimension: there are no rows to pad"
        return
    assert here["refused"] is None
    # The swizzle may reach behind the array as declared, which the copy's reader would refuse.
    there = asked(law, re.sub(r"\[(\d+)\]", lambda dim: f"[{2 * int(dim[1])}]", copied, count=1))
    assert there["addresses"] == here["addresses"], copied


def test_a_layout_that_cannot_be_is_refused(law: Any) -> None:
    text = "float s[64][32]; *(float4*)&s[lane][0]"
    swizzle = {"bits": 3, "base": 0, "shift": 3}
    assert asked(law, text, swizzle=swizzle)["refused"].startswith("M is at least 2")
    assert asked(law, text, swizzle={**swizzle, "base": 2, "shift": 1})["refused"].startswith(
        "S is"
    )
    flat = "float s[8][32]; ((float4*)&s[0][0])[lane]"
    assert "ends of rows" in asked(law, flat, pad=4)["refused"]
    assert "misaligned" in asked(law, text, pad=1)["problem"]
