"""Compile the kernels that are timed, and write cases.json: `python -m tests.silicon.timed.build`.

The committed cubins are what was measured: rebuild them only to measure anew. Kernels of
`tests/silicon/sass` are taken as they are, with grids that fill a chip.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gpu_check.gemm import GEMMS
from simulator.kernels import get
from simulator.sass.code.images import load
from simulator.sass.code.options import make_options

HERE = Path(__file__).parent
SASS = "../sass/cubins"
GEMM_SOURCES = HERE.parents[2] / "gpu_check/cuda"


def case(
    name: str, cubin: str, kernel: str, grid: list[int], block: list[int], args: list[str],
    pair: str = "", shared: int = 0,
) -> dict[str, Any]:  # fmt: skip
    return {
        "name": name, "cubin": cubin, "kernel": kernel, "grid": [*grid, 1, 1][:3],
        "block": [*block, 1, 1][:3], "shared": shared, "args": args, "pair": pair,
    }  # fmt: skip


def cases_of(cubin: str) -> Callable[..., dict[str, Any]]:
    """Return `case` for the kernels of one cubin; a grid or block of one axis may be a number."""

    def made(
        name: str, kernel: str, grid: int | list[int], block: int | list[int], args: list[str],
        pair: str = "", shared: int = 0,
    ) -> dict[str, Any]:  # fmt: skip
        axes = ([each] if isinstance(each, int) else each for each in (grid, block))
        return case(name, f"cubins/{cubin}.cubin", kernel, *axes, args, pair, shared)

    return made


def turn(size: int, how: str) -> dict[str, Any]:
    square = f"f32[{size},{size}]"
    return case(
        f"transpose {how} {size}", f"{SASS}/transpose.cubin", f"transpose_{how}",
        [size // 32, size // 32], [32, 8], [f"random:{square}", f"zeros:{square}", f"i32={size}"],
        f"transpose {size}",
    )  # fmt: skip


def matrices(how: str, size: int = 2048) -> dict[str, Any]:
    half = f"random:f16[{size},{size}]"
    return case(
        f"matrices {how}", "cubins/matrices.cubin", f"matrices_{how}", [size // 128, size // 128],
        [256], [half, half, f"zeros:f32[{size},{size}]", f"i32={size}", f"i32={size}"], "matrices",
    )  # fmt: skip


def turned(how: str, size: int = 2048) -> dict[str, Any]:
    floats = f"random:f32[{size},{size}]"
    return case(
        f"turned {how}", "cubins/matrices.cubin", f"turned_{how}", [size // 64, size // 64], [128],
        [floats, floats, f"zeros:f32[{size},{size}]", f"i32={size}", f"i32={size}"], "turned",
    )  # fmt: skip


def elements(
    name: str, cubin: str, kernel: str, blocks: int, threads: int, each: int, kind: str = "f32",
    out: str = "", more: tuple[str, ...] = (), pair: str = "", out_each: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """A kernel over a vector: `each` elements a block go in, `out_each` (or as many) come out."""
    args = [
        f"random:{kind}[{blocks * each}]", f"zeros:{out or kind}[{blocks * (out_each or each)}]",
        *more,
    ]  # fmt: skip
    return case(name, cubin, kernel, [blocks], [threads], args, pair)


def padded_gemm(name: str, cubin: str, size: int = 1024) -> dict[str, Any]:
    square = f"f32[{size},{size}]"
    args = [f"random:{square}", f"random:{square}", f"zeros:{square}", *[f"i32={size}"] * 3]
    return case(
        name, f"{SASS}/{cubin}.cubin", "double_buffered", [size // 128, size // 128], [256], args,
        "double-buffered",
    )  # fmt: skip


REDUCTIONS, TILES, STREAMS = (f"cubins/{name}.cubin" for name in ("reductions", "tiles", "streams"))
PLANE = ["random:f32[2048,2048]", "zeros:f32[2048,2048]", "i32=2048"]

CASES = [
    *(turn(size, how) for size in (1024, 4096) for how in ("naive", "padded", "swizzled")),
    matrices("plain"), matrices("padded"), matrices("swizzled"),
    turned("plain"), turned("padded"),
    padded_gemm("double-buffered 2048", "double_buffered", 2048),
    padded_gemm("double-buffered padded 2048", "double_buffered_padded", 2048),
    elements("sum neighbours", REDUCTIONS, "sum_neighbours", 2112, 256, 4096, pair="sum",
             out_each=8),
    elements("sum halves", REDUCTIONS, "sum_halves", 2112, 256, 4096, pair="sum", out_each=8),
    elements("tree plain", REDUCTIONS, "tree_plain", 4224, 512, 1024, "i32", pair="tree"),
    elements("tree padded", REDUCTIONS, "tree_padded", 4224, 512, 1024, "i32", pair="tree"),
    case("blur plain", TILES, "blur_plain", [64, 64], [32, 8], PLANE, "blur"),
    case("blur padded", TILES, "blur_padded", [64, 64], [32, 8], PLANE, "blur"),
    elements("particles structures", TILES, "particles_structures", 2112, 256, 2048,
             more=("i32=64",), pair="particles", out_each=256),
    elements("particles arrays", TILES, "particles_arrays", 2112, 256, 2048,
             more=("i32=64",), pair="particles", out_each=256),
    elements("copy", STREAMS, "copy", 32768, 256, 1024),
    elements("polynomial", STREAMS, "polynomial", 2112, 256, 256, more=("i32=500",)),
    elements("exponentials", STREAMS, "exponentials", 2112, 256, 256, more=("i32=100",)),
    elements("doubles", STREAMS, "doubles", 2112, 256, 256, out="f64", more=("i32=300",)),
    elements("hashes", STREAMS, "hashes", 2112, 256, 256, "u32", more=("i32=200",)),
    elements("normalized", STREAMS, "normalized", 2048, 256, 8192),
    case("vector product", STREAMS, "vector_product", [1024], [256],
         ["random:f32[8192,2048]", "random:f32[2048]", "zeros:f32[8192]", "i32=2048"]),
    elements("reduce", f"{SASS}/scan.cubin", "reduce", 16384, 256, 256, "i32", out_each=1),
    elements("scan", f"{SASS}/scan.cubin", "scan", 8448, 256, 256, "i32"),
    elements("scan shared", f"{SASS}/scan.cubin", "scan_shared", 8448, 256, 256, "i32"),
    case("histogram", f"{SASS}/histogram.cubin", "histogram", [528], [256],
         ["random:u8[8388608]", "zeros:u32[528,256]", "i32=8388608"]),
    case("weights", f"{SASS}/histogram.cubin", "weights", [528], [256],
         ["random:u8[2097152]", "random:i32[2097152]", "zeros:i32[528,512]", "i32=2097152"]),
    case("stencil", f"{SASS}/stencil.cubin", "stencil", [64, 256], [32, 8], PLANE),
    case("softmax", f"{SASS}/softmax.cubin", "softmax", [2112], [256],
         ["random:f32[2112,4096]", "zeros:f32[2112,4096]", "i32=4096"], shared=16384),
    case("tensor gemm", f"{SASS}/tensor_gemm.cubin", "tensor_gemm", [32, 32], [128],
         ["random:f16[2048,2048]", "random:f16[2048,2048]", "zeros:f32[2048,2048]",
          *["i32=2048"] * 3]),
    elements("bitonic", f"{SASS}/bitonic.cubin", "bitonic", 1056, 1024, 1024, "i32"),
    elements("exchange", f"{SASS}/exchange.cubin", "exchange", 4224, 256, 2048),
    elements("divergent", f"{SASS}/divergent.cubin", "divergent", 2112, 256, 256, "i32",
             more=("i32=540672",)),
    case("guarded 1000", f"{SASS}/guarded.cubin", "guarded", [32, 32], [64],
         ["random:f32[1000,1000]", "random:f32[1000,1000]", "zeros:f32[1000,1000]",
          *["i32=1000"] * 3]),
]  # fmt: skip


CUBINS = {
    "smem": "smem", "1d": "blocktile_1d", "2d": "blocktile_2d", "vectorized": "vectorized_64",
    "vectorized 128": "vectorized_128", "warp 2x16": "warptile_2x16",
    "warp 2x16 split": "warptile_2x16_split", "warp 4x8": "warptile_4x8",
    "z-order padded": "zorder_padded", "z-order": "zorder", "double-buffered": "double_buffered",
    "half": "half_tiles", "wmma padded": "wmma_padded", "wmma": "wmma",
}  # fmt: skip
"""Of `gpu_check.gemm.GEMMS`; the others are compiled here."""
PAIRS = {"warp 2x16": "warp 2x16", "warp 2x16 split": "warp 2x16", "z-order padded": "z-order",
         "z-order": "z-order", "wmma padded": "wmma", "wmma": "wmma"}  # fmt: skip


def gemm(name: str, size: int) -> dict[str, Any]:
    """One of our GEMM kernels: these were looked at while the model was built."""
    known = GEMMS[name]
    kernel = get(known.kernel)
    launch = kernel.launch(size, size, size, **{**kernel.defaults, **known.parameters})
    kinds = {"float32": "f32", "float16": "f16"}
    given = f"random:{kinds[known.inputs]}[{size},{size}]"
    args = [given, given, f"zeros:{kinds[known.output]}[{size},{size}]", *[f"i32={size}"] * 3]
    cubin = f"{SASS}/{CUBINS[name]}.cubin" if name in CUBINS else f"cubins/{known.file}.cubin"
    pair = f"{PAIRS[name]} {size}" if name in PAIRS else ""
    return case(f"{name} {size}", cubin, known.entry, [*launch.grid], [*launch.block], args, pair)


def compiled(path: Path, architecture: str = "sm_90") -> bytes:
    """Return a source's cubin, in which the folders that it names are nobody's."""
    image = load(path, architecture, None, make_options((), {}, ()))[0].image
    for folder in {str(path.parent).encode(), *re.findall(rb"/[ -~]+/cu13/include", image)}:
        image = image.replace(folder, path.parent.name.encode().rjust(len(folder), b"/"))
    return image


def write_cubins(name: str, sources: Mapping[str, str]) -> None:
    """Compile the sources of a held-out set, by their architectures, without lines of the source.

    Of what templates inline, these take thrice the code.
    """
    for source, architecture in sources.items():
        subprocess.run(
            ["nvcc", "-cubin", f"-arch={architecture}", "-std=c++17", "--expt-relaxed-constexpr",
             "-o", str(HERE / f"cubins/{name}_{source}.cubin"),
             str(HERE / f"{name}/{source}.cu")],
            check=True,
        )  # fmt: skip


def write_set(
    name: str, sources: Mapping[str, str], cases: list[dict[str, Any]], maps: list[dict[str, Any]]
) -> None:
    """Compile the sources of a held-out set, by their architectures, and write its launches.

    Those that take tensor maps have a list of their own: not every driver encodes them.
    """
    for source, architecture in sources.items():
        image = compiled(HERE / name / f"{source}.cu", architecture)
        (HERE / "cubins" / f"{name}_{source}.cubin").write_bytes(image)
    for end, launches in (("", cases), ("_maps", maps)):
        if not launches:
            continue
        (HERE / f"{name}{end}.json").write_text(json.dumps(launches, indent=1) + "\n")


def main() -> None:
    gemms = [gemm(name, size) for size in (1024, 4096) for name in GEMMS]
    (HERE / "gemms.json").write_text(json.dumps(gemms, indent=1) + "\n")
    own = [GEMM_SOURCES / f"{GEMMS[name].file}.cu" for name in GEMMS if name not in CUBINS]
    for path in [*sorted((HERE / "cuda").glob("*.cu")), *own]:
        (HERE / "cubins" / f"{path.stem}.cubin").write_bytes(compiled(path))
    (HERE / "cases.json").write_text(json.dumps(CASES, indent=1) + "\n")


if __name__ == "__main__":
    main()
