"""How many issue slots an instruction takes, beside FFMAs: machine code of other instructions.

The FFMAs of a compiled loop read one register each, so that a sub-partition issues one per cycle.
One of every four to sixteen becomes another instruction; `warps_N`: cycles of
a sub-partition per turn of a warp, of N warps of the SM.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.banks import ZERO, control_of, loop_of
from gpu_check.timing.loop_ends import least_cycles

__all__ = ["FORMS", "beside_ffmas", "issue_slots_source", "measure_issue_slots"]

_FFMAS = 128
_FEW, _MANY, _FIRST = 64, 192, 2
_SOURCE = """
extern "C" __global__ void __launch_bounds__(1024) loop(const float* data, float* sink, int* when,
                                                        int turns) {{
    const int lane = (threadIdx.x & 31) + __float_as_int(data[3]);  // a counter in a register
    float f[16], fa = data[1], fb = data[2];
    for (int k = 0; k < 16; ++k) f[k] = data[k + lane];
    int start = 0;
    #pragma unroll 1
    for (int twice = 0; twice < 2; ++twice) {{
        __syncthreads();
        start = (int)clock();
        int last = twice ? turns : {first};
        asm volatile("" : "+r"(last));
        #pragma unroll 1
        for (int turn = lane >> 6; turn < last; turn += 1 + (lane >> 6)) {{
            {text}
        }}
    }}
    const int end = (int)clock();
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += f[k];
    if (__float_as_int(sum) == 12345) sink[0] = sum;
    if (lane == 0) when[2 * (threadIdx.x >> 5)] = start, when[2 * (threadIdx.x >> 5) + 1] = end;
}}
"""
_FFMA = 'asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[{k}]) : "f"(fa), "f"(fb));'
FORMS = {
    "FFMA": (0x0000000504067223, 0x0000000000000006),
    "FFMA, a number": (0x4000000008007823, 0x0000000000000005),
    "FFMA UR": (0x0000000606037C23, 0x0000000008000003),
    "FADD UR": (0x0000000600057E21, 0x0000000008000000),
    "IADD3": (0x0000000007097210, 0x0000000007FFE0FF),
    "IADD3 UR": (0x0000000505077C10, 0x000000000FFFE0FF),
    "IADD3.X": (0x00000003FF037210, 0x00000000017FE4FF),
    "LOP3 UR": (0x0000000805077C12, 0x000000000F8E3CFF),
    "MOV": (0x0000000000077202, 0x0000000000000F00),
    "MOV UR": (0x0000000500117C02, 0x0000000008000F00),
    "IMAD.MOV": (0x000000FFFF047224, 0x00000000078E0008),
    "HFMA2.MMA": (0x00000000FF127435, 0x00000000000001FF),
    "LEA.HI": (0xFFFFFFF804177811, 0x00000000078FE0FF),
    "I2FP": (0x00000004000C7245, 0x0000000000201400),
    "I2FP UR": (0x0000000400057C45, 0x0000000008201400),
    "ISETP": (0x000000020500720C, 0x0000000003F86270),
    "ISETP UR": (0x0000000403007C0C, 0x000000000BF06270),
    "FSETP": (0x000000030400720B, 0x0000000003FC4000),
    "SEL": (0x0000000302037207, 0x0000000000800000),
    "FSEL": (0x0000000300007208, 0x0000000000000000),
    "PLOP3": (0x000000000000781C, 0x0000000003F0F070),
    "P2R": (0x00000004FF197803, 0x0000000000000000),
    "NOP": (0x0000000000007918, 0x0000000000000000),
    "WARPSYNC": (0x0000000000007948, 0x0000000003800000),
    "R2UR": (0x00000000041072CA, 0x00000000000E0000),
    "UIADD3": (0x3C6EF372070A7890, 0x000000000FFFE03F),
    "UIADD3.X": (0x000000053F137290, 0x00000000087FE43F),
    "UMOV": (0x0000040000047882, 0x0000000000000000),
    "ULOP3": (0x000000030D0F7892, 0x000000000F8EC03F),
    "USHF": (0x0000001F3F087899, 0x0000000008011407),
    "ULEA": (0x0000000405047291, 0x000000000F8EC03F),
    "UIMAD": (0xFFFFFFFD060678A4, 0x000000000F8E0205),
    "UISETP": (0x000000050400728C, 0x000000000BF06270),
    "USEL": (0x0000003F07077287, 0x000000000C000000),
    "VOTEU": (0x00000000003F7886, 0x0000000000800000),
    "ULDC": (0x00008A0000077AB9, 0x0000000000000800),
}
"""The words of an instruction of sm_90, without its control bits."""
_PREDICATES = ("ISETP", "ISETP UR", "FSETP", "PLOP3", "UISETP", "VOTEU")
_NOBODYS = 62
_GAPS = (4, 8, 16)
_WARPS = (8, 16, 32)


def issue_slots_source() -> str:
    """Return CUDA source of a loop of FFMAs that counts in a register."""
    body = [_FFMA.format(k=k % 16) for k in range(_FFMAS)]
    return _SOURCE.format(first=_FIRST, text="\n            ".join(body))


def beside_ffmas(image: bytes, name: str, gap: int) -> bytes:
    """Return a cubin in which every `gap`-th FFMA of the loop is another instruction.

    It writes a register that the loop does not read, or a uniform one that nobody reads.
    """
    words, at = loop_of(image)
    registers = sorted({int(words[k]) >> 16 & 0xFF for k in at})
    read, written = registers[: len(registers) // 2], registers[len(registers) // 2 :]
    for turn, k in enumerate(at):
        low, high = int(words[k]), int(words[k + 1])
        target = written[turn % len(written)]
        if turn % gap == gap - 1:
            low, high = FORMS[name]
            if name.startswith(("U", "R2UR")):
                target = _NOBODYS
            if name in _PREDICATES:  # the one that is always true
                high |= 7 << 17
            if name not in (*_PREDICATES, "NOP", "WARPSYNC"):
                low = low & ~(0xFF << 16) | target << 16
        else:
            low = low & ~(0xFFFFFF << 16) | target << 16 | ZERO << 24
            low = low & ~(0xFF << 32) | read[turn % len(read)] << 32
            high = high & ~0xFF | ZERO
        words[k], words[k + 1] = low, high & ((1 << 41) - 1) | control_of(1)
    return words.tobytes() + image[len(words) * 8 :]


def measure_issue_slots(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per instruction and gap: cycles of a sub-partition, with 2 to 8 warps of it."""
    open_gpu(device)
    import cupy

    data, sink = cupy.zeros(64, dtype=np.float32), cupy.zeros(64, dtype=np.float32)
    when = cupy.zeros(64, dtype=np.int32)

    def taken(kernel: Any, turns: int, warps: int) -> int:
        return least_cycles(kernel, (data, sink, when, np.int32(turns)), when, warps)

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        image = compiled(issue_slots_source(), Path(folder))
        for name in FORMS:
            for gap in _GAPS:
                module = cupy.cuda.function.Module()
                module.load(beside_ffmas(image, name, gap))
                kernel = module.get_function("loop")
                row: dict[str, Any] = {"instruction": name, "gap": gap}
                for warps in _WARPS:
                    more = taken(kernel, _MANY, warps) - taken(kernel, _FEW, warps)
                    each = more / (_MANY - _FEW) / (warps / 4)
                    row[f"warps_{warps}"] = round(each, 3)
                rows.append(row)
    return rows
