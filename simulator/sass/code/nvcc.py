"""CUDA source to a cubin by a real nvcc and the host's compiler, in a process of its own.

This file is that process, too: a request in JSON on standard input, an
answer in JSON on standard output. It is for what NVRTC cannot take: host headers are read as
they are. Nothing that is compiled is run.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from simulator.sass.code.options import CompilerOptions

__all__ = ["request_for", "without_host_compiler"]

_PART = 0.9  # of what the caller waits, so that what nvcc started ends too
_HOST_COMPILERS = ("g++", "c++", "clang++", "cl")
_ONLY_NVRTC = ("--device-as-default-execution-space", "--device-int128", "--dopt", "--pch")


def request_for(
    source: str, arch: str, full: str, folder: Path | None, expressions: tuple[str, ...],
    options: CompilerOptions,
) -> dict[str, Any]:  # fmt: skip
    """Return what the process is asked: the source, under its full name, and nvcc's options.

    Parameters
    ----------
    source, arch, folder, options
        Those of `compile_source`.
    full
        The source's full name.
    expressions
        Instances of templates. Their address is taken behind the source, which makes the compiler
        write them.
    """
    instances = "".join(
        f"\nstatic const auto bankwise_instance_{number} = &{each};"
        for number, each in enumerate(expressions)
    )
    named = full.replace("\\", "\\\\").replace('"', '\\"')
    given = options.arguments()
    return {
        "source": f'#line 1 "{named}"\n{source}\n{instances}\n',
        "seconds": _PART * options.seconds,
        "options": [
            "-cubin", f"-arch={arch}", "-lineinfo", "--expt-relaxed-constexpr",
            *([f"-I{folder.absolute()}"] if folder is not None else []),
            *(f"-I{Path(each).expanduser().absolute()}" for each in options.include),
            *(part for each in options.forced for part in ("-include", _full(each))),
            *(each for each in given if not each.startswith(_ONLY_NVRTC)),
        ],
    }  # fmt: skip


def _full(header: str) -> str:
    return str(Path(header).absolute()) if Path(header).is_file() else header


def without_host_compiler() -> str:
    """Return what is missing beside nvcc; nothing where a host compiler is there."""
    if "NVCC_CCBIN" in os.environ or any(shutil.which(each) for each in _HOST_COMPILERS):
        return ""
    return (
        f"nvcc needs a host compiler (looked for: {', '.join(_HOST_COMPILERS)} on PATH; or leave"
        " --compiler out: NVRTC needs none)"
    )


def _run(request: dict[str, Any]) -> dict[str, str]:
    from simulator.errors import ToolError
    from simulator.sass.code.nvdisasm import tool

    try:
        nvcc = tool("nvcc")
    except ToolError as error:
        return {"missing": str(error)}
    if missing := without_host_compiler():
        return {"missing": missing}
    with tempfile.TemporaryDirectory() as folder:
        unit, cubin = Path(folder) / "unit.cu", Path(folder) / "unit.cubin"
        unit.write_text(request["source"])
        process = subprocess.Popen(  # noqa: S603  nvcc, and options without a shell
            [nvcc, *request["options"], "-o", str(cubin), str(unit)],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, env={**os.environ, "TMPDIR": folder},
        )  # fmt: skip
        try:
            said, _ = process.communicate(timeout=request["seconds"])
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return {"log": f"nvcc did not finish in {request['seconds']:.0f} s"}
        if process.returncode or not cubin.is_file():
            log = said.decode(errors="replace").replace(str(unit), "the source")
            return {"log": log.strip() or f"nvcc ended with {process.returncode}"}
        image = base64.b64encode(cubin.read_bytes()).decode()
        return {"cubin": image, "warnings": said.decode(errors="replace")}


if __name__ == "__main__":
    from simulator.sass.code.nvrtc import limit_memory

    limit_memory()
    json.dump(_run(json.load(sys.stdin)), sys.stdout)
