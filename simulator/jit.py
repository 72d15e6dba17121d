"""How hot loops are compiled: by Numba, and kept on disk where there is a place for that.

Compiled code holds what it called and the constants that it read, also from other modules. Numba
itself would keep using it until the one file of the function changes. Here it is stamped with
the sources that a hot loop may take anything from: those of its own package and of
`simulator.law`. So a hot loop may call what stands in another module of these two.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from typing import Any

import numba
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.serialize import dumps

from simulator.errors import OptionError

__all__ = ["check_compiles", "compiles", "jit"]


def compiles() -> bool:
    """Whether Numba compiles: not where NUMBA_DISABLE_JIT is set, for debuggers and coverage."""
    return not config.DISABLE_JIT  # type: ignore[attr-defined]  # set when it is imported


def check_compiles() -> None:
    """Raise OptionError unless Numba compiles."""
    if not compiles():
        raise OptionError(
            "engine 'numba' needs compiled code, and NUMBA_DISABLE_JIT is set"
            " (accepted: engine='auto', or NUMBA_DISABLE_JIT=0)"
        )


def jit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator: `numba.njit` that lets other threads run, with Numba's own `options`.

    Numba keeps compiled code beside its source or in the user's cache folder. It refuses to
    decorate where it may write to neither, as in a container without a home; where the disk is
    full, it refuses to run. Here every process compiles anew then. It does so, too, where what was
    kept is damaged, and keeps the new code instead.
    """
    # Nobody calls it from C: what would do so took a tenth of the time to compile.
    chosen: Any = {"nogil": True, "no_cfunc_wrapper": True, **options}

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**chosen)(function)
        if compiles():
            with suppress(RuntimeError):  # "cannot cache function ...: no locator available"
                compiled._cache = _Cache(function)  # as `cache=True` does
        return compiled

    return decorate


class _Cache(FunctionCache):
    """The compiled code of one function on disk; what is damaged counts as absent."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file = _CacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=_stamp(function.__module__),
        )  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # to unpickle cut or random bytes may raise anything
            try:
                self.flush()  # type: ignore[no-untyped-call]
            except OSError:  # nor can it be written
                self.disable()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


class _CacheFile(IndexDataCacheFile):
    """Compiled code beside its digest and its key: a wrong bit in machine code raises nothing."""

    def save(self, key: Any, data: Any) -> None:
        code = dumps((key, data))  # type: ignore[no-untyped-call]
        super().save(key, (sha256(code).digest(), code))  # type: ignore[no-untyped-call]

    def load(self, key: Any) -> Any:
        kept = super().load(key)  # type: ignore[no-untyped-call]
        if kept is None:
            return None
        digest, code = kept
        if sha256(code).digest() != digest:
            raise ValueError("the digest of compiled code differs")
        kept_key, data = pickle.loads(code)  # noqa: S301 - Numba's own files, and the digest fits
        if kept_key != key:
            raise ValueError("compiled code of other types")
        return data


def _stamp(module: str) -> str:
    """Return the digest of all sources that a hot loop of `module` may take anything from."""
    return _digest(".".join(module.split(".")[:-1][:2]), "simulator.law")


@cache
def _digest(*packages: str) -> str:
    """Return the digest of this module and of all modules inside some packages."""
    digest = sha256()
    for source in (files("simulator") / "jit.py", *chain(*map(_sources, map(files, packages)))):
        text = source.read_bytes()
        digest.update(f"{source.name} {len(text)} ".encode() + text)
    return digest.hexdigest()


def _sources(folder: Traversable) -> Iterator[Traversable]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _sources(entry)
        elif entry.name.endswith(".py"):
            yield entry
