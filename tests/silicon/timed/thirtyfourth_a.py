"""Compile the thirty-fourth set's kernels of Triton, and write thirtyfourth_a.json.

    python -m tests.silicon.timed.thirtyfourth_a

Other kernels than those of `seventeenth_b.py`, compiled in the same way. Pairs that differ in
layout alone are in Gluon. Measured after the model of an earlier commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.third import floats, zeros
from tests.silicon.timed.triton_build import half, launch, write_launches

NAME = "thirtyfourth_a"


def linear(
    name: str, sizes: tuple[int, int, int], tile: tuple[int, int, int], warps: int, stages: int,
    kind: str,
) -> dict[str, Any]:  # fmt: skip
    (m, n, k), (bm, bn, bk) = sizes, tile
    return launch(
        f"linear {name}", "products.linear", -(-m // bm) * -(-n // bn),
        [floats(m * k, kind), floats(n * k, kind), zeros(m * n, kind),
         *(f"i32={each}" for each in sizes)],
        warps=warps, stages=stages, BM=bm, BN=bn, BK=bk, GROUP=8,
    )  # fmt: skip


def products() -> list[dict[str, Any]]:
    square, size = 2048 * 2048, ["i32=2048"]
    wide: dict[str, Any] = {"warps": 8, "BM": 128, "BN": 128}
    return [
        launch("gelu and residual", "products.gelu_residual", 512,
               [floats(4096 * 2048, "bf16"), floats(square, "bf16"), floats(2048, "bf16"),
                floats(4096 * 2048, "bf16"), zeros(4096 * 2048, "bf16"), "i32=4096", *size * 2],
               **wide, BK=64, GROUP=8),
        linear("skinny", (16, 8448, 4096), (16, 64, 128), 4, 4, "bf16"),
        linear("of floats", (1504, 1504, 1504), (64, 128, 32), 4, 3, "f32"),
        launch("scaled blocks", "products.scaled_blocks", 256,
               [floats(square, "f8e4m3"), floats(square, "f8e4m3"), floats(2048 * 16),
                floats(16 * 16), zeros(square, "bf16"), *size * 3], **wide, BK=128, GROUP=8),
        launch("bytes and nibbles", "products.bytes_and_nibbles", [2, 66],
               [floats(128 * 4096, "i8"), floats(2048 * 4224, "i8"), floats(128), floats(4224),
                zeros(128 * 4224, "bf16"), "i32=128", "i32=4224", "i32=4096"], stages=4,
               BM=64, BN=64, BK=128),
        launch("stream k", "products.stream_k", 132,
               [half(1536 * 2048), half(2048 * 1792), zeros(1536 * 1792), "i32=1536", "i32=1792",
                "i32=2048"], **wide, BK=64),
        launch("groups", "products.grouped", 132,
               [half(12 * 512 * 1024), half(12 * 1024 * 1024), zeros(12 * 512 * 1024, "f16"),
                floats(12, "i32"), "i32=512", *["i32=1024"] * 2], GROUPS=12, BM=64, BN=128, BK=64),
        launch("experts added", "products.experts_out", [64, 8],
               [floats(4096 * 1408, "bf16"), floats(16 * 1024 * 1408, "bf16"),
                floats(4096, "u32"), floats(64, "i32"), floats(4096), zeros(1024 * 1024),
                "i32=1024", "i32=1024", "i32=1408"], BM=64, BN=128, BK=64, E=16),
        launch("convolution", "products.conv2d", [392, 2],
               [half(16 * 56 * 56 * 64), half(9 * 64 * 128), zeros(16 * 56 * 56 * 128, "f16"),
                "i32=16", *["i32=56"] * 2], C=64, F=128, BM=128, BN=64, BK=32, stages=4),
        launch("sparse blocks", "products.sparse_blocks", [16, 64],
               [half(64 * 24 * 64 * 64), floats(64 * 24, "u32"), floats(64, "i32"),
                half(4096 * 2048), zeros(4096 * 2048, "f16"), "i32=64", *size], MOST=24, SIZE=64,
               BN=128),
    ]  # fmt: skip


def mapped(name: str, rows: int, c: int, warps: int, *, apart: bool) -> dict[str, Any]:
    """A product of tiles of `rows` rows, whose stores have `c` columns."""
    a_ends, b_ends = (f":box={each}x64:swizzle=128" for each in (rows, 128))
    kinds = {"a": f"tensordesc<fp16[{rows},64]>", "b": "tensordesc<fp16[128,64]>",
             "c": f"tensordesc<fp16[{rows},{c}]>"}  # fmt: skip
    return launch(
        name, "products.mapped", 132,
        [f"tma:{half(4096, 1024)}{a_ends}", f"tma:{half(2048, 1024)}{b_ends}",
         f"tma:zeros:f16[4096,2048]{a_ends}", "i32=4096", "i32=2048", "i32=1024"],
        warps=warps, stages=3, BM=rows, BN=128, BK=64, APART=apart, kinds=kinds,
    )  # fmt: skip


def maps() -> list[dict[str, Any]]:
    return [
        mapped("mapped in halves", 128, 64, 8, apart=False),
        mapped("mapped by warps apart", 64, 128, 4, apart=True),
    ]


def attention() -> list[dict[str, Any]]:
    plane, back = 16 * 1536 * 64, [zeros(16 * 1536 * 64, "f16")]
    slopes = [*[half(plane)] * 4, *[floats(16 * 1536)] * 2]
    chunked = 80 * 2048
    return [
        launch("shared heads", "attention.shared_heads", [16, 16],
               [floats(2048 * 16 * 128, "bf16"), *[floats(2048 * 4 * 128, "bf16")] * 2,
                zeros(2048 * 16 * 128, "bf16"), zeros(16 * 2048), "i32=2048", "i32=16", "i32=4",
                "f32=0.1275"], warps=8, stages=2, BM=128, BN=64, D=128),
        launch("paged", "attention.paged", [8, 8, 8],
               [half(8 * 64, 128), *[half(2048 * 8 * 16 * 128)] * 2, floats(8 * 256, "u32"),
                floats(8, "i32"), zeros(512 * 8 * 128), zeros(512 * 8), "i32=2048", "i32=4096",
                "f32=0.1275"], stages=2, HEADS=8, PAGE=16, D=128, STEP=64, PART=512),
        launch("parts joined", "attention.join_parts", 16384,
               [floats(16384 * 8 * 128), floats(16384 * 8), zeros(16384 * 128, "f16")], warps=2,
               PARTS=8, D=128),
        launch("latent", "attention.latent", [33, 4],
               [floats(33 * 16 * 576, "bf16"), floats(33 * 2048 * 576, "bf16"),
                zeros(33 * 4 * 16 * 512), zeros(33 * 4 * 16), "i32=2048", "f32=0.06"], stages=2,
               HEADS=16, D=512, R=64, STEP=32),
        launch("queries back", "attention.queries_back", [12, 16],
               [*slopes, *back, "i32=1536", "f32=0.125"], warps=8, stages=2, BM=128, BN=64, D=64),
        launch("keys back", "attention.keys_back", [24, 16],
               [*slopes, *back * 2, "i32=1536", "f32=0.125"], stages=2, BM=64, BN=64, D=64),
        launch("retention", "attention.retention", [2, 80],
               [*[floats(chunked * 64, "bf16")] * 2, floats(chunked * 128, "bf16"),
                zeros(chunked * 128, "bf16"), "i32=2048", "i32=8"], stages=2, T=64, D=64, V=128,
               BV=64),
        launch("chunk scan", "attention.chunk_scan", [64, 32],
               [floats(4096 * 2048, "bf16"), floats(32 * 4096), floats(32),
                *[floats(4096 * 128, "bf16")] * 2, floats(64 * 32 * 128 * 64, "bf16"),
                zeros(4096 * 2048, "bf16"), "i32=4096", "i32=32"], T=64, N=128, P=64),
        launch("receptance", "attention.receptance", [2, 160],
               [*[floats(160 * 256 * 64)] * 4, floats(32 * 64), zeros(160 * 256 * 64), "i32=256",
                "i32=32"], warps=1, D=64, BV=32),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    plane, words = 4096 * 4096, 512 * 50257
    return [
        launch("rms norm back", "rows.rms_back", 132,
               [*[floats(plane, "bf16")] * 2, floats(4096, "bf16"), floats(4096),
                zeros(plane, "bf16"), zeros(132 * 4096), *["i32=4096"] * 2], warps=8, BLOCK=4096),
        launch("online softmax", "rows.online_softmax", 512,
               [floats(words, "bf16"), zeros(words, "bf16"), "i32=50257"], warps=8, BLOCK=2048),
        launch("sample", "rows.sample", 396,
               [floats(396 * 32000), zeros(396, "i32"), "i32=32000", "f32=0.7", "i32=99"], warps=8,
               BLOCK=1024),
        launch("nucleus", "rows.nucleus", 792,
               [floats(792 * 16000), zeros(792 * 16000), "i32=16000", "f32=0.9"], warps=16,
               STEPS=20, BLOCK=16384),
        launch("quantized blocks", "rows.quantize_blocks", [32, 32],
               [floats(plane, "bf16"), zeros(plane, "f8e4m3"), zeros(32 * 32), "i32=4096"],
               warps=8, SIZE=128),
        launch("nearest centres", "rows.nearest", 512,
               [half(65536 * 64), half(1024 * 64), floats(1024), zeros(65536, "i32"),
                zeros(65536), "i32=1024"], warps=8, D=64, BM=128, BN=64),
        launch("welford", "rows.welford", 2048,
               [half(2048 * 6144), half(6144), zeros(2048 * 6144, "f16"), "i32=2048", "i32=6144"],
               warps=16, stages=1, XBLOCK=1, RBLOCK=4096),
    ]  # fmt: skip


def elements() -> list[dict[str, Any]]:
    some, pages = 1 << 23, 512 * 8 * 128 * 16
    doubled = 4 * 96 * 120 * 120
    return [
        launch("embedding back", "elements.embedding_back", 8192 // 2,
               [floats(8192, "u32"), half(8192 * 1024), zeros(30000 * 1024), "i32=30000"],
               D=1024, ROWS=2),
        launch("adam in bytes", "elements.adam_in_bytes", some // 2048,
               [floats(some), floats(some, "bf16"), floats(some, "i8"), floats(some, "u8"),
                *[floats(some // 2048)] * 2, "f32=0.001", "f32=0.01", "f32=0.9", "f32=0.95",
                "f32=0.00000001"], warps=8, BLOCK=2048),
        launch("upsample", "elements.upsample", -(-doubled // 1024),
               [floats(doubled // 4), zeros(doubled), f"i32={doubled}", *["i32=60"] * 2],
               BLOCK=1024),
        launch("cache write", "elements.cache_write", 8192,
               [*[floats(8192 * 1024, "bf16")] * 2, *[zeros(pages, "f8e4m3")] * 2,
                floats(8192, "u32"), floats(1), "i32=8192"], HEADS=8, D=128, PAGE=16, X=16),
        launch("sparse rows", "elements.sparse_rows", 16384 // 8,
               [floats(16384 * 64), floats(16384 * 64, "u32"), floats(16384, "i32"),
                floats(20000 * 64), zeros(16384 * 64), "i32=20000"], EACH=64, ROWS=8, D=64),
        launch("channels last", "elements.channels_last", [49, 48],
               [half(16 * 192 * 3136), *[floats(192)] * 2, zeros(16 * 192 * 3136, "f16"),
                "i32=3072", "i32=3136"], YBLOCK=64, XBLOCK=64, stages=1),
    ]  # fmt: skip


def turned(how: str, kind: str, vec: int, shared: Any) -> dict[str, Any]:
    plane = 4096 * 4096
    return launch(
        f"turned {kind} {how}", "layouts.turn", [64, 64],
        [floats(plane, kind), zeros(plane, kind), *["i32=4096"] * 2],
        pair=f"turned {kind}", SHARED=shared, BLOCK=64, VEC=vec,
    )  # fmt: skip


def scanned(how: str, shared: Any) -> dict[str, Any]:
    return launch(
        f"scan {how}", "layouts.scan_rows", 264,
        [floats(264 * 128 * 256), zeros(264 * 128 * 256), "i32=256"], pair="scan", SHARED=shared,
        ROWS=128, COLS=32,
    )  # fmt: skip


def product(how: str, kernel: str, **shared: Any) -> dict[str, Any]:
    name = kernel.split("_")[0]
    return launch(
        f"{name} product {how}", f"layouts.{kernel}", [16, 16],
        [*[half(2048 * 1024)] * 2, zeros(2048 * 2048, "f16"), "i32=2048", "i32=1024"],
        pair=f"{name} product", BM=128, BN=128, BK=64, **shared,
    )  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    """Return the pairs, which differ in the layout of shared memory alone."""
    from triton.experimental.gluon.language import (
        NVMMASharedLayout,
        PaddedSharedLayout,
        SwizzledSharedLayout,
    )

    def swizzled(vec: int, phases: int) -> SwizzledSharedLayout:
        return SwizzledSharedLayout(vec, 1, phases, [1, 0])

    def batched(phases: int) -> SwizzledSharedLayout:
        return SwizzledSharedLayout(8, 1, phases, [1, 0])

    padded = PaddedSharedLayout.with_identity_for([[64, 2]], [64, 64], [1, 0])
    return [
        turned("plain", "f32", 1, swizzled(1, 1)),
        turned("swizzled", "f32", 1, swizzled(1, 32)),
        turned("plain", "f16", 2, swizzled(2, 1)),
        turned("padded", "f16", 2, padded),
        scanned("plain", swizzled(4, 1)),
        scanned("swizzled", swizzled(4, 8)),
        product("plain", "warp_product", A_SHARED=batched(1), B_SHARED=batched(1)),
        product("swizzled", "warp_product", A_SHARED=batched(8), B_SHARED=batched(8)),
        product("of 32", "group_product", SHARED=NVMMASharedLayout(32, 16)),
        product("of 128", "group_product", SHARED=NVMMASharedLayout(128, 16)),
    ]


def main() -> None:
    launches = [*products(), *attention(), *rows(), *elements(), *layouts()]
    write_launches(NAME, {"": launches, "_maps": maps()})


if __name__ == "__main__":
    main()
