"""Asking nvdisasm for a kernel's instructions, and where in the source each comes from."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from simulator.errors import CubinError, ToolError, install
from simulator.sass import kept

__all__ = ["SassInstruction", "disassemble", "tool"]

_SECONDS = 60.0


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

    def __str__(self) -> str:
        return " ".join(filter(None, (self.guard, self.opcode, self.operands)))


_SPILL = '(*"SpillRefill"*)'
"""A remark of the disassembler's, behind a register that the compiler spilled."""


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
    described, listing = _printed(image)
    try:
        functions = json.loads(described)[1]
        raw = next(each for each in functions if each["function-name"] == kernel)
        code = raw["sass-instructions"]
    except (ValueError, LookupError, TypeError, StopIteration) as error:
        raise CubinError(f"nvdisasm does not show a kernel {kernel!r}") from error
    lines = _lines(listing, kernel)
    instructions = []
    for number, entry in enumerate(code):
        guard, operands = entry.get("predicate", ""), entry.get("operands", "")
        if not guard.startswith("@"):  # in `P2R R0, PR, …` nvdisasm takes PR for a guard
            guard = ""
        file, line, shown = lines.get(16 * number, ("", 0, ""))
        # In JSON nvdisasm 13.0 mixes up the operands of LDS and LDGSTS; its listing has them right.
        if "[" in operands and "`" not in shown and entry["opcode"] in shown:
            operands = shown.partition(entry["opcode"])[2].replace(" ", "")
        operands = operands.replace(_SPILL, "")
        instructions.append(
            SassInstruction(16 * number, guard, entry["opcode"], operands.strip(), file, line)
        )
    return tuple(instructions)


def _printed(image: bytes) -> tuple[str, str]:
    """Return what nvdisasm prints of a cubin: instructions in JSON, and a listing with lines.

    It takes half a second for the least kernel, so what it printed is kept.
    """
    program = Path(tool("nvdisasm"))
    name = kept.key("nvdisasm", str(program), program.stat().st_size, sha256(image).hexdigest())
    if (found := kept.find(name)) is not None:
        described, listing = json.loads(found)
        return described, listing
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.cubin"
        path.write_bytes(image)
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(_run, [*flags, str(path)]) for flags in (("-json",), ("-c", "-g"))]
            described, listing = (run.result() for run in runs)
    kept.keep(name, json.dumps([described, listing]).encode())
    return described, listing


def _run(arguments: Sequence[str]) -> str:
    """Run nvdisasm within bounds: what it reads may be anybody's."""
    try:
        done = subprocess.run(  # noqa: S603  its arguments are a flag and our own file
            [tool("nvdisasm"), *arguments],
            capture_output=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CubinError(f"nvdisasm did not answer in {_SECONDS:.0f} s") from None
    except OSError as error:
        raise ToolError(f"nvdisasm cannot be run: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise CubinError(f"nvdisasm refuses the cubin: {said[0] if said else done.returncode}")
    return done.stdout.decode(errors="replace")


def _lines(listing: str, kernel: str) -> dict[int, tuple[str, int, str]]:
    """File, line and text of the instruction at each address."""
    found: dict[int, tuple[str, int, str]] = {}
    inside, place = False, ("", 0)
    for text in listing.splitlines():
        if text.startswith(".text."):
            inside, place = text == f".text.{kernel}:", ("", 0)
        elif inside:
            if source := re.search(r'//## File "(.*?)", line (\d+)', text):
                place = (source[1], int(source[2]))
            elif code := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s*([^;]*)", text):
                found[int(code[1], 16)] = (*place, code[2])
    return found
