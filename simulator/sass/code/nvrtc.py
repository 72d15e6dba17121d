"""Running NVRTC in this process: a request in, machine code or messages out.

This file is also the compiler's process: a request in JSON on standard input, an answer in JSON
on standard output, with limits on memory. `compiling` starts it. Where there is a compiler, it
imports no other file of ours: that would take three times as long as compiling a small kernel.
"""

from __future__ import annotations

import base64
import ctypes
import json
import sys
from pathlib import Path
from typing import Any

MEMORY = 8 << 30
"""Bytes that a compiler may take."""
_CORE = 0


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Compile: `source`, `name`, `headers` by name, `options`, `expressions` to instantiate.

    The answer has `cubin` in base64, `symbols` by expression and `warnings`; or `log`, what the
    compiler said; or `missing`, where there is no compiler.
    """
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        from simulator.errors import install

        return {
            "missing": f"no cuda-bindings and NVRTC found ({install('sass')}; or give a cubin"
            " made by nvcc)"
        }
    preload("nvrtc")
    ok = nvrtc.nvrtcResult.NVRTC_SUCCESS
    headers = request["headers"]
    try:
        status, program = nvrtc.nvrtcCreateProgram(
            request["source"].encode(), request["name"].encode(), len(headers),
            [text.encode() for text in headers.values()], [name.encode() for name in headers],
        )  # fmt: skip
    except Exception as error:  # the library itself is loaded at the first call
        return {"missing": f"NVRTC cannot be loaded: {error}"}
    if status != ok:
        return {"log": f"nvrtcCreateProgram: {status}"}
    for expression in request["expressions"]:
        nvrtc.nvrtcAddNameExpression(program, expression.encode())
    options = [option.encode() for option in request["options"]]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if status != ok:
        return {"log": _log(program) or str(status)}
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    cubin = b" " * size
    nvrtc.nvrtcGetCUBIN(program, cubin)
    symbols = {}
    for expression in request["expressions"]:
        status, symbol = nvrtc.nvrtcGetLoweredName(program, expression.encode())
        if status == ok:
            symbols[expression] = symbol.decode()
    return {
        "cubin": base64.b64encode(cubin).decode(), "symbols": symbols, "warnings": _log(program),
    }  # fmt: skip


def _log(program: Any) -> str:
    """Return what the compiler said of a program."""
    from cuda.bindings import nvrtc

    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    return str(log.rstrip(b"\0 "), "utf-8", "replace")


def preload(library: str) -> None:
    """Load a library of the `nvidia` packages, wherever Python finds those packages.

    cuda-bindings asks for libraries by name and looks in fewer places than Python does.
    """
    try:
        import nvidia
    except ImportError:
        return
    for root in nvidia.__path__:
        for place in sorted(Path(root).glob(f"*/lib/lib{library}.so.*"), reverse=True):
            try:
                ctypes.CDLL(str(place), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
            return


def limit_memory() -> None:
    """Bound what this process may take, where the system can."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (_CORE, _CORE))
    except (ImportError, ValueError, OSError):
        return  # not on this system: the time limit is left


if __name__ == "__main__":
    limit_memory()
    json.dump(run(json.load(sys.stdin)), sys.stdout)
