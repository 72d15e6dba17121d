"""Which layout should I use? `optimize` searches, and says how it knows.

    from simulator.search import Access, optimize

docs/explanation/search.md starts with examples.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simulator.errors import SearchError
from simulator.search.accesses import Access
from simulator.search.optimize import OBJECTIVES, optimize
from simulator.search.tile import Term, TileLayout

if TYPE_CHECKING:
    from simulator.search.optimum import AccessRow, Certificate, Optimum

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

if not TYPE_CHECKING:  # an answer searches layouts, and needs none of these

    def __getattr__(name: str) -> Any:
        if name not in ("AccessRow", "Certificate", "Optimum"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module("simulator.search.optimum"), name)
        return found
