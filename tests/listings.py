"""What nvdisasm printed of the cubins of the tests, recorded: it takes half a second to start.

`listings.zip` has a text a cubin, under the digest of all that nvdisasm reads of it, and of its
options: what else it was compiled to, or another nvdisasm, is disassembled as ever. A cubin holds
the names of its source files, which differ from machine to machine and from run to run. They are no
part of the digest, and in the text a number stands for each.

    python -m tests.listings              # run the tests; record what they ask for, drop the rest
    python -m tests.listings tests/FILE   # run these alone, and drop nothing
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

__all__ = ["Listings", "Plugin", "digest_and_files"]

ROOT = Path(__file__).parents[1]
ARCHIVE = Path(__file__).with_name("listings.zip")

_PLACE = re.compile(r"^(\s*//## .*)$", re.MULTILINE)
_NAME = re.compile(r'"([^"]*)"')
FOREIGN = re.compile(r"(?<![\w.<])/(?:home|root|tmp|usr|opt|work|Users|private|mnt)/|site-packages")
"""Where a machine's folders begin."""


class Listings:
    """The recorded listings, in place of `nvdisasm._listing` of a module."""

    def __init__(self, nvdisasm: ModuleType, kept: Path | None) -> None:
        self.true = nvdisasm._listing
        self.program = cache(
            lambda: sha256(
                Path(nvdisasm.tool("nvdisasm")).read_bytes() + repr(nvdisasm._SHOWN).encode()
            ).digest()
        )
        self.kept = kept
        """A folder that gets each listing that is asked for."""
        self.archive = zipfile.ZipFile(ARCHIVE) if ARCHIVE.exists() else None
        self.recorded = set(self.archive.namelist() if self.archive else ())
        self.found: set[str] = set()
        self.missed: set[str] = set()

    def __call__(self, image: bytes) -> str:
        """Return the listing of a cubin, as `nvdisasm._listing` does."""
        seen = digest_and_files(image)
        if seen is None:
            return str(self.true(image))
        name = sha256(self.program() + seen[0]).hexdigest()[:32]
        if self.archive and name in self.recorded:
            text = self.archive.read(name).decode()
            self.found.add(name)
        else:
            listing = str(self.true(image))
            self.missed.add(name)
            text = without_names(listing, seen[1])
            if with_names(text, seen[1]) != listing or FOREIGN.search(text):
                return listing
        if self.kept:
            (self.kept / name).write_text(text)
        return with_names(text, seen[1])


class Plugin:
    """What pytest does with the listings: it takes them, and says how many were missing."""

    def __init__(self) -> None:
        from simulator.sass.code import nvdisasm

        kept = os.environ.get("BANKWISE_LISTINGS")
        self.listings = Listings(nvdisasm, Path(kept) if kept else None)
        nvdisasm._listing = self.listings
        self.found: set[str] = set()
        self.missed: set[str] = set()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell what was found, to the process that started this one."""
        self.found |= self.listings.found
        self.missed |= self.listings.missed
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["listings"] = [sorted(self.found), sorted(self.missed)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a process of pytest-xdist tells."""
        found, missed = getattr(node, "workeroutput", {}).get("listings", ([], []))
        self.found |= set(found)
        self.missed |= set(missed)

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Say what was missing (another tool, a new test) or, of all tests, what none asked for."""
        is_whole = config.args_source == pytest.Config.ArgsSource.TESTPATHS
        if self.missed or (is_whole and self.found != self.listings.recorded):
            terminalreporter.write_line(
                f"nvdisasm: {len(self.missed)} listings made anew, {len(self.found)} of"
                f" {len(self.listings.recorded)} recorded ones taken"
                " (python -m tests.listings records them)"
            )


def without_names(listing: str, files: list[str]) -> str:
    """Return a listing with numbers instead of its files' names."""

    def numbered(name: re.Match[str]) -> str:
        return f'"@{files.index(name[1])}"' if name[1] in files else name[0]

    return _PLACE.sub(lambda line: _NAME.sub(numbered, line[1]), listing)


def with_names(text: str, files: list[str]) -> str:
    """Return a listing with files' names instead of numbers."""

    def named(name: re.Match[str]) -> str:
        number = name[1].removeprefix("@")
        return f'"{files[int(number)]}"' if number != name[1] else name[0]

    return _PLACE.sub(lambda line: _NAME.sub(named, line[1]), text)


def digest_and_files(image: bytes) -> tuple[bytes, list[str]] | None:
    """Return a digest of a cubin but for its files' names, and these; None: it cannot be read.

    Of a table of lines, the names and what depends on their length are left out. Where two
    entries have one name, the digest says so.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(io.BytesIO(image))
        header = elf.header
        parts: list[object] = [header["e_type"], header["e_machine"], header["e_flags"],
                               image[:16]]  # fmt: skip
        files: list[str] = []
        head = 0
        for section in elf.iter_sections():
            about = [section[f"sh_{name}"] for name in
                     ("type", "flags", "addr", "link", "info", "addralign", "entsize")]  # fmt: skip
            data: Any = section["sh_size"]
            if section["sh_type"] != "SHT_NOBITS":
                data = section.data()
            if section.name == ".debug_line":
                data, files, head = _lines(data)
            elif section.name in (".rel.debug_line", ".rela.debug_line"):  # places in it
                data = [
                    (each["r_offset"] - head, each["r_info"], *_addend(each.entry))
                    for each in section.iter_relocations()
                ]
            parts.append((section.name, about, data))
    except (ELFError, ValueError, IndexError, AttributeError, KeyError):
        return None
    return sha256(repr(parts).encode()).digest(), files


def _addend(relocation: Mapping[str, int]) -> list[int]:
    """Return a relocation's addend, which that of an older architecture has elsewhere."""
    return [relocation["r_addend"]] if "r_addend" in relocation else []


def _lines(data: bytes) -> tuple[object, list[str], int]:
    """Return a table of lines but for its files' names; these; the bytes of its head.

    Raises ValueError for all but one table of DWARF 2 or 3.
    """
    if not data:
        return b"", [], 0
    length, version = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:6], "little")
    end = 10 + int.from_bytes(data[6:10], "little")
    if length + 4 != len(data) or version not in (2, 3):
        raise ValueError
    at = 15 + data[14] - 1
    fixed, folders, files = data[10:at], [""], []
    while data[at]:
        stop = data.index(0, at)
        folders.append(data[at:stop].decode())
        at = stop + 1
    at += 1
    while data[at]:
        stop = data.index(0, at)
        name, at = data[at:stop].decode(), stop + 1
        numbers = []
        for _ in range(3):  # folder, time, size
            number = shift = 0
            while True:
                byte = data[at]
                number |= (byte & 127) << shift
                shift, at = shift + 7, at + 1
                if byte < 128:
                    break
            numbers.append(number)
        folder = folders[numbers[0]]
        files.append(f"{folder}/{name}" if folder else name)
    same = [files.index(name) for name in files]
    return (version, fixed, same, data[at + 1 :]), files, end


def _pack(folder: Path) -> str:
    """Write the archive from a folder of listings; what is to be said of it."""
    names = sorted(each.name for each in folder.iterdir())
    with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_LZMA) as archive:
        for name in names:  # a date of its own would make each archive another
            archive.writestr(zipfile.ZipInfo(name), (folder / name).read_bytes(), zipfile.ZIP_LZMA)
    return f"{ARCHIVE.name}: {len(names)} listings, {ARCHIVE.stat().st_size:,} bytes"


def main() -> int:
    """Run the tests and write the archive; an exit code."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--quiet", *sys.argv[1:]], cwd=ROOT,
            env={**os.environ, "BANKWISE_LISTINGS": folder},
        )  # fmt: skip
        if done.returncode == 0:
            if sys.argv[1:] and ARCHIVE.exists():
                with zipfile.ZipFile(ARCHIVE) as archive:
                    archive.extractall(folder)
            print(_pack(Path(folder)))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
