"""Numbers that documents print, each with its source."""

import pytest

from layouts import (
    BlockLayout,
    Layout,
    Swizzle,
    WarpLayout,
    coalesce,
    complement,
    composition,
    left_inverse,
    logical_divide,
    logical_product,
    zipped_divide,
)

CUTE = "CUTLASS, media/docs/cpp/cute/02_layout_algebra.md"
"""https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/cute/02_layout_algebra.md"""

parse = Layout.parse


class TestGemmAndCutlass:
    """Bloonow, GEMM矩阵乘法和CUTLASS模板库, https://github.com/Bloonow/MyNotes.

    Chapters "CUTLASS and Utility" and "Layout and Tensor". The classes they describe:
    https://github.com/NVIDIA/cutlass, include/cutlass/layout/matrix.h.
    """

    def test_leading_dimension_32(self):
        """layout_demo(): element (7, 23) prints 743, 247."""
        assert Layout.col_major("32x32", ld=32)(7, 23) == 743
        assert Layout.row_major("32x32", ld=32)(7, 23) == 247

    def test_column_major_interleaved_print_out(self):
        """print_demo(): a 2x3 matrix 1..6, interleaved by 2 columns, prints 1 2 4 5 3 0 6 0."""
        layout = Layout.col_major_interleaved("2x3", 2)
        memory = [0] * layout.cosize
        value = 0
        for row in range(2):
            for col in range(3):
                value += 1
                memory[layout(row, col)] = value
        assert memory == [1, 2, 4, 5, 3, 0, 6, 0]

    def test_the_matrix_reads_back_in_its_own_order(self):
        """print_demo(): the view prints 1, 2, 3 and 4, 5, 6 from that memory."""
        memory = [1, 2, 4, 5, 3, 0, 6, 0]
        layout = Layout.col_major_interleaved("2x3", 2)
        rows = [[memory[layout(row, col)] for col in range(3)] for row in range(2)]
        assert rows == [[1, 2, 3], [4, 5, 6]]


def test_lanes_of_junstar92s_warp_tiling_kernel():
    """junstar92, Kernel 6: Warptiling (https://github.com/junstar92/nvidia-libraries-study).

    warp_tile_idx_m = ((lane >> 3) << 1) + (lane & 1), warp_tile_idx_n = (lane & 7) >> 1;
    warps: tb_warp_idx_m = warp % WARP_NUM_ROW, tb_warp_idx_n = warp / WARP_NUM_ROW.
    """
    warp = WarpLayout.of("8x4", "z-order")
    for lane, (row, col) in enumerate(warp.coordinates):
        assert row == ((lane >> 3) << 1) + (lane & 1)
        assert col == (lane & 7) >> 1
    assert warp == WarpLayout.of("8x4", (2, 0, 1, 3, 4))
    block = BlockLayout.of("2x4", warp, "8x8", warp_order="col-major")
    for index in range(8):
        row, col = block.threads(index, 0)[0]
        assert (row, col) == (index % 2 * 64, index // 2 * 32)


@pytest.mark.parametrize(
    ("thread", "a", "b"), [(0, (0, 0), (0, 0)), (1, (0, 4), (0, 4)), (2, (1, 0), (0, 8)),
                           (18, (9, 0), (0, 72))],
)  # fmt: skip
def test_where_a_thread_loads_its_four_numbers(thread, a, b):
    """猛猿, 从啥也不会到CUDA GEMM优化, https://zhuanlan.zhihu.com/p/703256080, chapter 4.

    The figures, tid -> place in s_a and s_b, are in the comments of its block version. s_a is
    128x8, s_b 8x128, both row by row, and each of 256 threads takes four in a row.
    """
    first = Layout(256, 4)(thread)
    for shape, place in (("128x8", a), ("8x128", b)):
        tile = Layout.row_major(shape)
        assert tile.coordinate(left_inverse(tile)(first)) == place


class TestCuteLayoutAlgebra:
    __doc__ = CUTE

    def test_coalesce(self):
        assert str(coalesce(parse("(2,(1,6)):(1,(6,2))"))) == "12:1"

    @pytest.mark.parametrize(
        ("a", "b", "result"),
        [
            ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
            ("20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
            ("(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
        ],
    )
    def test_composition(self, a, b, result):
        assert str(composition(parse(a), parse(b))) == result

    def test_composition_table(self):
        result = composition(parse("(6,2):(8,2)"), parse("(4,3):(3,1)"))
        assert result.offsets() == [0, 24, 2, 26, 8, 32, 10, 34, 16, 40, 18, 42]

    def test_composition_by_mode(self):
        a = parse("(12,(4,8)):(59,(13,1))")
        assert str(composition(a, (parse("3:4"), parse("8:2")))) == "(3,(2,4)):(236,(26,1))"
        assert str(composition(a, (3, 8))) == "(3,(4,2)):(59,(13,1))"

    @pytest.mark.parametrize(
        ("layout", "result"),
        [
            ("4:1", "6:4"),
            ("6:4", "4:1"),
            ("(4,6):(1,4)", "1:0"),
            ("4:2", "(2,3):(1,8)"),
            ("(2,4):(1,6)", "3:2"),
            ("(2,2):(1,6)", "(3,2):(2,12)"),
        ],
    )
    def test_complement_in_24(self, layout, result):
        # "nothing left" is 1:0 there; its one element may carry any stride
        found = complement(parse(layout), 24)
        assert str(found) == result

    def test_logical_divide(self):
        result = logical_divide(parse("(4,2,3):(2,1,8)"), parse("4:2"))
        assert str(result) == "((2,2),(2,3)):((4,1),(2,8))"

    def test_divide_of_two_modes(self):
        a = parse("(9,(4,8)):(59,(13,1))")
        tiler = (parse("3:3"), parse("(2,4):(1,8)"))
        assert str(logical_divide(a, tiler)) == ("((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))")
        zipped = zipped_divide(a, tiler)
        assert zipped[0] == composition(a, tiler)
        assert zipped(0, (1, 2)) == zipped(0, 7)

    def test_logical_product(self):
        result = logical_product(parse("(2,2):(4,1)"), 6)
        assert str(result) == "((2,2),(2,3)):((4,1),(2,8))"


def test_swizzle_of_a_row_of_half_precision():
    """CUTLASS, include/cute/swizzle.hpp: bits 7..9 are XORed onto bits 4..6 in Sw<3,4,3>."""
    layout = parse("Sw<3,4,3> o 0 o (8,128):(128,1)")
    assert [layout(row, 0) for row in range(8)] == [row * 128 + row * 16 for row in range(8)]
    assert layout == composition(Swizzle(3, 4, 3), Layout.row_major("8x128"))
