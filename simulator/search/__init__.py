"""Which layout should I use? `optimize` searches, and says how it knows.

    from simulator.search import Access, optimize

docs/search.md starts with examples.
"""

from simulator.errors import SearchError
from simulator.search.accesses import Access
from simulator.search.optimize import OBJECTIVES, optimize
from simulator.search.optimum import AccessRow, Certificate, Optimum
from simulator.search.tile import Term, TileLayout

__all__ = [
    "OBJECTIVES",
    "Access",
    "AccessRow",
    "Certificate",
    "Optimum",
    "SearchError",
    "Term",
    "TileLayout",
    "optimize",
]
