"""Telling what was given (source, PTX, a cubin, a fatbinary, an object, a library); its cubin."""

from __future__ import annotations

import re
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from simulator.errors import CubinError
from simulator.sass.architectures import architecture
from simulator.sass.code.bounded import bounded
from simulator.sass.code.compiling import compile_source
from simulator.sass.code.cubin import Cubin, base_name, read_cubin
from simulator.sass.code.naming import decoded
from simulator.sass.code.nvdisasm import tool
from simulator.sass.code.options import CompilerOptions, from_database
from simulator.sass.code.ptx import assemble, is_ptx

__all__ = ["SOURCE", "Given", "existing", "is_device_code", "load", "recompiled"]

SOURCE = "source.cu"
"""What CUDA source is called that was given as text."""

Given = str | bytes | Path
"""A Path, or a str naming an existing file; any other str is CUDA source; bytes are a cubin."""

_ELF, _FATBINARY = b"\x7fELF", (0xBA55ED50).to_bytes(4, "little")
_ARCHIVE = b"!<arch>\n"[:4]
_DEVICE_CODE = (_ELF, _FATBINARY, _ARCHIVE)
_CUDA_MACHINE = 190
_LARGEST = 1 << 28
_MOST_EXTRACTED = 4 << 30


def load(
    given: Given, arch: str, kernel: str | None, options: CompilerOptions | None = None
) -> tuple[Cubin, str]:
    """Return the device code and the name of the source that was compiled ("" where none was).

    Raises CubinError, CompileError, ToolError, LaunchError as the case may be.
    """
    architecture(arch)
    options = options or CompilerOptions()
    if isinstance(given, bytes | bytearray):
        return _from_bytes(bytes(given), "the bytes given", arch, kernel, options), ""
    if isinstance(given, Path):
        path = given
    elif (found := existing(given)) is not None:
        path = found
    else:
        if not re.search(r"[{;\n]", given):
            raise CubinError(f"no file {given!r} (accepted: a file, or CUDA source)")
        if is_ptx(given):
            return read_cubin(assemble(given, arch, "the PTX given", options.seconds)), ""
        return _compiled(given, arch, SOURCE, kernel, options, None), SOURCE
    try:
        _check_regular(path)
        if path.stat().st_size > _LARGEST:
            raise CubinError(f"{path} has {path.stat().st_size} bytes (accepted: up to {_LARGEST})")
        data = path.read_bytes()
    except OSError as error:
        raise CubinError(f"{path} cannot be read: {error.strerror}") from error
    if data[:4] in _DEVICE_CODE:
        return _from_bytes(data, str(path), arch, kernel, options), ""
    if b"\0" in data.rstrip(b"\0"):
        raise CubinError(
            f"{path} is neither a cubin, a fatbinary, an object nor text (its first bytes:"
            f" {data[:4].hex(' ')})"
        )
    source = decoded(data)
    if is_ptx(source):
        image = assemble(source.rstrip("\0"), arch, str(path), options.seconds)
        return read_cubin(image), ""
    if "\0" in source:
        raise CubinError(f"{path} is neither device code nor CUDA source")
    options = from_database(path) + options
    return _compiled(source, arch, str(path), kernel, options, path.absolute().parent), str(path)


def recompiled(
    text: str, path: Path | None, arch: str, kernel: str | None, options: CompilerOptions
) -> Cubin:
    """Compile a file's source with another text; None: source that came without a file.

    Raises what `load` raises of source.
    """
    if path is None:
        return _compiled(text, arch, SOURCE, kernel, options, None)
    options = from_database(path) + options
    return _compiled(text, arch, str(path), kernel, options, path.absolute().parent)


def is_device_code(path: Path) -> bool:
    """Whether a file begins as a cubin, an object or a fatbinary does."""
    try:
        _check_regular(path)
        with path.open("rb") as file:
            return file.read(4) in _DEVICE_CODE
    except OSError as error:
        raise CubinError(f"{path} cannot be read: {error.strerror}") from error


def _check_regular(path: Path) -> None:
    """Refuse a pipe or a device, which may have no end. Raises OSError where nothing is there."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise CubinError(
            f"{path} is a pipe, a socket or a device (accepted: a file on a disk; next: write its"
            " content to one)"
        )


def existing(text: str) -> Path | None:
    """Return the file that a text names; None where it names none, as source does."""
    try:
        return (
            Path(text) if len(text) < 4096 and "\n" not in text and Path(text).is_file() else None
        )
    except (OSError, ValueError):
        return None


def _compiled(
    source: str, arch: str, name: str, kernel: str | None,
    options: CompilerOptions | None, folder: Path | None,
) -> Cubin:  # fmt: skip
    """Compile source. Raises CubinError, which lists its templates, where it makes no kernel."""
    expressions = (kernel,) if kernel and "<" in kernel else ()
    compiled = compile_source(source, arch, name, expressions, options, folder)
    try:
        return replace(read_cubin(compiled.cubin), asked=compiled.symbols, notes=compiled.notes)
    except CubinError as error:
        from simulator.sass.code.signatures import signatures
        from simulator.sass.code.source import Source

        seen = [str(each) for listed in signatures(Source(source)).values() for each in listed]
        if "no kernel" not in str(error) or not seen:
            raise
        first = next(iter(signatures(Source(source)).values()))[0]
        example = f"{first.full_name}<{', '.join('…' for _ in first.template)}>"
        raise CubinError(
            f"{name} holds templates of kernels, and no instance of one: {'; '.join(seen[:12])}"
            f" (next: name an instance, --kernel '{example}')"
        ) from None


def _from_bytes(
    data: bytes, name: str, arch: str, kernel: str | None, options: CompilerOptions
) -> Cubin:
    if data[:4] == _ELF and int.from_bytes(data[18:20], "little") == _CUDA_MACHINE:
        return read_cubin(data, name)
    if data[:4] not in _DEVICE_CODE:
        raise CubinError(
            f"{name}: no cubin, fatbinary, object or library (first bytes:"
            f" {data[:4].hex(' ') or 'none'})"
        )
    return _extracted(data, name, arch, kernel, options)


def _extracted(
    data: bytes, name: str, arch: str, kernel: str | None, options: CompilerOptions
) -> Cubin:
    """Find the cubin for `arch` inside a fatbinary or a host object, by cuobjdump."""
    fitting: list[Cubin] = []
    names: set[str] = set()
    problem = "it holds only PTX, or no device code"
    with tempfile.TemporaryDirectory() as folder:
        suffix = {_ELF: ".o", _ARCHIVE: ".a"}.get(data[:4], ".fatbin")
        path = Path(folder) / f"image{suffix}"
        path.write_bytes(data)
        images: Iterator[bytes] = (each.read_bytes() for each in _files(path, "elf", name))
        if not any(Path(folder).glob("*.cubin")):
            images = _assembled(path, arch, name, options)
        for image in images:
            try:
                cubin = read_cubin(image)
            except CubinError as error:
                problem = str(error)
                continue
            names.add(cubin.architecture.name)
            if cubin.architecture.name == arch.removesuffix("a"):
                fitting.append(cubin)
    if not fitting:
        if not names:
            raise CubinError(f"{name}: {problem}")
        accepted = ", ".join(sorted(names))
        raise CubinError(f"{name} has no code for {arch} (accepted: arch {accepted})")
    if kernel is not None:
        for cubin in fitting:
            if kernel in cubin.kernels or kernel in map(base_name, cubin.kernels):
                return cubin
    return fitting[0]


def _assembled(path: Path, arch: str, name: str, options: CompilerOptions) -> Iterator[bytes]:
    """Assemble the PTX that a file holds instead of machine code, as a driver would."""
    for each in _files(path, "ptx", name):
        text = each.read_text(errors="replace")
        if is_ptx(text):
            yield assemble(text, arch, name, options.seconds)


def _files(path: Path, kind: str, name: str) -> list[Path]:
    """Let cuobjdump write what a file holds of a kind, beside it."""
    command = [tool("cuobjdump"), f"-x{kind}", "all", str(path)]
    code, _, said = bounded(command, name, str(path.parent))
    found = sorted(path.parent.glob("*.cubin" if kind == "elf" else "*.ptx"))
    if code and not found and "does not contain device code" not in said:
        why = said.strip().split(" : ")[-1].replace(str(path), "it") or f"it ended with {code}"
        raise CubinError(f"cuobjdump cannot read {name}: {why}")
    if sum(each.stat().st_size for each in found) > _MOST_EXTRACTED:
        raise CubinError(f"{name} holds too much code (accepted: up to {_MOST_EXTRACTED} bytes)")
    return found
