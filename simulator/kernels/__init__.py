"""The catalogue: GEMM kernels of published tutorials, access by access.

`names()` lists them, `get(name)` gives one, `simulator.replay(name, m=…, n=…, k=…)` counts it.
A name is `<document>.<kernel>`; each module here describes one document's kernels.
docs/how-to/kernels.md has them all with their figures.
"""

from __future__ import annotations

from layouts.errors import accepted
from simulator.errors import KernelError
from simulator.kernels.catalogue import (
    cutlass_notes,
    explore_gemms,
    explore_gemms_vectors,
    illustrated,
    junstar92,
    leimao,
    leimao_vectors,
)
from simulator.kernels.sites import Kernel

__all__ = ["get", "names"]

_DOCUMENTS = (
    leimao,
    leimao_vectors,
    illustrated,
    junstar92,
    explore_gemms,
    explore_gemms_vectors,
    cutlass_notes,
)

_CATALOGUE: dict[str, Kernel] = {
    kernel.name: kernel for document in _DOCUMENTS for kernel in document.KERNELS
}


def names() -> list[str]:
    """List the kernels' names, document by document."""
    return list(_CATALOGUE)


def get(name: str) -> Kernel:
    """Look a kernel up by its name.

    >>> get("junstar92.smem").parameters
    {'block_size': 32}

    Raises KernelError, with the nearest names, for an unknown one.
    """
    if not isinstance(name, str) or name not in _CATALOGUE:
        raise KernelError(f"unknown kernel {name!r}: {accepted(name, _CATALOGUE)}")
    return _CATALOGUE[name]
