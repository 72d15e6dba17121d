"""Kernels that are Python objects: Numba's, CuPy's, cuda.core's, told by their types' modules.

None of these packages is imported here: who has such an object has the package. Each compiles
without a GPU, for the architecture that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import short
from simulator.errors import CompileError, LaunchError
from simulator.sass.architectures import architecture

__all__ = ["ObjectCode", "code_of"]

_ACCEPTED = (
    "accepted: a file, CUDA source, PTX, a cubin's bytes, a kernel of numba.cuda, a RawKernel or"
    " RawModule of CuPy, a Program or ObjectCode of cuda.core; Triton's kernels are launched inside"
    " `with bankwise.triton()`, and kernels of the CuTe DSL are what cute.compile gives"
)

_WRITE_FILES = {"tilelang": "TileLang", "tvm": "TVM"}
"""Packages whose kernels come as files."""


@dataclass(frozen=True)
class ObjectCode:
    """What an object holds: source, PTX or a cubin, and how it is launched."""

    code: str | bytes
    arguments: list[Any]
    """As the machine code takes them."""
    kernel: str | None = None
    options: tuple[str, ...] = ()
    """For the compiler."""
    file: Path | None = None
    """The source that its lines are of."""
    places: tuple[int, ...] = field(default=())
    """Which of `arguments` each given argument is; empty: they are the same."""

    def outputs(self, stored: Sequence[Any]) -> list[Any]:
        """Return one entry per argument that was given."""
        return [stored[place] for place in self.places] if self.places else list(stored)


def code_of(value: Any, arguments: Sequence[Any], arch: str) -> ObjectCode:
    """Return the code of a kernel that is a Python object.

    Raises LaunchError for another object, and for arguments that Numba's kernels cannot be given;
    CompileError for what does not compile.
    """
    package = type(value).__module__.split(".")[0]
    if package in ("numba", "numba_cuda") and hasattr(value, "py_func"):
        return _numba(value, arguments, arch)
    if package == "cupy" and hasattr(value, "code"):
        options = tuple(map(str, getattr(value, "options", ())))
        return ObjectCode(value.code, list(arguments), getattr(value, "name", None), options)
    if type(value).__module__.startswith("cuda.core"):
        return _cuda_core(value, arguments)
    if package == "cutlass":
        return _cute(value, arguments)
    if package in _WRITE_FILES:
        raise LaunchError(
            f"{short(value)} is a kernel of {_WRITE_FILES[package]}, which is not compiled here"
            " (accepted: the cubin or the PTX that its own package writes, as a file or as bytes)"
        )
    raise LaunchError(f"{short(value)} is not code ({_ACCEPTED})")


# ---- cuda.core. ----------------------------------------------------------------------------------
def _cute(value: Any, arguments: Sequence[Any]) -> ObjectCode:
    """Take the cubin of what `cute.compile` gives, of the CuTe DSL; 4.8.1 was tried."""
    cubin = getattr(value, "__cubin__", None)
    if not isinstance(cubin, bytes):
        raise LaunchError(
            f"{short(value)} of the CuTe DSL holds no cubin (accepted: what cute.compile gives if"
            " CUTE_DSL_KEEP_CUBIN=1, and without a GPU CUTE_DSL_ARCH=sm_90a, were set before the"
            " DSL was imported, and the folder of CUTE_DSL_DUMP_DIR exists; tensors to compile for"
            " are made by make_fake_compact_tensor)"
        )
    return ObjectCode(cubin, list(arguments))


def _cuda_core(value: Any, arguments: Sequence[Any]) -> ObjectCode:
    if hasattr(value, "compile"):  # a Program
        try:
            value = value.compile("cubin")
        except Exception as error:  # the package's own
            raise CompileError(f"a Program of cuda.core does not compile: {error}") from error
    code, kind = getattr(value, "code", None), str(getattr(value, "code_type", ""))
    if isinstance(code, str):  # a file's name
        code = Path(code).read_bytes()
    if not isinstance(code, bytes) or kind not in ("cubin", "ptx", "fatbin", "object"):
        raise LaunchError(
            f"{short(value)} holds {kind or 'no'} code (accepted: ptx, cubin, fatbin)"
        )
    return ObjectCode(code.decode() if kind == "ptx" else code, list(arguments))


# ---- Numba. --------------------------------------------------------------------------------------
def _numba(kernel: Any, arguments: Sequence[Any], arch: str) -> ObjectCode:
    """Compile a kernel of numba.cuda for its arguments, by Numba's own compiler."""
    import warnings

    from simulator.sass.code.nvrtc import preload

    preload("nvvm")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its advice about its own future
            numba: Any = import_module("numba")  # its own types say too little
            cuda: Any = import_module("numba.cuda")
            types = tuple(numba.typeof(each) for each in arguments)
            options = {
                name: kernel.targetoptions[name]
                for name in ("fastmath", "opt", "debug")
                if name in getattr(kernel, "targetoptions", {})
            }
            ptx, _ = cuda.compile_ptx(
                kernel.py_func, types, cc=divmod(architecture(arch).capability, 10),
                lineinfo=not options.get("debug"), **options,
            )  # fmt: skip
    except Exception as error:  # Numba's own
        name = getattr(kernel, "__name__", "the kernel")
        raise CompileError(f"{name} does not compile with Numba: {error}") from error
    found: list[Any] = []
    places = []
    for place, value in enumerate(arguments):
        if isinstance(value, np.ndarray):
            places.append(len(found) + 4)
            found += _as_structure(value, place)
        else:
            places.append(len(found))
            found.append(_scalar(value, place))
    file = Path(kernel.py_func.__code__.co_filename)
    return ObjectCode(ptx, found, file=file, places=tuple(places))


def _as_structure(array: NDArray[Any], place: int) -> list[Any]:
    """Return what Numba passes of an array: two nulls, sizes, the data, shape and strides."""
    if not array.flags.c_contiguous:
        raise LaunchError(
            f"argument {place}: only arrays with contiguous rows are accepted for a kernel of"
            " Numba (accepted:"
            " numpy.ascontiguousarray(array))"
        )
    sizes = [np.int64(each) for each in (*array.shape, *array.strides)]
    return [None, None, np.int64(array.size), np.int64(array.itemsize), array, *sizes]


def _scalar(value: Any, place: int) -> Any:
    """Return a scalar as Numba passes it: Python's integers have 64 bits."""
    plain: dict[type, Callable[[Any], Any]] = {bool: np.int8, int: np.int64, float: np.float64}
    if type(value) in plain:
        return plain[type(value)](value)
    if isinstance(value, np.bool_):
        return np.int8(value)
    if isinstance(value, np.integer | np.floating):
        return value
    raise LaunchError(
        f"argument {place} of a Numba kernel is {short(value)} (accepted: arrays and numbers)"
    )
