"""Compile the kernels to cubins and write cases.json: `python -m tests.silicon.sass.build`.

Needs nvcc. The committed cubins are what was measured: rebuild them only to measure anew.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GEMMS = HERE.parents[2] / "gpu_check" / "cuda"
OWN = HERE / "cuda"

M, N, K = 256, 384, 128  # of the documents' kernels: every tile divides them


def case(
    name: str, source: Path, kernel: str, grid: list[int], block: list[int], args: list[str],
    shared: int = 0, **defines: int,
) -> dict[str, Any]:  # fmt: skip
    return {
        "name": name, "source": source.name, "cubin": f"{name.split(' on ')[0]}.cubin",
        "kernel": kernel, "grid": grid, "block": block, "shared": shared, "args": args,
        "defines": defines, "ours": source.parent == OWN,
    }  # fmt: skip


def gemm(
    name: str, file: str, tile: int | tuple[int, int], block: list[int], kind: str = "f32",
    out: str = "f32", kernel: str = "", **defines: int,
) -> dict[str, Any]:  # fmt: skip
    rows, cols = (tile, tile) if isinstance(tile, int) else tile
    args = [
        f"random:{kind}[{M},{K}]", f"random:{kind}[{K},{N}]", f"zeros:{out}[{M},{N}]",
        f"i32={M}", f"i32={N}", f"i32={K}",
    ]  # fmt: skip
    grid = [N // cols, M // rows, 1]
    return case(name, GEMMS / f"{file}.cu", kernel or file, grid, block, args, **defines)


CASES = [
    gemm("smem", "smem", 32, [32, 32, 1]),
    gemm("blocktile_1d", "blocktile_1d", 64, [64, 8, 1]),
    gemm("blocktile_2d", "blocktile_2d", 64, [8, 8, 1]),
    gemm("vectorized_64", "vectorized", 64, [64, 1, 1]),
    gemm("vectorized_128", "vectorized", 128, [256, 1, 1], TILE=128),
    gemm("warptile_2x16", "warptile", 128, [16, 16, 1], LANES_COLS=16),
    gemm("warptile_2x16_split", "warptile", 128, [16, 16, 1], LANES_COLS=16, SPLIT=1),
    gemm("warptile_4x8", "warptile", 128, [16, 16, 1], LANES_COLS=8),
    gemm("zorder_padded", "zorder", 64, [64, 1, 1]),
    gemm("zorder", "zorder", 64, [64, 1, 1], PADDING=0),
    gemm("double_buffered", "double_buffered", 128, [256, 1, 1]),
    gemm("double_buffered_padded", "double_buffered", 128, [256, 1, 1], PAD_A=4),
    gemm("half_tiles", "half", 128, [128, 1, 1], "f16", kernel="half_tiles"),
    gemm("wmma_padded", "wmma", 128, [256, 1, 1], "f16", "f16"),
    gemm("wmma", "wmma", 128, [256, 1, 1], "f16", "f16", PAD=0),
]
for size in ((96, 64, 40), (33, 50, 17), (31, 129, 9)):
    m, n, k = size
    CASES.append(
        case(
            f"guarded on {m}x{n}x{k}", OWN / "guarded.cu", "guarded",
            [-(-n // 32), -(-m // 32), 1], [64, 1, 1],
            [f"random:f32[{m},{k}]", f"random:f32[{k},{n}]", f"zeros:f32[{m},{n}]",
             f"i32={m}", f"i32={n}", f"i32={k}"],
        )
    )  # fmt: skip
CASES += [
    case(
        f"transpose on {way}", OWN / "transpose.cu", f"transpose_{way}", [4, 4, 1], [32, 8, 1],
        ["random:f32[128,128]", "zeros:f32[128,128]", "i32=128"],
    )
    for way in ("naive", "padded", "swizzled")
]  # fmt: skip
CASES += [
    case("scan on reduce", OWN / "scan.cu", "reduce", [8, 1, 1], [256, 1, 1],
         ["random:i32[2048]", "zeros:i32[8]"]),
    case("scan on scan", OWN / "scan.cu", "scan", [8, 1, 1], [256, 1, 1],
         ["random:i32[2048]", "zeros:i32[2048]"]),
    case("scan on shared", OWN / "scan.cu", "scan_shared", [8, 1, 1], [256, 1, 1],
         ["random:i32[2048]", "zeros:i32[2048]"]),
    case("histogram on bytes", OWN / "histogram.cu", "histogram", [4, 1, 1], [256, 1, 1],
         ["random:u8[20000]", "zeros:u32[4,256]", "i32=20000"]),
    case("histogram on weights", OWN / "histogram.cu", "weights", [4, 1, 1], [256, 1, 1],
         ["random:u8[20000]", "random:i32[20000]", "zeros:i32[4,512]", "i32=20000"]),
    case("stencil", OWN / "stencil.cu", "stencil", [4, 13, 1], [32, 8, 1],
         ["random:f32[100,100]", "zeros:f32[100,100]", "i32=100"]),
    case("softmax", OWN / "softmax.cu", "softmax", [5, 1, 1], [256, 1, 1],
         ["random:f32[5,1000]", "zeros:f32[5,1000]", "i32=1000"], shared=4000),
    case("tensor_gemm", OWN / "tensor_gemm.cu", "tensor_gemm", [3, 2, 1], [128, 1, 1],
         ["random:f16[128,160]", "random:f16[160,192]", "zeros:f32[128,192]", "i32=128",
          "i32=192", "i32=160"]),
    case("bitonic", OWN / "bitonic.cu", "bitonic", [3, 1, 1], [1024, 1, 1],
         ["random:i32[3072]", "zeros:i32[3072]"]),
    case("exchange", OWN / "exchange.cu", "exchange", [3, 1, 1], [256, 1, 1],
         ["random:f32[3,1024,2]", "zeros:f32[3,1024,2]"]),
    case("divergent", OWN / "divergent.cu", "divergent", [3, 1, 1], [256, 1, 1],
         ["random:i32[700]", "zeros:i32[700]", "i32=700"]),
]  # fmt: skip


def main() -> None:
    (HERE / "cubins").mkdir(exist_ok=True)
    built = set()
    for each in CASES:
        if each["cubin"] in built:
            continue
        built.add(each["cubin"])
        source = (OWN if each["ours"] else GEMMS) / each["source"]
        defines = [f"-D{name}={value}" for name, value in each["defines"].items()]
        with tempfile.TemporaryDirectory() as folder:
            # The line table names the file as #line does, not where this tree lies.
            copy = Path(folder) / "copy.cu"
            copy.write_text(f'#line 1 "{source.name}"\n{source.read_text()}')
            subprocess.run(
                ["nvcc", "-std=c++17", "-arch=sm_90", "-lineinfo", "-cubin", *defines,
                 "-o", str(HERE / "cubins" / each["cubin"]), str(copy)],
                check=True, cwd=folder,
            )  # fmt: skip
            without(folder, HERE / "cubins" / each["cubin"])
    (HERE / "cases.json").write_text(json.dumps(CASES, indent=1) + "\n")


def without(folder: str, cubin: Path) -> None:
    """Put a name of equal length for the folder of the compiler, which the line table keeps."""
    neutral = b"/bankwise".ljust(len(folder), b"_")
    cubin.write_bytes(cubin.read_bytes().replace(folder.encode(), neutral))


if __name__ == "__main__":
    main()
