"""Kernels of Hopper's own units, and how each is launched: `python -m tests.silicon.sass.hopper`.

Compiles the kernels for sm_90a by NVRTC, and writes hopper.json; with `stranger` behind, those that
were written without a look at the machine, and stranger.json. The committed cubins are what was
measured: rebuild them only to measure anew. It needs the extra `sass`.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OWN = HERE / "cuda"


def case(
    name: str, source: str, kernel: str, grid: list[int], block: int, args: list[str],
    shared: int = 0,
) -> dict[str, Any]:  # fmt: skip
    return {
        "name": name, "source": f"{source}.cu", "cubin": f"{source}.cubin", "kernel": kernel,
        "grid": grid, "block": [block, 1, 1], "shared": shared, "args": args,
    }  # fmt: skip


def gemm(name: str, kernel: str, b: str) -> dict[str, Any]:
    return case(
        name, "wgmma_gemm", kernel, [2, 2, 1], 384,
        ["tma:random:bf16[256,320]:box=128x64:swizzle=128", f"tma:random:bf16{b}:swizzle=128",
         "zeros:f32[256,256]", "i32=256", "i32=320"],
        3 * 32768 + 1024,
    )  # fmt: skip


def product(kernel: str, element: str, sums: str, k: int, tile: int) -> dict[str, Any]:
    return case(
        f"product of {kernel}", "wgmma_types", f"product_{kernel}", [1, 1, 1], 128,
        [f"tma:random:{element}[64,{k}]:box=64x{tile}:swizzle=128",
         f"tma:random:{element}[32,{k}]:box=32x{tile}:swizzle=128", f"zeros:{sums}[64,32]",
         f"i32={k // tile}"],
    )  # fmt: skip


CASES = [
    case(
        f"tile, swizzle {span}", "tma_tiles", f"turn_{span}", [3, 2, 1], 128,
        [f"tma:random:f32[128,{3 * width}]:box=64x{width}"
         + (f":swizzle={span}" if span != "none" else ""),
         f"zeros:f32[2,3,{width},64]", f"zeros:f32[2,3,64,{width}]"],
    )
    for span, width in (("none", 32), ("32", 8), ("64", 16), ("128", 32))
]  # fmt: skip
CASES += [
    gemm("gemm, both in shared memory", "gemm_ss", "[256,320]:box=128x64"),
    gemm("gemm, B transposed", "gemm_transposed", "[320,256]:box=64x64"),
    case(
        "gemm, A in registers", "wgmma_rs", "gemm_rs", [3, 1, 1], 128,
        ["tma:random:f16[192,256]:box=64x64:swizzle=128",
         "tma:random:f16[64,256]:box=64x64:swizzle=128", "zeros:f32[192,64]", "i32=256"],
    ),
    product("e4m3", "f8e4m3", "f32", 256, 128),
    product("s8", "i8", "i32", 256, 128),
    product("tf32", "f32", "f32", 64, 32),
    case(
        "gemm of a cluster, multicast", "multicast", "gemm_multicast", [4, 2, 1], 160,
        ["tma:random:bf16[128,320]:box=32x64:swizzle=128",
         "tma:random:bf16[256,320]:box=64x64:swizzle=128", "zeros:f32[128,256]", "i32=256",
         "i32=320"],
    ),
    case(
        "epilogue, plain rows", "epilogue", "finish_plain", [3, 2, 1], 128,
        ["tma:zeros:f16[128,192]:box=64x64", "random:f32[128,192]", "i32=192"],
    ),
    case(
        "epilogue, swizzled rows", "epilogue", "finish_swizzled", [3, 2, 1], 128,
        ["tma:zeros:f16[128,192]:box=64x64:swizzle=128", "random:f32[128,192]", "i32=192"],
    ),
    case(
        "split-K over distributed shared memory", "clusters", "split_k", [6, 2, 1], 256,
        ["random:f32[64,128]", "random:f32[128,96]", "zeros:f32[64,96]", "i32=96", "i32=128"],
    ),
    case(
        "a ring of blocks", "clusters", "ring_of_blocks", [8, 1, 1], 128,
        ["random:i32[1024]", "zeros:i32[1024]", "zeros:i32[8]"],
    ),
    case(
        "bulk copies", "bulk", "columns", [3, 1, 1], 160,
        ["random:i32[3,5,256]", "zeros:u32[256]", "zeros:i32[3,256]", "i32=5"],
    ),
    case(
        "tiles added up", "bulk", "pile", [4, 1, 1], 256,
        ["tma:random:f32[128,32]:box=32x32:swizzle=128",
         "tma:zeros:f32[32,32]:box=32x32:swizzle=128"],
    ),
    case(
        "a ring of mbarriers", "ring", "ring", [1, 1, 1], 128,
        ["random:i32[7,32,32]", "zeros:i32[96]", "i32=7"],
    ),
]  # fmt: skip


STRANGERS = [
    case(
        "depthwise convolution with a halo", "stranger", "depthwise", [3, 3, 2], 128,
        ["tma:random:f32[20,20,64]:box=10x10x32", "random:f32[9,64]",
         "tma:zeros:f32[20,20,64]:box=8x8x32"],
    ),
    case(
        "persistent gemm, stmatrix and a store of tiles", "stranger", "persistent", [2, 1, 1], 160,
        ["tma:random:f16[192,256]:box=64x64:swizzle=128",
         "tma:random:f16[128,256]:box=64x64:swizzle=128",
         "tma:zeros:f16[192,128]:box=64x64:swizzle=128", "i32=2", "i32=6", "i32=4"],
        3 * 16384 + 8192 + 1024,
    ),
    case(
        "rows split over a cluster, st.async", "stranger", "split_rows", [8, 1, 1], 128,
        ["random:f32[256,64]", "random:f32[64]", "zeros:f32[256]", "i32=64"],
    ),
    case(
        "e4m3, A in registers by words", "stranger", "eight_bits", [2, 2, 1], 128,
        ["tma:random:f8e4m3[128,256]:box=64x128:swizzle=128",
         "tma:random:f8e4m3[128,256]:box=64x128:swizzle=128", "zeros:f32[128,128]", "i32=128",
         "i32=2"],
        2 * 8192 + 1024,
    ),
    case(
        "warp-specialised e5m2 times e4m3, multicast", "specialised", "fp8_ss", [2, 2, 1], 384,
        ["tma:random:f8e4m3[256,640]:box=128x128:swizzle=128",
         "tma:random:f8e4m3[256,640]:box=64x128:swizzle=128", "zeros:f32[256,256]", "i32=256",
         "i32=5"],
        3 * 32768 + 1024,
    ),
    case(
        "warp-specialised e4m3, A in registers", "specialised", "fp8_rs", [2, 2, 1], 384,
        ["tma:random:f8e4m3[256,640]:box=128x64:swizzle=64",
         "tma:random:f8e4m3[96,640]:box=48x64:swizzle=64", "zeros:f32[256,96]", "i32=96",
         "i32=10"],
        4 * 11264 + 1024,
    ),
    case(
        "warp-specialised u8 times s8", "specialised", "int8_ss", [2, 2, 1], 384,
        ["tma:random:u8[256,448]:box=128x64:swizzle=64",
         "tma:random:u8[192,448]:box=96x32:swizzle=32",
         "tma:zeros:i32[256,192]:box=64x32:swizzle=128", "i32=7"],
        2 * 14336 + 2 * 24576 + 2048,
    ),
    case(
        "warp-specialised s8 times u8, A in registers, split", "specialised", "int8_rs", [1, 2, 2],
        384,
        ["random:i8[256,640]", "random:u8[10,12,4,8,16]", "tma:zeros:i32[256,96]:box=64x96",
         "i32=640", "i32=5"],
    ),
    case(
        "groups without products", "specialised", "empty_group", [2, 1, 1], 128,
        ["zeros:i32[128]", "i32=3"],
    ),
]  # fmt: skip


def main(name: str = "hopper") -> None:
    from simulator.sass.code.images import load

    cases = STRANGERS if name == "stranger" else CASES
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(OWN, folder, dirs_exist_ok=True)
        # The line table names the folder too: not where this tree lies, but `cuda`.
        here = folder.encode()
        there = b"cuda" + b"/" * (len(here) - 4)
        for cubin in dict.fromkeys(each["cubin"] for each in cases):
            kernel = next(each["kernel"] for each in cases if each["cubin"] == cubin)
            found, _ = load(Path(folder, cubin).with_suffix(".cu"), "sm_90a", kernel)
            (HERE / "cubins" / cubin).write_bytes(found.image.replace(here, there))
    (HERE / f"{name}.json").write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
