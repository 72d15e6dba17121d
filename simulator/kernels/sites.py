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
`simulator.kernels.global_memory` needs the move modulo 128 bytes, and the edge of the matrix.

The compiler's part is said next to the source, never instead of it. `merges="i"` names the loop
along which neighbouring elements become one wide load; `hoisted=("n",)` the loops that a load
leaves because it does not depend on them; `only="compiled"` an access that the source does not
have; `evidence` says how that is known. `assumed` says what the document leaves open about an
address, in either form.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from layouts.errors import short
from simulator.errors import KernelError
from simulator.kernels.sizes import block_threads, integer, require
from simulator.law.accesses import SHARED_BYTES
from simulator.law.instructions import instruction

__all__ = [
    "ASSUMED",
    "ASSUMED_PRESENT",
    "AS_WRITTEN",
    "FORMS",
    "LANE_NAMES",
    "Cycle",
    "Form",
    "GlobalSite",
    "Int",
    "Kernel",
    "Launch",
    "Matrix",
    "SharedSite",
    "Site",
    "names_of",
]

LANE_NAMES = ("tid", "tx", "ty", "warp", "lane")
"""What an index function may call the thread: linear and two-dimensional index, warp, lane."""

AS_WRITTEN = "as written"
ASSUMED = "assumed: adjacent aligned loads merged"
ASSUMED_PRESENT = "assumed: the compiler's, as with the document's tiles"

Form = Literal["compiled", "written"]
"""`written`: the source as it stands. `compiled`: with loads merged and hoisted by nvcc."""

FORMS: tuple[Form, ...] = get_args(Form)

Int = Any
"""What index functions compute with: an integer, an array of them, or one that is linear."""

Function = Callable[..., Any]
"""From named integers, or arrays of them, to integers (or truth values, for a predicate)."""


@dataclass(frozen=True)
class Cycle:
    """A loop whose index runs through `period` values again and again: a double buffer."""

    trips: int
    period: int

    def __post_init__(self) -> None:
        _set(self, trips=integer(self.trips, "trips of a Cycle", least=0))
        _set(self, period=integer(self.period, "period of a Cycle"))


@dataclass(frozen=True)
class Matrix:
    """A row-major matrix in global memory, its first element on a 256-byte boundary."""

    rows: int
    cols: int
    ld: int
    """Leading dimension: elements from one row to the next."""
    element: int = 4
    """Bytes of an element."""

    def __post_init__(self) -> None:
        for name in ("rows", "cols", "ld", "element"):
            _set(self, **{name: integer(getattr(self, name), f"{name} of a Matrix")})
        require(
            self.ld >= self.cols,
            f"ld = {self.ld} of a Matrix with {self.cols} columns: its rows would overlap"
            f" (accepted: {self.cols} or more)",
        )


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
    only: Form | None = None
    """The one form that has this access; None: both."""
    hoisted: tuple[str, ...] = ()
    """Loops that the compiled load is moved out of."""
    evidence: str = AS_WRITTEN
    """How the compiled form is known."""
    assumed: str = ""
    """What the document leaves open, so that these addresses (in any form) are an assumption."""

    def __post_init__(self) -> None:
        _one_of(self, "kind", ("load", "store"))
        _one_of(self, "only", (None, "written", "compiled"))
        _set(self, width=integer(self.width, f"width of site {self.source!r}"))
        for name in ("loops", "repeats"):
            turns = getattr(self, name)
            require(
                isinstance(turns, Mapping) and all(isinstance(each, str) for each in turns),
                f"{name} of site {self.source!r} are {short(turns)} (accepted: {{name: trips}})",
            )
            checked = {each: self._trips(each, trips, name) for each, trips in turns.items()}
            _set(self, **{name: MappingProxyType(checked)})
        taken = [*LANE_NAMES, "bx", "by", *self.loops, *self.repeats]
        for name in {*self.loops, *self.repeats}:
            require(
                taken.count(name) == 1,
                f"site {self.source!r} has a loop {name}, which also names something else"
                " (accepted: names of its own in `loops` and `repeats`, none of"
                f" {', '.join((*LANE_NAMES, 'bx', 'by'))})",
            )
        for function in self.functions():
            require(
                callable(function),
                f"site {self.source!r} has {short(function)} where a function of its indices is"
                " accepted",
            )
        named = {name for function in self.functions() for name in names_of(function)}
        strange = sorted(named - set(taken))
        require(
            not strange,
            f"site {self.source!r} names {', '.join(strange)} (accepted: "
            f"{', '.join(sorted(taken))})",
        )
        _set(self, hoisted=tuple(self.hoisted))
        for name in self.hoisted:
            self._check_loop(name, "hoisted")
            require(
                name not in named,
                f"site {self.source!r} depends on {name} and cannot be hoisted out of it"
                " (accepted: loops that it does not name)",
            )

    def _check_loop(self, name: str, what: str) -> None:
        require(
            name in self.loops,
            f"{what} of site {self.source!r} names {name!r}"
            f" (accepted: its `loops`: {', '.join(self.loops) or 'it has none'})",
        )

    def _trips(self, name: str, trips: object, among: str) -> int | Cycle:
        if isinstance(trips, Cycle) and among == "repeats":
            return trips
        return integer(trips, f"trips of loop {name} in site {self.source!r}", least=0)

    @property
    def runs(self) -> bool:
        """Whether all of its loops have a turn (a K-Loop over one tile has none)."""
        trips = [*self.loops.values(), *self.repeats.values()]
        return all(each.trips if isinstance(each, Cycle) else each for each in trips)

    def functions(self) -> list[Function]:
        """Return the functions whose parameter names say what the site depends on."""
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

    def __post_init__(self) -> None:
        super().__post_init__()
        _set(self, element=integer(self.element, f"element of site {self.source!r}"))
        if self.merges is not None:
            self._check_loop(self.merges, "merges")
            require(
                any(self.merges in names_of(function) for function in self.functions()),
                f"site {self.source!r} does not depend on {self.merges} and cannot merge it"
                " (accepted: a loop that it names)",
            )
        if self.op is not None:
            self._check_op(self.op)

    def _check_op(self, op: str) -> None:
        known = instruction(op)
        verb = {"load": "read", "store": "write"}[self.kind]
        require(
            known.verb in (verb, "update"),
            f"site {self.source!r} is a {self.kind}, but {known.name} is not"
            f" (accepted: instructions that {verb})",
        )
        moved = self.width * self.element
        require(
            known.is_matrix or (known.width == moved and self.merges is None),
            f"site {self.source!r} moves {moved} bytes per lane, or merges, but {known.name} moves"
            f" {known.width} (accepted: an `op` of its width, or none)",
        )

    def functions(self) -> list[Function]:
        """Return the functions whose parameter names say what the site depends on."""
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
        require(
            isinstance(self.matrix, Matrix),
            f"matrix of site {self.source!r} is {short(self.matrix)} (accepted: a Matrix)",
        )
        require(
            isinstance(self.bounds, Sequence)
            and all(isinstance(each, Sequence) and len(each) == 2 for each in self.bounds),
            f"bounds of site {self.source!r} are {short(self.bounds)}"
            " (accepted: pairs of a coordinate and its limit)",
        )
        super().__post_init__()
        for _, limit in self.bounds:
            integer(limit, f"limit of a bounds check of site {self.source!r}", least=0)
        loose = set() if self.where is None else set(names_of(self.where))
        wrong = sorted(loose & {"bx", "by", *self.repeats})
        require(
            not wrong,
            f"`where` of site {self.source!r} names {', '.join(wrong)}"
            " (accepted: thread indices and `loops`; bounds checks go into `guarded` or `bounds`)",
        )

    def functions(self) -> list[Function]:
        """Return the functions whose parameter names say what the site depends on."""
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
        for name in ("grid", "block"):
            shape = getattr(self, name)
            require(
                isinstance(shape, Sequence) and len(shape) == 2,
                f"{name} = {short(shape)} of a Launch (accepted: two integers, along x and y)",
            )
            _set(self, **{name: tuple(integer(size, f"a size of the {name}") for size in shape)})
        block_threads(self.threads)
        # CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
        require(
            self.grid[0] < 2**31 and self.grid[1] < 2**16,
            f"the grid is {self.grid[0]}x{self.grid[1]} blocks"
            " (accepted: x below 2^31, y below 65536)",
        )
        require(
            isinstance(self.sites, Iterable),
            f"sites = {short(self.sites)} of a Launch (accepted: a tuple of sites)",
        )
        _set(self, sites=tuple(self.sites))
        for site in self.sites:
            require(
                isinstance(site, SharedSite | GlobalSite),
                f"{short(site)} is not a site of a Launch (accepted: SharedSite, GlobalSite)",
            )
        _set(self, shared_bytes=integer(self.shared_bytes, "shared_bytes of a Launch", least=0))
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
    """The document's tile parameters, where they differ from those of `launch`; read-only."""
    checks: Mapping[str, Callable[[Any], object]] = field(default_factory=dict)
    """For parameters that are not numbers: what raises a BankwiseError for a wrong value.

    A sweep calls it before the work; read-only.
    """

    def __post_init__(self) -> None:
        _set(self, defaults=MappingProxyType(dict(self.defaults)))
        _set(self, checks=MappingProxyType(dict(self.checks)))
        given = inspect.signature(self.launch).parameters.values()
        names = {each.name for each in given if each.kind is each.KEYWORD_ONLY}
        strange = sorted(set(self.defaults) - names)
        require(
            not strange or any(each.kind is each.VAR_KEYWORD for each in given),
            f"kernel {self.name!r} has a default for {', '.join(strange)}"
            f" (accepted: keyword parameters of `launch`: {', '.join(sorted(names)) or 'none'})",
        )
        for name, check in self.checks.items():
            require(
                name in self.parameters and callable(check),
                f"kernel {self.name!r} has {short(check)} as a check of {name!r} (accepted: a"
                f" function of a value, for {', '.join(self.parameters) or 'no parameter'})",
            )
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

    Raises KernelError for a function whose parameters have no names, such as `max`.
    """
    try:
        return tuple(inspect.signature(function).parameters)
    except ValueError as error:
        raise KernelError(
            f"{short(function)} is not an index function: {error} (accepted: a lambda, or a def)"
        ) from error


def _set(instance: Any, **values: Any) -> None:
    """Replace a field by its checked value: the classes here are frozen."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def _one_of(site: Site, name: str, choices: tuple[str | None, ...]) -> None:
    value = getattr(site, name)
    require(
        value in choices,
        f"{name} = {value!r} of site {site.source!r} (accepted: {', '.join(map(repr, choices))})",
    )
