"""How a kernel is described: where its threads read and write, and how often.

A kernel is a function of (m, n, k) and its tile parameters that gives a `Launch`: a grid, a
block, and the *sites*, one for each expression of the source that touches memory. A site's
functions are the index expressions themselves, and the names of their parameters say what
they depend on:

    tid, tx, ty, warp, lane     the thread (each warp's 32 lanes come as arrays)
    bx, by                      the block
    the keys of `loops`         loops that the compiler unrolls: an instruction for each turn
    the keys of `repeats`       loops that stay loops: the same instruction, executed again

    SharedSite("As[threadIdx.y][i]", "load", lambda ty, i: ty * 32 + i,
               loops={"i": 32}, repeats={"block": 128})

That index names neither bx, by nor block, so all of their turns cost the same, and `replay`
counts one of them and multiplies: shared sites cost nothing in m, n and k. Coordinates in
global memory do name them, linearly (`by * 64 + tid // 8`), so a turn only moves the pattern:
`simulator.global_memory` needs the move modulo 128 bytes, and the edge of the matrix.

The compiler's part is said next to the source, never instead of it. `merges="i"` names the
loop along which neighbouring elements become one wide load, `hoisted=("n",)` the loops that a
load leaves because it does not depend on them, `only="compiled"` an access that the source
does not have; `evidence` says how that is known.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from layouts.errors import BankwiseError
from simulator.accesses import SHARED_BYTES

__all__ = [
    "ASSUMED",
    "ASSUMED_PRESENT",
    "AS_WRITTEN",
    "LANE_NAMES",
    "Cycle",
    "GlobalSite",
    "Int",
    "Kernel",
    "KernelError",
    "Launch",
    "Matrix",
    "SharedSite",
    "Site",
    "covering",
    "divides",
    "dividing",
    "names_of",
    "require",
]

LANE_NAMES = ("tid", "tx", "ty", "warp", "lane")
"""What an index function may call the thread: linear and two-dimensional index, warp, lane."""

AS_WRITTEN = "as written"
ASSUMED = "assumed: adjacent aligned loads merged"
ASSUMED_PRESENT = "assumed: the compiler's, as with the document's tiles"

Int = Any
"""What index functions compute with: an integer, an array of them, or one that is linear."""

Function = Callable[..., Any]
"""From named integers, or arrays of them, to integers (or truth values, for a predicate)."""


class KernelError(BankwiseError):
    """An unknown kernel, sizes or tiles that it cannot run with, or a site that cannot be."""


@dataclass(frozen=True)
class Cycle:
    """A loop whose index runs through `period` values again and again: a double buffer."""

    trips: int
    period: int


@dataclass(frozen=True)
class Matrix:
    """A row-major matrix in global memory, its first element on a 256-byte boundary."""

    rows: int
    cols: int
    ld: int
    """Leading dimension: elements from one row to the next."""
    element: int = 4


@dataclass(frozen=True, kw_only=True)
class Site:
    """What shared and global sites have in common."""

    source: str = field(kw_only=False)
    """The expression as the document has it."""
    kind: Literal["load", "store"] = field(kw_only=False)
    loops: Mapping[str, int] = field(default_factory=dict)
    """Trip counts of unrolled loops."""
    repeats: Mapping[str, int | Cycle] = field(default_factory=dict)
    """Trip counts of loops that stay loops."""
    width: int = 1
    """Elements that a lane moves, as written."""
    where: Function | None = None
    """Lanes that take part; None: all. For a global site it may name lanes and `loops` only."""
    only: Literal["written", "compiled"] | None = None
    """The one form that has this access; None: both."""
    hoisted: tuple[str, ...] = ()
    """Loops that the compiled load is moved out of."""
    evidence: str = AS_WRITTEN
    """How the compiled form is known."""

    def __post_init__(self) -> None:
        named = {name for function in self.functions() for name in names_of(function)}
        wrong = named & set(self.hoisted)
        if wrong:
            raise KernelError(
                f"site {self.source!r} depends on {', '.join(sorted(wrong))} and cannot be hoisted"
                " out of it"
            )
        known = {*LANE_NAMES, "bx", "by", *self.loops, *self.repeats}
        strange = sorted(named - known)
        if strange:
            raise KernelError(
                f"site {self.source!r} names {', '.join(strange)} (accepted: "
                f"{', '.join(sorted(known))})"
            )

    @property
    def runs(self) -> bool:
        """Whether all of its loops have a turn (a K-Loop over one tile has none)."""
        trips = [*self.loops.values(), *self.repeats.values()]
        return all(each.trips if isinstance(each, Cycle) else each for each in trips)

    def functions(self) -> list[Function]:
        """Give the functions whose parameter names say what the site depends on."""
        return [] if self.where is None else [self.where]


@dataclass(frozen=True, kw_only=True)
class SharedSite(Site):
    """An access to an array in shared memory."""

    index: Function = field(kw_only=False)
    """Element offset from the start of the array (which starts on 128 bytes)."""
    element: int = 4
    op: str | None = None
    """The instruction, where the width does not say it: LDSM."""
    merges: str | None = None
    """The loop along which the compiler joins neighbouring elements, up to 16 bytes."""

    def functions(self) -> list[Function]:
        """Give the functions whose parameter names say what the site depends on."""
        return [self.index, *super().functions()]


@dataclass(frozen=True, kw_only=True)
class GlobalSite(Site):
    """An access to a matrix in global memory."""

    matrix: Matrix = field(kw_only=False)
    row: Function = field(kw_only=False)
    col: Function = field(kw_only=False)
    """Coordinates of the (first) element, linear in bx, by and `repeats`."""
    guarded: bool = False
    """Whether lanes outside this matrix are masked, as by `if (row < m && col < n)`."""
    bounds: tuple[tuple[Function, int], ...] = ()
    """Other bounds checks around it: a coordinate, linear as `row` is, and its limit."""
    overruns: bool = False
    """Whether the document's own kernel runs past the matrix here (else that is refused)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        loose = set() if self.where is None else set(names_of(self.where))
        wrong = sorted(loose & {"bx", "by", *self.repeats})
        require(
            not wrong,
            f"`where` of site {self.source!r} names {', '.join(wrong)}"
            " (accepted: thread indices and `loops`; bounds checks go into `guarded` or `bounds`)",
        )

    def functions(self) -> list[Function]:
        """Give the functions whose parameter names say what the site depends on."""
        return [self.row, self.col, *(check for check, _ in self.bounds), *super().functions()]


@dataclass(frozen=True)
class Launch:
    """A kernel with all its numbers: what one call of it executes."""

    grid: tuple[int, int]
    """Blocks along x and y."""
    block: tuple[int, int]
    """Threads along x and y."""
    sites: tuple[SharedSite | GlobalSite, ...]
    shared_bytes: int = 0

    def __post_init__(self) -> None:
        # CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
        threads = self.block[0] * self.block[1]
        require(1 <= threads <= 1024, f"the block has {threads} threads (accepted: 1 to 1024)")
        require(
            self.grid[0] < 2**31 and self.grid[1] < 2**16,
            f"the grid is {self.grid[0]}x{self.grid[1]} blocks"
            " (accepted: x below 2^31, y below 65536)",
        )
        require(
            self.shared_bytes <= SHARED_BYTES,
            f"the tiles take {self.shared_bytes} bytes of shared memory"
            f" (accepted: up to {SHARED_BYTES}, 227 KiB)",
        )

    @property
    def threads(self) -> int:
        """Threads in a block."""
        return self.block[0] * self.block[1]


@dataclass(frozen=True)
class Kernel:
    """A kernel of a document: `launch(m, n, k, *, tile parameters)`, and where it is from."""

    name: str
    title: str
    """What the kernel does, in a line."""
    document: str
    """Author, title, address."""
    launch: Callable[..., Launch]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """The document's tile parameters, where they differ from those of `launch`."""

    def __post_init__(self) -> None:
        bare = [name for name, value in self.parameters.items() if value is inspect.Parameter.empty]
        require(
            not bare,
            f"kernel {self.name!r} has no default for {', '.join(bare)}"
            " (accepted: keyword parameters with defaults, in `launch` or in `defaults`)",
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """Tile parameters with the document's values."""
        given = inspect.signature(self.launch).parameters.values()
        own = {each.name: each.default for each in given if each.kind is each.KEYWORD_ONLY}
        return {**own, **self.defaults}


def names_of(function: Function) -> tuple[str, ...]:
    """Parameter names of an index function.

    >>> names_of(lambda tid, i: tid + i)
    ('tid', 'i')
    """
    return tuple(inspect.signature(function).parameters)


def require(condition: bool, otherwise: str) -> None:
    """Raise KernelError unless the condition holds."""
    if not condition:
        raise KernelError(otherwise)


def covering(size: int, tile: int) -> int:
    """Count the tiles that cover `size`, the last one perhaps in part.

    >>> covering(1000, 64)
    16
    """
    return -(-size // tile)


def dividing(size: int, tile: int, what: str, of: str) -> int:
    """Count the tiles of `size` where no bounds check would catch a part of one.

    >>> dividing(1024, 64, "m", "block_m")
    16

    Raises KernelError unless the tile divides the size.
    """
    whole, rest = divmod(size, tile)
    require(
        not rest,
        f"{what} = {size} is not a multiple of {of} = {tile}, and the document's kernel has no"
        f" bounds check along {what} (accepted: {tile}, {2 * tile}, {3 * tile}, ...)",
    )
    return whole


def divides(tile: int, size: int, what: str) -> int:
    """Give size / tile, or refuse: `what` says what must divide what."""
    require(
        tile > 0 and size > 0 and size % tile == 0,
        f"{what}: {tile} does not divide {size} (accepted: divisors of {size})",
    )
    return size // tile
