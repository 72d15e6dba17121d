"""CUDA source to a cubin, by NVRTC, in a process of its own.

NVRTC is a library, and source can make a compiler loop, crash or eat memory: the child has a
time limit and a memory limit, and what it says comes back as text. It needs no GPU.

`python -m simulator.sass.code.nvrtc` is that child: a request in JSON on standard input, an
answer in JSON on standard output.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from simulator.errors import CompileError, ToolError, install
from simulator.sass.code.headers import HEADERS, PRELUDE, hide_host_code

__all__ = ["compile_source", "plain_name"]

# PTX writes a file's name between quotes, unescaped, and listings write other bytes in octal.
_PLAIN = re.compile(r"[ !#-\[\]-~]+")
_SECONDS = 120.0
_MEMORY = 8 << 30
_LONGEST = 1 << 22  # characters of source


def plain_name(name: str) -> str:
    """Return the name under which NVRTC compiles a file: the file's own, where that is plain.

    >>> plain_name("src/gemm.cu")
    'src/gemm.cu'
    """
    full = Path(name).absolute()
    if _PLAIN.fullmatch(str(full)):
        return name
    folder = full.parent if _PLAIN.fullmatch(str(full.parent)) else Path("/bankwise")
    return str(folder / (full.name if _PLAIN.fullmatch(full.name) else "source-of-odd-name.cu"))


@lru_cache(maxsize=32)
def compile_source(source: str, arch: str, name: str, expression: str | None = None) -> bytes:
    """Compile CUDA source for one architecture, such as sm_90.

    `name` is the file's, for messages and line numbers; `expression` instantiates a template:
    "gemm<64, 64>". Raises CompileError with the compiler's messages, ToolError where NVRTC is
    missing.
    """
    if len(source) > _LONGEST:
        raise CompileError(f"{len(source)} characters of source (accepted: up to {_LONGEST})")
    plain = plain_name(name)
    request = {
        "source": hide_host_code(source), "arch": arch, "name": plain, "expression": expression,
        # NVRTC looks for "neighbours.h" in the folder of `plain`.
        "folders": [] if plain == name else [str(Path(name).absolute().parent)],
    }  # fmt: skip
    try:
        # Started away from here (-P), it finds its modules where this process does.
        done = subprocess.run(
            [sys.executable, "-P", "-m", "simulator.sass.code.nvrtc"],
            input=json.dumps(request).encode(), capture_output=True, timeout=_SECONDS, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CompileError(f"{name}: the compiler did not finish in {_SECONDS:.0f} s") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise CompileError(
            f"{name}: the compiler ended with {done.returncode}: {said[-1] if said else ''}"
        ) from None
    if "missing" in answer:
        raise ToolError(answer["missing"])
    if "log" in answer:
        raise CompileError(_explain(answer["log"].replace(plain, name), name, source))
    return base64.b64decode(answer["cubin"])


def _explain(log: str, name: str, source: str) -> str:
    """Give the compiler's messages, with the source line and a caret where it gives none."""
    lines = source.split("\n")
    said: list[str] = []
    for text in log.strip().splitlines():
        said.append(text)
        head, _, _ = text.partition("): error")
        file, _, number = head.rpartition("(")
        if number.isdigit() and file.endswith(Path(name).name):
            line = lines[int(number) - 1] if int(number) <= len(lines) else ""
            if "<<<" in line or "cuda" in line:
                said.append(
                    "    (host code that could not be skipped; compile the file with nvcc -cubin"
                    " and give the cubin)"
                )
    return f"{name} does not compile:\n" + "\n".join(said)


def _include_folders() -> list[str]:
    """Where the CUDA headers lie: of the packages, or of a toolkit."""
    import shutil

    folders: list[Path] = []
    try:
        import nvidia
    except ImportError:
        pass
    else:
        for root in nvidia.__path__:
            folders += sorted(Path(root).glob("*/include"), reverse=True)
    if "CUDA_HOME" in os.environ:
        folders.append(Path(os.environ["CUDA_HOME"]) / "include")
    if nvcc := shutil.which("nvcc"):
        folders.append(Path(nvcc).resolve().parents[1] / "include")
    found = [folder for folder in folders if (folder / "cuda_fp16.h").is_file()][:1]
    nested = [folder / "cccl" for folder in found if (folder / "cccl").is_dir()]
    return [str(folder) for folder in [*found, *nested]]


def _compile(request: dict[str, Any]) -> dict[str, str]:
    """Run NVRTC in this process."""
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        return {
            "missing": f"no cuda-bindings and NVRTC found ({install('sass')}; or give a cubin"
            " made by nvcc)"
        }
    ok = nvrtc.nvrtcResult.NVRTC_SUCCESS
    try:
        status, program = nvrtc.nvrtcCreateProgram(
            request["source"].encode(), request["name"].encode(), len(HEADERS),
            [text.encode() for text in HEADERS.values()], [name.encode() for name in HEADERS],
        )  # fmt: skip
    except Exception as error:  # the library itself is loaded at the first call
        return {"missing": f"NVRTC cannot be loaded: {error}"}
    if status != ok:
        return {"log": f"nvrtcCreateProgram: {status}"}
    if request["expression"]:
        nvrtc.nvrtcAddNameExpression(program, request["expression"].encode())
    options = [
        f"--gpu-architecture={request['arch']}", "--std=c++17", "--generate-line-info",
        "--dopt=on", f"--pre-include={PRELUDE}",
        *(f"--include-path={folder}" for folder in [*request["folders"], *_include_folders()]),
    ]  # fmt: skip
    (status,) = nvrtc.nvrtcCompileProgram(
        program, len(options), [os.fsencode(option) for option in options]
    )
    if status != ok:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        return {"log": log.rstrip(b"\0 ").decode(errors="replace") or str(status)}
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    cubin = b" " * size
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return {"cubin": base64.b64encode(cubin).decode()}


def _limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        return  # not on this system: the time limit is left


if __name__ == "__main__":
    _limit_memory()
    json.dump(_compile(json.load(sys.stdin)), sys.stdout)
