"""How hot loops are compiled: by Numba, and kept on disk where there is a place for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["jit"]


def jit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator: `numba.njit` that lets other threads run, with Numba's own `options`.

    Numba keeps compiled code beside its source or in the user's cache folder, and refuses to
    decorate where it may write to neither, as in a container without a home. Then every
    process compiles anew.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # "cannot cache function ...: no locator available"
            return numba.njit(nogil=True, **options)(function)

    return decorate
