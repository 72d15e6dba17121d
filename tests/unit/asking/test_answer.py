"""What an answer says, held to the law that it is made of."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import pytest
from hypothesis import given

from simulator import (
    Access,
    AddressError,
    Answer,
    BankwiseError,
    OptionError,
    WarpAccess,
    count,
    explain,
    optimize,
)
from simulator.asking.cure import cures
from simulator.inputs.asked import read
from simulator.testing.strategies import accesses

COLUMN = "float s[32][32]; s[threadIdx.x][threadIdx.y]"
NO_FEWER = "Conflict-free: 1 wavefront, the least possible"

VERDICTS = [
    # As tests/browser/test_explore.py has them: page and terminal say the same.
    (COLUMN, "32-way bank conflict: 32 wavefronts where 1 is enough"),
    ("float s[32][33]; s[threadIdx.x][threadIdx.y]", NO_FEWER),
    (
        "float4 s[32]; s[lane]",
        "Conflict-free: its 4 wavefronts are the 4 phases that every LDS.128 needs"
        " (Nsight calls that 4-way)",
    ),
    (
        "float4 s[32]; s[lane / 2]",
        "Conflict-free: its 2 wavefronts are two fused phases, half of what LDS.128 takes unfused"
        " (Nsight calls that 2-way)",
    ),
    (
        "float4 s[16]; s[lane / 2 % 8 * 2]",
        "2 bank conflicts that cost nothing: two fused phases of two wavefronts",
    ),
    (
        "float s[64][32]; *(float4*)&s[lane][0]",
        "8-way bank conflict in each of its 4 phases: 32 wavefronts where 4 are enough"
        " (Nsight calls that 32-way)",
    ),
    (
        "int s[1024]; atomicCAS(&s[lane * 32], 0, 1)",
        "32-way bank conflict: 64 wavefronts where 2 are enough (Nsight calls that 64-way)",
    ),
]


@pytest.mark.parametrize(("text", "said"), VERDICTS)
def test_the_verdict_is_in_words(text: str, said: str) -> None:
    answer = explain(text)
    assert answer.verdict == said
    assert str(answer).splitlines()[0] == said


def test_the_answer_to_the_textbook_question() -> None:
    assert str(explain(COLUMN)).splitlines() == [
        "32-way bank conflict: 32 wavefronts where 1 is enough",
        "Lanes 0-31 read 32 different words of bank 0.",
        "",
        "bank        0       4       8       12      16      20      24      28",
        "words       32  " + ". " * 29 + ".",
        "",
        "Price    1,024 cycles of the shared-memory pipe for the 32 warps, 32 without conflicts",
        "Cure     pad to float s[32][33]                             4,224 bytes (+128)"
        "  no operation      conflict-free",
        "  or     swizzle s[threadIdx.x][threadIdx.y ^ threadIdx.x]  4,096 bytes       "
        "  1 operation more  conflict-free",
        "         only the load was given: the store may get bank conflicts;"
        " to find a layout for both:",
        "         bankwise optimize --access 'float s[32][32]; s[threadIdx.x][threadIdx.y]'"
        " --access 's[threadIdx.y][threadIdx.x] = 0'",
        "Figures  LDS: 1 phase, 32 wavefronts, 1 ideal, 31 excessive, 31 bank conflicts, 32 cycles,"
        " 32-way (warp 0, the worst of 32)",
        "Assumed  block 32x32, because the question uses threadIdx.y",
    ]


@given(accesses())
def test_every_answer_is_15_lines_and_its_map_80_columns(
    access: WarpAccess,
) -> None:
    answer = explain(*access)
    counts = count(*access)
    assert answer.wavefronts == int(counts.wavefronts)
    lines = str(answer).splitlines()
    assert len(lines) <= 15
    picture = [line for line in lines if line.startswith(("bank ", "words ", "phase "))]
    assert all(len(line) <= 80 for line in picture)
    if answer.wavefronts:
        assert f"{answer.cycles:,} cycle" in str(answer)
    free = answer.verdict.startswith("Conflict-free")
    assert free == (answer.bank_conflicts == 0 and answer.verdict[:2] != "No")


@given(accesses())
def test_the_map_holds_the_queues_of_the_law(access: WarpAccess) -> None:
    from simulator.asking.bank_map import LABEL, bank_map

    answer = explain(*access)
    rows = bank_map(answer)[1:]
    drawn = set()
    for row in rows:
        depths: list[int] = []
        for bank in range(32):
            cell = row[LABEL + 2 * bank : LABEL + 2 * bank + 2].strip()
            depths.append(depths[-1] if cell == "--" else int(cell) if cell.isdigit() else 0)
        drawn.add(tuple(depths))
    assert drawn == {
        tuple(len(phase.banks.get(bank, ())) for bank in range(32)) for phase in answer.phases
    }


@pytest.mark.parametrize(
    ("text", "op", "block"),
    [
        (COLUMN, None, None),
        ("half t[64][64]; &t[lane%16][lane/16*8]", "ldmatrix.x4", None),
        ("float s[40][32]; s[tx][ty]", None, (40, 3)),  # a warp is cut short
        ("float s[64][32]; *(float4*)&s[lane][0] = v", None, None),
        ("float a[8][8][32]; a[lane/4][lane%4][warp]", None, None),
        ("lane*32", "LDS", None),
        ("extern __shared__ float s[][32]; s[lane][0]", None, None),
    ],
)
def test_cures_are_what_optimize_finds_and_count_counts(
    text: str, op: str | None, block: object
) -> None:
    asked = read(text, op, block=block)
    found, why = cures(asked, "silicon")
    assert found
    assert why == ""
    before = count(asked.instruction, asked.addresses(), asked.masks)
    array = asked.question.array
    cols = (array.sizes[-1] or 0) if len(array.sizes) > 1 else None
    place = asked.places()
    for cure in found:
        assert cure.cycles < int(before.cycles.sum())
        if cols is None:
            continue
        rows = int(place.max()) // cols + 1
        if None not in array.sizes:
            rows = 1
            for size in array.sizes[:-1]:
                rows *= size or 1
        space = {"pad": range(33)} if cure.kind == "pad" else {"swizzle": "cute"}
        best = optimize(
            [Access(asked.instruction.name, (place // cols, place % cols), masks=asked.masks)],
            tile=(rows, cols), element=asked.element, space=space,
        )  # fmt: skip
        assert best.layout is not None
        again = count(asked.instruction, best.layout.offset(place) * asked.element, asked.masks)
        assert cure.cycles == best.cost == int(again.cycles.sum())
        assert cure.bank_conflicts == int(again.bank_conflicts.sum())
        assert cure.operations == best.operations


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("float s[32][32]; s[threadIdx.x][0]", "s[row][col ^ row]"),
        ("float s[64][32]; *(float4*)&s[lane][0] = v", "s[row][col ^ ((row & 7) << 2)]"),
        ("float a[2][32][32]; a[1][lane][0]", "a[q][row][col ^ ((q*32 + row) & 31)]"),
        ("float s[32][32]; s[lane][1]", ""),
    ],
)
def test_a_swizzle_of_column_0_says_the_rule_that_the_other_access_needs(
    text: str, rule: str
) -> None:
    answer = explain(text)
    (swizzle,) = (cure for cure in answer.cures if cure.kind == "swizzle")
    assert swizzle.everywhere == rule
    assert ("         every s[" in str(answer) or "every a[" in str(answer)) == bool(rule)
    assert len(str(answer).splitlines()) <= 15
    if not rule:
        return
    place = {"s": "s[row][col]", "a": "a[q][row][col]"}[rule[0]]
    line = f"         every {place} as {rule}"
    assert line in str(answer).splitlines()
    assert len(line) <= 80
    # What the text folds to is the rule at column 0.
    lines = "int q = 1; int row = lane; int col = 0; " + text.rpartition(";")[0].partition("; ")[0]
    access = f"*(float4*)&{rule} = v" if "float4" in text else rule
    assert count(f"{lines}; {access}").totals()["bank_conflicts"] == swizzle.bank_conflicts


_SHORT = {
    2: "int row = lane%16; int col = lane/16*8; ",
    3: "int q = lane/4; int row = lane%4; int col = 0; ",
}
"""What the short names of a long index mean in the questions below."""


@pytest.mark.parametrize(
    ("text", "op", "left"),
    [
        (COLUMN, None, 0),
        ("float s[64][32]; *(float4*)&s[lane][0] = v", None, 0),
        ("half t[64][64]; t[lane%16][lane/16*8]", "ldmatrix.x4", 0),
        ("float a[8][8][32]; a[lane/4][lane%4][0]", None, 1),  # no single term does better
    ],
)
def test_what_a_cure_says_can_be_asked(text: str, op: str | None, left: int) -> None:
    """The padded declaration, and the swizzled index, read as C again."""
    answer = explain(text) if op is None else explain(op, text)
    declaration, access = text.split("; ")
    for cure in answer.cures:
        if cure.kind == "pad":
            again = f"{cure.text}; {access}"
        elif access.startswith("*"):
            again = f"{declaration}; *(float4*)&{cure.text} = v"
        else:
            again = f"{_SHORT[declaration.count('[')]}{declaration}; {cure.text}"
        counts = count(again, block=answer.block) if op is None else count(op, again)
        assert int(counts.bank_conflicts.sum()) == cure.bank_conflicts <= left
        assert int(counts.cycles.sum()) == cure.cycles


def test_wide_numbers_do_not_run_together() -> None:
    assert "phase 0-1   . . . . . . 16--  ." in str(explain("double s[32][32]; s[lane][3]"))


def test_a_swizzle_that_leaves_the_row_is_of_the_flat_index() -> None:
    answer = explain("float As[128][8]; As[tid/2][tid%2*4 + 1] = v", block=256)
    (cure,) = (each for each in answer.cures if each.kind == "swizzle")
    assert cure.text == "(&As[0][0])[i ^ (i >> 5)]"
    index = "((tid/2)*8 + tid%2*4 + 1)"  # row and column in one
    mixed = cure.text.split(")[", 1)[1].replace("i", index)
    again = f"float As[1024]; As[{mixed} = v"
    assert int(count(again, block=256).bank_conflicts.sum()) == cure.bank_conflicts == 0


def test_nothing_is_explained_where_no_lane_is_active() -> None:
    lines = str(explain("LDS", [0] * 32, 0)).splitlines()
    assert lines[:2] == ["No lane is active: nothing is accessed", ""]
    assert len(lines) == 4


def test_what_is_said_where_no_cure_is() -> None:
    assert "Cure     nothing to do" in str(explain("float s[32]; s[lane]"))
    assert "nothing to do" in str(explain("LDS", [4 * lane for lane in range(32)]))
    assert "ask in C, such as 'float s[32][32];" in str(
        explain("LDS", [128 * i for i in range(32)])
    )
    answer = str(explain("atom.shared.add.u32", "int h[32]; h[0]"))
    assert "Cure     no layout helps: lanes that update one word wait for each other" in answer
    store = str(explain("float s[32][32]; s[lane][0] = x"))
    assert "only the store was given: the load may get bank conflicts" in store
    assert "only this access was given" in str(explain("ATOMS.ADD", "int h[32][32]; h[lane][0]"))


def test_the_worst_warp_is_explained() -> None:
    answer = explain("float s[64][32]; s[lane*(warp+1)%64][0]", block=128)
    assert answer.warp == 0
    answer = explain("float s[32][33]; s[lane][lane*warp%32]", block=128)
    ways = count("float s[32][33]; s[lane][lane*warp%32]", block=128).wavefronts.tolist()
    assert answer.wavefronts == max(ways)
    assert answer.warp == ways.index(max(ways))
    chosen = explain("float s[32][33]; s[lane][lane*warp%32]", block=128, warp=2)
    assert (chosen.warp, chosen.wavefronts) == (2, ways[2])
    assert "-way (warp 2)" in str(chosen)


def test_an_answer_is_a_result_like_others() -> None:
    answer = explain(COLUMN)
    copy: Answer = pickle.loads(pickle.dumps(answer))  # noqa: S301 (our own)
    assert copy == answer
    assert str(copy) == str(answer)
    assert explain(COLUMN, block="32x16") != answer
    assert json.dumps(answer.to_dict())
    html = answer._repr_html_()
    assert html.startswith('<pre><span style="color:#b3261e">32-way bank conflict')
    assert "<script" not in html
    assert answer.markdown() == f"```text\n{answer}\n```"
    free = explain("float s[32]; s[lane]").terminal()
    assert free.count("\x1b[32m") == 1
    assert "\x1b[31m" not in free
    assert answer.terminal().count("\x1b[31m") == 2  # the verdict, and bank 0 of the map


def test_only_what_can_be_meant_is_taken() -> None:
    with pytest.raises(AddressError, match="addresses are missing for LDS"):
        count("LDS")
    with pytest.raises(OptionError, match="block: for a question in C, not for addresses"):
        count("LDS", [0] * 32, block=64)
    with pytest.raises(OptionError, match="warp 'a' is not the number of a warp"):
        explain(COLUMN, warp="a")  # type: ignore[arg-type]
    with pytest.raises(BankwiseError, match="for a question in C"):
        count(COLUMN, mask=[1, 2])


def test_no_numba_on_the_way_to_an_answer() -> None:
    code = (
        "import sys; from simulator.cli import main\n"
        f"main([{COLUMN!r}])\n"
        "print([n for n in ('numba', 'plotly', 'pandas', 'tabulate', 'rich') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_plain_prompt_shows_the_verdict_alone() -> None:
    shown = repr(explain("float s[32][32]; s[lane][0]"))
    assert shown == "<Answer of LDS: 32-way bank conflict: 32 wavefronts where 1 is enough>"


def test_a_cure_says_a_long_index_once() -> None:
    index = "threadIdx.x < 16 ? threadIdx.x * 32 : threadIdx.x"
    (cure,) = explain(f"float s[1024]; s[{index}]").cures
    assert cure.text == f"int i = {index}; s[i ^ (i >> 5)]"
    again = count(f"float s[1024]; {cure.text}")
    assert int(again.cycles.sum()) == cure.cycles
    (cure,) = explain("float s[1024]; s[i * 32 + threadIdx.x / 2 * 64 % 512]", names={"i": 0}).cures
    assert cure.text.startswith("int at = i * 32")


def test_an_array_of_any_number_of_dimensions_is_answered() -> None:
    sizes = "[1]" * 5
    answer = explain(f"float s{sizes}[32][32]; s{'[0]' * 5}[lane][0]")
    assert "p0" in str(answer)
    assert "32 wavefronts" in str(answer)
