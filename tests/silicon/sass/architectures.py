"""The tests' kernels, compiled from source for any architecture."""

from __future__ import annotations

from functools import cache
from typing import Any

from simulator.sass.architectures import architecture
from simulator.sass.code.compiling import compile_source
from simulator.sass.code.options import CompilerOptions
from tests.silicon.sass import build

__all__ = ["CASES", "compiled"]

CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in build.CASES}


@cache
def compiled(name: str, arch: str) -> bytes:
    """Return the cubin of a case, for sm_75, sm_120a, …"""
    architecture(arch)
    case = CASES[name]
    path = (build.OWN if case["ours"] else build.GEMMS) / case["source"]
    defines = tuple(f"{key}={value}" for key, value in case["defines"].items())
    options = CompilerOptions(define=defines)
    return compile_source(
        path.read_text(encoding="utf-8"), arch, str(path), options=options, folder=path.parent
    ).cubin
