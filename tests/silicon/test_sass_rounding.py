"""What an H200 answered, where rounding twice or forgetting a zero's sign would answer otherwise.

Each was asked in PTX that compiles to the instruction (driver's compiler, sm_90), one thread.
"""

from __future__ import annotations

import pytest

from tests.sass_warp import LANES, run_warp

_SMALL = 0x0D800000  # 2**-100
RECORDED: tuple[tuple[str, tuple[int, ...], int], ...] = (
    ("FADD.RM R3, R0, R1", (0x3F800000, _SMALL | 1 << 31), 0x3F7FFFFF),
    ("FADD.RZ R3, R0, R1", (0x3F800000, _SMALL | 1 << 31), 0x3F7FFFFF),
    ("FADD.RP R3, R0, R1", (0x3F800000, _SMALL), 0x3F800001),
    ("FFMA.RM R3, R0, R1, R2", (0x3F800000, 0x3F800000, _SMALL | 1 << 31), 0x3F7FFFFF),
    ("FFMA.SAT R3, R0, R1, R2", (0x3F000800, 0x3F800800, _SMALL), 0x3F001001),
    ("FFMA R3, R0, R1, R2", (0x3F000800, 0x3F800800, _SMALL), 0x3F001001),
    ("HFMA2 R3, R0, R1, R2", (0x3C20, 0x3C10, 0x0001), 0x3C31),
    ("HFMA2.BF16_V2 R3, R0, R1, R2", (0x3F88, 0x3F88, 0x0D80), 0x3F91),
    ("FADD.RM R3, R0, R1", (0x3F800000, 0xBF800000), 0x80000000),
    ("FADD.RM R3, R0, R1", (0, 0x80000000), 0x80000000),
    ("FFMA.RM R3, R0, R1, R2", (0x3F800000, 0x3F800000, 0xBF800000), 0x80000000),
    ("FADD.SAT R3, R0, R1", (0x80000000, 0x80000000), 0),
    ("HMNMX2 R3, R0, R1, !PT", (0x80000000, 0x00008000), 0),
    ("HMNMX2 R3, R0, R1, PT", (0x80000000, 0x00008000), 0x80008000),
    *(
        (f"VHMNMX{kind} R3, R0, R1, R2, {least}", words, wanted)
        for kind, least, words, wanted in (
            ("", "PT", (0xFF803C00, 0xFDFFFFFF, 0x7A3C0001), 0x7A3C0001),
            ("", "!PT", (0xFF803C00, 0xFDFFFFFF, 0x7A3C0001), 0x7A3C3C00),
            (".NAN", "PT", (0xFF803C00, 0xFDFFFFFF, 0x7A3C0001), 0x7FFF7FFF),
            ("", "PT", (0x4B0B7F80, 0x25217FC0, 0x27537FC0), 0x25217FFF),
            (".BF16_V2", "PT", (0x0001BDF3, 0xB46993E8, 0x89FB8001), 0xB469BDF3),
            (".BF16_V2", "!PT", (0xFDFF7FC0, 0x7F818000, 0x7F81FE00), 0xFDFF8000),
            (".BF16_V2.NAN", "PT", (0xC7DD7FC0, 0x39E3FFFF, 0x0001FFFF), 0xC7DD7FFF),
        )
    ),
    ("F2FP.RELU.F16.F32.PACK_AB R3, R0, R1", (0x80000000, 0x80000001), 0),
    ("HFMA2.RELU R3, R0, R1, R2", (0x80010001, 0x00010001, 0x80008000), 0),
    ("HFMA2.SAT R3, R0, R1, R2", (0x7E00FC00, 0x3C003C00, 0x00007C00), 0),
    *(
        ("F2IP.U8.F32.NTZ R3, RZ, R0, RZ", (word,), byte)  # as cvt.rni.sat.u8.f32 compiles to
        for word, byte in (
            (0x3F000000, 0),
            (0x3FC00000, 2),
            (0x40200000, 2),
            (0x437E8000, 254),
            (0x437F8000, 255),
            (0xBF800000, 0),
            (0x7FC00000, 0),
            (0x7F800000, 255),
            (0xFF800000, 0),
            (0x43960000, 255),
        )
    ),
    ("I2F.BF16.S64 R3, R0", (0x00000001, 0x40400000), 0x5E81),
    ("F2F.F16.F64 R3, R0", (0x00000001, 0x3FF00200), 0x3C01),
)


@pytest.mark.parametrize(("line", "words_", "wanted"), RECORDED)
def test_rounds_once_as_an_h200(line: str, words_: tuple[int, ...], wanted: int) -> None:
    outcome = run_warp([line], {f"R{n}": [word] * LANES for n, word in enumerate(words_)})
    assert outcome.register(3) == [wanted] * LANES
