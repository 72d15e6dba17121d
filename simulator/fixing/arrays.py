"""The arrays in the shared memory that a replay touched, and which accesses touch each.

Static arrays are known from the PTX in the code, or by symbols. What is left, dynamic memory and
structures, is told apart by the bytes that each instruction touches: instructions that meet in a
byte touch one array, and so do those of the same source lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.fixing.declared import Declared, declarations, lines_of, resolved
from simulator.law.masks import active_table
from simulator.sass.code.cubin import Cubin
from simulator.sass.code.preprocessor import Macro, plain
from simulator.sass.code.shared import StaticArray, static_arrays
from simulator.sass.lift.program import Program
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.witness import Touched, UnitAccess

__all__ = ["SharedArray", "active_lanes", "find_arrays"]

_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b(?=\s*\[)")
_KERNEL = re.compile(r"__global__[^;{]*?\w\s*\(([^(){};]*)\)\s*\{")
_POINTER = (
    r"\*\s*(\w+)\s*=\s*(?:\([^()]*\)\s*|reinterpret_cast\s*<[^>]*>\s*\(\s*)?&?\s*{}\b(?!\s*\+)"
)
_TURN = 128


@dataclass(frozen=True, eq=False)
class SharedArray:
    """An array of shared memory, and what touches it."""

    name: str
    starts: tuple[int, ...]
    """Where it begins, counted from the block's first byte; several where it lies in pieces."""
    size: int
    """Bytes of each piece."""
    declared: Declared | None
    """How the source declares it, where that is known."""
    is_static: bool
    rows: NDArray[np.int64]
    """Numbers of its accesses in `Touched`."""
    lines: tuple[int, ...]
    """Source lines of its accesses."""
    files: tuple[str, ...]
    units: tuple[UnitAccess, ...] = ()
    """Accesses of other units than the load-store unit."""
    uses: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Names that its lines have for it, where they are several, and the lines of each."""
    joined: tuple[int, ...] = ()
    """Lines of accesses that reach several arrays at once, for which these are taken as one."""

    @property
    def bytes(self) -> int:
        """Bytes of all pieces."""
        return self.size * len(self.starts)

    @property
    def called(self) -> str:
        """Its name in an access: where it has none of its own, that of the memory that it is in."""
        if self.name.isidentifier():
            return self.name
        return self.declared.name if self.declared else "s"

    def within(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return bytes of the block as bytes of the array, its pieces one after the other."""
        starts = np.array(self.starts)
        piece = np.clip(np.searchsorted(starts, places, side="right") - 1, 0, len(starts) - 1)
        found: NDArray[np.int64] = places - starts[piece] + piece * self.size
        return found


def active_lanes(touched: Touched, sites: Sequence[MemorySite]) -> NDArray[np.bool_]:
    """Return the lanes whose addresses mean something, (n, 32)."""
    lanes = active_table(touched.masks)
    rows_of = np.array([_lanes_of(site) for site in sites] or [32])
    return lanes & (np.arange(32) < rows_of[touched.sites][:, None])


def _lanes_of(site: MemorySite) -> int:
    """Return how many lanes give addresses: 8 for each matrix."""
    name, *modifiers = site.instruction.opcode.split(".")
    if name not in ("LDSM", "STSM"):
        return 32
    return 32 if "4" in modifiers else 16 if "2" in modifiers else 8


def find_arrays(
    touched: Touched, program: Program, cubin: Cubin, block_bytes: int,
    sources: Mapping[str, tuple[str, ...]], given: Mapping[str, Macro] | None = None,
) -> list[SharedArray]:  # fmt: skip
    """Return the arrays that a replay touched, in the order of their places.

    Parameters
    ----------
    touched
        The places that its accesses reached.
    program, cubin
        The kernel, as it was decoded and as it was compiled.
    block_bytes
        Of shared memory, static and dynamic.
    sources
        Lines of each file.
    given
        The macros that the sources have from elsewhere.
    """
    return _Finder(touched, program, cubin, block_bytes, sources, given).arrays()


class _Finder:
    def __init__(
        self, touched: Touched, program: Program, cubin: Cubin, block_bytes: int,
        sources: Mapping[str, tuple[str, ...]], given: Mapping[str, Macro] | None,
    ) -> None:  # fmt: skip
        self.touched, self.sites, self.sources = touched, program.sites, sources
        self.given = given
        self.kernel = program.kernel.name
        self.program = program
        self.active = active_lanes(touched, program.sites)
        # Idle lanes stand where an active one does.
        first = touched.places[np.arange(len(touched.places)), self.active.argmax(axis=1)]
        self.places = np.where(self.active, touched.places, first[:, None])
        self.is_real = self.active.any(axis=1)
        self.known = static_arrays(cubin, program.kernel)
        self.declared = declarations(sources, given)
        self.others = _parameters(sources) | {each.name for each in self.known}
        end = max((each.start + each.size for each in self.known), default=0)
        static = max(program.kernel.shared_bytes - cubin.architecture.reserved, 0)
        self.regions: list[tuple[int, int, StaticArray | None]] = [
            (each.start, each.size, each) for each in self.known
        ]
        if static > end:
            self.regions.append((end, static - end, None))
        if block_bytes > static:
            self.regions.append((static, block_bytes - static, None))
        self.static = static

    def arrays(self) -> list[SharedArray]:
        found: list[SharedArray] = []
        low, high = self.places.min(axis=1, initial=1 << 40), self.places.max(axis=1, initial=-1)
        for start, size, known, several in self._joined(low, high):
            inside = self.is_real & (low >= start) & (high < start + size)
            rows = np.flatnonzero(inside)
            units = tuple(each for each in self.touched.units if start <= each.start < start + size)
            if not len(rows):
                continue
            if several:
                array = self._array(" and ".join(several), (start,), size, None, rows, units)
                ends = [first + size for first, size, _ in self.regions]
                crosses = rows[np.searchsorted(ends, low[rows], side="right")
                               != np.searchsorted(ends, high[rows], side="right")]  # fmt: skip
                lines = sorted({line for _, line in self._lines(crosses) if line})
                found.append(replace(array, joined=tuple(lines)))
                continue
            declared = self._declared(known, start) if known else None
            is_one = declared is None or declared.element or declared.in_union
            if known and (is_one or len(self._parts(rows)) == 1):
                found.append(self._array(known.name, (start,), size, declared, rows, units))
            else:
                found += self._split(start, size, known, rows, units)
        names = [each.name for each in found]
        return [
            replace(each, name=f"{each.name} (lines {', '.join(map(str, each.lines))})")
            if names.count(each.name) > 1 and each.lines
            else each
            for each in found
        ]

    def _joined(
        self, low: NDArray[np.int64], high: NDArray[np.int64]
    ) -> Iterator[tuple[int, int, StaticArray | None, tuple[str, ...]]]:
        """Yield the regions, those as one that one access reaches across; of such, their names."""
        ends = np.array([start + size for start, size, _ in self.regions] or [0])
        first, last = (
            np.searchsorted(ends, places[self.is_real], side="right") for places in (low, high)
        )
        place = 0
        while place < len(self.regions):
            end, before = place, -1
            while end != before:
                before = end
                end = min(int(last[first <= end].max(initial=end)), len(self.regions) - 1)
            start, size, known = self.regions[place]
            if end == place:
                yield start, size, known, ()
            else:
                regions = self.regions[place : end + 1]
                joined = tuple(each.name if each else "other memory" for _, _, each in regions)
                yield start, int(ends[end]) - start, None, joined
            place = end + 1

    def _declared(self, array: StaticArray, start: int) -> Declared | None:
        """Find the declaration of a static array, in the source of the instructions."""
        named = [each for each in self.declared if each.name == array.name and not each.is_dynamic]
        fitting = [
            resolved(each, array.size, self.kernel, self.sources, self.given) for each in named
        ]
        whole = [each for each in fitting if each.bytes is not None]
        exact = [each for each in whole if each.bytes == array.size]
        chosen = exact or [each for each in fitting if each not in whole or each.in_union]
        if len(chosen) > 1:  # several kernels have one of that name: that of its accesses' braces
            last = self.places.max(axis=1)
            rows = self.is_real & (last >= start) & (last < start + array.size)
            lines = self._lines(np.flatnonzero(rows))
            chosen = [each for each in chosen if self._is_around(each, lines)] or chosen
            above = [
                each
                for each in chosen
                if any(file == each.file and line >= each.line for file, line in lines)
            ]
            chosen = above[-1:] or chosen[:1]
        return chosen[0] if chosen else None

    def _is_around(self, declared: Declared, lines: Sequence[tuple[str, int]]) -> bool:
        """Whether one of some lines is where an array can be named."""
        found = lines_of(declared, "\n".join(self.sources[declared.file]))
        return any(file == declared.file and line in found for file, line in lines)

    def _lines(self, rows: NDArray[np.int64]) -> list[tuple[str, int]]:
        numbers = np.unique(self.touched.sites[rows])
        found = {
            (site.instruction.file, site.instruction.line or 0)
            for site in (self.sites[number] for number in numbers.tolist())
        }
        return sorted(found)

    def _array(
        self, name: str, starts: tuple[int, ...], size: int, declared: Declared | None,
        rows: NDArray[np.int64], units: tuple[UnitAccess, ...],
    ) -> SharedArray:  # fmt: skip
        places = self._lines(rows)
        # Lines of the compiler's own headers say nothing to the reader.
        own = [place for place in places if place[0] in self.sources] or places
        return SharedArray(
            name, starts, size, declared, starts[0] < self.static, rows,
            tuple(sorted({line for _, line in own if line})),
            tuple(sorted({file for file, _ in places if file})), units, self._uses(name, own),
        )  # fmt: skip

    def _uses(
        self, name: str, places: Sequence[tuple[str, int]]
    ) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Find the pointers to an array under which its lines access it."""
        found: dict[str, list[int]] = {}
        for file, line in places:
            lines = self.sources.get(file, ())
            if not name.isidentifier() or not 0 < line <= len(lines):
                continue
            pointers = re.findall(_POINTER.format(name), plain("\n".join(lines)))
            for each in sorted(
                {name, *pointers} & set(_IDENTIFIER.findall(plain(lines[line - 1])))
            ):
                found.setdefault(each, []).append(line)
        uses = tuple((each, tuple(at)) for each, at in found.items())
        return uses if len(uses) > 1 else ()

    # ---- Memory without names. -----------------------------------------------------------------
    def _parts(self, rows: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        """Group accesses that meet in a byte, or are of the same lines: rows, and bytes touched."""
        end = int(self.places.max(initial=0)) + 16
        parts: list[tuple[list[int], NDArray[np.bool_], frozenset[tuple[str, int]]]] = []
        for number in np.unique(self.touched.sites[rows]).tolist():
            own = rows[self.touched.sites[rows] == number]
            site = self.sites[number]
            bytes_ = np.zeros(end + 16, dtype=bool)
            for byte in range(max(site.width, 1)):
                bytes_[self.places[own][self.active[own]] + byte] = True
            joined, lines = own.tolist(), frozenset(self._lines(own))
            rest = []
            for other in parts:
                if (other[1] & bytes_).any():
                    joined, bytes_, lines = joined + other[0], other[1] | bytes_, lines | other[2]
                else:
                    rest.append(other)
            parts = [*rest, (joined, bytes_, lines)]
        by_lines: dict[frozenset[tuple[str, int]] | int, tuple[list[int], NDArray[np.bool_]]] = {}
        for place, (joined, bytes_, lines) in enumerate(parts):
            key = lines if any(line for _, line in lines) else place
            before = by_lines.get(key, ([], np.zeros_like(bytes_)))
            by_lines[key] = before[0] + joined, before[1] | bytes_
        return [(np.array(sorted(joined)), bytes_) for joined, bytes_ in by_lines.values()]

    def _split(
        self, start: int, size: int, known: StaticArray | None, rows: NDArray[np.int64],
        units: tuple[UnitAccess, ...],
    ) -> list[SharedArray]:  # fmt: skip
        parts = self._parts(rows)
        end = start + size
        owner = np.full(max(end, max(len(bytes_) for _, bytes_ in parts)), -1)
        for number, (_, bytes_) in enumerate(parts):
            owner[np.flatnonzero(bytes_)] = number
        for unit in units:  # what only other units touch is another array
            part = owner[unit.start : unit.start + unit.size]
            part[part == -1] = len(parts)
        found = []
        for number, (own, _) in enumerate(parts):
            pieces = _pieces(owner[:end], number)
            length = max(stop - first for first, stop in pieces)
            length = _rounded(owner[:end], number, [first for first, _ in pieces], length)
            starts = tuple(first for first, _ in pieces)
            name, declared = self._named(own, known, len(parts))
            inside = tuple(
                each
                for each in units
                if any(first <= each.start < first + length for first in starts)
            )
            found.append(self._array(name, starts, length, declared, own, inside))
        return sorted(found, key=lambda each: each.starts)

    def _named(
        self, rows: NDArray[np.int64], known: StaticArray | None, parts: int
    ) -> tuple[str, Declared | None]:
        """Name an array by its lines: the name that all of them index."""
        dynamic = [each for each in self.declared if each.is_dynamic]
        places = self._lines(rows)
        if parts == 1 and known is not None:
            return known.name, None
        if parts == 1 and len({each.name for each in dynamic}) == 1:
            return dynamic[0].name, dynamic[0]
        common: set[str] | None = None
        for file, line in places:
            lines = self.sources.get(file, ())
            if not 0 < line <= len(lines):
                continue
            names = set(_IDENTIFIER.findall(plain(lines[line - 1]))) - self.others
            common = names if common is None else common & names
        base = dynamic[0] if dynamic and known is None else None
        if base is not None and base.element == 1:  # bytes that stand for other types
            base = replace(base, element=None)
        if common and len(common) == 1:
            return common.pop(), base
        at = min(int(self.places[rows].min()), 1 << 30)
        of = known.name if known else dynamic[0].name if dynamic else "shared memory"
        lines_ = sorted({line for _, line in places if line})
        where = f"lines {', '.join(map(str, lines_))}" if lines_ else f"byte {at}"
        return f"{of} ({where})", base


def _parameters(sources: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Name the parameters of all kernels: global memory."""
    found: set[str] = set()
    for lines in sources.values():
        for given in _KERNEL.findall(plain("\n".join(lines))):
            found |= set(re.findall(r"([A-Za-z_]\w*)\s*(?:,|$)", given))
    return found


def _pieces(owner: NDArray[np.int64], number: int) -> list[tuple[int, int]]:
    """Return the runs of bytes of one owner: gaps that nobody owns do not end one."""
    own = np.flatnonzero(owner == number)
    others = np.flatnonzero((owner != number) & (owner != -1))
    cuts = np.flatnonzero(np.searchsorted(others, own[1:]) != np.searchsorted(others, own[:-1]))
    firsts = [int(own[0]), *(int(own[cut + 1]) for cut in cuts)]
    lasts = [*(int(own[cut]) for cut in cuts), int(own[-1])]
    return [(first, last + 1) for first, last in zip(firsts, lasts, strict=True)]


def _rounded(owner: NDArray[np.int64], number: int, starts: Sequence[int], length: int) -> int:
    """Extend a piece to whole turns of the banks, where nobody else has the bytes."""
    whole = -(-length // _TURN) * _TURN
    for first in starts:
        stop = first + whole
        inside = owner[first:stop]
        if stop > len(owner) or ((inside != number) & (inside != -1)).any():
            return length
    return whole
