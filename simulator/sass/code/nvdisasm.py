"""Asking nvdisasm for a kernel's instructions, and where in the source each comes from."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from posixpath import normpath

from simulator.errors import CubinError, ToolError, install
from simulator.sass import kept
from simulator.sass.code.bounded import bounded
from simulator.sass.code.headers import headers_folders

__all__ = ["SassInstruction", "disassemble", "tool"]

_SHOWN = ("-c", "-gi")
"""Code alone, with lines of the source, and of the source that these were inlined into."""


@dataclass(frozen=True)
class SassInstruction:
    """One SASS instruction as the disassembler prints it."""

    address: int
    guard: str
    """@P0, @!UP1, or nothing."""
    opcode: str
    """With its modifiers: LDS.128."""
    operands: str
    file: str = ""
    line: int = 0
    header: str = ""
    """Of the toolkit: where it was inlined from, into the line above; nothing: it was not."""
    calls: tuple[tuple[str, int], ...] = ()
    """The lines into which that line was inlined, file and line, the nearest first."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.guard, self.opcode, self.operands)))


_CODE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s*(@!?\w+)?\s*([^\s;]+)\s*([^;]*)")
"""An instruction: its address, guard, opcode and operands."""

_REMARK = re.compile(r"\(\*.*?\*\)")
"""A remark of the disassembler's: (*"SpillRefill"*) behind a register, targets behind a branch."""

_SPACED = re.compile(r"(c\[0x[0-9a-f]+\])\s+\[")
"""A constant of which a half is taken: c[0x0] [0x19c].H1_H1."""

_PLACE = re.compile(r'\s*//## File "(.*?)", line (\d+)( inlined at )?')
"""A line of the source; where it was inlined, the line into which follows."""

_TOOLKIT = re.compile(
    r"/nvidia/[^/]+/include/|/targets/[^/]+/include/|/(?:local|opt)/cuda[^/]*/include/|/cccl/"
)
"""Headers that are nobody's own: of the packages, or of a toolkit."""

_LABEL = re.compile(r"`\(([^)]+)\)")
"""Where a branch goes: a label in front of an instruction, or a function, which keeps its name."""


@lru_cache
def tool(name: str) -> str:
    """Find a program of the CUDA toolkit: on PATH, under CUDA_HOME, or from its PyPI package.

    Raises ToolError where there is none.
    """
    found = shutil.which(name)
    if found:
        return found
    places = [Path(os.environ["CUDA_HOME"]) / "bin"] if "CUDA_HOME" in os.environ else []
    try:
        import nvidia
    except ImportError:
        pass
    else:
        for root in nvidia.__path__:
            places += sorted(Path(root).glob("cu*/bin"), reverse=True)
            places += sorted(Path(root).glob("*/bin"))
    for place in places:
        if (place / name).is_file() and os.access(place / name, os.X_OK):
            return str(place / name)
    raise ToolError(f"no {name} found ({install('sass')}; or put a CUDA toolkit on PATH)")


@lru_cache(maxsize=32)
def disassemble(image: bytes, kernel: str) -> tuple[SassInstruction, ...]:
    """Disassemble one kernel of a cubin.

    Raises CubinError where nvdisasm cannot read it, ToolError where there is none.
    """
    instructions, labels = _read(_listing(image), kernel)
    if not instructions:
        raise CubinError(f"nvdisasm does not show a kernel {kernel!r}")

    def place(found: re.Match[str]) -> str:
        return hex(labels[found[1]]) if found[1] in labels else found[1]

    return tuple(replace(each, operands=_LABEL.sub(place, each.operands)) for each in instructions)


def _listing(image: bytes) -> str:
    """Return what nvdisasm prints of a cubin: instructions, labels, and lines of the source.

    It takes half a second for the least kernel, so what it printed is kept. Its JSON would take as
    long again, and mixes up operands of LDS and LDGSTS (nvdisasm 13.0).
    """
    program = Path(tool("nvdisasm"))
    name = sha256(f"{program} {program.stat().st_size} {_SHOWN} ".encode() + image).hexdigest()
    if (found := kept.find(name)) is not None:
        return found.decode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.cubin"
        path.write_bytes(image)
        listing = _run([*_SHOWN, str(path)])
    kept.keep(name, listing.encode())
    return listing


def _read(listing: str, kernel: str) -> tuple[list[SassInstruction], dict[str, int]]:
    """Return a kernel's instructions, and the address of each label among them."""
    instructions: list[SassInstruction] = []
    labels: dict[str, int] = {}
    inside, places = False, list[tuple[str, int]]()
    is_whole = True  # what was said of the source
    waiting: list[str] = []  # labels of the next instruction
    for text in listing.splitlines():
        if text.startswith(".text."):
            inside, places, waiting = text == f".text.{kernel}:", [], []
        elif not inside:
            continue
        elif label := re.fullmatch(r"(\.L\S+):\s*", text):
            waiting.append(label[1])
        elif source := _PLACE.match(text):
            places = [*([] if is_whole else places), (source[1], int(source[2]))]
            is_whole = source[3] is None
        elif code := _CODE.match(text):
            address, guard, opcode, operands = int(code[1], 16), code[2] or "", code[3], code[4]
            labels.update(dict.fromkeys(waiting, address))
            waiting = []
            operands = _SPACED.sub(r"\1[", _REMARK.sub("", operands).strip())
            operands = re.sub(r"\s*,\s*|\s+", ",", operands)
            if opcode == "P2R":  # of all predicates; the second operand is always this
                operands = operands.replace(",PR,", ",")
            instructions.append(SassInstruction(address, guard, opcode, operands, *_own(places)))
    return instructions, labels


def _own(
    places: Sequence[tuple[str, int]],
) -> tuple[str, int, str, tuple[tuple[str, int], ...]]:
    """Return the line of an instruction, the toolkit's header it comes from, and who calls it.

    `places`: its line, then the lines into which that was inlined. What a header of the toolkit
    has is named by the line that calls it: cuda::ptx's and cuda::barrier's, say.

    >>> _own([("/usr/local/cuda/include/cuda/ptx", 9), ("/home/me/a.cu", 5), ("/home/me/a.cu", 7)])
    ('/home/me/a.cu', 5, '/usr/local/cuda/include/cuda/ptx', (('/home/me/a.cu', 7),))
    """
    if not places:
        return "", 0, "", ()
    own = (number for number, each in enumerate(places) if not _is_toolkits(each[0]))
    at = next(own, 0)
    file, line = places[at]
    header = places[0][0] if _is_toolkits(places[0][0]) else ""
    return file, line, header, tuple(places[at + 1 :])


@lru_cache(maxsize=1024)
def _is_toolkits(file: str) -> bool:
    """Whether a file is a header of a toolkit: of this machine's, or of where a cubin was made."""
    place = normpath(file)  # nvcc 13 writes /usr/local/cuda/./././include
    return bool(_TOOLKIT.search(place)) or any(
        place.startswith(f"{folder}/") for folder in headers_folders()
    )


def _run(arguments: Sequence[str]) -> str:
    """Run nvdisasm within bounds: what it reads may be anybody's."""
    code, printed, said = bounded([tool("nvdisasm"), *arguments], "the cubin")
    if code:
        why = said.strip().splitlines()
        raise CubinError(f"nvdisasm refuses the cubin: {why[0] if why else code}")
    return printed
