"""Which shared-memory instructions find their address by data that the kernel loads."""

from __future__ import annotations

import re

import pytest

from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.data_addresses import addressed_by_data
from simulator.sass.lift.unwaited import RegisterUse, with_meetings

INDEX = "S2R R0, SR_TID.X"
LOADED = "LDG.E R4, [R2.64]"


def found(*code: str) -> list[int]:
    """Numbers of the instructions; the register that a text begins with is written."""
    lines, uses = [], []
    for at, text in enumerate(code):
        guard, opcode, operands = re.fullmatch(r"(@\S+ )?(\S+) (.*)", text).groups("")  # type: ignore[union-attr]
        lines.append(SassInstruction(16 * at, guard.strip(), opcode, operands))
        own = re.match(r"(?:U?P\w+, )*R(\d+),", operands)
        jump = re.search(r"`(\d+)", operands)
        uses.append(
            RegisterUse(
                written=frozenset({int(own[1])} if own and "SETP" not in opcode else ()),
                targets=(int(jump[1]),) if jump else (),
            )
        )
    return addressed_by_data(lines, with_meetings(lines, uses))


@pytest.mark.parametrize(
    ("code", "numbers"),
    [
        ((INDEX, "LDS R5, [R0]"), []),
        ((LOADED, "STS [R0], R4"), []),  # data are stored, not the place
        ((LOADED, "IMAD.SHL R5, R4, 0x4, RZ", "ATOMS.POPC.INC.32 RZ, [R5]"), [2]),
        ((LOADED, "SHFL.IDX PT, R5, R4, 0x1, 0x1f", "LDS R6, [R5+0x10]"), [2]),
        ((LOADED, "R2UR UR4, R4", "LDS R6, [R0+UR4]"), [2]),
        ((LOADED, "MOV R4, 0x4", "LDS R6, [R4]"), []),  # the register has another use
        ((LOADED, "@P0 MOV R4, 0x4", "LDS R6, [R4]"), [2]),  # it may have
        # Under the guard of a write the old value is gone; it may be there where the guard is not
        # true, or where its predicate has changed since.
        ((LOADED, "@P0 MOV R4, 0x4", "@P0 LDS R6, [R4]"), []),
        ((LOADED, "@!P0 MOV R4, 0x4", "@!P0 IADD R5, R4, 0x4", "@!P0 LDS R6, [R5]"), []),
        ((LOADED, "@P0 MOV R4, 0x4", "@!P0 LDS R6, [R4]"), [2]),
        ((LOADED, "@P0 MOV R4, 0x4", "@P1 LDS R6, [R4]"), [2]),
        ((LOADED, "@P0 MOV R4, 0x4", "@!P0 MOV R4, 0x8", "LDS R6, [R4]"), []),
        ((LOADED, "@P0 MOV R4, 0x4", f"@P0 {LOADED}", "@P0 LDS R6, [R4]"), [3]),
        ((LOADED, "@P0 MOV R4, 0x4", "ISETP.LT P0, PT, R0, 0x4, PT", "@P0 LDS R6, [R4]"), [3]),
        ((LOADED, "@P0 MOV R4, 0x4", "R2P PR, R0, 0x7f", "@P0 LDS R6, [R4]"), [3]),
        ((LOADED, "@P0 MOV R4, 0x4", "ISETP.LT P1, PT, R0, 0x4, PT", "@P0 LDS R6, [R4]"), []),
        ((f"@P0 {LOADED}", "@!P0 LDS R6, [R4]", "LDS R6, [R4]"), [2]),
        (
            (LOADED, "@P0 MOV R4, 0x4", "@P0 LDS R6, [R4]", "ISETP P0, PT, R0, 0x4, PT", "BRA `2"),
            [2],
        ),
        # Of two guards in turn, one still tells the lanes when the other's predicate has changed.
        (
            (
                f"@!P0 {LOADED}",
                "@!P1 MOV R4, 0x4",
                "ISETP P0, PT, R0, 0x4, PT",
                "@!P1 LDS R6, [R4]",
            ),
            [],
        ),
        (
            (
                f"@!P0 {LOADED}",
                "@!P1 MOV R4, 0x4",
                "ISETP P1, PT, R0, 0x4, PT",
                "@!P0 LDS R6, [R4]",
            ),
            [3],
        ),
        (
            (f"@!P0 {LOADED}", "@!P1 MOV R4, 0x4", "ISETP P1, PT, R0, 0x4, PT", "@P0 LDS R6, [R4]"),
            [],
        ),
        (
            (f"@!P0 {LOADED}", "@!P1 MOV R4, 0x4", "ISETP P0, PT, R0, 0x4, PT", "@P1 LDS R6, [R4]"),
            [3],
        ),
        (
            (LOADED, "@P0 MOV R4, 0x4", "@P1 MOV R4, 0x8", "@P0 LDS R6, [R4]", "@P1 LDS R7, [R4]"),
            [],
        ),
        (
            (LOADED, "@P0 MOV R4, 0x4", "@P1 MOV R4, 0x8", "@!P0 LDS R6, [R4]"),
            [3],
        ),
        ((LOADED, "@P0 SHFL.IDX P0, R5, R4, 0x1, 0x1f", "@!P0 LDS R6, [R5]"), [2]),
        ((LOADED, "@P0 R2UR UR4, R4", "@!P0 LDS R6, [R0+UR4]"), [2]),  # it is the whole warp's
        ((LOADED, "ISETP.LT P0, PT, R4, 0x4, PT", "LDS R6, [R4]"), [2]),
        # Data that lie in shared memory come from there; an index that was put there does not.
        ((LOADED, "STS [R0], R4", "LDS R5, [R0]", "LDS R6, [R5]"), [3]),
        ((INDEX, "STS [R0], R0", "LDS R5, [R0]", "LDS R6, [R5]"), []),
        # A loop brings it back to an instruction that stands before the load.
        (("LDS R6, [R4]", LOADED, "BRA `0"), [0]),
        # A loop that waits stands behind the kernel's end, and goes back to its middle.
        ((INDEX, "@!P0 BRA `5", "LDS R5, [R4]", LOADED, "EXIT ", "@!P0 BRA `5", "BRA `2"), []),
        ((INDEX, "@P1 BRA `4", LOADED, "BRA `5", "LDS R6, [R4]", "STS [R0], R4"), []),
        ((INDEX, LOADED, "@P1 EXIT ", "LDS R6, [R4]"), [3]),
        # Lanes go to where they meet by a BSYNC, not by the BSSY that says where: R4 is new there.
        ((LOADED, "BSSY B0, `5", "MOV R4, 0x4", "@P0 BRA `4", "BSYNC B0", "LDS R6, [R4]"), []),
        ((LOADED, "BSSY B0, `4", "MOV R5, R4", "BSYNC B0", "LDS R6, [R5]"), [4]),
        # One that stands elsewhere leads there, too.
        (("BSSY B0, `4", LOADED, "BSYNC B0", "EXIT ", "LDS R6, [R4]"), [4]),
        (
            ("BSSY B0, `2", "BSYNC B0", "BSSY B0, `6", LOADED, "BSYNC B0", "EXIT ", "LDS R6, [R4]"),
            [6],
        ),
    ],
)
def test_registers_are_followed(code: tuple[str, ...], numbers: list[int]) -> None:
    assert found(*code) == numbers
