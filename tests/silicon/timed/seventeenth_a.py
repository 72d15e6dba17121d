"""Compile set seventeen A of timed kernels, and write seventeenth_a.json.

    python -m tests.silicon.timed.seventeenth_a

The canon of samples, books and courses, in the variants and sizes that people write; chosen by
somebody who had not read the model, to hold it against what strangers bring.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("turns", "sums", "gemms", "grids", "rows", "loops"), "sm_90")
PLAIN = ("plain", "padded")


def turns() -> list[dict[str, Any]]:
    each = cases_of("seventeenth_a_turns")
    million = 1056 * 2048

    def turn(
        name: str, kernel: str, grid: list[int], block: list[int], sizes: list[int], pair: str
    ) -> dict[str, Any]:  # fmt: skip
        count = sizes[0] * sizes[-1]
        args = [floats(count), zeros(count), *(f"i32={size}" for size in sizes)]
        return each(name, kernel, grid, block, args, pair)

    return [
        *(turn(f"turn 16 {how}", f"turn_16_{how}", [125, 63], [16, 16], [2000, 1000],
               pair="turn 16") for how in PLAIN),
        *(turn(f"turn 32 {how}", f"turn_32_{how}", [48, 48], [32, 32], [1536, 1536],
               pair="turn 32") for how in (*PLAIN, "swizzled")),
        *(turn(f"diagonal {how}", f"diagonal_{how}", [64, 64], [32, 8], [2048, 2048],
               pair="diagonal") for how in PLAIN),
        *(turn(f"turn vectors {how}", f"turn_vectors_{how}", [32, 32], [16, 16], [2048],
               pair="turn vectors") for how in PLAIN),
        each("copy scalars", "copy_scalars", 3907, 256,
             [floats(4000000), zeros(4000000), "i32=4000000"]),
        each("copy vectors", "copy_vectors", 3907, 256,
             [floats(4000000), zeros(4000000), "i32=1000000"]),
        *(each(f"structs {how}", f"records_{how}", 1056, 256,
               [floats(million), zeros(million), "f32=0.01"], "structs")
          for how in ("structs", "padded")),
        *(each(f"bank stride {stride}", "bank_stride", 264, 256,
               [zeros(264 * 256), f"i32={stride}", "i32=256"]) for stride in (1, 8, 32)),
    ]  # fmt: skip


def sums() -> list[dict[str, Any]]:
    each = cases_of("seventeenth_a_sums")
    long, counted, keys = 8388611, 2162688, 528 * 4096

    def reduced(name: str, blocks: int, threads: int, pair: str = "") -> dict[str, Any]:
        args = [floats(blocks * threads, "i32"), zeros(blocks, "i32")]
        return each(f"reduce {name}", f"reduce_{name}", blocks, threads, args, pair, 4 * threads)

    return [
        reduced("diverging", 4096, 256),
        *(reduced(how, 4224, 512, "reduce") for how in ("interleaved", "sequential")),
        each("reduce last warp", "reduce_last_warp", 1056, 256,
             [floats(1056 * 512, "i32"), zeros(1056, "i32")]),
        each("reduce grid 512", "reduce_grid_512", 528, 512, [floats(long), zeros(528),
                                                              f"u32={long}"]),
        each("reduce shuffles", "reduce_shuffles", 528, 256, [floats(1 << 22), zeros(1),
                                                              f"i32={1 << 20}"]),
        *(each(f"blelloch {how}", f"blelloch_{how}", 2112, 256,
               [floats(2112 * 512), zeros(2112 * 512)], "blelloch") for how in PLAIN),
        each("hillis steele", "hillis_steele", 1056, 512, [floats(1056 * 512), zeros(1056 * 512)],
             shared=4096),
        *(each(f"replicas {how}", f"replicas_{how}", 264, 256,
               [floats(counted, "u32"), zeros(256, "u32"), f"i32={counted}"], "replicas")
          for how in (*PLAIN, "interleaved")),
        each("histogram 4096", "histogram_4096", 264, 512,
             [floats(counted), zeros(4096, "u32"), f"i32={counted // 4}"], shared=16384),
        *(each(f"digit counts {how}", f"digit_counts_{how}", 528, 128,
               [floats(keys, "u32"), zeros(16 * 528, "u32"), "i32=8"], "digit counts")
          for how in ("rows", "columns")),
        each("bitonic pairs", "bitonic_pairs", 264, 512,
             [*[floats(264 * 1024, "u32")] * 2, *[zeros(264 * 1024, "u32")] * 2, "bool=true"]),
    ]  # fmt: skip


def gemms() -> list[dict[str, Any]]:
    each = cases_of("seventeenth_a_gemms")

    def product(
        name: str, tile: list[int], block: int | list[int], m: int, n: int, k: int,
        kind: str = "f32", pair: str = "", sizes: str = "nk", down: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        across, along = -(-n // tile[0]), -(-m // tile[-1])
        grid = [along, across] if down else [across, along]
        numbers = {"m": m, "n": n, "k": k, "q": k // 4}
        kinds = (kind, "i32") if kind == "i8" else (kind, kind)
        args = [floats(m * k, kinds[0]), floats(n * k, kinds[0]), zeros(m * n, kinds[1])]
        given = [*args, *(f"i32={numbers[size]}" for size in sizes)]
        return each(name, name.replace(" ", "_"), grid, block, given, pair)

    return [
        product("naive product", [16], [16, 16], 500, 500, 500, sizes="mnk"),
        product("naive down", [32], [32, 32], 512, 512, 256, sizes="mnk", down=True),
        product("tiled 16", [16], [16, 16], 1000, 700, 500, sizes="mnk"),
        product("tiled 32", [32], [32, 32], 1024, 512, 768, sizes="mnk"),
        *(product(f"abt 32 {how}", [32], [32, 32], 512, 512, 128, pair="abt 32") for how in PLAIN),
        *(product(f"abt f64 {how}", [16], [16, 16], 512, 512, 128, "f64", "abt f64")
          for how in PLAIN),
        product("registers 64", [64], 256, 1024, 1024, 512),
        *(product(f"registers 128 {how}", [128], 256, 2048, 1024, 512, pair="registers 128")
          for how in PLAIN),
        product("two buffers 64", [64], 256, 768, 704, 1024),
        *(product(f"quantised {how}", [64], 256, 1024, 1024, 2048, "i8", "quantised", "nq")
          for how in PLAIN),
        each("gemv thread rows", "gemv_thread_rows", 32, 128,
             [floats(4000000), floats(1000), zeros(4000), "i32=4000", "i32=1000"]),
        *(each(f"gemv tile {how}", f"gemv_tile_{how}", 264, 128,
               [floats(33792 * 512), floats(512), zeros(33792), "i32=512"], "gemv tile")
          for how in PLAIN),
    ]  # fmt: skip


def grids() -> list[dict[str, Any]]:
    each = cases_of("seventeenth_a_grids")
    line, deep, cube, plane, film = 3000000, 392 * 392 * 40, 128**3, 2048 * 1024, 1920 * 1080
    sizes = ["i32=2048", "i32=1024"]

    def filtered(name: str, grid: list[int], block: list[int], pair: str = "") -> dict[str, Any]:
        args = [floats(plane), zeros(plane), *sizes]
        return each(name, name.replace(" ", "_"), grid, block, args, pair)

    return [
        each("stencil line", "stencil_line", 5860, 512, [floats(line), zeros(line), f"i32={line}"]),
        each("heat plane", "heat_plane", [94, 94], [16, 16],
             [floats(2250000), zeros(2250000), "i32=1500", "i32=1500", "f32=0.2"]),
        each("differences", "differences", [12, 24], [32, 16],
             [floats(deep), zeros(deep), "i32=392", "i32=392", "i32=40"]),
        *(each(f"cube mean {how}", f"cube_mean_{how}", [16, 16, 16], [8, 8, 8],
               [floats(cube), zeros(cube), "i32=128"], "cube mean") for how in PLAIN),
        filtered("mask tile", [128, 64], [20, 20]),
        *(filtered(f"separable columns {how}", [128, 16], [16, 8], "separable columns")
          for how in PLAIN),
        each("blur bytes", "blur_bytes", [60, 135], [32, 8],
             [floats(film, "u8"), zeros(film, "u8"), "i32=1920", "i32=1080"]),
        each("floyd third", "floyd_third", [32, 32], [32, 32],
             [floats(1 << 20, "i32"), zeros(1 << 20, "i32"), "i32=1024", "i32=5"]),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    each = cases_of("seventeenth_a_rows")
    wide, long, words, planes = 16896 * 256, 264 * 25600, 8448 * 768, 16 * 264 * 784
    heads, small, points = 16 * 256 * 64, 33 * 128 * 64, 1056 * 256
    return [
        each("softmax naive", "softmax_naive", 132, 128,
             [floats(wide), zeros(wide), "i32=16896", "i32=256"]),
        *(each(f"softmax staged {how}", f"softmax_staged_{how}", 792, 64,
               [floats(792 * 4096), zeros(792 * 4096)], "softmax staged") for how in PLAIN),
        each("layernorm long", "layernorm_long", 264, 1024,
             [floats(long), *[floats(25600)] * 2, zeros(long), "i32=25600"], shared=102400),
        each("layernorm welford", "layernorm_welford", 1056, 256,
             [floats(words), *[floats(768)] * 2, zeros(words), "i32=8448", "i32=768"]),
        each("channel statistics", "channel_statistics", 264, 512,
             [floats(planes), zeros(264), zeros(264), "i32=16", "i32=264", "i32=784"]),
        each("attention scores", "attention_scores", [256, 16], 256,
             [*[floats(heads)] * 3, zeros(heads), "i32=256", "f32=0.125"], shared=1024),
        *(each(f"flash {how}", f"flash_{how}", [4, 33], 32,
               [*[floats(small)] * 3, zeros(small), "i32=128", "f32=0.125"], "flash")
          for how in PLAIN),
        *(each(f"assigned {how}", f"assigned_{how}", 1056, 256,
               [floats(points * 16), floats(512), zeros(points, "i32")], "assigned")
          for how in PLAIN),
        each("all bodies", "all_bodies", 32, 256, [floats(4 * 8192), zeros(4 * 8192), "i32=8192"],
             shared=4096),
        each("dot pairs", "dot_pairs", 528, 256,
             [*[floats(1 << 22, "f16")] * 2, zeros(528), f"i32={1 << 21}"]),
    ]  # fmt: skip


def loops() -> list[dict[str, Any]]:
    each = cases_of("seventeenth_a_loops")
    options, threads, sorted_, systems = 270336, 528 * 256, 1056 * 2048, 528 * 128
    waves, sparse, places = 528 * 2048, 33792, 2162688
    many = [floats(threads), zeros(threads), "i32=32"]
    return [
        each("mandelbrot f32", "mandelbrot_f32", [64, 48], [16, 16],
             [zeros(1024 * 768, "i32"), "i32=1024", "i32=768", "i32=256"]),
        each("mandelbrot f64", "mandelbrot_f64", [16, 48], [32, 8],
             [zeros(512 * 384, "i32"), "i32=512", "i32=384", "i32=128"]),
        each("monte carlo", "monte_carlo", 528, 128,
             [zeros(528), "f32=100", "f32=105", "f32=0.02", "f32=0.2", "i32=100"]),
        each("black scholes f64", "black_scholes", 528, 256,
             [*[floats(options, "f64")] * 2, *[zeros(options, "f64")] * 2, "f64=0.02", "f64=0.3",
              f"i32={options}"]),
        each("branches lanes", "branches_lanes", 528, 256, many),
        each("branches warps", "branches_warps", 528, 256, many),
        each("divisors", "divisors", 1056, 256,
             [*[floats(1056 * 256, "u32")] * 2, zeros(1056 * 256, "u32")]),
        each("primes", "primes", 1056, 128, [zeros(1056, "u32"), "u32=1000000"]),
        each("machine", "machine", 528, 128,
             [floats(512, "u8"), floats(528 * 128), zeros(528 * 128), "i32=128"]),
        each("queens", "queens", 528, 96, [zeros(528 * 96, "i32"), "i32=10"]),
        *(each(f"insertion {how}", f"insertion_{how}", 1056, 128,
               [floats(sorted_, "i32"), zeros(sorted_, "i32")],
               "" if how == "local" else "insertion")
          for how in ("local", "rows", "padded", "columns")),
        *(each(f"six equations {how}", f"six_equations_{how}", 528, 128,
               [floats(systems * 42), zeros(systems * 6)], "six equations", 128 * 4 * pitch)
          for how, pitch in (("tight", 42), ("odd", 43))),
        *(each(f"fourier 1024 {how}", f"fourier_{how}", 528, 512, [floats(waves),
               zeros(waves)],
               "fourier 1024") for how in PLAIN),
        each("hash join", "hash_join", 528, 256,
             [floats(528 * 1024, "u32"), floats(528 * 2048, "u32"), zeros(528 * 8, "i32")]),
        each("list walk", "list_walk", 264, 128,
             [floats(4096, "u32"), zeros(264 * 128, "u32"), "i32=256"]),
        each("csr eighths", "csr_eighths", sparse // 32, 256,
             [floats(sparse, "u32"), floats(sparse * 32, "u32"), floats(sparse * 32),
              floats(sparse), zeros(sparse), f"i32={sparse}"]),
        each("table lookups", "table_lookups", 132, 1024,
             [floats(32768), floats(places, "u32"), zeros(places), f"i32={places // 4}"],
             shared=131072),
        *(each(f"horner {how}", f"horner_{how}", 528, 256,
               [floats(threads), floats(64), zeros(threads), "i32=250"])
          for how in ("rolled", "unrolled")),
    ]  # fmt: skip


def main() -> None:
    cases = [*turns(), *sums(), *gemms(), *grids(), *rows(), *loops()]
    write_set("seventeenth_a", SOURCES, cases, [])


if __name__ == "__main__":
    main()
