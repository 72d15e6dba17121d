"""Record what the driver makes of tensor maps: `python3 encode_maps.py OUT.json` beside a GPU.

Each row holds the arguments of one `cuTensorMapEncodeTiled` or `cuTensorMapEncodeIm2col`, the
driver's status, and the 128 bytes that it wrote. Around two base cases one argument is varied at a
time; then come random cases, of which many break a rule. It needs Python's own library and the
NVIDIA driver; nothing is launched, so any chip of capability 9.0 or more gives the same bytes.
"""

from __future__ import annotations

import ctypes
import json
import random
import sys
from pathlib import Path
from typing import Any

BYTES = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4]  # of the thirteen data types, in their order

TILED = {
    "kind": "tiled", "dtype": 6, "address": 0x7F12_3456_7000, "dims": [64, 32], "strides": [128],
    "box": [8, 4], "element_strides": [1, 1], "interleave": 0, "swizzle": 0, "l2": 0, "fill": 0,
}  # fmt: skip
RANK5 = {
    **TILED, "dims": [64, 32, 16, 8, 4], "strides": [128, 4096, 65536, 524288],
    "box": [8, 4, 2, 2, 2], "element_strides": [1, 1, 1, 1, 1],
}  # fmt: skip
IM2COL = {
    "kind": "im2col", "dtype": 6, "address": 0x7F12_3456_7000, "dims": [64, 32, 16, 8],
    "strides": [128, 4096, 65536], "lower": [0, 0], "upper": [0, 0], "channels": 8, "pixels": 16,
    "element_strides": [1, 1, 1, 1], "interleave": 0, "swizzle": 0, "l2": 0, "fill": 0,
}  # fmt: skip


class Encoder:
    """The driver's two functions."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        if (
            self._cuda.cuInit(0)
            or self._cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
            or self._cuda.cuCtxSetCurrent(context)
        ):
            raise SystemExit("the driver gives no context")
        version = ctypes.c_int()
        self._cuda.cuDriverGetVersion(ctypes.byref(version))
        self.version = version.value

    def __call__(self, case: dict[str, Any]) -> dict[str, Any]:
        room = (ctypes.c_uint8 * 256)()
        start = (-ctypes.addressof(room)) % 64
        place = ctypes.c_void_p(ctypes.addressof(room) + start)
        rank = len(case["dims"])
        dims = (ctypes.c_uint64 * 8)(*case["dims"])
        strides = (ctypes.c_uint64 * 8)(*case["strides"])
        steps = (ctypes.c_uint32 * 8)(*case["element_strides"])
        head = [place, ctypes.c_int(case["dtype"]), ctypes.c_uint32(rank),
                ctypes.c_void_p(case["address"]), dims, strides]  # fmt: skip
        tail = [
            steps,
            *(ctypes.c_int(case[name]) for name in ("interleave", "swizzle", "l2", "fill")),
        ]
        if case["kind"] == "tiled":
            box = (ctypes.c_uint32 * 8)(*case["box"])
            status = self._cuda.cuTensorMapEncodeTiled(*head, box, *tail)
        else:
            lower = (ctypes.c_int * 8)(*case["lower"])
            upper = (ctypes.c_int * 8)(*case["upper"])
            counts = [ctypes.c_uint32(case["channels"]), ctypes.c_uint32(case["pixels"])]
            status = self._cuda.cuTensorMapEncodeIm2col(*head, lower, upper, *counts, *tail)
        image = bytes(room)[start : start + 128].hex() if status == 0 else ""
        return {**case, "status": status, "bytes": image}


def varied() -> list[dict[str, Any]]:
    """One argument at a time."""
    cases: list[dict[str, Any]] = [TILED, RANK5, IM2COL]
    for base in (TILED, RANK5, IM2COL):
        rank = len(base["dims"])
        cases += [{**base, "dtype": dtype} for dtype in range(16)]
        cases += [{**base, "address": 1 << bit} for bit in range(64)]
        cases += [{**base, "l2": value} for value in range(5)]
        cases += [{**base, "fill": value} for value in range(3)]
        cases += [{**base, "swizzle": value} for value in range(8)]
        cases += [
            {**base, "interleave": value, "swizzle": swizzle}
            for value in range(4) for swizzle in (0, 1)
        ]  # fmt: skip
        for axis in range(rank):
            for value in (*(1 << bit for bit in range(34)), 0, 3, 7, 2**32 - 1, 2**32 + 1):
                cases.append({**base, "dims": _with(base["dims"], axis, value)})
            for value in (0, 1, 2, 3, 4, 5, 7, 8, 9):
                cases.append(
                    {**base, "element_strides": _with(base["element_strides"], axis, value)}
                )
        for axis in range(rank - 1):
            for value in (*(1 << bit for bit in range(42)), 0, 48, 24, 2**40 - 16):
                cases.append({**base, "strides": _with(base["strides"], axis, value)})
        if base["kind"] == "tiled":
            for axis in range(rank):
                for value in (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 64, 65, 128, 255, 256, 257):
                    cases.append({**base, "box": _with(base["box"], axis, value)})
        else:
            for name in ("lower", "upper"):
                for axis in range(rank - 2):
                    for value in (-129, -128, -64, -1, 1, 2, 63, 64, 127, 128):
                        cases.append({**base, name: _with(base[name], axis, value)})
            cases += [{**base, "channels": value} for value in (0, 1, 4, 16, 32, 128, 256, 257)]
            cases += [{**base, "pixels": value} for value in (0, 1, 2, 32, 255, 256, 1024, 1025)]
    for rank in range(1, 6):
        cases.append(
            {**RANK5, "dims": RANK5["dims"][:rank], "strides": RANK5["strides"][: rank - 1],
             "box": RANK5["box"][:rank], "element_strides": [1] * rank}
        )  # fmt: skip
    return cases


def _with(values: list[int], axis: int, value: int) -> list[int]:
    return [value if index == axis else each for index, each in enumerate(values)]


def drawn(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Random tiled cases near what kernels use; some break a rule."""
    rng = random.Random(seed)  # noqa: S311 - cases to try, no secrets
    cases = []
    for _ in range(count):
        rank = rng.randint(1, 5)
        dtype = rng.randrange(13)
        width = BYTES[dtype]
        dims = [rng.choice([1, 8, 64, rng.randint(1, 5000)]) for _ in range(rank)]
        pitch, strides = dims[0] * width, []
        for size in dims[1:]:
            pitch = -(-pitch // 16) * 16 if rng.random() < 0.9 else pitch
            pitch += rng.choice([0, 0, 16, 64])
            strides.append(pitch)
            pitch *= size
        swizzle = rng.randrange(4)
        most = {0: 256, 1: 32, 2: 64, 3: 128}[swizzle] // width
        inner = rng.choice([most, max(1, most // 2), 16 // width or 1, rng.randint(1, 256)])
        cases.append(
            {"kind": "tiled", "dtype": dtype, "address": rng.randrange(1, 1 << 40) * 16,
             "dims": dims, "strides": strides,
             "box": [min(inner, 256), *(rng.choice([1, 8, 64, 256]) for _ in dims[1:])],
             "element_strides": [1, *(rng.choice([1, 1, 1, 2, 8]) for _ in dims[1:])],
             "interleave": rng.choice([0, 0, 0, 0, 1, 2]), "swizzle": swizzle,
             "l2": rng.randrange(4), "fill": rng.choice([0, 0, 1])}
        )  # fmt: skip
    return cases


def main() -> None:
    encode = Encoder()
    rows = [encode(case) for case in [*varied(), *drawn(600)]]
    good = sum(not row["status"] for row in rows)
    text = json.dumps({"driver": encode.version, "rows": rows}, separators=(",", ":"))
    Path(sys.argv[1]).write_text(text + "\n")
    print(f"{len(rows)} maps, {good} accepted, driver {encode.version}")


if __name__ == "__main__":
    main()
