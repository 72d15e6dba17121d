"""`count`: wavefronts, conflicts and cycles of any number of warp accesses."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.errors import BankwiseError, accepted
from layouts.shapes import is_integer
from simulator import law
from simulator.accesses import ALL_LANES, check, warp_accesses
from simulator.instructions import RULES, Instruction, instruction
from simulator.tables import Result

__all__ = ["ENGINES", "Counts", "OptionError", "check_rule", "check_threads", "count", "n_way"]

ENGINES = ("auto", "python", "numpy", "numba")
"""`auto` chooses by the number of accesses; the other three give the same figures."""

# Up to here, in accesses, the slower engine wins: NumPy has its fixed cost of a dozen array
# operations, Numba its import and the loading of compiled code.
_PYTHON_UP_TO = 2
_NUMPY_UP_TO = 200_000


class OptionError(BankwiseError):
    """A rule, an engine or another choice that does not exist."""


@dataclass(frozen=True, eq=False)
class Counts(Result):
    """What each access costs: int32 arrays of the accesses' shape.

    Names are the profiler's; `phases` are counted after fusing, empty ones too, and
    `cycles` are those that the access occupies the pipe when many warps keep it busy.
    """

    phases: NDArray[np.int32]
    wavefronts: NDArray[np.int32]
    ideal: NDArray[np.int32]
    excessive: NDArray[np.int32]
    bank_conflicts: NDArray[np.int32]
    cycles: NDArray[np.int32]

    def __getitem__(self, index: Any) -> Counts:
        """Take some of the accesses, by any index that NumPy takes."""
        return Counts(*(getattr(self, field.name)[index] for field in fields(self)))

    def totals(self) -> dict[str, int | float]:
        """Sum over all accesses; requests are those with an active lane on this pipe."""
        requests = int(np.count_nonzero(self.phases))
        summed = ("wavefronts", "ideal", "excessive", "bank_conflicts", "cycles")
        sums = {name: int(getattr(self, name).sum()) for name in summed}
        return {"requests": requests, **sums, "n_way": n_way(sums["wavefronts"], requests)}

    def to_dict(self) -> dict[str, Any]:
        """Give `{"accesses": {column: list}, "totals": {…}}`, flat, in C order."""
        columns = {field.name: getattr(self, field.name).ravel().tolist() for field in fields(self)}
        return {"accesses": columns, "totals": self.totals()}


def count(
    op: str | Instruction,
    addresses: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    rule: str = "silicon",
    engine: str = "auto",
    threads: int | None = None,
) -> Counts:
    """Count warp accesses of the instruction `op`.

    `addresses` are integers of any width, shape (..., 32), in bytes from the start of shared
    memory. `mask` has bit l set where lane l is active: None for all lanes, one integer, or
    integers of shape (...). `rule` is "silicon" (measured) or "documented" (NVIDIA's published
    phases, never fused). `threads` bounds those of the Numba engine, which takes one a processor
    for many accesses.

    >>> count("LDS", [128 * lane for lane in range(32)]).wavefronts
    array(32, dtype=int32)
    >>> count("LDS.128", [16 * (lane // 2) for lane in range(32)]).phases  # pairs fuse
    array(2, dtype=int32)

    Raises InstructionError, AddressError, MaskError or OptionError, all of them BankwiseError.
    """
    known = instruction(op)
    check_rule(rule)
    if engine not in ENGINES:
        raise OptionError(f"unknown engine {engine!r}: {accepted(engine, ENGINES)}")
    check_threads(threads)
    array, masks = warp_accesses(known, addresses, mask)
    shape = array.shape[:-1]
    flat = array.reshape(-1, 32)
    flat_masks = None if masks is None else masks.reshape(-1)
    if engine == "auto":
        engine = _engine_for(len(flat))
    if engine == "numba":
        from simulator import law_numba

        # It reads the addresses once, and checks them on the way.
        figures, suspect = law_numba.count_accesses(known, flat, flat_masks, rule, threads)
        if suspect is not None:
            check(known, array, masks, addresses, suspect)
    else:
        check(known, array, masks, addresses)
        if engine == "python":
            figures = _count_in_python(known, flat, flat_masks, rule)
        else:
            from simulator.law_numpy import count_accesses

            figures = count_accesses(known, flat, flat_masks, rule)
    figures.flags.writeable = False
    return Counts(*(row.reshape(shape) for row in figures))


def check_rule(rule: str) -> None:
    """Raise OptionError unless `rule` is one of RULES."""
    if rule not in RULES:
        raise OptionError(f"unknown rule {rule!r}: {accepted(rule, RULES)}")


def check_threads(threads: int | None) -> None:
    """Raise OptionError unless `threads` is None or a positive integer."""
    if threads is not None and not (is_integer(threads) and threads > 0):
        raise OptionError(f"threads {threads!r} (accepted: a positive integer, or None for all)")


def n_way(wavefronts: int, requests: int) -> float:
    """Wavefronts a request, which Nsight Compute words as an "n-way bank conflict"."""
    return wavefronts / requests if requests else 0.0


def _engine_for(accesses: int) -> str:
    if accesses <= _PYTHON_UP_TO:
        return "python"
    return "numpy" if accesses <= _NUMPY_UP_TO else "numba"


def _count_in_python(
    known: Instruction, addresses: NDArray[Any], masks: NDArray[np.uint32] | None, rule: str
) -> NDArray[np.int32]:
    bits = [ALL_LANES] * len(addresses) if masks is None else masks.tolist()
    counted = [
        law.count_access(known, row, mask, rule)
        for row, mask in zip(addresses.tolist(), bits, strict=True)
    ]
    return np.array(counted, dtype=np.int32).T
