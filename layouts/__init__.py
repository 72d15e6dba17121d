"""How data lies and who reads it: layouts and their algebra, swizzles, warps, thread tiles.

Pure functions of coordinates; nothing here counts anything.
"""

from layouts.algebra import (
    coalesce,
    complement,
    composition,
    is_injective,
    left_inverse,
    logical_divide,
    logical_product,
    right_inverse,
    tiled_divide,
    zipped_divide,
)
from layouts.block import BlockLayout
from layouts.errors import BankwiseError, ExpressionError, LayoutError
from layouts.fragment import FRAGMENTS, fragment_elements
from layouts.layout import Layout, make_layout
from layouts.linear import LinearMap, is_linear
from layouts.picture import picture
from layouts.swizzle import Swizzle
from layouts.term import Term
from layouts.tile import Tile
from layouts.warp import LANE_ORDERS, LANES, WarpLayout

__all__ = [
    "FRAGMENTS",
    "LANES",
    "LANE_ORDERS",
    "BankwiseError",
    "BlockLayout",
    "ExpressionError",
    "Layout",
    "LayoutError",
    "LinearMap",
    "Swizzle",
    "Term",
    "Tile",
    "WarpLayout",
    "coalesce",
    "complement",
    "composition",
    "fragment_elements",
    "is_injective",
    "is_linear",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_layout",
    "picture",
    "right_inverse",
    "tiled_divide",
    "zipped_divide",
]
