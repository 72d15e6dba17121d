"""CUDA source to a cubin, in a process of its own.

Source can make a compiler loop, crash or eat memory: the child has a time limit and a memory limit,
and an empty folder to stand in. What it says comes back as text, less what it says of files that
are not the source's. It needs no GPU.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from simulator.errors import CompileError, ToolError
from simulator.sass.architectures import WITH_OWN_FEATURES
from simulator.sass.code.diagnostics import explain, warned
from simulator.sass.code.headers import PRELUDE, headers_folders, is_standard
from simulator.sass.code.naming import check_length, plain_path
from simulator.sass.code.nvcc import request_for
from simulator.sass.code.options import CompilerOptions
from simulator.sass.code.repairs import without_static
from simulator.sass.code.translation import Translation, translate

__all__ = ["Compiled", "child", "compile_source"]


# What the compiler asks for in its own messages, and the option that gives it.
_RETRIES = {
    "default-device": "--device-as-default-execution-space",
    "device-as-default-execution-space": "--device-as-default-execution-space",
    "__int128": "--device-int128",
}
# Where nvcc compiles, g++'s headers bring such types with others.
_FORWARD = re.compile(r"incomplete (?:class )?type \"cuda::std::(?:\w+::)?(tuple|array|optional)<")
_NEWER = re.compile(r"\"(?:concept|requires|consteval|constinit)\" is undefined")
_DRIVER = re.compile(r"#[ \t]*include[ \t]*[<\"]cuda\.h[>\"]")
_NOT_THERE = re.compile(r"(?:could not|cannot) open source file \"([^\"]+)\"")


@dataclass(frozen=True)
class Compiled:
    """A cubin, and the symbols of the templates that were asked for."""

    cubin: bytes
    symbols: dict[str, str] = field(default_factory=dict)
    """By expression, such as "gemm<64, 64>"."""
    notes: tuple[str, ...] = ()
    """What a reader of its figures must know: macros that did not take effect."""


def compile_source(
    source: str,
    arch: str,
    name: str,
    expressions: tuple[str, ...] = (),
    options: CompilerOptions | None = None,
    folder: Path | None = None,
) -> Compiled:
    """Compile CUDA source for one architecture, such as sm_90; for sm_90a where it must be.

    Raises CompileError with the cause, the way out and the compiler's messages, ToolError where the
    compiler is missing.

    Parameters
    ----------
    source
        The text.
    arch
        The architecture, such as sm_90.
    name
        The file's name, for messages and line numbers.
    expressions
        Instances of templates: "gemm<64, 64>".
    options
        What nvcc would be given.
    folder
        The file's own; None: the source came without a file.
    """
    check_length(source, name)
    options = options or CompilerOptions()
    if options.compiler == "nvcc":
        return _by_nvcc(source, arch, name, expressions, options, folder)
    rest = (arch, name, expressions, options, source)
    hide_in: set[str] = set()
    drop: set[str] = set()
    first: CompileError | None = None
    translated = partial(
        translate, source, folder, options.include, options.define, asked=expressions,
        forced=options.forced, unquoted=options.unquoted,
    )  # fmt: skip
    while True:
        translation = translated(hide_in=hide_in, drop=drop)
        try:
            return compile_translation(translation, *rest)
        except CompileError as error:
            first = first or error
            # A header may name NVRTC's macro and leave host code in sight all the same.
            new = translation.whole & error.headers
            hide_in |= new
            if not new:  # a library of the host's whose macros break the parser's grammar
                named = error.headers - drop
                new = frozenset(
                    name
                    for name, each in translation.files
                    if name in named and each.is_hosts_and_unclear
                )
                drop |= new
        if not new:
            break
    # Macros may make a kernel look like the host's code: then the file is tried as it stands.
    other = translated(keep_whole=not hide_in, drop=drop)
    if not hide_in:
        if other.source == source:
            raise first
        other = replace(other, source=source)
    try:
        return compile_translation(other, *rest)
    except CompileError:
        raise first from None


def compile_translation(
    translation: Translation, arch: str, name: str, expressions: tuple[str, ...],
    options: CompilerOptions, source: str,
) -> Compiled:  # fmt: skip
    """Compile what `translate` made of a source. Raises as `compile_source` does.

    Parameters
    ----------
    translation
        What `translate` made.
    arch, name, expressions, options, source
        Those of `compile_source`.
    """
    extra: list[str] = []
    newer = False
    headers = dict(translation.headers)
    if any(map(_DRIVER.search, (translation.source, *headers.values()))):
        headers.setdefault("stdlib.h", "")  # else found out by compiling three times
        extra.append(_RETRIES["default-device"])
    plain = plain_path(name)
    while True:
        request = {
            "source": translation.source,
            "name": str(Path(plain).absolute()),
            "headers": headers,
            "expressions": list(expressions),
            "options": [
                f"--gpu-architecture={arch}", "--generate-line-info", "--dopt=on",
                f"--pre-include={PRELUDE}",
                *(f"--include-path={each}" for each in headers_folders()),
                *(f"--include-path={Path(each).absolute()}" for each in options.include),
                *options.arguments(), *extra,
            ],
        }  # fmt: skip
        answer = json.loads(child("nvrtc", json.dumps(request), name, options.seconds))
        if "missing" in answer:
            raise ToolError(answer["missing"])
        if "log" not in answer:
            notes = warned(answer["warnings"], options.define)
            return Compiled(base64.b64decode(answer["cubin"]), answer["symbols"], notes)
        if repaired := without_static(answer["log"], headers):
            headers |= repaired
            continue
        wanted = [option for word, option in _RETRIES.items() if word in answer["log"]]
        if named := _FORWARD.search(answer["log"]):
            wanted.append(f"--pre-include=cuda/std/{named[1]}")
        absent = _NOT_THERE.search(answer["log"])
        if absent and is_standard(absent[1]) and absent[1] not in headers:
            headers[absent[1]] = ""  # a header of the compiler's asks for one of the host's
            continue
        if not newer and _NEWER.search(answer["log"]) and "--std" not in " ".join(options.other):
            options = replace(options, other=(*options.other, "--std=c++20"))
            newer = True
            continue
        if f"not supported on .target '{arch}'" in answer["log"] and arch in WITH_OWN_FEATURES:
            arch = f"{arch}a"  # wgmma, setmaxnreg: what later chips need not have
            continue
        new = [each for each in dict.fromkeys(wanted) if each not in request["options"]]
        if not new:
            told = explain(answer["log"], plain, source, translation, arch)
            error = CompileError(told.replace(plain, name))
            error.headers = frozenset(each for each in headers if f"{each}(" in answer["log"])
            raise error
        extra += new


def _by_nvcc(
    source: str, arch: str, name: str, expressions: tuple[str, ...], options: CompilerOptions,
    folder: Path | None,
) -> Compiled:  # fmt: skip
    """Compile the source as it is, host code and all, by a real nvcc."""
    plain = plain_path(name)
    full = str(Path(plain).absolute())
    while True:
        request = request_for(source, arch, full, folder, expressions, options)
        answer = json.loads(child("nvcc", json.dumps(request), name, options.seconds))
        if "missing" in answer:
            raise ToolError(answer["missing"])
        if "cubin" in answer:
            notes = warned(answer["warnings"], options.define)
            return Compiled(base64.b64decode(answer["cubin"]), notes=notes)
        if f"not supported on .target '{arch}'" in answer["log"] and arch in WITH_OWN_FEATURES:
            arch = f"{arch}a"
            continue
        translation = translate(
            source, folder, options.include, options.define, unquoted=options.unquoted
        )
        told = explain(answer["log"], plain, source, translation, arch)
        raise CompileError(told.replace(plain, name))


@lru_cache(maxsize=32)
def child(compiler: str, request: str, name: str, seconds: float = CompilerOptions.seconds) -> str:
    """Run a compiler in a process of its own; request and answer are JSON.

    `compiler` is a module beside this one: "nvrtc", "nvcc" or "ptx". It is run as a file, so that
    Python does not import the packages around it.

    Raises CompileError where it does not end in time or ends without an answer.
    """
    file = Path(__file__).with_name(f"{compiler}.py")
    with tempfile.TemporaryDirectory() as folder:
        try:
            # Started away from here (-P), it finds its modules where this process does.
            done = subprocess.run(  # noqa: S603  our own modules
                [sys.executable, "-P", str(file)], cwd=folder,
                input=request.encode(), capture_output=True, timeout=seconds, check=False,
                env={**os.environ, "PYTHONPATH": _path()},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise CompileError(
                f"{name}: the compiler did not finish in {seconds:.0f} s (--compile-timeout SECONDS"
                " gives it another time)"
            ) from None
    try:
        answer: Any = json.loads(done.stdout)
        if not isinstance(answer, dict):
            raise ValueError
    except ValueError:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise CompileError(
            f"{name}: the compiler ended with {done.returncode}: {said[-1] if said else ''}"
        ) from None
    return done.stdout.decode()


def _path() -> str:
    """Where this process finds its modules: full, for a child that stands elsewhere."""
    return os.pathsep.join(os.path.abspath(each) for each in sys.path)
