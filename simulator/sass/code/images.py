"""Telling what was given: CUDA source, a cubin, a fatbinary, an object; and getting the cubin."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from simulator.errors import CubinError
from simulator.sass.architectures import architecture
from simulator.sass.code.cubin import Cubin, base_name, read_cubin
from simulator.sass.code.nvdisasm import tool
from simulator.sass.code.compiling import compile_source
from simulator.sass.code.options import CompilerOptions, from_database

__all__ = ["SOURCE", "Given", "is_device_code", "load"]

SOURCE = "source.cu"
"""What CUDA source is called that was given as text."""

Given = str | bytes | Path
"""A Path, or a str naming an existing file; any other str is CUDA source; bytes are a cubin."""

_ELF, _FATBINARY = b"\x7fELF", (0xBA55ED50).to_bytes(4, "little")
_CUDA_MACHINE = 190
_LARGEST = 1 << 28
_SECONDS = 60.0


def load(
    given: Given, arch: str, kernel: str | None, options: CompilerOptions | None = None
) -> tuple[Cubin, str]:
    """Give the device code and the name of the source that was compiled ("" where none was).

    Raises CubinError, CompileError, ToolError, LaunchError as the case may be.
    """
    architecture(arch)
    if isinstance(given, bytes | bytearray):
        return _from_bytes(bytes(given), "the bytes given", arch, kernel), ""
    if isinstance(given, Path):
        path = given
    elif (found := _existing(given)) is not None:
        path = found
    else:
        if not re.search(r"[{;\n]", given):
            raise CubinError(f"no file {given!r} (accepted: a file, or CUDA source)")
        return _compiled(given, arch, SOURCE, kernel, options, None), SOURCE
    try:
        if path.stat().st_size > _LARGEST:
            raise CubinError(f"{path} has {path.stat().st_size} bytes (accepted: {_LARGEST})")
        data = path.read_bytes()
    except OSError as error:
        raise CubinError(f"{path} cannot be read: {error.strerror}") from error
    if data[:4] in (_ELF, _FATBINARY):
        return _from_bytes(data, str(path), arch, kernel), ""
    try:
        source = data.decode()
    except UnicodeDecodeError:
        raise CubinError(
            f"{path} is neither a cubin, a fatbinary, an object nor text (its first bytes:"
            f" {data[:4].hex(' ')})"
        ) from None
    if "\0" in source:
        raise CubinError(f"{path} is neither device code nor CUDA source")
    options = from_database(path) + (options or CompilerOptions())
    return _compiled(source, arch, str(path), kernel, options, path.absolute().parent), str(path)


def is_device_code(path: Path) -> bool:
    """Whether a file begins as a cubin, an object or a fatbinary does."""
    try:
        with path.open("rb") as file:
            return file.read(4) in (_ELF, _FATBINARY)
    except OSError as error:
        raise CubinError(f"{path} cannot be read: {error.strerror}") from error


def _existing(text: str) -> Path | None:
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
    expressions = (kernel,) if kernel and "<" in kernel else ()
    return read_cubin(compile_source(source, arch, name, expressions, options, folder).cubin)


def _from_bytes(data: bytes, name: str, arch: str, kernel: str | None) -> Cubin:
    if data[:4] == _ELF and int.from_bytes(data[18:20], "little") == _CUDA_MACHINE:
        return read_cubin(data)
    if data[:4] not in (_ELF, _FATBINARY):
        raise CubinError(
            f"{name}: no cubin, fatbinary or object (first bytes: {data[:4].hex(' ') or 'none'})"
        )
    return _extracted(data, name, arch, kernel)


def _extracted(data: bytes, name: str, arch: str, kernel: str | None) -> Cubin:
    """Find the cubin for `arch` inside a fatbinary or a host object, by cuobjdump."""
    with tempfile.TemporaryDirectory() as folder:
        suffix = ".o" if data[:4] == _ELF else ".fatbin"
        path = Path(folder) / f"image{suffix}"
        path.write_bytes(data)
        try:
            subprocess.run(  # noqa: S603  our own file and flags
                [tool("cuobjdump"), "-xelf", "all", str(path)],
                cwd=folder, capture_output=True, timeout=_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise CubinError(f"{name}: cuobjdump did not answer in {_SECONDS:.0f} s") from None
        images = [each.read_bytes() for each in sorted(Path(folder).glob("*.cubin"))]
    found, problem = [], "it holds no device code but PTX, or none"
    for image in images:
        try:
            found.append(read_cubin(image))
        except CubinError as error:
            problem = str(error)
    fitting = [cubin for cubin in found if cubin.architecture.name == arch.removesuffix("a")]
    if not fitting:
        names = sorted({cubin.architecture.name for cubin in found})
        if not names:
            raise CubinError(f"{name}: {problem}")
        raise CubinError(f"{name} has no code for {arch} (accepted: arch {', '.join(names)})")
    if kernel is not None:
        for cubin in fitting:
            if kernel in cubin.kernels or kernel in map(base_name, cubin.kernels):
                return cubin
    return fitting[0]
