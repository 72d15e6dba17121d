"""Options of the compiler: as nvcc spells them, as NVRTC takes them, as a build has them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from layouts.errors import accepted
from simulator.errors import CompileError
from simulator.sass.code.predefined import language
from simulator.sass.code.preprocessor import Macro

__all__ = ["COMPILERS", "CompilerOptions", "from_database", "make_options", "parse_options"]

Compiler = Literal["nvrtc", "nvcc"]
COMPILERS: tuple[Compiler, ...] = get_args(Compiler)
"""What can compile source."""

_LARGEST = 1 << 26
_LONGEST = 86_400
# Options of nvcc with a value that say nothing about device code, or what the caller says anyway.
_IGNORED_WITH_VALUE = (
    "-o", "--output-file", "-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode",
    "--generate-code", "-Xcompiler", "--compiler-options", "-Xlinker", "--linker-options",
    "-Xfatbin", "-Xnvlink", "-L", "--library-path", "-l", "--library", "-ccbin",
    "--compiler-bindir", "-x", "--x", "-O", "--optimize", "-MF", "-MT", "-MQ", "-t", "--threads",
    "-diag-suppress", "--diag-suppress", "-odir", "-cudart", "--cudart", "-rdc",
    "--relocatable-device-code", "--machine", "-m",
)  # fmt: skip
_IGNORED = {
    "-c", "--compile", "-dc", "-cubin", "--cubin", "-ptx", "-lineinfo", "--generate-line-info",
    "-g", "--debug", "-w", "--disable-warnings", "-MD", "-MMD", "-MP", "-M", "-dlink", "--verbose",
    "-v", "-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler", "-keep",
    "--expt-relaxed-constexpr", "-expt-relaxed-constexpr", "-m64", "-fPIC", "-shared", "-pthread",
    "-cuda", "-S", "-E",
}  # fmt: skip
_LONG = {"-std": "--std", "-use_fast_math": "--use_fast_math", "-maxrregcount": "--maxrregcount",
         "-ftz": "--ftz", "-prec-div": "--prec-div", "-prec-sqrt": "--prec-sqrt",
         "-fmad": "--fmad", "-default-device": "--device-as-default-execution-space",
         "--default-device": "--device-as-default-execution-space",
         "-extended-lambda": "--extended-lambda", "-expt-extended-lambda": "--extended-lambda",
         "--expt-extended-lambda": "--extended-lambda", "-Xptxas": "--ptxas-options",
         "-device-int128": "--device-int128", "-restrict": "--restrict",
         "-split-compile": "--split-compile", "-ewp": "--extra-device-vectorization"}  # fmt: skip
_WITH_VALUE = {"--std", "--maxrregcount", "--ptxas-options", "--ftz", "--fmad",
               "--prec-div", "--prec-sqrt", "--split-compile"}  # fmt: skip


@dataclass(frozen=True)
class CompilerOptions:
    """What a build says to the compiler of device code."""

    include: tuple[str, ...] = ()
    """Folders of headers: -I."""
    define: tuple[str, ...] = ()
    """Macros: "NAME" or "NAME=VALUE": -D."""
    undefine: tuple[str, ...] = ()
    """Macros taken away again: -U."""
    other: tuple[str, ...] = ()
    """Whatever else, in NVRTC's spelling."""
    compiler: Compiler = "nvrtc"
    """What compiles: NVRTC, which needs no host compiler, or a real nvcc, which does."""
    forced: tuple[str, ...] = field(default=(), repr=False)
    """Headers that are read before the source: -include."""
    seconds: float = field(default=600.0, repr=False, compare=False)
    """How long the compiler may take; CUTLASS takes minutes on a busy machine."""
    unquoted: tuple[str, ...] = field(default=(), repr=False)
    """Folders of headers that only a database asks for, elsewhere: no message quotes them."""

    def __add__(self, other: CompilerOptions) -> CompilerOptions:
        """Join two; the second's come last, and so win."""
        return CompilerOptions(
            self.include + other.include,
            self.define + other.define,
            self.undefine + other.undefine,
            self.other + other.other,
            other.compiler if other.compiler != "nvrtc" else self.compiler,
            self.forced + other.forced,
            other.seconds if other.seconds != CompilerOptions.seconds else self.seconds,
            tuple(each for each in self.unquoted if each not in map(_full, other.include))
            + other.unquoted,
        )

    def macros(self) -> dict[str, Macro]:
        """Return the macros of -D, without those of -U, and what says which C++ it is."""
        found = language(self.other)
        for each in self.define:
            name, _, value = each.partition("=")
            found[name] = Macro(name, None, value or "1")
        return {name: macro for name, macro in found.items() if name not in self.undefine}

    def arguments(self) -> list[str]:
        """Return the command line of NVRTC."""
        given = list(self.other)
        if not any(each.startswith("--std") for each in given):
            given.append("--std=c++17")
        return [
            *given,
            *(f"--define-macro={each}" for each in self.define),
            *(f"--undefine-macro={each}" for each in self.undefine),
        ]


def parse_options(given: Sequence[str], *, known_only: bool = False) -> CompilerOptions:
    """Read a compiler's command line.

    What concerns the host or the output is left out. With `known_only` so is everything that is
    not known here; without it, it is left to the compiler, which refuses what it does not know.

    >>> parse_options(["-I", "inc", "-DN=4", "-O3", "-std=c++20", "-use_fast_math"])
    CompilerOptions(include=('inc',), define=('N=4',), undefine=(), other=('--std=c++20', '--use_fast_math'), compiler='nvrtc')

    `--compiler nvcc` asks for a real nvcc, `--compile-timeout 60` gives it 60 seconds.

    Raises CompileError for an option without its value, for a compiler that is not known, and for
    a time that is not one.
    """  # noqa: E501  what Python prints
    found: dict[str, list[str]] = {"I": [], "D": [], "U": [], "other": [], "forced": []}
    todo = list(given)
    compiler: Compiler = "nvrtc"
    seconds = CompilerOptions.seconds

    def value(name: str) -> str:
        if not todo:
            raise CompileError(f"option {name} has no value")
        return todo.pop(0)

    while todo:
        text = todo.pop(0)
        name, equals, rest = text.partition("=")
        if text[:2] in ("-I", "-D", "-U"):
            found[text[1]].append(text[2:].lstrip("=") or value(text))
        elif name in ("-isystem", "--include-path", "--system-include", "-iquote"):
            found["I"].append(rest if equals else value(text))
        elif name in ("-include", "--pre-include"):
            found["forced"].append(rest if equals else value(text))
        elif name in ("--define-macro", "--undefine-macro"):
            found["D" if name == "--define-macro" else "U"].append(rest if equals else value(text))
        elif name == "--compiler" and not known_only:
            compiler = _compiler(rest if equals else value(text))
        elif name == "--compile-timeout" and not known_only:
            seconds = _seconds(rest if equals else value(text))
        elif name in _IGNORED:
            continue
        elif name in _IGNORED_WITH_VALUE:
            if not equals:
                value(text)
        elif text[:2] in ("-O", "-l", "-L", "-W", "-f") and name not in _LONG and text[1] != "-":
            continue  # of the host's compiler or its linker
        elif name in _LONG or name in _LONG.values():
            long = _LONG.get(name, name)
            if long in _WITH_VALUE:
                found["other"].append(f"{long}={rest if equals else value(text)}")
            else:
                found["other"].append(long + (f"={rest}" if equals else ""))
        elif not known_only:
            found["other"].append(text)
    return CompilerOptions(
        tuple(found["I"]),
        tuple(found["D"]),
        tuple(found["U"]),
        tuple(found["other"]),
        compiler,
        tuple(found["forced"]),
        seconds,
    )


def _full(folder: str) -> str:
    return str(Path(folder).expanduser().resolve())


def _compiler(name: str) -> Compiler:
    if name not in COMPILERS:
        raise CompileError(f"--compiler {name}: {accepted(name, COMPILERS)}")
    return name


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 1 <= found <= _LONGEST:
        raise CompileError(f"--compile-timeout {text} (accepted: seconds, from 1 to {_LONGEST:,})")
    return found


def make_options(
    include: Iterable[str | Path], define: Mapping[str, object], options: Sequence[str]
) -> CompilerOptions:
    """Read the arguments of `replay_compiled`.

    Raises CompileError for a name that is not a macro's, and for options that cannot be read.
    """
    macros = []
    for name, value in define.items():
        if not name.isidentifier():
            raise CompileError(f"define: {name!r} is not a valid name of a macro")
        macros.append(name if value is None else f"{name}={int(value) if value is True else value}")
    first = CompilerOptions(tuple(str(each) for each in include), tuple(macros))
    return first + parse_options(list(options))


def from_database(source: Path) -> CompilerOptions:
    """Read what the nearest compile_commands.json says of a file; nothing where there is none.

    Looked for beside the file, in the folders above it, and in their `build` folders. Only options
    that concern device code are taken; none of its commands is run. Builds need folders that lie
    elsewhere, as CUDA's own, but anybody may have written the database: no message quotes those.
    """
    try:
        full = source.resolve()
        places = [
            folder / name
            for folder in full.parents[:6]
            for name in ("compile_commands.json", "build/compile_commands.json")
        ]
        database = next((each for each in places if each.is_file()), None)
        if database is None or database.stat().st_size > _LARGEST:
            return CompilerOptions()
        for entry in json.loads(database.read_text()):
            folder = Path(entry.get("directory", database.parent))
            if (folder / entry["file"]).resolve() != full:
                continue
            command = entry.get("arguments") or shlex.split(entry["command"])
            read = parse_options(command[1:], known_only=True)
            folders = [each for each in (folder / each for each in read.include) if each.is_dir()]
            headers = ((folder / each).resolve() for each in read.forced)
            own = next(each for each in full.parents if database.is_relative_to(each))
            return replace(
                read,
                include=tuple(map(str, folders)),
                unquoted=tuple(
                    str(each)
                    for each in (each.resolve() for each in folders)
                    if not each.is_relative_to(own)
                ),
                forced=tuple(
                    str(each) for each in headers if each.is_relative_to(own) and each.is_file()
                ),
            )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, CompileError):
        return CompilerOptions()  # the file compiles without it, or says what is missing
    return CompilerOptions()
