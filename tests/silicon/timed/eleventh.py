"""Compile the eleventh set of timed kernels, and write eleventh.json.

    python -m tests.silicon.timed.eleventh

Other kernels than those of the ten sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"elements": "sm_90", "words": "sm_90", "tiles": "sm_90", "products": "sm_90a"}


def elements() -> list[dict[str, Any]]:
    each = cases_of("eleventh_elements")
    tokens, pages = 8192 * 1024, 1024 * 8 * 2048
    space = 258 * 130 * 98
    return [
        each("cached", "cached", 8192, 256, [floats(tokens, "f16"), floats(tokens, "f16"),
                                            floats(8192, "u32"), zeros(tokens, "f16"),
                                            zeros(tokens, "f16"), "u32=511"]),
        each("paged", "paged", 528, 128, [floats(528 * 512, "f16"), floats(pages, "f16"),
                                         floats(pages, "f16"), floats(66 * 24, "u32"),
                                         floats(66, "u32"), zeros(528 * 512), "u32=1023"]),
        each("gain gradients", "gain_gradients", [48, 33], [32, 8],
             [floats(4224 * 1536), floats(4224 * 1536), floats(2 * 4224), zeros(33 * 1536),
              zeros(33 * 1536), "i32=1536"]),
        each("token losses", "token_losses", 1500, 256, [floats(1500 * 8192, "f16"),
                                                        floats(1500, "u32"),
                                                        zeros(1500 * 8192, "f16"), zeros(1500)]),
        each("edge products", "edge_products", 25000, 256, [floats(50_000 * 64),
                                                           floats(65536 * 64),
                                                           floats(400_000, "u32"), zeros(400_000),
                                                           "i32=400000", "u32=65535"]),
        each("demosaiced", "demosaiced", [48, 135], [32, 8], [floats(3000 * 2160, "u8"),
                                                             zeros(3000 * 2160 * 4, "u8"),
                                                             "i32=3000", "i32=2160"]),
        each("motion", "motion", [119, 67], 256, [floats(1920 * 1088, "u8"),
                                                 floats(1920 * 1088, "u8"),
                                                 zeros(119 * 67, "u32"), "i32=480"]),
        each("back projected", "back_projected", [16, 64], [32, 8], [floats(120 * 512),
                                                                    zeros(512 * 512),
                                                                    "i32=512"]),
        each("spins", "spins", 4096, 256, [floats(1024 * 4096, "u8"), floats(1024 * 4096, "u8"),
                                          "i32=1024", "i32=4096", "u32=12345", "f32=0.44"]),
        each("fields", "fields", [8, 16, 96], [32, 8], [*[floats(space)] * 3, *[zeros(space)] * 3,
                                                       "i32=258", "i32=130"]),
    ]  # fmt: skip


def words() -> list[dict[str, Any]]:
    each = cases_of("eleventh_words")
    some = 528 * 256
    return [
        each("chosen 64", "chosen_64", 1584, 256, [floats(1584 * 4096), zeros(1584 * 4096)]),
        each("american", "american", 1056, 128, [floats(8448), zeros(4224), "f32=1.01",
                                                "f32=0.5032", "f32=0.4966"]),
        each("hidden", "hidden", 3000, 256, [floats(3000 * 4096, "u32"), floats(12, "u32"),
                                            zeros(3000 * 4096, "u32")]),
        each("absorbed", "absorbed", 1584, 128, [floats(17 * 1584 * 128, "u64"),
                                                zeros(4 * 1584 * 128, "u64"),
                                                f"i32={1584 * 128}"]),
        each("squared", "squared", 1056, 128, [floats(8 * some, "u32"), zeros(8 * some, "u32"),
                                              f"i32={some}"]),
        each("recognised", "recognised", 1056, 256, [floats(4096, "u8"),
                                                    floats(1056 * 256 * 128, "u8"),
                                                    zeros(1056 * 256, "u32")]),
        each("stretched", "stretched", 1320, 128, [floats(5280 * 32), floats(5280 * 256),
                                                  zeros(5280)]),
        each("suppressed", "suppressed", [64, 64], 64, [floats(4096 * 4),
                                                       zeros(4096 * 64, "u64"), "i32=4096"]),
        each("splatted", "splatted", 1200, 256, [floats(1200 * 768 * 4), floats(1200 * 768 * 4),
                                                zeros(1200 * 256 * 4)]),
        each("hashed grids", "hashed_grids", 1584, 256, [floats(1584 * 256 * 4),
                                                        floats(8 * 16384 * 2, "f16"),
                                                        zeros(1584 * 256 * 16)]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("eleventh_tiles")
    hows = ("plain", "padded")
    frames = 32 * 660
    return [
        *(each(f"skinned {how}", f"skinned_{how}", 528, 256,
               [floats(768), floats(4_000_000), floats(4_000_000, "u8"), floats(4_000_000),
                zeros(4_000_000), "i32=1000000"], "skinned") for how in hows),
        *(each(f"hadamard {how}", f"hadamard_{how}", 2640, 256, [floats(2640 * 4096),
                                                               zeros(2640 * 4096)], "hadamard")
          for how in hows),
        *(each(f"residues {how}", f"residues_{how}", 1056, 256,
               [floats(1056 * 4096, "u32"), zeros(1056 * 4096, "u32")], "residues")
          for how in hows),
        *(each(f"framed {how}", f"framed_{how}", 660, 256,
               [floats(frames * 64 + 192), floats(256), zeros(frames * 256), f"i32={frames}"],
               "framed") for how in hows),
        *(each(f"orthogonal {how}", f"orthogonal_{how}", 396, 128, [floats(1584 * 1024),
                                                                  zeros(1584 * 1024)],
               "orthogonal") for how in hows),
        *(each(f"inserted {how}", f"inserted_{how}", 792, 128,
               [floats(792 * 4096, "u32"), zeros(792 * 4096, "u32")], "inserted")
          for how in hows),
        *(each(f"walked {how}", f"walked_{how}", 1056, 128,
               [floats(1056 * 128 * 4), floats(4096), floats(4096 * 4), zeros(1056 * 128, "i32")],
               "walked") for how in ("own", "beside")),
        *(each(f"planes of bytes {how}", f"planes_of_bytes_{how}", 4000, 256,
               [floats(4000 * 2048, "u32"), zeros(4000 * 2048, "u32"), f"i32={4000 * 1024}"],
               "planes of bytes") for how in hows),
        *(each(f"turned together {how}", f"turned_together_{how}", 4 * 18 * 22, 256,
               [floats(2304 * 2816), zeros(2304 * 2816), "i32=2304", "i32=2816"],
               "turned together") for how in hows),
    ]  # fmt: skip


def products() -> list[dict[str, Any]]:
    each = cases_of("eleventh_products")
    hows = ("plain", "padded", "swizzled")
    heads = [*[floats(66 * 512 * 64, "f16")] * 3, zeros(66 * 512 * 64, "f16"), "i32=512"]
    return [
        *(each(f"attention {how}", f"attention_{how}", [8, 66], 128, heads, "attention")
          for how in ("plain", "swizzled")),
        *(each(f"straight {how}", f"straight_{how}", [24, 11], 256,
               [floats(1408 * 1024, "f16"), floats(1024 * 3072, "f16"),
                zeros(1408 * 3072, "f16"), "i32=3072", "i32=1024"], "straight", shared)
          for how, shared in zip(hows, (49152, 56832, 49152), strict=True)),
        *(each(f"tfloats {how}", f"tfloats_{how}", [33, 16], 128,
               [floats(1024 * 1024), floats(2112 * 1024), zeros(1024 * 2112), "i32=2112",
                "i32=1024"], "tfloats") for how in hows[:2]),
        *(each(f"doubles {how}", f"doubles_{how}", [33, 16], 128,
               [floats(1024 * 512, "f64"), floats(2112 * 512, "f64"), zeros(1024 * 2112, "f64"),
                "i32=2112", "i32=512"], "doubles") for how in hows[:2]),
        *(each(f"groups {how}", f"groups_{how}", [33, 16], 256,
               [floats(2048 * 1024, "f16"), floats(2112 * 1024, "f16"), zeros(2048 * 2112),
                "i32=2112", "i32=1024"], "groups", shared)
          for how, shared in zip(hows, (73728, 82944, 73728), strict=True)),
    ]  # fmt: skip


def main() -> None:
    write_set("eleventh", SOURCES, [*elements(), *words(), *tiles(), *products()], [])


if __name__ == "__main__":
    main()
