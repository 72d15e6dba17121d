"""Compiling a Triton kernel for a target without a GPU, to replay its cubin.

Triton hides nothing: its compiler takes a target that is not there, and the cubin it caches is a
cubin. What it compiles for sm_90 may use wgmma, mbarriers and TMA; for sm_80 it uses mma and
cp.async.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.errors import CompileError, ToolError
from simulator.sass.architectures import architecture
from simulator.sass.code.cubin import read_cubin

__all__ = ["CompiledTriton", "compile_kernel"]

_TYPE = re.compile(r"\*?(fp(16|32|64|8e\w+)|bf16|[iu](1|8|16|32|64))")


@dataclass(frozen=True)
class CompiledTriton:
    """A Triton kernel's cubin and what a launch of it needs."""

    cubin: bytes
    kernel: str
    shared_bytes: int
    hidden: int
    """Pointers that Triton adds behind the kernel's own parameters, to scratch memory."""
    scratch: tuple[int, ...] = ()
    """Bytes of scratch memory per block, behind each of those pointers."""

    def hidden_arguments(self, blocks: int) -> list[Any]:
        """Return what the hidden pointers point to, for so many blocks; None where to nothing."""
        import numpy as np

        sizes = (*self.scratch, *[0] * self.hidden)[: self.hidden]
        return [np.zeros(size * blocks, np.uint8) if size else None for size in sizes]


def compile_kernel(target: str, signature: str, arch: str, warps: int) -> CompiledTriton:
    """Compile `module:kernel`, or `file.py:kernel`, for `arch`.

    `signature` gives each parameter's type, or for a constexpr its value:
    "*fp16,*fp16,*fp32,i32,i32,i32,64,64,32". Raises ToolError without Triton, CompileError for
    anything that does not compile.
    """
    capability = architecture(arch).capability
    function = _function(target)
    names = list(function.arg_names)
    given = [part.strip() for part in signature.split(",") if part.strip()]
    if len(given) != len(names):
        raise CompileError(
            f"signature {signature!r} has {len(given)} entries for the parameters"
            f" {', '.join(names)} of {target} (accepted: a type or a constexpr's value for each)"
        )
    types: dict[str, str] = {}
    constants: dict[str, int | float | bool] = {}
    for name, text in zip(names, given, strict=True):
        if _TYPE.fullmatch(text):
            types[name] = text
        else:
            types[name] = "constexpr"
            constants[name] = _constant(text)
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler import compile as run

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Triton's advice about its own settings
            source = ASTSource(fn=function, signature=types, constexprs=constants)
            compiled = run(
                source, target=GPUTarget("cuda", capability, 32), options={"num_warps": warps}
            )
    except Exception as error:  # its compiler raises types of its own
        raise CompileError(f"{target} does not compile: {error}") from error
    image = bytes(compiled.asm["cubin"])
    kernel = read_cubin(image).kernel(compiled.metadata.name)
    hidden = len(kernel.parameters) - (len(names) - len(constants))
    # Tensor descriptors that a kernel makes itself lie in the first one's memory.
    names_of = ("global_scratch_size", "profile_scratch_size")
    scratch = tuple(int(getattr(compiled.metadata, name, 0) or 0) for name in names_of)
    shared = int(compiled.metadata.shared)
    return CompiledTriton(image, kernel.name, shared, max(hidden, 0), scratch)


def _constant(text: str) -> int | float | bool:
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text, 0)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise CompileError(
                f"{text!r} in a signature (accepted: *fp32, bf16, i32, … or a constexpr's value)"
            ) from None


def _function(target: str) -> Any:
    """Import the module and find the kernel in it."""
    if importlib.util.find_spec("triton") is None:
        raise ToolError("Triton is not installed (install it with: pip install triton)")
    place, colon, name = target.rpartition(":")
    if not colon or not name.isidentifier():
        raise CompileError(f"{target!r} (accepted: module:kernel, or file.py:kernel)")
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(place).stem, place)
            if spec is None or spec.loader is None:
                raise ImportError(place)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            if "" not in sys.path:
                sys.path.insert(0, "")
            module = importlib.import_module(place)
    except Exception as error:  # the file is the user's, and may do anything
        raise CompileError(f"{place} cannot be imported: {error}") from error
    function = getattr(module, name, None)
    if not hasattr(function, "arg_names"):
        raise CompileError(f"{place} has no Triton kernel {name!r}")
    return function
