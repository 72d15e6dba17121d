"""Where im2col copies and interleaved maps put bytes: maps that are drawn, encoded by the driver.

Ranks 3, 4 and 5; loads with offsets, stores and reductions. Each row has the driver's status and
its 128 bytes. What a copy leaves is compared with `simulator.sass.run.tma`, byte by byte.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpu_check.errors import DeviceError
from gpu_check.hopper.cases import HEAD, Trial, fill
from gpu_check.hopper.runner import Runner, compile_all
from gpu_check.hopper.tiles import (
    BEGIN,
    COMMIT,
    DUMP,
    EXPECT,
    LEAVE,
    SHARED_BYTES,
    TENSOR_BYTES,
    WAIT,
    shared_before,
)
from simulator.sass.run.map_fields import CHOICES, ELEMENT_TYPES, MapFields, box_bytes

__all__ = [
    "DrawnCopy", "copy_some", "digest_of", "drawn_copies", "driver_image", "measure",
    "measure_copies", "sources",
]  # fmt: skip

Way = Literal["load", "store", "add"]

_AT_ONCE = 12
"""Processes that share the copies."""
_PATIENCE = 15.0
"""Seconds that a process may take for one copy, its own start included."""

_ROOM = 5 + 3
"""Words behind a map: coordinates and offsets."""


def _instruction(rank: int, im2col: bool, way: Way) -> str:
    load = way == "load"
    first = 2 if load else 1
    at = ", ".join(f"%{first + axis}" for axis in range(rank))
    values = ", ".join(f'"r"(x[{axis}])' for axis in range(rank))
    kind = ".tile" if not im2col else ".im2col" if load else ".im2col_no_offs"
    if not load:
        name = "cp.reduce.async" if way == "add" else "cp.async"
        operation = ".add" if way == "add" else ""
        return (
            f'asm volatile("{name}.bulk.tensor.{rank}d.global.shared::cta{operation}{kind}'
            f'.bulk_group [%0, {{{at}}}], [%{rank + 1}];" :: "l"(given), {values}, "r"(to)'
            ' : "memory");'
        )
    offsets, more = "", ""
    if im2col:
        names = ", ".join(f"%{rank + 3 + axis}" for axis in range(rank - 2))
        offsets = f", {{{names}}}"
        more = "".join(f', "h"((unsigned short)x[{5 + axis}])' for axis in range(rank - 2))
    return (
        f'asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global{kind}'
        f'.mbarrier::complete_tx::bytes [%0], [%1, {{{at}}}], [%{rank + 2}]{offsets};"'
        f' :: "r"(to), "l"(given), {values}, "r"(at(&bar)){more} : "memory");'
    )


def _kernel(rank: int, im2col: bool) -> str:
    load, store, add = (_instruction(rank, im2col, way) for way in ("load", "store", "add"))
    return f"""
extern "C" __global__ void case_{"im2col" if im2col else "tile"}{rank}(long long* when,
        unsigned* out, const u8* given, u8* data, int turns, int bytes, int place, int way) {{
{BEGIN}    if (threadIdx.x == 0) {{
        if (way == 0) {{
{EXPECT}            {load}
{WAIT}        }} else {{
            if (way == 1) {{
                {store}
            }} else {{
                {add}
            }}
{COMMIT}        }}
    }}
{LEAVE}}}
"""


_SOURCE = HEAD + "".join(_kernel(rank, im2col) for rank in (3, 4, 5) for im2col in (False, True))


def sources() -> list[str]:
    """Return every source that is compiled."""
    return [_SOURCE]


@dataclass(frozen=True)
class DrawnCopy:
    """One copy: a map whose address is where the data begin, and where it goes."""

    fields: MapFields
    at: tuple[int, ...]
    """Coordinates, the contiguous axis first."""
    offsets: tuple[int, ...] = ()
    place: int = 0
    """Bytes from the start of shared memory."""
    way: Way = "load"


# ---- What is drawn. ----------------------------------------------------------------------------
_ELEMENTS = ("uint8", "float16", "bfloat16", "float32", "int32", "float64")


def _shape(rng: random.Random, rank: int, item: int, width: int) -> tuple[list[int], list[int]]:
    """Draw sizes and strides of a tensor that fits: `width` bytes in its contiguous axis."""
    sizes, total, strides = [width // item], width, []
    for axis in range(1, rank):
        strides.append(total)
        room = max(1, TENSOR_BYTES // total)
        most = min(room, 4 if axis == rank - 1 else {3: 40, 4: 14, 5: 8}[rank])
        sizes.append(rng.randint(min(2, most), most))
        total = -(-total * sizes[-1] // 16) * 16
        if axis < rank - 1 and rng.random() < 0.3 and total + 32 < TENSOR_BYTES // 4:
            total += 32
    return sizes, strides


def _pixels(rng: random.Random) -> DrawnCopy:
    """Draw a copy of pixels."""
    while True:
        rank, element = rng.choice((3, 4, 5)), rng.choice(_ELEMENTS)
        item = ELEMENT_TYPES[element][1]
        row = rng.choice((16, 16, 32, 64, 128))
        swizzle = rng.choice([span for span in (None, 32, 64, 128) if span is None or row <= span])
        sizes, strides = _shape(rng, rank, item, rng.choice((row, row + 16, 2 * row)))
        spatial = rank - 2
        steps = [1, *(rng.choice((1, 1, 2, 3)) for _ in range(spatial)), 1]
        if rng.random() < 0.15:
            steps[rng.choice((0, rank - 1))] = 2
        lower = [rng.randint(-3, 2) for _ in range(spatial)]
        upper = [rng.randint(-3, 3) for _ in range(spatial)]
        if any(
            size + high - low < 1 for size, low, high in zip(sizes[1:-1], lower, upper, strict=True)
        ):
            continue
        pixels = rng.choice((1, 2, 7, 16, rng.randint(1, 80)))
        if pixels * max(row, swizzle or 0) > SHARED_BYTES - 2048:
            continue
        way: Way = rng.choice(("load", "load", "load", "load", "store", "add"))
        if way == "add" and element not in ("float16", "float32", "int32"):
            way = "store"
        fields = MapFields(
            element=element, address=0, sizes=tuple(sizes), strides=tuple(strides),
            element_strides=tuple(steps), swizzle=swizzle, kind="im2col", lower=tuple(lower),
            upper=tuple(upper), channels=row // item, pixels=pixels,
            fill="nan" if "float" in element and rng.random() < 0.3 else "zero",
        )  # fmt: skip
        at = [16 // item * rng.randint(-2, 4)]
        for size, low, high, step in zip(sizes[1:-1], lower, upper, steps[1:-1], strict=True):
            inside = low + step * rng.randint(0, (size - 1 + high - low) // step)
            at.append(inside if rng.random() < 0.8 else rng.randint(-5, size + 5))
        at.append(
            rng.randint(-1, sizes[-1]) if rng.random() < 0.2 else rng.randint(0, sizes[-1] - 1)
        )
        most = {3: 40, 4: 9, 5: 5}[rank]
        offsets = [rng.randint(0, most) if rng.random() < 0.7 else 0 for _ in range(spatial)]
        place = 128 * rng.randint(0, 8)
        return DrawnCopy(fields, tuple(at), tuple(offsets) if way == "load" else (), place, way)


def _interleaved(rng: random.Random) -> DrawnCopy:
    """Draw a copy through an interleaved map: of tiles mostly, sometimes of pixels."""
    while True:
        rank, element = rng.choice((3, 4, 5)), rng.choice(_ELEMENTS)
        item, unit = ELEMENT_TYPES[element][1], rng.choice((16, 32))
        sizes, strides = _shape(rng, rank, item, unit * rng.choice((1, 2, 2, 3, 4)))
        strides = [unit * -(-stride // unit) for stride in strides]
        slice_, im2col = unit // item, rng.random() < 0.25
        box = [min(256, slice_ * rng.choice((1, 2, 2, 3, 4)))]
        box += [rng.randint(1, min(size + 1, 8)) for size in sizes[1:]]
        steps = [1] + [rng.choice((1, 1, 1, 2)) for _ in sizes[1:]]
        if rng.random() < 0.2:
            steps[0] = 2
        swizzle = 32 if unit == 32 else rng.choice((None, None, 32, 64))
        shape: dict[str, Any] = {"box": tuple(box)}
        if im2col:
            shape = {
                "kind": "im2col", "lower": (0,) * (rank - 2), "upper": (0,) * (rank - 2),
                "channels": box[0], "pixels": rng.randint(1, 16),
            }  # fmt: skip
        way: Way = "load" if rng.random() < 0.8 else "store"
        fields = MapFields(
            element=element, address=0, sizes=tuple(sizes), strides=tuple(strides),
            element_strides=tuple(steps), swizzle=swizzle, interleave=unit, **shape,
        )  # fmt: skip
        if np.prod(box, dtype=np.int64) * item > SHARED_BYTES - 4096:
            continue
        at = [slice_ * rng.randint(-1, 2)] if rng.random() < 0.6 else [0]
        at += [rng.randint(-1, size) if rng.random() < 0.3 else rng.randint(0, size - 1)
               for size in sizes[1:]]  # fmt: skip
        offsets = (0,) * (rank - 2) if im2col and way == "load" else ()
        return DrawnCopy(fields, tuple(at), offsets, 256 * rng.randint(0, 4), way)


def _odd(rng: random.Random) -> list[DrawnCopy]:
    """Return copies that a chip may refuse: places in a row of the tensor, and interleaved ones."""
    found = []
    for im2col in (True, False):
        for shift in (1, 3, 4):
            each = _pixels(rng) if im2col else _interleaved(rng)
            while each.way != "load":
                each = _pixels(rng) if im2col else _interleaved(rng)
            found.append(
                DrawnCopy(each.fields, (shift, *each.at[1:]), each.offsets, each.place, "load")
            )
    return found


def drawn_copies() -> list[DrawnCopy]:
    """Return what is recorded: pixels, interleaved maps, and what the chip may refuse."""
    rng = random.Random(14)  # noqa: S311 - cases to try, no secrets
    found = [_pixels(rng) for _ in range(420)]
    found += [_interleaved(rng) for _ in range(220)]
    return found + _odd(rng)


# ---- What the driver and the chip make of it. --------------------------------------------------
_DRIVER_TYPES = tuple(dict.fromkeys(ELEMENT_TYPES))


def driver_image(fields: MapFields) -> tuple[int, bytes]:
    """Return the driver's status and the 128 bytes that it makes of a map (zeros if refused)."""
    cuda = ctypes.CDLL("libcuda.so.1")
    room = (ctypes.c_uint8 * 256)()
    start = -ctypes.addressof(room) % 64
    place = ctypes.c_void_p(ctypes.addressof(room) + start)
    number = _DRIVER_TYPES.index(fields.element)
    choices = [ctypes.c_int(values.index(getattr(fields, name))) for name, values in CHOICES]
    interleave, swizzle, nan, promotion = choices
    head = [
        place, ctypes.c_int(number), ctypes.c_uint32(fields.rank), ctypes.c_void_p(fields.address),
        (ctypes.c_uint64 * 8)(*fields.sizes), (ctypes.c_uint64 * 8)(*fields.strides),
    ]  # fmt: skip
    tail = [(ctypes.c_uint32 * 8)(*fields.element_strides), interleave, swizzle, promotion, nan]
    if fields.kind == "tiled":
        status = cuda.cuTensorMapEncodeTiled(*head, (ctypes.c_uint32 * 8)(*fields.box), *tail)
    else:
        status = cuda.cuTensorMapEncodeIm2col(
            *head, (ctypes.c_int * 8)(*fields.lower), (ctypes.c_int * 8)(*fields.upper),
            ctypes.c_uint32(fields.channels), ctypes.c_uint32(fields.pixels), *tail,
        )  # fmt: skip
    return status, bytes(room)[start : start + 128] if not status else bytes(128)


def _trial(copy: DrawnCopy) -> Trial:
    fields = copy.fields
    name = "im2col" if fields.kind == "im2col" else "tile"
    words = [*copy.at, *([0] * (5 - fields.rank)), *copy.offsets, 0, 0, 0][:_ROOM]

    def given(address: int) -> bytes:
        _, image = driver_image(MapFields(**{**asdict(fields), "address": address}))
        return image + np.array(words, np.int32).tobytes()

    return Trial(
        names={"copy": str(copy)}, source=_SOURCE, function=f"case_{name}{fields.rank}", each=1,
        turns=(1, 1), threads=32, shared=SHARED_BYTES, given=given,
        numbers=(box_bytes(fields), copy.place, ("load", "store", "add").index(copy.way)),
    )  # fmt: skip


def measure(
    folder: Path, few: int = 0, device: int = 0, seconds: float = 600
) -> dict[str, NDArray[Any]]:
    """Return the columns of `measure_copies`, of what is drawn here."""
    return measure_copies(drawn_copies()[: few or None], __name__, folder, device, seconds)


def measure_copies(
    wanted: list[DrawnCopy], module: str, folder: Path, device: int, seconds: float
) -> dict[str, NDArray[Any]]:
    """Return columns, a row per copy: what was asked, `status`, `image`, `happened`, `digest`.

    `image` is the driver's for address 0x7F0000000000. `happened` is "arrived", or "late" where
    the bytes of the map did not end the barrier's phase. It is "refused" where the chip raised an
    error or took too long, "not a map", or "not tried" where `seconds` were over. `digest` is that
    of what changed, as `digest_of` makes it: in shared memory by a load, in the tensor by others.

    An error ends a process, so several share the copies; what follows an error gets another one.
    `module` is run as such a process: it draws the same copies, and calls `copy_some`.
    """
    compile_all([_trial(wanted[0])], folder)
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as kept:
        parts = [list(range(first, len(wanted), _AT_ONCE)) for first in range(_AT_ONCE)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(
                pool.map(lambda part: _copy_part(part, module, folder, kept, device, until), parts)
            )
        seen = [_kept(Path(kept, f"{number}.npz")) for number in range(len(wanted))]
    return {
        "copy": np.array([json.dumps(asdict(copy)) for copy in wanted]),
        "happened": np.array([each[0] for each in seen]),
        "digest": np.array([digest_of(each[1]) for each in seen]),
        "status": np.array([each[2] for each in seen], np.int32),
        "image": np.array([each[3] for each in seen]),
    }


def digest_of(change: NDArray[np.uint8]) -> str:
    """Return 16 digits that stand for what changed: bytes after ^ before, to the last that did."""
    changed = np.flatnonzero(change)
    last = int(changed[-1]) + 1 if changed.size else 0
    return hashlib.sha256(change[:last].tobytes()).hexdigest()[:16]


def _kept(place: Path) -> tuple[str, NDArray[np.uint8], int, NDArray[np.uint8]]:
    """Return what is kept of a copy."""
    if not place.exists():
        return "not tried", np.zeros(TENSOR_BYTES, np.uint8), 0, np.zeros(128, np.uint8)
    with np.load(place) as held:
        return str(held["happened"]), held["change"], int(held["status"]), held["image"]


def _copy_part(
    numbers: list[int], module: str, folder: Path, kept: str, device: int, until: float
) -> None:
    """Make some copies, in another process after each that the chip refuses."""
    left = numbers
    while left and time.monotonic() < until:
        command = [sys.executable, "-m", module, str(folder), kept, str(device)]
        process = subprocess.Popen([*command, *map(str, left)], stderr=subprocess.PIPE)  # noqa: S603
        done, since = 0, time.monotonic()
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
            now = sum(Path(kept, f"{number}.npz").exists() for number in left)
            if now > done:
                done, since = now, time.monotonic()
            if time.monotonic() - since > _PATIENCE:
                break
        process.kill()
        said = process.communicate()[1].decode(errors="replace")
        left = [number for number in left if not Path(kept, f"{number}.npz").exists()]
        if not left or time.monotonic() >= until:
            return
        if not Path(kept, f"begun{left[0]}").exists():
            raise DeviceError(f"no copy runs: {said[-2000:]}")
        np.savez(
            Path(kept, f"{left.pop(0)}.npz"), change=np.zeros(TENSOR_BYTES, np.uint8), status=0,
            happened="refused", image=np.zeros(128, np.uint8),
        )  # fmt: skip


def copy_some(copies: list[DrawnCopy], folder: str, kept: str, device: str, *numbers: str) -> None:
    """Copy one after the other, and keep what each leaves."""
    runner = Runner(Path(folder), int(device))
    for number in map(int, numbers):
        copy = copies[number]
        Path(kept, f"begun{number}").touch()
        there = MapFields(**{**asdict(copy.fields), "address": 0x7F0000000000})
        status, image = driver_image(there)
        change, happened = np.zeros(TENSOR_BYTES, np.uint8), "not a map"
        if not status:
            out, data = runner.after(_trial(copy))
            held = data.view(np.uint8)
            change = held[:TENSOR_BYTES] ^ fill().view(np.uint8)[:TENSOR_BYTES]
            if copy.way == "load":
                change[:SHARED_BYTES] = held[DUMP:][:SHARED_BYTES] ^ shared_before()
            happened = "arrived" if out[0] else "late"
        partly = Path(kept, f"partly{number}.npz")
        np.savez(
            partly, change=change, status=status, happened=happened,
            image=np.frombuffer(image, np.uint8),
        )  # fmt: skip
        partly.rename(Path(kept, f"{number}.npz"))


if __name__ == "__main__":
    copy_some(drawn_copies(), *sys.argv[1:])
