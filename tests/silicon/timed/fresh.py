"""Compile the second set of timed kernels, and write fresh.json.

    python -m tests.silicon.timed.fresh

Other kernels than those of `build.py`, measured after the model of a later commit.
"""

from __future__ import annotations

import json
from typing import Any

from tests.silicon.timed.build import HERE, case, compiled


def image(name: str, kernel: str, grid: list[int], block: list[int], args: list[str],
          pair: str = "", shared: int = 0) -> dict[str, Any]:  # fmt: skip
    return case(name, "cubins/images.cubin", kernel, grid, block, args, pair, shared)


def vector(name: str, kernel: str, grid: list[int], block: list[int], args: list[str],
           pair: str = "", shared: int = 0) -> dict[str, Any]:  # fmt: skip
    return case(name, "cubins/vectors.cubin", kernel, grid, block, args, pair, shared)


def blocks(name: str, kernel: str, grid: list[int], block: list[int], args: list[str],
           pair: str = "", shared: int = 0) -> dict[str, Any]:  # fmt: skip
    return case(name, "cubins/blocks.cubin", kernel, grid, block, args, pair, shared)


PLANE = ["random:f32[2048,2048]", "random:f32[25]", "zeros:f32[2048,2048]", "i32=2048"]


def sparse(name: str, rows: int, room: int, grid: int) -> dict[str, Any]:
    """A product with a sparse matrix of rows with room for some elements."""
    every = f"[{rows * room}]"
    args = [f"random:i32[{rows}]", f"random:i32{every}", f"random:f32{every}", "random:f32[1024]",
            f"zeros:f32[{rows}]", f"i32={rows}"]  # fmt: skip
    return vector(name, name.replace(" ", "_"), [grid], [256], args)


def cases() -> list[dict[str, Any]]:
    found = [
        image(f"convolution {how}", f"convolve_{how}", [64, 64], [16, 16], PLANE, "convolution")
        for how in ("even", "odd")
    ]
    found += [
        image("convolution global", "convolve_global", [64, 256], [32, 8], PLANE),
        image("sobel", "sobel", [32, 256], [256],
              ["random:u8[4096,4096]", "zeros:u8[4096,4096]", "i32=4096"]),
    ]  # fmt: skip
    found += [
        image(f"pairs {how}", f"turn_pairs_{how}", [32, 32], [32, 4],
              ["random:f32[1024,1024,2]", "zeros:f32[1024,1024,2]", "i32=1024"], "pairs")
        for how in ("plain", "padded", "xor")
    ]  # fmt: skip
    found += [
        sparse("sparse scalar", 270336, 16, 1056), sparse("sparse warps", 33792, 160, 4224),
    ]  # fmt: skip
    row = "random:f32[4096]"
    found += [
        vector("layernorm", "layernorm", [1056], [256],
               ["random:f32[1056,4096]", row, row, "zeros:f32[1056,4096]", "i32=1024"]),
        vector("layernorm large", "layernorm", [8448], [256],
               ["random:f32[8448,4096]", row, row, "zeros:f32[8448,4096]", "i32=1024"]),
        vector("sum atomic", "sum_atomic", [2112], [256],
               ["random:f32[2112,2048]", "zeros:f32[64]", "i32=8"]),
        vector("histogram blocks", "histogram_blocks", [528], [512],
               ["random:i32[528,16384]", "zeros:u32[1024]", "i32=32"]),
        vector("histogram global", "histogram_global", [2112], [256],
               ["random:i32[540672]", "zeros:u32[1024]", "i32=540672"]),
        vector("forces", "forces", [264], [256],
               ["random:f32[67584,4]", "zeros:f32[67584,4]", "i32=8192"]),
        vector("escapes", "escapes", [64, 256], [32, 8], ["zeros:i32[2048,2048]", "i32=2048",
                                                          "i32=100"]),
        vector("dot double", "dot_double", [1056], [256],
               ["random:f64[1056,2048]", "random:f64[1056,2048]", "zeros:f64[1056]", "i32=8"]),
        vector("gathers", "gathers", [4224], [256],
               ["random:i32[1081344]", "random:f32[1000000]", "zeros:f32[1081344]",
                "i32=1000000"]),
        vector("few blocks", "forces", [24], [256],
               ["random:f32[6144,4]", "zeros:f32[6144,4]", "i32=6144"]),
    ]  # fmt: skip
    found += [
        blocks(f"prefix {how}", f"prefix_{how}", [1056], [1024],
               ["random:i32[1056,2048]", "zeros:i32[1056,2048]"], "prefix", 4 * words)
        for how, words in (("plain", 2048), ("padded", 2112))
    ]  # fmt: skip
    many, elements, hows = "random:f32[4224,1024]", 1 << 23, ("plain", "padded")
    found.append(
        blocks("sort", "sort_pairs", [528], [512],
               ["random:u32[528,2048]", "zeros:u32[528,2048]"])
    )  # fmt: skip
    found += [
        blocks(f"small {how}", f"small_{how}", [4224], [32, 8],
               [many, many, "zeros:f32[4224,1024]"], "small")
        for how in hows
    ]  # fmt: skip
    found += [
        blocks(f"planes {how}", f"planes_{how}", [elements // 256], [256],
               [f"random:f32[{elements},4]", f"zeros:f32[4,{elements}]", f"i32={elements}"],
               "planes")
        for how in hows
    ]  # fmt: skip
    return found + [
        blocks(f"roots {how}", f"roots_{how}", [2112], [32, 8],
               ["random:f32[2112,1024]", "zeros:f32[2112,1024]", "i32=64"], "roots")
        for how in hows
    ]  # fmt: skip


def main() -> None:
    for path in sorted((HERE / "fresh").glob("*.cu")):
        (HERE / "cubins" / f"{path.stem}.cubin").write_bytes(compiled(path))
    (HERE / "fresh.json").write_text(json.dumps(cases(), indent=1) + "\n")


if __name__ == "__main__":
    main()
