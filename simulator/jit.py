"""How hot loops are compiled: by Numba, and kept on disk where there is a place for that."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache

__all__ = ["jit"]


def jit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator: `numba.njit` that lets other threads run, with Numba's own `options`.

    Numba keeps compiled code beside its source or in the user's cache folder, and refuses to
    decorate where it may write to neither, as in a container without a home; where the disk is
    full, it refuses to run. Here every process compiles anew then.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(nogil=True, **options)(function)
        with suppress(RuntimeError):  # "cannot cache function ...: no locator available"
            compiled._cache = _Cache(function)  # type: ignore[no-untyped-call]  # as `cache=True`
        return compiled

    return decorate


class _Cache(FunctionCache):
    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
