"""Compile the twelfth set of timed kernels, and write twelfth.json.

    python -m tests.silicon.timed.twelfth

Other kernels than those of the eleven sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"elements": "sm_90", "tiles": "sm_90", "products": "sm_90a"}


def elements() -> list[dict[str, Any]]:
    each = cases_of("twelfth_elements")
    tokens, places, spots = 3000 * 1024, 1 << 20, 2112 * 128
    water = 1538 * 1442
    return [
        each("nucleus", "nucleus", 1200, 256, [floats(1200 * 4096), floats(1200),
                                              zeros(1200, "u32")]),
        each("contrast limited", "contrast_limited", [40, 30], 256,
             [floats(2560 * 1920, "u8"), zeros(2560 * 1920, "u8"), "i32=2560"]),
        each("biased norm", "biased_norm", 3000, 128, [floats(tokens, "f16"), floats(1024, "f16"),
                                                      floats(tokens, "f16"), floats(1024, "f16"),
                                                      floats(1024, "f16"), zeros(tokens, "f16"),
                                                      zeros(tokens, "f16")]),
        each("run lengths", "run_lengths", 3000, 256, [floats(3000 * 2048, "u8"),
                                                      zeros(3000 * 2048, "u16"),
                                                      zeros(3000 * 2048, "u8"),
                                                      zeros(3000, "u32")]),
        each("shallow", "shallow", [48, 180], [32, 8], [*[floats(water)] * 3, *[zeros(water)] * 3,
                                                       "i32=1538", "f32=0.01"]),
        each("bicubic", "bicubic", [60, 135], [32, 8], [floats(1280 * 720 * 4, "u8"),
                                                       zeros(1920 * 1080 * 4, "u8"), "i32=1280",
                                                       "i32=720", "i32=1920", "i32=1080",
                                                       "f32=0.6666667"]),
        each("matched", "matched", 4000, 256, [floats(4000 * 4096 + 4, "u8"), zeros(4000, "u32"),
                                              "u32=1634890337", "u32=3770736832"]),
        each("dense blocks", "dense_blocks", 2500, 256, [floats(20_000 * 192),
                                                        floats(20_000 * 12, "u32"),
                                                        floats(32768 * 4), zeros(80_000),
                                                        "u32=32767"]),
        each("by places", "by_places", 6600, 256, [floats(1_689_600, "u32", "arange"),
                                                  floats(1_689_600, "u32"), floats(1_689_600),
                                                  floats(131_072), zeros(153_601), "u32=11",
                                                  "u32=131071"]),
        each("depthwise", "depthwise", [8, 256], [32, 4], [floats(262 * 262 * 64, "f16"),
                                                          floats(49 * 64, "f16"),
                                                          zeros(256 * 256 * 64, "f16"),
                                                          "i32=262"]),
        each("principal", "principal", 2112, 128, [floats(6 * spots), zeros(3 * spots),
                                                  f"i32={spots}"]),
        each("routed", "routed", 528, 256, [floats(50_000 * 64), zeros(100_000),
                                           zeros(100_000, "i32"), zeros(528 * 64, "u32"),
                                           "i32=50000"]),
        each("bottom up", "bottom_up", places // 256, 256,
             [floats(places // 32, "u32"), floats(places // 32, "u32"),
              floats(places * 16, "u32"), zeros(places // 32, "u32"), zeros(places, "i32"),
              f"u32={places - 1}"]),
        each("by bits", "by_bits", 1056, 128, [floats(64, "u8"), floats(1056 * 128 * 128, "u8"),
                                              zeros(1056 * 128, "u32"), f"i32={1056 * 128}"]),
        each("packed colours", "packed_colours", [4, 540], 128,
             [floats(2048 * 2160 * 4, "u8"), zeros(512 * 540 * 2, "u32"), "i32=2048"]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("twelfth_tiles")
    hows = ("plain", "padded")
    squares = [floats(1024 * 512 * 2), floats(512 * 1408 * 2), zeros(1024 * 1408 * 2), "i32=1408",
               "i32=512"]  # fmt: skip
    bodies = 1056 * 96
    return [
        *(each(f"sixteens {how}", f"sixteens_{how}", 528, 256, [floats(528 * 8192),
                                                               zeros(528 * 8192)], "sixteens")
          for how in hows),
        *(each(f"reflected {how}", f"reflected_{how}", 330, 128, [floats(330 * 4096),
                                                                zeros(330 * 4096)], "reflected")
          for how in hows),
        *(each(f"absolute {how}", f"absolute_{how}", [33, 16], 256,
               [floats(1024 * 256), floats(2112 * 256), zeros(1024 * 2112), "i32=2112",
                "i32=256"], "absolute") for how in hows),
        *(each(f"from both ends {how}", f"from_both_ends_{how}", 1320, 128,
               [floats(1320 * 2048 + 16), zeros(1320 * 2048)], "from both ends")
          for how in hows),
        *(each(f"joined {how}", f"joined_{how}", 660, 256,
               [floats(4096, "u32"), floats(2_000_000, "u32"), floats(2_000_000),
                zeros(2_000_000), "i32=2000000"], "joined") for how in ("together", "apart")),
        *(each(f"far from light {how}", f"far_from_light_{how}", [48, 40], 64,
               [floats(3072 * 2560, "u8"), zeros(3072 * 2560, "u8"), "i32=3072"],
               "far from light") for how in hows),
        *(each(f"powers {how}", f"powers_{how}", 2640, 128, [floats(2640 * 1024),
                                                           zeros(2640 * 1024)], "powers")
          for how in hows),
        *(each(f"threes {how}", f"threes_{how}", 1848, 256,
               [floats(1848 * 768, "f64"), zeros(1848 * 768, "f64"), "f64=0.5", "f64=-0.5",
                "f64=0.5", "f64=0.5"], "threes") for how in ("plain", "packed")),
        *(each(f"alike {how}", f"alike_{how}", [80, 60], [16, 16],
               [floats(1286 * 966), zeros(1286 * 966), "i32=1286"], "alike") for how in hows),
        *(each(f"tracked {how}", f"tracked_{how}", 1056, 96,
               [floats(30 * bodies), zeros(6 * bodies), f"i32={bodies}", "i32=10"], "tracked")
          for how in hows),
        *(each(f"parted {how}", f"parted_{how}", 2640, 256,
               [floats(2640 * 2048), zeros(2640 * 2048), f"i32={2640 * 256}"], "parted")
          for how in hows),
        *(each(f"complex {how}", f"complex_{how}", [22, 16], 256, squares, "complex")
          for how in ("together", "planes")),
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    each = cases_of("twelfth_products")
    hows = ("plain", "padded", "swizzled")
    return [
        *(each(f"gram {how}", f"gram_{how}", [2, 2, 132], 128,
               [floats(132 * 512 * 128, "f16"), zeros(132 * 128 * 128)], "gram") for how in hows),
        *(each(f"scaled bytes {how}", f"scaled_bytes_{how}", [33, 16], 256,
               [floats(2048 * 2048, "i8"), floats(2112 * 2048, "i8"), floats(2048), floats(2112),
                zeros(2048 * 2112, "f16"), "i32=2112", "i32=2048"], "scaled bytes")
          for how in hows[:2]),
        *(each(f"half sums {how}", f"half_sums_{how}", [33, 16], 128,
               [floats(1024 * 512, "f16"), floats(2112 * 512, "f16"), zeros(1024 * 2112, "f16"),
                "i32=2112", "i32=512"], "half sums") for how in hows[:2]),
        *(each(f"brain {how}", f"brain_{how}", [66, 16], 256,
               [floats(2048 * 1024, "bf16"), floats(2112 * 1024, "bf16"), zeros(2048 * 2112),
                "i32=2112", "i32=1024"], "brain", 40960) for how in ("plain", "swizzled")),
    ]  # fmt: skip


def main() -> None:
    write_set("twelfth", SOURCES, [*elements(), *tiles(), *products()], [])


if __name__ == "__main__":
    main()
