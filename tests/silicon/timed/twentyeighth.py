"""Compile the twenty-eighth set of timed kernels, and write twentyeighth.json.

    python -m tests.silicon.timed.twentyeighth

Other kernels than those of the sets before, measured after the model of a later commit.
"""

from __future__ import annotations

from typing import Any

from tests.silicon.timed.build import cases_of, write_set
from tests.silicon.timed.third import floats, zeros

SOURCES = dict.fromkeys(("tensors", "layouts", "singles"), "sm_90")
PLAIN = ("plain", "padded")
ROWS = ("rows", "padded")
COLUMNS = (*ROWS, "columns")
SWIZZLED = (*PLAIN, "swizzled")
TOGETHER = ("together", "padded", "apart")


def tensors() -> list[dict[str, Any]]:
    each = cases_of("twentyeighth_tensors")
    tiles, elements = 1056 * 4096, 1056 * 2
    return [
        *(each(f"contrasted {how}", f"contrasted_{how}", 1056, 128,
               [floats(tiles, "f16"), floats(16 * 4096, "f16"), zeros(1056 * 64), "i32=16",
                "f32=2"], "contrasted") for how in SWIZZLED),
        *(each(f"hopfield {how}", f"hopfield_{how}", 1056, 128,
               [floats(1056 * 2048, "u32"), floats(128 * 128, "u8"), zeros(1056 * 2048, "u32"),
                "i32=6"], "hopfield") for how in PLAIN),
        *(each(f"reservoir {how}", f"reservoir_{how}", 800, 128,
               [floats(8 * 800 * 4096, "f16"), floats(4096, "f16"), zeros(800 * 4096, "f16"),
                "i32=8"], "reservoir") for how in PLAIN),
        *(each(f"mahalanobis {how}", f"mahalanobis_{how}", 1056, 128,
               [floats(tiles), floats(8 * 4096), zeros(1056 * 128), "i32=8"], "mahalanobis")
          for how in PLAIN),
        *(each(f"petrov {how}", f"petrov_{how}", 1056, 64,
               [*[floats(elements * 1024, "f64")] * 2, floats(3 * 32, "f64"),
                zeros(elements * 3, "f64"), "i32=3"], "petrov") for how in PLAIN),
    ]  # fmt: skip


def layouts() -> list[dict[str, Any]]:
    each = cases_of("twentyeighth_layouts")
    few, more, pixels = 528 * 64, 1056 * 64, 1056 * 1024
    return [
        *(each(f"sudoku {how}", f"sudoku_{how}", 528, 64,
               [floats(few * 81, "u8"), zeros(few, "u32"), f"i32={few}", "i32=2"], "sudoku")
          for how in PLAIN),
        *(each(f"knight {how}", f"knight_{how}", 528, 64,
               [floats(few, "u32"), zeros(few * 2, "u32")], "knight")
          for how in ("rows", "columns")),
        *(each(f"ranges coded {how}", f"ranges_coded_{how}", 528, 64,
               [floats(few * 8, "u32"), zeros(few * 2, "u32"), f"i32={few}"], "ranges coded")
          for how in COLUMNS),
        *(each(f"inversions {how}", f"inversions_{how}", 1056, 64,
               [floats(more * 12, "u32"), zeros(more, "u32"), f"i32={more}", "i32=12"],
               "inversions") for how in ROWS),
        *(each(f"printed {how}", f"printed_{how}", 528, 64,
               [floats(few * 64, "u8"), zeros(few * 2, "u32")], "printed") for how in PLAIN),
        *(each(f"givens {how}", f"givens_{how}", 600, 32,
               [floats(600 * 1024), zeros(600 * 1024)], "givens") for how in PLAIN),
        *(each(f"parabolas {how}", f"parabolas_{how}", 700, 64,
               [floats(700 * 2048), zeros(700 * 2048)], "parabolas") for how in ROWS),
        *(each(f"cloth {how}", f"cloth_{how}", 1056, 256,
               [floats(1056 * 2048), zeros(1056 * 2048), "i32=6", "f32=20"], "cloth")
          for how in TOGETHER),
        *(each(f"clipped {how}", f"clipped_{how}", 1056, 64,
               [floats(more * 10), zeros(more), f"i32={more}"], "clipped")
          for how in ("rows", "columns")),
        *(each(f"adaptive {how}", f"adaptive_{how}", 528, 64,
               [floats(few * 12), zeros(few * 12), f"i32={few}", "i32=12", "f32=0.5"],
               "adaptive") for how in ROWS),
        *(each(f"pursuit {how}", f"pursuit_{how}", 700, 128,
               [floats(700 * 256), floats(4096), zeros(700 * 16), "i32=2"], "pursuit")
          for how in PLAIN),
        *(each(f"picture flow {how}", f"picture_flow_{how}", [32, 33], 128,
               [*[floats(1062 * 1030)] * 2, zeros(pixels * 2), "i32=1030", "i32=1024"],
               "picture flow") for how in PLAIN),
        *(each(f"pushed charges {how}", f"pushed_charges_{how}", 1056, 256,
               [floats(1056 * 1024), floats(6 * 256), zeros(1056 * 1024), "i32=20",
                "f32=0.1"], "pushed charges") for how in ("together", "apart")),
    ]  # fmt: skip


def singles() -> list[dict[str, Any]]:
    each = cases_of("twentyeighth_singles")
    games, cells, sounds, words = 528 * 128, 1056 * 128, 1056 * 128, 2112 * 512
    return [
        each("connect four", "connect_four", 528, 128,
             [floats(games, "u32"), zeros(games, "i32"), "i32=2"]),
        each("rho", "rho", 528, 128, [floats(games, "u32"), zeros(games, "u32"), "i32=24"]),
        each("starlight", "starlight", 1088, 128,
             [*[floats(64 * 256)] * 2, zeros(1088 * 128), "f32=0.01"]),
        each("seeping", "seeping", 660, 256, [floats(660 * 4096, "u8"), zeros(660, "u32")]),
        each("variogram", "variogram", 528, 256,
             [floats(528 * 768), zeros(528 * 64, "u32")]),
        each("indexes joined", "indexes_joined", 2112, 256,
             [*[floats(words * 4, "u32")] * 3, zeros(words * 4, "u32"),
              zeros(2112 * 8, "u32")]),
        each("wildcards", "wildcards", 1056, 128,
             [floats(cells * 16, "u32"), floats(32, "u8"), zeros(cells, "i32"),
              f"i32={cells}"]),
        each("winding", "winding", 1056, 128,
             [floats(cells * 3), floats(64 * 9), zeros(cells), "i32=64"]),
        each("equalizer", "equalizer", 1056, 128,
             [floats(sounds * 64), floats(40), zeros(sounds * 64), f"i32={sounds}", "i32=64"]),
        each("bessel", "bessel", 1056, 128,
             [floats(cells, "f64"), zeros(cells, "f64"), "i32=40"]),
        each("response norm", "response_norm", 2112, 256,
             [floats(words * 8), zeros(words * 8), f"i32={2112 * 256}", "f32=0.1",
              "f32=0.75"]),
        each("smile", "smile", 1056, 256,
             [floats(1056 * 256), zeros(1056 * 256), "i32=12", "f32=0.5", "f32=-0.3"]),
        each("flock", "flock", 528, 256,
             [floats(528 * 2048), zeros(528 * 2048), "i32=192"]),
        each("reactions", "reactions", 1056, 128,
             [floats(cells, "u32"), zeros(cells * 4, "u32"), "i32=64"]),
        each("kendall", "kendall", 2112, 256,
             [*[floats(2112 * 8 * 96)] * 2, zeros(2112 * 8)]),
        each("traffic", "traffic", 1056, 256,
             [floats(1056 * 256, "u32"), zeros(1056 * 8, "u32"), "i32=16"]),
    ]  # fmt: skip


def main() -> None:
    cases = [*tensors(), *layouts(), *singles()]
    write_set("twentyeighth", SOURCES, cases, [])


if __name__ == "__main__":
    main()
