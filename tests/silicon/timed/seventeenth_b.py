"""Compile the seventeenth set's kernels of Triton, and write seventeenth_b.json.

    python -m tests.silicon.timed.seventeenth_b

What people write in Triton, compiled for an H100 by Triton 3.9 as its own launches compile it: for
the types of the arguments, and for what 16 divides. Measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.third import floats, zeros
from tests.silicon.timed.triton_build import half, launch, write_launches

NAME = "seventeenth_b"


def elements() -> list[dict[str, Any]]:
    big, tail, some = 1 << 23, 4000003, 1 << 22
    gated, odd, experts = 2048 * 5632, 1000, 16896
    return [
        launch("vector add", "elements.add", big // 1024, [*[floats(big)] * 2, zeros(big),
                                                           f"i32={big}"], BLOCK=1024),
        launch("vector add wide", "elements.add", big // 4096,
               [*[floats(big)] * 2, zeros(big), f"i32={big}"], warps=8, BLOCK=4096),
        launch("vector add tail", "elements.add", -(-tail // 1024),
               [*[floats(tail)] * 2, zeros(tail), f"i32={tail}"], BLOCK=1024),
        launch("dropout", "elements.dropout", some // 1024,
               [floats(some), zeros(some), f"i32={some}", "f32=0.3", "i32=123"], BLOCK=1024),
        launch("swiglu", "elements.swiglu", 2048,
               [*[floats(gated, "bf16")] * 2, zeros(gated, "bf16"), "i32=5632"], warps=8,
               BLOCK=8192),
        launch("rope", "elements.rope", 4096,
               [half(4096 * 32 * 128), half(4096 * 8 * 128), *[half(2048 * 64)] * 2, "i32=2048"],
               Q=32, K=8, D=128),
        launch("embedding", "elements.embedding", 16384 // 4,
               [floats(16384, "u32"), half(32000 * 1024), zeros(16384 * 1024, "f16"),
                "i32=32000"], D=1024, ROWS=4),
        launch("ragged mean", "elements.ragged_mean", 1056,
               [half(1056 * odd * 64), floats(1056, "i32"), zeros(1056 * 64), f"i32={odd}"],
               D=64, STEP=32),
        launch("conv1d", "elements.conv1d", [4096, 2],
               [half(4096 * 2048), floats(2048 * 4), floats(2048), zeros(4096 * 2048, "f16"),
                "i32=2048", "i32=2048"], WIDTH=4, BLOCK=1024),
        launch("adamw", "elements.adamw", some // 1024,
               [floats(some), floats(some, "bf16"), *[floats(some)] * 2, f"i32={some}",
                "f32=0.001", "f32=0.01", "f32=0.00000001"], BLOCK=1024),
        launch("transpose", "elements.transpose", [64, 64],
               [half(4096 * 4096), zeros(4096 * 4096, "f16"), "i32=4096", "i32=4096"], BLOCK=64),
        launch("transpose uneven", "elements.transpose", [94, 63],
               [floats(3000 * 2008), zeros(3000 * 2008), "i32=3000", "i32=2008"], BLOCK=32),
        launch("four bit rows", "elements.four_bit_rows", experts // 16,
               [half(4096), floats(experts * 2048, "u8"), half(experts * 32),
                zeros(experts, "f16")], K=4096, GROUP=128, ROWS=16),
    ]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    plane, wide, groups, words = 8192 * 1024, 4096 * 2048, 32 * 320 * 1024, 1024 * 32000
    return [
        launch("softmax", "rows.softmax", 8192, [floats(plane), zeros(plane), "i32=1024"],
               BLOCK=1024),
        launch("softmax ahead", "rows.softmax_persistent", 264,
               [floats(4224 * 3000), zeros(4224 * 3000), "i32=4224", "i32=3000"], warps=8,
               BLOCK=4096, STAGES=2),
        launch("layer norm", "rows.layer_norm", 4096,
               [half(4096 * 4096), zeros(4096 * 4096, "f16"), *[half(4096)] * 2,
                *[zeros(4096)] * 2, "i32=4096", "f32=0.00001"], warps=8, BLOCK=2048),
        launch("layer norm dx", "rows.layer_norm_dx", 4096,
               [zeros(wide, "f16"), half(wide), *[zeros(128 * 2048)] * 2, half(wide), half(2048),
                *[floats(4096)] * 2, zeros(256, "i32"), "i32=2048"], warps=8, GROUP=128,
               BLOCK=2048),
        launch("layer norm dw", "rows.layer_norm_dw", 64,
               [*[floats(256 * 8192)] * 2, *[zeros(8192)] * 2, "i32=256", "i32=8192"],
               BM=32, BN=128),
        launch("rms norm", "rows.rms_norm", 2048,
               [*[floats(2048 * 5120, "bf16")] * 2, floats(5120, "bf16"),
                zeros(2048 * 5120, "bf16"), "i32=5120", "f32=0.000001"], warps=8, BLOCK=8192),
        launch("group norm", "rows.group_norm", [32, 32],
               [half(groups), *[half(320)] * 2, zeros(groups, "f16")], warps=8, SIZE=1024, EACH=10,
               BLOCK=2048),
        launch("cross entropy", "rows.cross_entropy", 1024,
               [floats(words, "bf16"), floats(1024, "i32"), zeros(1024), "i32=32000",
                "f32=0.0009765625"], warps=16, BLOCK=8192),
        launch("argmax", "rows.argmax", 1024, [half(words), zeros(1024, "i32"), "i32=32000"],
               BLOCK=2048),
        launch("bytes of rows", "rows.quantize_rows", 4096,
               [half(4096 * 4096), zeros(4096 * 4096, "i8"), zeros(4096), "i32=4096"], warps=8,
               BLOCK=4096),
        launch("row sums", "rows.row_sums", 1056, [floats(1056 * 8 * 2048), zeros(1056 * 8),
                                                   "i32=2048"], BM=8, BN=128),
        launch("column sums", "rows.column_sums", [32, 16],
               [floats(6000 * 2048), zeros(2048), "i32=6000", "i32=2048"], BM=32, BN=64),
        launch("running sums", "rows.running_sums", 4224,
               [floats(4224 * 2048), zeros(4224 * 2048), "i32=2048"], BLOCK=2048),
        launch("recurrence", "rows.recurrence", [32, 8],
               [*[floats(8 * 1024 * 1024)] * 2, zeros(8 * 1024 * 1024), "i32=1024", "i32=1024"],
               T=64, D=32),
        launch("histogram", "rows.histogram", 1024,
               [floats(8388608, "u8"), zeros(256, "i32"), "i32=8388608"], BINS=256, BLOCK=1024,
               EACH=8),
        launch("sort", "rows.sort", 2112, [floats(2112 * 1024), zeros(2112 * 1024)], N=1024),
        launch("gating", "rows.gating", 65536 // 32,
               [floats(65536 * 64), zeros(65536 * 8), zeros(65536 * 8, "i32")], N=64, K=8,
               ROWS=32),
    ]  # fmt: skip


def tiled(
    name: str, sizes: tuple[int, int, int], tile: tuple[int, int, int], warps: int, stages: int
) -> dict[str, Any]:
    (m, n, k), (bm, bn, bk) = sizes, tile
    return launch(
        f"matmul {name}", "products.matmul", -(-m // bm) * -(-n // bn),
        [half(m, k), half(k, n), f"zeros:f16[{m},{n}]",
         *(f"i32={each}" for each in (m, n, k, k, n, n))],
        warps=warps, stages=stages, BM=bm, BN=bn, BK=bk, GROUP=8,
    )  # fmt: skip


def flash(name: str, heads: int, seq: int, head: int, tile: tuple[int, int], causal: bool,
          warps: int, stages: int) -> dict[str, Any]:  # fmt: skip
    return launch(
        f"attention {name}", "products.attention", [seq // tile[0], heads],
        [*[half(heads * seq * head)] * 3, zeros(heads * seq * head, "f16"), zeros(heads * seq),
         f"i32={seq}", f"f32={head**-0.5}"],
        warps=warps, stages=stages, BM=tile[0], BN=tile[1], D=head, CAUSAL=causal,
    )  # fmt: skip


def products() -> list[dict[str, Any]]:
    square, size = (2048, 2048, 2048), ["i32=2048"]
    kinds = {"a": "*fp8e4nv", "b": "*fp8e4nv"}
    tiles = {"BM": 128, "BN": 128, "BK": 128, "GROUP": 8}
    scales = [*[floats(2048)] * 2, zeros(2048 * 2048, "bf16"), *size * 3]
    # No byte of random halves is a NaN of e4m3: their last bits are 0.
    bytes_of_halves = [half(2048 * 1024)] * 2
    return [
        tiled("64x64x32", square, (64, 64, 32), 4, 4),
        tiled("128x128x32", square, (128, 128, 32), 4, 4),
        tiled("128x128x64 two", square, (128, 128, 64), 8, 2),
        tiled("128x128x64 four", square, (128, 128, 64), 8, 4),
        tiled("128x256x64", (2048, 4096, 2048), (128, 256, 64), 8, 3),
        tiled("uneven", (2000, 2000, 2000), (128, 128, 32), 4, 4),
        tiled("odd", (1001, 1003, 1005), (64, 64, 32), 4, 3),
        launch("linear", "products.linear", 256,
               [*[floats(2048 * 2048, "bf16")] * 2, floats(2048, "bf16"),
                zeros(2048 * 2048, "bf16"), *size * 5], warps=4, stages=3, BM=128, BN=128, BK=64,
               GROUP=8),
        launch("eight bit floats", "products.scaled", 256, [*bytes_of_halves, *scales],
               warps=8, stages=3, kinds=kinds, KIND="float32", **tiles),
        launch("eight bits", "products.scaled", 256,
               [*[floats(2048 * 2048, "i8")] * 2, *scales], warps=8, stages=3, KIND="int32",
               **tiles),
        launch("split", "products.split_k", [1, 32, 8],
               [half(48, 4096), half(4096, 4096), zeros(48 * 4100), "i32=48", "i32=4096",
                "i32=4096", "i32=4100"], stages=4, BM=64, BN=128, BK=64, PARTS=8),
        launch("batched", "products.batched", [4, 4, 96],
               [*[half(96, 256, 256)] * 2, zeros(96 * 256 * 256, "f16"), *["i32=256"] * 3],
               BM=64, BN=64, BK=64),
        launch("experts", "products.experts", [64, 8],
               [floats(2048 * 1024, "bf16"), floats(8 * 1024 * 1024, "bf16"), floats(4096, "u32"),
                zeros(4096 * 1024, "bf16"), "i32=2048", "i32=1024", "i32=1024"], BM=64, BN=128,
               BK=64, E=8),
        launch("four bits", "products.four_bits", [1, 64],
               [half(32, 4096), floats(512 * 8192, "u32"), half(32 * 8192), zeros(32 * 8192, "f16"),
                "i32=32", "i32=8192", "i32=4096"], stages=3, BM=32, BN=128, BK=64, SIZE=128),
        flash("64", 32, 2048, 64, (128, 64), False, 4, 3),
        flash("64 causal", 32, 2048, 64, (128, 64), True, 4, 3),
        flash("128 causal", 16, 2048, 128, (128, 128), True, 8, 2),
        launch("decode", "products.decode", [66, 8],
               [half(66 * 16, 128), *[half(66 * 4096, 128)] * 2, zeros(66 * 8 * 16 * 128),
                zeros(66 * 8 * 16), floats(66, "i32"), "i32=4096", "f32=0.1275"], stages=2,
               HEADS=16, D=128, STEP=64, PART=512),
        launch("persistent", "products.persistent", 132,
               [*[half(2048, 2048)] * 2, zeros(2048 * 2048, "f16"), *size * 3], warps=8, stages=3,
               BM=128, BN=128, BK=64, GROUP=8),
    ]  # fmt: skip


def maps() -> list[dict[str, Any]]:
    ends = ":box=128x64:swizzle=128"
    return [
        launch("mapped", "products.mapped", [16, 16],
               [*[f"tma:{half(2048, 2048)}{ends}"] * 2, f"tma:zeros:f16[2048,2048]{ends}",
                "i32=2048"], warps=8, stages=4, BM=128, BN=128, BK=64,
               kinds={"a": "tensordesc<fp16[128,64]>", "b": "tensordesc<fp16[128,64]>",
                      "c": "tensordesc<fp16[128,128]>"}),
    ]  # fmt: skip


def main() -> None:
    write_launches(NAME, {"": [*elements(), *rows(), *products()], "_maps": maps()})


if __name__ == "__main__":
    main()
