"""Compile the eighth set of timed kernels, and write eighth.json.

    python -m tests.silicon.timed.eighth

Other kernels than those of the seven sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = {"elements": "sm_90", "tiles": "sm_90"}


def elements() -> list[dict[str, Any]]:
    each = cases_of("eighth_elements")
    some = 1056 * 256
    plane = 1056 * 1024
    return [
        each("momentum", "momentum", 1056, 256, [floats(4 * some), floats(4 * some),
                                                floats(4 * some), "f32=0.01"]),
        each("huber", "huber", 1056, 256, [floats(8 * some), floats(8 * some), zeros(1)]),
        each("messages", "messages", 2112, 256,
             [floats(2 * some, "u32"), floats(2 * some, "u32"), floats(1 << 20), zeros(1 << 20),
              f"i32={(1 << 20) - 1}"]),
        each("hamming", "hamming", 2112, 256, [floats(16 * some, "u32"), floats(8, "u32"),
                                              zeros(2 * some, "i32")]),
        each("hsv", "hsv", 2112, 256, [floats(8 * some, "u8"), *[zeros(2 * some)] * 3]),
        each("blended", "blended", 4224, 256, [floats(16 * some, "u8"), floats(16 * some, "u8"),
                                              zeros(16 * some, "u8")]),
        each("noise", "noise", [32, 132], [32, 8], [zeros(plane), "i32=1024"]),
        each("spheres", "spheres", 1056, 256, [floats(128), floats(2 * some), zeros(some)]),
        each("prices", "prices", 1056, 256, [zeros(some), "f32=0.001", "f32=0.05"]),
        each("moved points", "moved_points", 2112, 256, [floats(8 * some), floats(16),
                                                        zeros(8 * some)]),
        each("newton", "newton", [32, 132], [32, 8], [zeros(plane, "i32"), "i32=1024"]),
        each("murmur", "murmur", 2112, 256, [floats(16 * some, "u32"), zeros(2 * some, "u32")]),
        each("base64", "base64", 4224, 256, [floats(4224 * 768, "u8"), zeros(4 * some, "u32")]),
        each("words", "words", 1056, 256, [floats(1056 * 8192, "u8"), zeros(1056, "i32")]),
        each("gru", "gru", 4224, 256, [floats(12 * some), floats(4 * some), zeros(4 * some),
                                      "i32=512"]),
        each("focal", "focal", 2112, 256, [floats(16896 * 128), floats(16896, "u32"),
                                          zeros(16896)]),
        each("masked", "masked", 4096, 256, [floats(4096 * 1024), zeros(4096 * 1024)]),
        each("instance norm", "instance_norm", 16896, 256, [floats(16896 * 1024),
                                                           zeros(16896 * 1024)]),
        each("weighed", "weighed", 528, 256, [floats(528 * 4096, "u32"), floats(528 * 4096),
                                             zeros(528 * 512)]),
        each("frontier", "frontier", 528, 256,
             [floats(528 * 256, "u32"), floats(8 << 17, "u32"), zeros(1 << 17, "i32"),
              f"i32={(1 << 17) - 1}", "i32=3"]),
        each("labels", "labels", [32, 132], [32, 8], [floats(1026 * 1058, "i32"),
                                                     zeros(plane, "i32"), "i32=1024"]),
        each("lattice", "lattice", [8, 528], 128, [floats(9 * 528 * 1024), zeros(9 * 528 * 1024),
                                                  "i32=1024", "i32=528"]),
        each("sha", "sha", 528, 256, [floats(528 * 256 * 16, "u32"), zeros(528 * 256 * 8, "u32")]),
        each("substituted", "substituted", 2112, 256, [floats(8 * some, "u32"), floats(256, "u8"),
                                                      zeros(8 * some, "u32")]),
        each("bloom", "bloom", 2112, 256, [floats(2 * some, "u32"), floats(1 << 18, "u32"),
                                          zeros(2 * some, "u8"), f"i32={(1 << 18) - 1}"]),
        each("selective", "selective", [8, 66], 128,
             [floats(66 * 64 * 1024), floats(66 * 64 * 1024), floats(66 * 512), floats(66 * 512),
              zeros(66 * 64 * 1024), "i32=1024"]),
    ]  # fmt: skip


def tiles() -> list[dict[str, Any]]:
    each = cases_of("eighth_tiles")
    hows = ("plain", "padded")
    half = 1056 * 1024
    return [
        *(each(f"pixels {how}", f"pixels_{how}", [16, 66], 256,
               [floats(66 * 65536), zeros(66 * 65536), "i32=1024"], "pixels") for how in hows),
        *(each(f"ways {how}", f"ways_{how}", 1056, 256, [floats(half), zeros(half)], "ways")
          for how in hows),
        *(each(f"summed {how}", f"summed_{how}", [33, 32], 64,
               [floats(2112 * 2048), zeros(2112 * 2048), "i32=2112"], "summed") for how in hows),
        *(each(f"together {how}", f"together_{how}", 1056, 256, [floats(1056 * 4096), zeros(half)],
               "together") for how in hows),
        *(each(f"cholesky {how}", f"cholesky_{how}", 528, 128, [floats(2112 * 1024),
                                                               zeros(2112 * 1024)], "cholesky")
          for how in hows),
        *(each(f"half rows {how}", f"half_rows_{how}", [33, 16], 256,
               [floats(1024 * 512, "f16"), floats(2112 * 512, "f16"), zeros(1024 * 2112),
                "i32=2112", "i32=256"], "half rows") for how in hows),
        *(each(f"records {how}", f"records_{how}", 2112, 256, [floats(2112 * 2048),
                                                              zeros(2112 * 2048),
                                                              f"i32={2112 * 256}"], "records")
          for how in hows),
        each("merged runs", "merged_runs", 1056, 512, [floats(half, "u32"), zeros(half, "u32")]),
        each("direct", "direct", [32, 128], 256, [floats(16 << 20), floats(1152), zeros(8 << 20),
                                                 "i32=1024"]),
        each("winograd", "winograd", [4, 16, 8], [32, 8], [floats(8 * 258 * 258),
                                                          zeros(16 * 8 * 128 * 128), "i32=258",
                                                          "i32=128"]),
        each("waves", "waves", [33, 64], 256, [floats(1058 * 1026), floats(1058 * 1026),
                                              zeros(1058 * 1026), "i32=1056"]),
        each("relu product", "relu_product", [33, 16], 256,
             [floats(1024 * 512), floats(512 * 2112), floats(2112), zeros(1024 * 2112),
              "i32=2112", "i32=512"]),
        each("skinny", "skinny", 132, 128, [floats(16 * 1024, "f16"), floats(8448 * 1024, "f16"),
                                           zeros(16 * 8448), "i32=8448", "i32=1024"]),
        each("filtered", "filtered", 528, 256, [floats(528 * 8192 + 16), floats(16),
                                               zeros(528 * 8192), "i32=8"]),
        each("swapped", "swapped", 2112, 256, [floats(2112 * 2048), zeros(2112 * 2048)]),
        each("cluster norm", "cluster_norm", 2112, 256, [floats(2112 * 2048),
                                                        zeros(2112 * 2048)]),
    ]  # fmt: skip


def main() -> None:
    write_set("eighth", SOURCES, [*elements(), *tiles()], [])


if __name__ == "__main__":
    main()
