"""What took long to make and is kept on disk: machine code, and the disassembler's output.

It lies in the folder `bankwise/code` of the user's caches (XDG_CACHE_HOME), which must be the
user's alone. A file is named by what it was made from. For machine code: the instructions, the
sources of `simulator.sass`, the processor and its features, LLVM's version. For a listing: the
cubin and the disassembler. What another user owns, what is cut or changed, and what cannot be
written counts as absent. BANKWISE_CACHE=0 turns it off.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import llvmlite
from llvmlite import binding as llvm

__all__ = ["MOST_BYTES", "MOST_FILES", "find", "keep", "key"]

MOST_BYTES = 256 << 20
"""Bytes of the folder, above which the files that were not read for longest go."""

MOST_FILES = 8192
"""Files of the folder, above which they go, too: 45,000 took longer to look at than to make."""

_OFTEN = 64  # of so many files that are written, one has the folder measured again
_DIGEST = 32  # bytes


def key(*made_from: object) -> str:
    """Name something by what it was made from, and by what made it."""
    return sha256(repr((_maker(), made_from)).encode()).hexdigest()


def find(name: str) -> bytes | None:
    """Return what was kept under a name; None: there is nothing that can be trusted."""
    folder = _folder()
    if folder is None:
        return None
    try:
        data = _read(folder / name)
    except OSError:
        return None
    digest, rest = data[:_DIGEST], data[_DIGEST:]
    if sha256(name.encode() + rest).digest() != digest:
        return None
    return rest


def keep(name: str, data: bytes) -> None:
    """Keep something under its name, where there is a place for it."""
    folder = _folder()
    if folder is None:
        return
    digest = sha256(name.encode() + data).digest()
    with suppress(OSError):
        _write(folder / name, digest + data)
        if digest[0] % _OFTEN == 0:  # chance, which a process of few files has, too
            _bound(folder)


def _read(path: Path) -> bytes:
    """Read a file of this user, and mark it as used.

    Raises OSError where there is none.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with open(handle, "rb") as file:
        if not _is_own(os.fstat(handle), stat.S_ISREG):
            raise PermissionError(f"{path} belongs to another user")
        data = file.read()
    with suppress(OSError):
        os.utime(path)
    return data


def _write(path: Path, data: bytes) -> None:
    """Write a file at once: another process sees all of it, or nothing."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _bound(folder: Path) -> None:
    """Remove what was not read for longest, where there is too much."""
    found = []
    for entry in os.scandir(folder):
        with suppress(OSError):  # another process removed it
            about = entry.stat(follow_symlinks=False)
            found.append((about.st_mtime, about.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    for place, (_, size, path) in enumerate(sorted(found)):
        if total <= MOST_BYTES and len(found) - place <= MOST_FILES:
            break
        with suppress(OSError):
            os.unlink(path)
        total -= size


def _folder() -> Path | None:
    """Return the folder, made where it is missing; None: there is no place that is this user's."""
    if os.environ.get("BANKWISE_CACHE") == "0":
        return None
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(caches) / "bankwise" / "code"
    if not folder.is_absolute():  # the standard ignores those, too
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fits = _is_own(os.stat(folder, follow_symlinks=False), stat.S_ISDIR)
    except (OSError, ValueError):  # ValueError: a zero byte in the variable
        return None
    return folder if fits else None


def _is_own(about: os.stat_result, kind) -> bool:  # type: ignore[no-untyped-def]
    """Whether it is of that kind, this user's, and no other may write it."""
    if not kind(about.st_mode):
        return False
    if not hasattr(os, "getuid"):  # Windows: the folder is in the user's own profile
        return True
    return bool(about.st_uid == os.getuid() and not about.st_mode & 0o022)


@cache
def _maker() -> tuple[str, ...]:
    """Name what makes machine code: the package, LLVM, the processor."""
    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(map(str, llvm.llvm_version_info))
    triple = llvm.get_process_triple()
    return _sources(), version, llvmlite.__version__, triple, llvm.get_host_cpu_name(), features


def _sources() -> str:
    """Return the digest of the sources from which instructions become machine code."""
    digest = sha256()
    for source in _modules(files("simulator.sass")):
        text = source.read_bytes()
        digest.update(f"{source.name} {len(text)} ".encode() + text)
    return digest.hexdigest()


def _modules(folder: Traversable) -> Iterator[Traversable]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _modules(entry)
        elif entry.name.endswith(".py"):
            yield entry
