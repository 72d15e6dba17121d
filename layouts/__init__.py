"""How data lies and who reads it: warp layouts, thread tiles, padded tiles, swizzles.

Pure functions of coordinates; nothing here counts anything.
"""

from layouts.errors import BankwiseError, LayoutError
from layouts.fragment import FRAGMENTS, fragment_elements
from layouts.swizzle import Swizzle
from layouts.tile import Tile
from layouts.warp import LANE_ORDERS, LANES, WarpLayout

__all__ = [
    "FRAGMENTS",
    "LANES",
    "LANE_ORDERS",
    "BankwiseError",
    "LayoutError",
    "Swizzle",
    "Tile",
    "WarpLayout",
    "fragment_elements",
]
