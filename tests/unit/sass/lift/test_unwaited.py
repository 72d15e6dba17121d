"""Which instructions may touch registers of products in flight, by the ways through a kernel."""

from __future__ import annotations

from simulator.sass.lift.gmma_form import parse_gmma
from simulator.sass.lift.unwaited import RegisterUse, early_touches
from tests.sass_kernels import program

SS = "HGMMA.64x8x16.F32 R24, gdesc[UR4], R24, UP0, gsb0"
RS = "HGMMA.64x8x16.F32 R24, R40, gdesc[UR4], R24, UP0, gsb0"


def early(*lines: str, **touches: RegisterUse) -> dict[int, frozenset[int]]:
    """Those found; `touches` by `at3`, the number of a line."""
    code = program(*lines)
    products = {
        number: parse_gmma(f"{each.opcode} {each.operands}")
        for number, each in enumerate(code)
        if "GMMA" in each.opcode
    }
    return early_touches(
        code, products, [touches.get(f"at{number}", RegisterUse()) for number in range(len(code))]
    )


def touch(*registers: int, writes: bool = False, to: int | None = None) -> RegisterUse:
    found = frozenset(registers)
    return RegisterUse(found, found if writes else frozenset(), () if to is None else (to,))


def test_accumulators_must_be_waited_for() -> None:
    read = "STG.E [R2.64], R25"
    assert early(SS, read, at1=touch(2, 3, 25)) == {1: {0}}
    assert early(SS, "WARPGROUP.DEPBAR.LE gsb0, 0x0", read, at2=touch(2, 3, 25)) == {}
    assert early(SS, read, at1=touch(2, 3, 28)) == {}


def test_a_left_operand_may_be_read_and_not_written() -> None:
    assert early(RS, "MOV R40, R1", at1=touch(40, writes=True)) == {1: {0}}
    assert early(RS, "STG.E [R2.64], R40", at1=touch(40)) == {}


def test_the_last_groups_may_run_on() -> None:
    other = SS.replace("R24", "R32")
    wait = "WARPGROUP.DEPBAR.LE gsb0, 0x1"
    code = (SS, other, wait, "MOV R1, R24", "MOV R1, R32")
    assert early(*code, at3=touch(1, 24), at4=touch(1, 32)) == {4: {1}}


def test_a_product_without_gsb_belongs_to_the_group_behind_it() -> None:
    first = SS.removesuffix(", gsb0")
    wait = "WARPGROUP.DEPBAR.LE gsb0, 0x0"
    assert early(first, wait, "MOV R1, R24", at2=touch(1, 24)) == {2: {0}}
    assert early(first, SS, wait, "MOV R1, R24", at3=touch(1, 24)) == {}


def test_ways_are_followed_around_loops() -> None:
    loop = ("MOV R24, R1", SS, "@P0 BRA 0x0", "WARPGROUP.DEPBAR.LE gsb0, 0x0", "MOV R2, R24")
    found = early(*loop, at0=touch(24, 1, writes=True), at2=touch(to=0), at4=touch(24, 2))
    assert found == {0: {1}}


def test_products_of_one_accumulator_follow_one_another() -> None:
    assert early(SS, SS, SS) == {}
