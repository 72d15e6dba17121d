"""Instruction names, aliases, and what each instruction is said to do."""

from __future__ import annotations

import pytest

from simulator import INSTRUCTIONS, InstructionError, count, instruction


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("LDS.32", "LDS"),
        ("lds.128", "LDS.128"),
        (" STS.32 ", "STS"),
        ("ldmatrix.x1", "LDSM.16.M88"),
        ("ldmatrix.x4", "LDSM.16.M88.4"),
        ("ldmatrix.x4.trans", "LDSM.16.MT88.4"),
        ("stmatrix.x2.trans", "STSM.16.MT88.2"),
        ("cp.async.ca.4", "LDGSTS.E"),
        ("cp.async.ca.16", "LDGSTS.E.128"),
        ("cp.async.cg.16", "LDGSTS.E.BYPASS.128"),
        ("ATOMS.POPC.INC", "ATOMS.POPC.INC.32"),
    ],
)
def test_aliases_parse_to_the_same_thing(alias: str, name: str) -> None:
    assert instruction(alias) is instruction(name)
    assert instruction(alias).name == name


def test_every_spelling_is_unique() -> None:
    spellings = [
        spelling.upper()
        for known in INSTRUCTIONS.values()
        for spelling in (known.name, *known.aliases)
    ]
    assert len(set(spellings)) == len(spellings)


@pytest.mark.parametrize("odd", ["", "LDG", "LDS.256", "ATOMS.ADD.64", "ATOMS", "ldmatrix"])
def test_unknown_names_are_refused_with_the_nearest(odd: str) -> None:
    with pytest.raises(InstructionError) as caught:
        instruction(odd)
    assert str(caught.value).startswith(f"unknown instruction {odd!r} (accepted, nearest first: ")


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


def test_narrow_stores_take_two_cycles() -> None:
    for op in ("STS.U8", "STS.U16"):
        counts = count(op, [4 * lane for lane in range(32)])
        assert (counts.wavefronts, counts.cycles) == (1, 2)


def test_short_copies_take_longer_than_their_wavefronts() -> None:
    few = [count("cp.async.ca.4", [128 * lane for lane in range(32)], (1 << n) - 1).cycles
           for n in (1, 2, 3, 4)]  # fmt: skip
    assert few == [2, 3, 3, 4]


def test_idle_phases_of_a_swap_take_both_of_its_passes() -> None:
    alone = count("ATOMS.CAS.64", [0] * 32, 1)
    assert (alone.wavefronts, alone.phases, alone.cycles) == (2, 2, 4)
