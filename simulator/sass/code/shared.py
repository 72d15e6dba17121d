"""The arrays of static shared memory: what a cubin still knows of them.

The assembler lays arrays out in the order in which PTX declares them, each at its alignment, and
leaves only their sum in the cubin. With `-lineinfo` the PTX is in the cubin too. So the places
follow from names, sizes and alignments; they are taken where they fill the section exactly.
Device code that is linked from parts has a symbol for each array.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from simulator.sass.code.cubin import Cubin, CubinKernel

__all__ = ["StaticArray", "name_of", "static_arrays"]

_PTX = ".nv_debug_ptx_txt"
_DECLARATION = re.compile(
    r"^\s*(?:\.visible\s+|\.weak\s+|\.common\s+)*\.shared\s+(?:\.align\s+(\d+)\s+)?\.([bsuf])(\d+)\s+"
    r"([\w$]+)((?:\[\d+\])*)\s*[;=]",
    re.MULTILINE,
)
_DYNAMIC = re.compile(r"\.extern\s+\.shared\s+\.align\s+(\d+)")


@dataclass(frozen=True)
class StaticArray:
    """An array that the code declares."""

    name: str
    """As the source has it."""
    start: int
    """Its first byte, counted from the block's first that a kernel may use."""
    size: int
    """Bytes."""
    symbol: str = ""


def static_arrays(cubin: Cubin, kernel: CubinKernel) -> tuple[StaticArray, ...]:
    """Return a kernel's static arrays in their order; none where their places are not known."""
    from elftools.elf.elffile import ELFFile

    reserved = cubin.architecture.reserved
    room = kernel.shared_bytes - reserved
    if room <= 0:
        return ()
    elf = ELFFile(io.BytesIO(cubin.image))
    sections = {section.name: section for section in elf.iter_sections()}
    found = tuple(_symbols(elf, sections, f".nv.shared.{kernel.name}", reserved))
    if found:
        return found
    if _PTX not in sections:
        return ()
    text = sections[_PTX].data().replace(b"\0", b"\n").decode(errors="replace")
    declared = list(_declared(text, kernel.name))
    # Dynamic memory begins behind them, at its own alignment.
    alignments = {1, *(int(size) for size in _DYNAMIC.findall(text))}
    by_alignment = sorted(declared, key=lambda each: -each[2])
    for order in (declared, by_alignment):
        arrays, end = _laid_out(order)
        if any(-(-end // size) * size == room for size in alignments):
            return arrays
    return ()


def name_of(symbol: str) -> str:
    """Return the name of a variable as the source has it.

    >>> name_of("_ZZ4turnPKfPfE4tile"), name_of("_ZZN2my4turnEvE4tile_0"), name_of("smem")
    ('tile', 'tile', 'smem')
    >>> name_of("_ZN2my4tileE"), name_of("_ZN12_GLOBAL__N_14tileE")
    ('tile', 'tile')
    """
    for found in re.finditer(r"E(\d+)(?=[A-Za-z_])", symbol) if symbol.startswith("_Z") else ():
        name = symbol[found.end() : found.end() + int(found[1])]
        if len(name) == int(found[1]) and re.fullmatch(
            r"(?:_\d+)?", symbol[found.end() + len(name) :]
        ):
            return name
    parts, place = [], len("_ZN")  # of a namespace: names behind their lengths
    while symbol.startswith("_ZN") and (size := re.compile(r"L?(\d+)").match(symbol, place)):
        place = size.end() + int(size[1])
        parts.append(symbol[size.end() : place])
    if parts and symbol[place:] == "E":
        return parts[-1]
    found_plain = re.fullmatch(r"_ZL?(\d+)(\w+)", symbol)
    if found_plain and len(found_plain[2]) >= int(found_plain[1]):
        return found_plain[2][: int(found_plain[1])]
    return symbol


def _symbols(elf: Any, sections: dict[str, Any], name: str, reserved: int) -> Iterator[StaticArray]:
    index = next((i for i, each in enumerate(elf.iter_sections()) if each.name == name), -1)
    table = sections.get(".symtab")
    rows = [] if table is None or index < 0 else list(table.iter_symbols())
    for symbol in sorted(rows, key=lambda each: each["st_value"]):
        if symbol["st_shndx"] == index and symbol["st_size"] > 0:
            start = symbol["st_value"] - reserved
            yield StaticArray(name_of(symbol.name), start, symbol["st_size"], symbol.name)


def _declared(text: str, kernel: str) -> Iterator[tuple[str, int, int]]:
    """Yield symbol, bytes and alignment of what the kernel, or a function of the file, declares."""
    entry = re.search(rf"\.entry\s+{re.escape(kernel)}\s*\(", text)
    if entry is None:
        return
    end = text.find("\n}", entry.start())
    body = text[entry.start() : end]
    functions = [
        text[found.start() : text.find("\n}", found.start())]
        for found in re.finditer(r"\.func\b[^;]*?\{", text)
    ]
    for found in _DECLARATION.finditer(text):
        symbol = found[4]
        inside = entry.start() < found.start() < end
        used = re.compile(rf"(?<![\w$]){re.escape(symbol)}(?![\w$])")
        above = _is_outside(text, found.start()) and any(map(used.search, (body, *functions)))
        if inside or above:
            count = 1
            for size in re.findall(r"\d+", found[5]):
                count *= int(size)
            bytes_ = int(found[3]) // 8
            yield symbol, bytes_ * count, int(found[1] or bytes_)


def _is_outside(text: str, place: int) -> bool:
    """Whether a place is in no entry's or function's body."""
    return text.rfind("\n{", 0, place) <= text.rfind("\n}", 0, place)


def _laid_out(order: Iterable[tuple[str, int, int]]) -> tuple[tuple[StaticArray, ...], int]:
    arrays, end = [], 0
    for symbol, size, alignment in order:
        start = -(-end // alignment) * alignment
        arrays.append(StaticArray(name_of(symbol), start, size, symbol))
        end = start + size
    return tuple(arrays), end
