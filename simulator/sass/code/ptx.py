"""PTX to a cubin, by nvJitLink, in a process of its own.

This file is that process, too: a request in JSON on standard input, an
answer in JSON on standard output.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from typing import Any

from simulator.errors import CompileError, ToolError
from simulator.sass.code.options import CompilerOptions

__all__ = ["assemble", "is_ptx"]

_LONGEST = 1 << 26


def is_ptx(text: str) -> bool:
    r"""Whether a text is PTX: its first statement gives the version.

    >>> is_ptx("// by a compiler\n.version 8.0\n"), is_ptx("__global__ void k() {}")
    (True, False)
    """
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text[:20_000], flags=re.DOTALL).lstrip()
    return bare.startswith(".version")


def assemble(text: str, arch: str, name: str, seconds: float = CompilerOptions.seconds) -> bytes:
    """Assemble PTX for an architecture, in this time.

    Raises CompileError with what the assembler says.
    """
    if len(text) > _LONGEST:
        raise CompileError(f"{name}: {len(text)} characters of PTX (accepted: up to {_LONGEST})")
    from simulator.sass.code.compiling import child

    wanted = re.search(r"^\s*\.target\s+(\w+)", text, re.MULTILINE)
    if wanted and wanted[1] == f"{arch}a":
        arch = wanted[1]
    request = json.dumps({"ptx": text, "arch": arch})
    answer = json.loads(child("ptx", request, name, seconds))
    if "missing" in answer:
        raise ToolError(answer["missing"])
    if "log" in answer:
        said = f" (it is for {wanted[1]}; --arch is {arch})" if wanted else ""
        raise CompileError(f"{name} does not assemble{said}:\n{answer['log']}")
    return base64.b64decode(answer["cubin"])


def _run(request: dict[str, Any]) -> dict[str, str]:
    from simulator.sass.code.nvrtc import preload

    preload("nvJitLink")
    try:
        from cuda.bindings import nvjitlink
    except ImportError as error:
        from simulator.errors import install

        return {"missing": f"PTX needs nvJitLink: {error} ({install('sass')})"}
    options = [f"-arch={request['arch']}", "-lineinfo"]
    try:
        handle = nvjitlink.create(len(options), options)
    except Exception as error:  # the library itself is loaded at the first call
        return {"missing": f"nvJitLink cannot be used: {error}"}
    try:
        data = request["ptx"].encode() + b"\0"
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), "given.ptx")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
    except nvjitlink.nvJitLinkError as error:
        log = bytearray(nvjitlink.get_error_log_size(handle))
        nvjitlink.get_error_log(handle, log)
        return {"log": bytes(log).rstrip(b"\0 ").decode(errors="replace") or str(error)}
    return {"cubin": base64.b64encode(bytes(cubin)).decode()}


if __name__ == "__main__":
    from simulator.sass.code.nvrtc import limit_memory

    limit_memory()
    json.dump(_run(json.load(sys.stdin)), sys.stdout)
