"""Compile the fourteenth set of timed kernels, and write fourteenth.json.

    python -m tests.silicon.timed.fourteenth

Other kernels than those of the thirteen sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"elements": "sm_90", "tiles": "sm_90", "products": "sm_90a"}


def elements() -> list[dict[str, Any]]:
    each = cases_of("fourteenth_elements")
    quotes, stripes, sites, proofs = 1056 * 128, 1056 * 256, 1 << 17, 264 * 128
    steps, heads, pairs = 1500 * 2048, 660 * 96 * 64, 1320 * 4 * 128
    return [
        each("blake", "blake", 2112, 128, [floats(2112 * 2048, "u32"), zeros(2112 * 1024, "u32")]),
        each("parity", "parity", stripes // 256, 256, [floats(32 * stripes, "u32"),
                                                      *[zeros(4 * stripes, "u32")] * 2,
                                                      f"i32={stripes}"]),
        each("implied", "implied", quotes // 128, 128, [*[floats(quotes)] * 3, zeros(quotes)]),
        each("byte moments", "byte_moments", steps // 2048, 256,
             [*[floats(steps)] * 2, *[floats(steps, "u8")] * 2, floats(3000), "f32=0.001"]),
        each("regions", "regions", 3675, 256, [floats(64 * 4096), floats(300 * 4),
                                              zeros(300 * 3136)]),
        each("minimizers", "minimizers", 2112, 256, [floats(2113 * 1024, "u8"),
                                                    zeros(2112 * 1024, "u32")]),
        each("goldilocks", "goldilocks", proofs // 128, 128,
             [floats(12 * proofs, "u64"), zeros(4 * proofs, "u64"), f"i32={proofs}"]),
        each("checks", "checks", 792, 384, [floats(792 * 6144), zeros(792 * 192, "u32")]),
        each("forest", "forest", 1056, 128, [floats(1056 * 4096), floats(64 * 128),
                                            floats(64 * 64), zeros(1056 * 128)]),
        each("links", "links", sites // 128, 128, [floats(72 * sites), floats(6 * sites),
                                                  zeros(6 * sites), f"i32={sites}"]),
        each("delta", "delta", 660, 64, [*[floats(heads)] * 3, zeros(heads), "f32=0.04"]),
        each("pair hidden", "pair_hidden", 1320, 128, [*[floats(pairs, "u8")] * 3,
                                                      zeros(1320 * 4)]),
        each("charges", "charges", 528, 128, [floats(528 * 512), zeros(64**3)]),
        each("camera", "camera", [20, 80, 2], [32, 8],
             [floats(2 * 1920 * 1080 * 3 // 2, "u8"), zeros(2 * 3 * 640 * 640, "f16"),
              "i32=1920", "i32=1080", "f32=1.6875"]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("fourteenth_tiles")
    plain, genes = ("plain", "padded"), (1536, 2112)
    flows = [*[floats(1926 * 1094)] * 2, zeros(1920 * 1088 * 2), "i32=1926"]
    return [
        *(each(f"aggregates {how}", f"aggregates_{how}", 1056, 256,
               [floats(1056 * 3072, "u32"), floats(1056 * 3072 * 8, "u8"),
                zeros(1056 * 512, "u32")], "aggregates")
          for how in ("together", "padded", "columns")),
        *(each(f"codes by {how}", f"codes_by_{how}", 528, 256,
               [floats(528 * 4096), floats(528 * 2048 * 16, "u8"), zeros(528 * 2048)], "codes")
          for how in ("centre", "part")),
        *(each(f"linkage {how}", f"linkage_{how}", [genes[1] // 64, genes[0] // 64], 256,
               [*(floats(some * 32, "u32") for some in genes), *map(floats, genes),
                zeros(genes[0] * genes[1]), f"i32={genes[1]}"], "linkage") for how in plain),
        *(each(f"forwards {how}", f"forwards_{how}", 1320, 128,
               [floats(40), floats(40), zeros(1320 * 128)], "forwards")
          for how in ("own", "padded", "beside")),
        *(each(f"singular {how}", f"singular_{how}", 396, 128,
               [floats(396 * 4096), zeros(396 * 128)], "singular") for how in plain),
        *(each(f"spectral {how}", f"spectral_{how}", 2640, 64,
               [floats(2640 * 512, "f64"), floats(2640 * 1536, "f64"), floats(64, "f64"),
                zeros(2640 * 512, "f64")], "spectral") for how in plain),
        *(each(f"flow {how}", f"flow_{how}", [120, 68], [16, 16], flows, "flow")
          for how in ("tight", "spread")),
        *(each(f"envelopes {how}", f"envelopes_{how}", 1320, 32,
               [floats(1320 * 2048), zeros(1320 * 2048)], "envelopes") for how in plain),
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    each = cases_of("fourteenth_products")
    hows, tokens = ("plain", "padded", "swizzled"), 264 * 64
    return [
        *(each(f"nine taps {how}", f"nine_taps_{how}", [16, 33], 128,
               [floats(258 * 266 * 64, "f16"), floats(9 * 4096, "f16"), floats(64),
                zeros(256 * 264 * 64, "f16"), "i32=258"], "nine taps") for how in hows),
        *(each(f"adapter {how}", f"adapter_{how}", 264, 128,
               [floats(tokens * 1024, "f16"), floats(16 * 1024, "f16"), floats(16 * 1024, "f16"),
                floats(tokens * 1024, "f16"), zeros(tokens * 1024, "f16"), "f32=0.125"],
               "adapter") for how in hows[:2]),
        *(each(f"narrowed {how}", f"narrowed_{how}", [33, 16], 128,
               [floats(1024 * 1024, "f16"), floats(2112 * 1024, "f16"), zeros(1024 * 2112),
                "i32=2112", "i32=1024"], "narrowed") for how in hows),
    ]  # fmt: skip


def main() -> None:
    write_set("fourteenth", SOURCES, [*elements(), *tiles(), *products()], [])


if __name__ == "__main__":
    main()
