"""Instruction names, aliases, and what each instruction is said to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import INSTRUCTIONS, InstructionError, count, instruction

ALIASES = {
    "LDS.8": "LDS.U8", "LDS.16": "LDS.U16", "LDS.32": "LDS", "LDS.U.32": "LDS",
    "LDS.U.64": "LDS.64", "LDS.U.128": "LDS.128",
    "STS.8": "STS.U8", "STS.16": "STS.U16", "STS.32": "STS",
    "ldmatrix.x1": "LDSM.16.M88", "ldmatrix.x2": "LDSM.16.M88.2", "ldmatrix.x4": "LDSM.16.M88.4",
    "ldmatrix.x1.trans": "LDSM.16.MT88", "ldmatrix.x2.trans": "LDSM.16.MT88.2",
    "ldmatrix.x4.trans": "LDSM.16.MT88.4",
    "stmatrix.x1": "STSM.16.M88", "stmatrix.x2": "STSM.16.M88.2", "stmatrix.x4": "STSM.16.M88.4",
    "stmatrix.x1.trans": "STSM.16.MT88", "stmatrix.x2.trans": "STSM.16.MT88.2",
    "stmatrix.x4.trans": "STSM.16.MT88.4",
    "ATOMS.POPC.INC": "ATOMS.POPC.INC.32",
    "cp.async.ca.4": "LDGSTS.E", "cp.async.ca.8": "LDGSTS.E.64", "cp.async.ca.16": "LDGSTS.E.128",
    "cp.async.cg.16": "LDGSTS.E.BYPASS.128",
}  # fmt: skip


@pytest.mark.parametrize(
    ("alias", "name"), [*ALIASES.items(), ("lds.128", "LDS.128"), (" STS.32 ", "STS")]
)
def test_aliases_parse_to_the_same_thing(alias: str, name: str) -> None:
    assert instruction(alias) is instruction(name)
    assert instruction(alias).name == name


def test_there_are_no_other_aliases() -> None:
    named = {alias for known in INSTRUCTIONS.values() for alias in known.aliases}
    assert named ^ set(ALIASES) == set(), "put it into ALIASES, above, with its instruction"


def test_the_example_of_a_new_instruction_is_in_the_code() -> None:
    """CONTRIBUTING.md shows a diff: each of its lines is there, in its order."""
    root = Path(__file__).parents[3]
    text = (root / "CONTRIBUTING.md").read_text().partition("## Add an instruction")[2]
    diff = text.partition("```diff\n")[2].partition("```")[0]
    shown = [line[1:] for line in diff.splitlines() if line[0] in " +" and line[:3] != "+++"]
    code = iter((root / "simulator/law/instructions.py").read_text().splitlines())
    assert len(shown) > 5
    assert [line for line in shown if line not in code] == []


def test_every_spelling_is_unique() -> None:
    spellings = [
        spelling.upper()
        for known in INSTRUCTIONS.values()
        for spelling in (known.name, *known.aliases)
    ]
    assert len(set(spellings)) == len(spellings)


EVEN, ODD = tuple(range(0, 32, 2)), tuple(range(1, 32, 2))


@pytest.mark.parametrize("odd", ["", "LDX", "LDS.256", "ATOMS.ADD.64", "ATOMS", "ldmatrix"])
def test_unknown_names_are_refused_with_the_nearest(odd: str) -> None:
    with pytest.raises(InstructionError) as caught:
        instruction(odd)
    assert str(caught.value).startswith(f"unknown instruction {odd!r} (accepted, nearest first: ")
    assert str(caught.value).count(", ") == 5  # four names, "..." and one before "nearest"


@pytest.mark.parametrize(
    ("op", "odd", "message"),
    [
        ("LDS", {"width": 12}, "width 12 .accepted: 1, 2, 4, 8, 16 bytes"),
        ("LDS", {"lanes": 64}, "lanes 64 .accepted: 8, 16, 32"),
        ("LDS.128", {"phases": 8}, "phases 8 .accepted: 0, 1, 2, 4, of 8 lanes or more"),
        ("ldmatrix.x2", {"phases": 4}, "phases 4"),
        ("LDS", {"fuses": True}, "fuses True .accepted: False, or 2 or 4 phases of 32 lanes"),
        ("LDS.64", {"width": 1}, "fuses True .accepted: .* phases of 32 lanes of 4 bytes or more"),
        ("LDS.128", {"width": 2}, "fuses True .accepted: .* of 4 bytes or more"),
        ("ldmatrix.x2", {"fuses": True}, "fuses True"),
        ("ATOMS.CAS", {"passes": 8}, "passes 8 .accepted: 1 to 7"),
        ("LDS", {"passes": 0}, "passes 0"),
        ("ATOMS.ADD", {"fixed_ideal": 2}, "fixed_ideal 2 .accepted: None, or 0 to 1, the fewest"),
        ("ATOMS.EXCH.64", {"fixed_ideal": 2}, "fixed_ideal 2 .accepted: None, or 0 to 1, the few"),
        ("ATOMS.CAS", {"fixed_ideal": 3}, "fixed_ideal 3 .accepted: None, or 0 to 2, the fewest"),
        ("ldmatrix.x4", {"fixed_ideal": 5}, "fixed_ideal 5"),
        ("ldmatrix.x4", {"fuses": True}, "fixed_ideal 4 .accepted: None, or 0 to 2, the fewest"),
        ("LDS", {"phase_cycles": 64}, "phase_cycles 64 .accepted: 0 to 63"),
        ("LDS", {"least_cycles": (1, 256)}, r"least_cycles \(1, 256\) .accepted: two, 0 to 255"),
        ("LDS", {"least_cycles": (1,)}, r"least_cycles \(1,\)"),
        ("LDS", {"least_cycles": (1, 2, 3)}, r"least_cycles \(1, 2, 3\) .accepted: two, 0 to"),
        ("LDS", {"least_cycles": (-1, 0)}, "least_cycles"),
        ("LDS", {"phase_cycles": -1}, "phase_cycles -1"),
        ("LDS", {"fixed_ideal": -1}, "fixed_ideal -1 .accepted: None, or 0 to 1"),
        ("LDS", {"shared_bytes": 0}, "shared_bytes 0 .accepted: 1 to 261120"),
        ("LDS", {"shared_bytes": 261121}, "shared_bytes 261121"),
        ("LDS", {"shared_bytes": 1e5}, "shared_bytes 100000.0"),
        ("LDS.64", {"groups": (EVEN, ODD[:-1])}, "groups .* each of lanes 0 to 31 in one of them"),
        ("LDS.64", {"groups": (EVEN, (*ODD, 31))}, "groups"),
        ("LDS.64", {"groups": (EVEN, ODD, ())}, "groups"),
        ("LDS.64", {"groups": (EVEN, "1")}, "groups"),
        ("LDS.64", {"groups": (EVEN, (*ODD[:-1], 31.0))}, "groups"),
        ("LDS.128", {"groups": (EVEN, ODD)}, "phases 4 .accepted: 2, one per group"),
        ("LDS", {"fused_groups": (range(32),)}, "fused_groups .* .accepted: where phases fuse"),
        ("LDS.64", {"fused_groups": (EVEN, ODD)}, "fused_groups .* fewer groups than phases"),
        ("LDS.128", {"fused_groups": (EVEN, ODD)}, "fused_groups .* each of whole phases"),
        ("LDS.128", {"fused_groups": (range(16), range(15, 32))}, "fused_groups .* none twice"),
        ("LDS.64", {"fused_groups": (range(16), range(16, 32))}, "fused_groups .* fewer groups"),
        ("LDS.64", {"partners": ()}, "partners .. .accepted: 1 to 31, each once, at least one"),
        ("LDS.64", {"partners": (1, 1)}, "partners"),
        ("LDS.64", {"partners": (0,)}, "partners"),
        ("LDS.64", {"partners": (32,)}, "partners"),
        ("LDS.64", {"partners": (1.5,)}, "partners"),
    ],
)
def test_instructions_that_no_engine_counts_are_refused(
    op: str, odd: dict[str, Any], message: str
) -> None:
    with pytest.raises(InstructionError, match=message):
        replace(instruction(op), **odd)


@pytest.mark.parametrize(
    ("op", "given", "kept"),
    [
        ("LDS.64", {"groups": (range(16), [*range(16, 32)])}, ()),  # what it would be anyway
        ("LDS.64", {"groups": [[*EVEN], [*ODD]]}, (EVEN, ODD)),
        ("LDSM.16.M88", {"groups": [range(8)]}, ()),
        ("LDS.128", {"groups": (EVEN, ODD), "phases": 2}, (EVEN, ODD)),
        ("LDS.64", {"groups": (ODD, EVEN)}, (ODD, EVEN)),
    ],
)
def test_phases_are_groups_of_lanes(op: str, given: dict[str, Any], kept: object) -> None:
    made = replace(instruction(op), **given)
    assert made.groups == kept
    assert made.is_regular == (not kept)
    assert list(map(list, made.phase_lanes)) == list(map(list, kept or given["groups"]))
    assert made.fused_lanes == ((range(32),) if made.fuses else ())


def test_what_fuses_may_be_said_too() -> None:
    fours = tuple(range(first, first + 8) for first in range(0, 32, 8))
    assert replace(instruction("LDS.128"), groups=fours).groups == ()
    same = replace(instruction("LDS.128"), fused_groups=(range(16), range(16, 32)))
    assert (same.fused_groups, same.is_regular) == ((), True)
    all_ = replace(instruction("LDS.128"), fused_groups=[range(32)])
    assert (all_.fused_groups, all_.is_regular) == ((tuple(range(32)),), False)
    assert all_.fused_lanes == all_.fused_groups
    thirds = (tuple(range(10)), tuple(range(10, 20)), tuple(range(20, 32)))
    two = (thirds[0] + thirds[1], thirds[2])
    odd = replace(instruction("LDS.64"), phases=3, groups=thirds, fused_groups=two)
    assert odd.fused_lanes == two
    fourths = [range(first, 32, 4) for first in range(4)]
    one = replace(instruction("LDS.128"), groups=fourths, fused_groups=[range(32)])
    assert one.fused_groups == (tuple(range(32)),)  # and not what two and two would be
    swapped = replace(instruction("LDS.64"), partners=[2, 1])
    assert (swapped.partners, swapped.is_regular) == ((2, 1), False)
    assert replace(instruction("LDS.64"), partners=(1, 31), shared_bytes=261120).partners[1] == 31


@pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
def test_the_largest_figures_fit(engine: str) -> None:
    slow = replace(
        instruction("STS.128"), merges=False, phases=4, passes=7, phase_cycles=63,
        least_cycles=(255, 255),
    )  # fmt: skip
    counts = count(slow, np.zeros((3, 32), dtype=int), [0xFFFFFFFF, 1, 0], engine=engine)
    assert counts.wavefronts.tolist() == [224, 7, 0]
    assert counts.bank_conflicts.tolist() == [28, 0, 0]
    assert counts.cycles.tolist() == [252, 252, 0]
    short = replace(slow, passes=1, phase_cycles=0)
    assert count(short, [0] * 32, 1, engine=engine).cycles == 255


def test_names_say_widths() -> None:
    """Of U8 one byte per lane, of a matrix a row of 16, without a number a word."""
    bits = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
    for known in INSTRUCTIONS.values():
        said = 16 if known.is_matrix else bits.get(known.name.rsplit(".", 1)[-1], 4)
        assert known.width == said, known.name
        assert known.element == (2 if known.is_matrix else 4)


def test_chips_that_have_it() -> None:
    """PTX ISA 9.0 says from which on: ldmatrix sm_75, cp.async sm_80, stmatrix sm_90."""
    since = {"LDSM": 75, "LDGSTS": 80, "STSM": 90}
    for known in INSTRUCTIONS.values():
        assert known.capability == since.get(known.name.split(".")[0], 70), known.name


def test_rules_of_the_atomics() -> None:
    same = [0] * 32
    assert count("ATOMS.ADD", same).wavefronts == 32
    assert count("ATOMS.POPC.INC", same).wavefronts == 1
    cas = count("ATOMS.CAS", same, 0b1111)
    assert (cas.wavefronts, cas.bank_conflicts, cas.ideal) == (8, 3, 1)


def test_rules_of_cp_async() -> None:
    assert count("cp.async.ca.4", [0] * 32).wavefronts == 32
    bypass = count("cp.async.cg.16", [16 * lane for lane in range(32)]).totals()
    assert set(bypass.values()) == {0}


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_narrow_stores_take_a_cycle_a_wavefront(ways: int) -> None:
    for op in ("STS.U8", "STS.U16"):
        counts = count(op, [lane // ways * 4 + lane % ways * 128 for lane in range(32)])
        assert (counts.wavefronts, counts.cycles) == (ways, ways)
        assert instruction(op).residues == ()


def test_short_copies_take_longer_than_their_wavefronts() -> None:
    few = [count("cp.async.ca.4", [128 * lane for lane in range(32)], (1 << n) - 1).cycles
           for n in (1, 2, 3, 4)]  # fmt: skip
    assert few == [2, 3, 3, 4]


def test_idle_phases_of_a_swap_take_both_of_its_passes() -> None:
    alone = count("ATOMS.CAS.64", [0] * 32, 1)
    assert (alone.wavefronts, alone.phases, alone.cycles) == (2, 2, 4)


@pytest.mark.parametrize(
    ("op", "does"),
    [
        ("wgmma.mma_async", "moves whole tiles by a descriptor"),
        ("UTMALDG.2D", "moves whole tiles by a descriptor"),
        ("LDG.E.128", "reads or writes global memory"),
        ("SHFL.BFLY", "has no addresses"),
    ],
)
def test_refuses_what_is_no_access_to_shared_memory_and_says_where_it_is_counted(
    op: str, does: str
) -> None:
    with pytest.raises(InstructionError, match=f"'{op}' {does}.*`bankwise sass`"):
        instruction(op)


@pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
@pytest.mark.parametrize(("lanes", "phases"), [(8, 2), (8, 4), (16, 4)])
def test_phases_of_fewer_than_eight_lanes_are_counted_if_their_lanes_are_given(
    engine: str, lanes: int, phases: int
) -> None:
    """A probe can learn them; equal runs of lanes were once taken for a default, and refused."""
    size = lanes // phases
    groups = tuple(tuple(range(size * p, size * (p + 1))) for p in range(phases))
    narrow = replace(
        instruction("LDS.32"), name="NARROW", phases=phases, lanes=lanes, groups=groups
    )
    assert narrow.groups == groups
    addresses = np.arange(32) * 128
    assert count(narrow, addresses, engine=engine).wavefronts == lanes
    with pytest.raises(InstructionError, match="of 8 lanes or more"):
        replace(narrow, groups=())
