"""Where TMA puts a tile's bytes: shared memory after one load, and a tensor after one store.

For boxes narrower than the swizzle's span, several ranks, places, element strides, and elements
outside the tensor. What is compared with `simulator.sass.run.tma` is every byte.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpu_check.hopper.cases import HEAD, Trial, fill
from gpu_check.hopper.runner import Runner, compile_all
from simulator.sass.run.map_fields import ELEMENT_TYPES, MapFields
from simulator.sass.run.tensor_map import encode

__all__ = [
    "DUMP", "SHARED_BYTES", "TENSOR_BYTES", "CopiedTile", "measure", "shared_before", "sources",
    "tiles", "trial",
]  # fmt: skip

SHARED_BYTES = 16 << 10
TENSOR_BYTES = 64 << 10
DUMP = 2 << 20
"""Where the kernel leaves its shared memory in the data."""

BEGIN = f"""\
    extern __shared__ __align__(1024) unsigned s[];
    __shared__ __align__(8) u64 bar;
    const int* x = (const int*)(given + 128);
    for (int i = threadIdx.x; i < {SHARED_BYTES // 4}; i += blockDim.x)
        s[i] = i * 747796405u + 2891336453u;
    if (threadIdx.x == 0) begin(at(&bar), 1);
    fence();
    __syncthreads();
    const unsigned to = at(s) + place;
"""
"""Of a kernel that copies by TMA: shared memory with known words, and an mbarrier."""

EXPECT = """\
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         :: "r"(at(&bar)), "r"(bytes) : "memory");
"""
"""One thread tells the mbarrier how many bytes come."""

WAIT = """\
            const long long until = clock64() + 200000;
            unsigned done = 0;
            while (!done && clock64() < until)
                asm volatile("{ .reg .pred p;"
                             " mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;"
                             " selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(&bar)) : "memory");
            out[0] = done;
"""
"""It waits for them, for a time."""

COMMIT = """\
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
            out[0] = 1;
"""
"""It waits until what it wrote has been read."""

LEAVE = f"""\
    __syncthreads();
    for (int i = threadIdx.x; i < {SHARED_BYTES // 4}; i += blockDim.x)
        ((unsigned*)(data + {DUMP}))[i] = s[i];
"""
"""All leave shared memory in the data."""


def _load(rank: int) -> str:
    at = ", ".join(f"%{i + 2}" for i in range(rank))
    values = ", ".join(f'"r"(x[{i}])' for i in range(rank))
    return (
        f'asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global'
        f'.mbarrier::complete_tx::bytes [%0], [%1, {{{at}}}], [%{rank + 2}];"'
        f' :: "r"(to), "l"(given), {values}, "r"(at(&bar)) : "memory");'
    )


def _store(rank: int) -> str:
    at = ", ".join(f"%{i + 1}" for i in range(rank))
    values = ", ".join(f'"r"(x[{i}])' for i in range(rank))
    return (
        f'asm volatile("cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group'
        f' [%0, {{{at}}}], [%{rank + 1}];"'
        f' :: "l"(given), {values}, "r"(to) : "memory");'
    )


def _kernel(rank: int) -> str:
    return f"""
extern "C" __global__ void case_tile{rank}(long long* when, unsigned* out, const u8* given,
        u8* data, int turns, int bytes, int place, int is_load) {{
{BEGIN}    if (threadIdx.x == 0) {{
        if (is_load) {{
{EXPECT}            {_load(rank)}
{WAIT}        }} else {{
            {_store(rank)}
{COMMIT}        }}
    }}
{LEAVE}}}
"""


_SOURCE = HEAD + "".join(_kernel(rank) for rank in range(1, 6))


def sources() -> list[str]:
    """Return every source that is compiled."""
    return [_SOURCE]


@dataclass(frozen=True)
class CopiedTile:
    """One copy of a tile: a map whose address is where the data begin, and where it goes."""

    fields: MapFields
    at: tuple[int, ...]
    """Coordinates, the contiguous axis first."""
    place: int = 0
    """Bytes from the start of shared memory."""
    way: Literal["load", "store"] = "load"


def shared_before() -> NDArray[np.uint8]:
    """Return what shared memory holds before a copy."""
    words = np.arange(SHARED_BYTES // 4, dtype=np.uint32) * np.uint32(747796405)
    return (words + np.uint32(2891336453)).view(np.uint8)


def _fields(element: str, sizes: Any, box: Any, **options: Any) -> MapFields:
    item, strides = ELEMENT_TYPES[element][1], []
    total = item
    for size in sizes[:-1]:
        total = -(-total * size // 16) * 16
        strides.append(total)
    steps = options.pop("steps", (1,) * len(sizes))
    return MapFields(
        element=element, address=0, sizes=tuple(sizes), strides=tuple(strides),
        element_strides=steps, box=tuple(box), **options,
    )  # fmt: skip


def tiles() -> list[CopiedTile]:
    """Return what is recorded."""
    found = []
    spans = (None, 32, 64, 128)
    for inner in (16, 32, 48, 64, 96, 128):
        for swizzle in (each for each in spans if each is None or inner <= each):
            fields = _fields("uint8", (256, 64), (inner, 16), swizzle=swizzle)
            found += [CopiedTile(fields, (16, 3), place) for place in (0, 384, 1024)]
            found.append(CopiedTile(fields, (16, 3), 128, "store"))
    for swizzle in spans:
        for way in ("load", "store"):
            cube = _fields("float16", (64, 8, 8), (8, 3, 5), swizzle=swizzle)
            found.append(CopiedTile(cube, (8, 1, 2), 256, way))
            five = _fields("float32", (16, 4, 4, 3, 3), (4, 2, 3, 2, 2), swizzle=swizzle)
            found.append(CopiedTile(five, (4, 1, 0, 1, 0), 0, way))
            line = _fields("float32", (256,), (8,), swizzle=swizzle)
            found.append(CopiedTile(line, (40,), 128, way))
            steps = _fields("float16", (64, 32), (16, 12), swizzle=swizzle, steps=(1, 3))
            found.append(CopiedTile(steps, (8, 2), 0, way))
            out = _fields("float16", (40, 20), (16, 8), swizzle=swizzle)
            found.append(CopiedTile(out, (-5, 15), 0, way))
            found.append(CopiedTile(out, (33, -3), 0, way))
    for element in (
        "float16", "bfloat16", "float32", "float32_ftz", "tfloat32", "tfloat32_ftz", "float64",
    ):  # fmt: skip
        for swizzle in (None, 128):
            item = ELEMENT_TYPES[element][1]
            fields = _fields(element, (64 // item, 6), (64 // item, 8), swizzle=swizzle, fill="nan")
            found.append(CopiedTile(fields, (-16 // item, 1), 0))
    return found


def trial(tile: CopiedTile) -> Trial:
    """Return the trial that copies one."""

    def given(address: int) -> bytes:
        image = encode(MapFields(**{**asdict(tile.fields), "address": address}))
        return image + np.array([*tile.at, 0, 0, 0, 0, 0][:5], np.int32).tobytes()

    return Trial(
        names={"tile": str(tile)}, source=_SOURCE, function=f"case_tile{tile.fields.rank}",
        each=1, turns=(1, 1), threads=32, shared=SHARED_BYTES,
        numbers=(tile.fields.bytes, tile.place, int(tile.way == "load")), given=given,
    )  # fmt: skip


def measure(folder: Path, few: int = 0, device: int = 0) -> dict[str, NDArray[Any]]:
    """Return columns, a row per tile: what was asked, what `happened`, and what bytes changed.

    `happened` is "arrived"; "late" where the barrier's phase did not end with the box's bytes; or
    "refused" where the chip raised an error, which ends a process: those that follow get another.
    `change` is that of shared memory by a load, of the tensor by a store: after ^ before.
    """
    wanted = tiles()[: few or None]
    compile_all(map(trial, wanted), folder)
    seen: list[tuple[str, NDArray[np.uint8]]] = []
    with tempfile.TemporaryDirectory() as kept:
        while len(seen) < len(wanted):
            command = [sys.executable, "-m", "gpu_check.hopper.tiles", str(folder), kept]
            numbers = [len(seen), len(wanted), device]
            subprocess.run([*command, *map(str, numbers)], check=False, capture_output=True)  # noqa: S603
            while (place := Path(kept, f"{len(seen)}.npy")).exists():
                held = np.load(place)
                seen.append(("arrived" if held[-1] else "late", held[:-1]))
            if len(seen) < len(wanted):
                seen.append(("refused", np.zeros(TENSOR_BYTES, np.uint8)))
    return {
        "tile": np.array([json.dumps(asdict(tile)) for tile in wanted]),
        "happened": np.array([happened for happened, _ in seen]),
        "change": np.array([change for _, change in seen]),
    }


def _copy_some(folder: str, kept: str, first: str, end: str, device: str) -> None:
    """Copy tiles one after the other, and keep what each leaves; a byte behind: it arrived."""
    runner = Runner(Path(folder), int(device))
    for number, tile in list(enumerate(tiles()))[int(first) : int(end)]:
        out, data = runner.after(trial(tile))
        held = data.view(np.uint8)
        change = held[:TENSOR_BYTES] ^ fill().view(np.uint8)[:TENSOR_BYTES]
        if tile.way == "load":
            change[:SHARED_BYTES] = held[DUMP:][:SHARED_BYTES] ^ shared_before()
        np.save(Path(kept, f"{number}.npy"), np.append(change, np.uint8(out[0])))


if __name__ == "__main__":
    _copy_some(*sys.argv[1:])
