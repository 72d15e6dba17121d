"""Triton kernels in files and modules: found, launched and listed by name.

A file of Triton kernels is Python: it is imported, that is, executed. A launch on the way ends the
import, so that a script's kernels are found without running its own launches.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import runpy
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from layouts.errors import ExpressionError, accepted
from layouts.expression import Expression
from simulator.errors import BankwiseError, CompileError, LaunchError
from simulator.sass.parameters import Pointer
from simulator.sass.report import CompiledReport
from simulator.sass.triton.context import Config, check_installed, in_script, triton
from simulator.sass.triton.tensors import wrapped

__all__ = [
    "TritonKernel", "constant", "find_kernels", "launch_kernel", "listing", "run_script",
]  # fmt: skip

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


@dataclass(frozen=True)
class TritonKernel:
    """A kernel of a module, with all its decorators."""

    name: str
    function: Any

    @property
    def base(self) -> Any:
        """The `JITFunction` behind tuning and heuristics."""
        function = self.function
        while not hasattr(function, "params"):
            function = function.fn
        return function

    @property
    def configs(self) -> list[str]:
        """What `triton.autotune` chooses from."""
        function = self.function
        while not hasattr(function, "configs") and hasattr(function, "fn"):
            function = function.fn
        return [str(each) for each in getattr(function, "configs", ())]

    @property
    def filled(self) -> set[str]:
        """Parameters that tuning and heuristics give."""
        found: set[str] = set()
        function = self.function
        while function is not self.base:
            found |= set(getattr(function, "values", ()))
            for each in getattr(function, "configs", ()):
                found |= set(each.kwargs)
            function = function.fn
        return found

    @property
    def passed(self) -> list[str]:
        """Parameters that a launch passes, in order: neither constants nor filled in."""
        return [
            each.name
            for each in self.base.params
            if not each.is_constexpr and each.name not in self.filled
        ]

    @property
    def constants(self) -> list[str]:
        """Constants that a launch gives: those without a default that nothing fills in."""
        return [
            each.name
            for each in self.base.params
            if each.is_constexpr and each.name not in self.filled and not each.has_default
        ]

    def __str__(self) -> str:
        parts = []
        for each in self.base.params:
            kind = ": tl.constexpr" if each.is_constexpr else ""
            parts.append(f"{each.name}{kind}")
        return f"{self.name}({', '.join(parts)})"


def find_kernels(place: str, name: str | None = None) -> list[TritonKernel]:
    """Import a module or `file.py`, and return its kernels, or the one of that name.

    Raises ToolError without Triton, CompileError for what cannot be imported or has no such kernel.
    """
    check_installed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the file's own imports
        module = _imported(place)
    found = [
        TritonKernel(each, value)
        for each, value in vars(module).items()
        if _is_kernel(value) and (each == name or name is None)
    ]
    if name is None:
        return [each for each in found if each.base.__module__ == module.__name__]
    if not found:
        names = [each for each, value in vars(module).items() if _is_kernel(value)]
        raise CompileError(f"{place} has no Triton kernel {name!r}: {accepted(name, names)}")
    return found


def launch_kernel(
    kernel: TritonKernel,
    *,
    grid: str,
    arguments: Sequence[Any],
    constants: Mapping[str, Any],
    signature: str | None = None,
    config: Config = "all",
    **options: Any,
) -> list[CompiledReport]:
    """Launch a kernel as Triton does, replayed; return a report per configuration.

    Raises CompileError for what does not compile, LaunchError for what does not fit, and what
    `replay_compiled` raises.

    Parameters
    ----------
    kernel
        A kernel of a file.
    grid
        Numbers, "8x8", or C expressions of the launch's names, "(n + BLOCK - 1) / BLOCK, 1".
    arguments
        Those of `kernel.passed`, in order.
    constants
        Constexprs and Triton's own options, such as num_warps, by name.
    signature
        Constants by place, and types that are checked: "*fp16,i32,64".
    config
        That of `triton`.
    **options
        Those of `triton`.
    """
    named = dict(constants)
    types: dict[str, str] = {}
    if signature is not None:
        more, types = _signed(kernel, signature)
        named |= {name: value for name, value in more.items() if name not in named}
    names = [name for name in kernel.passed if name not in named]
    needed = [each for each in kernel.constants if each not in named]
    if len(arguments) != len(names) or needed:
        missing = f"; constants without a value: {', '.join(needed)}" if needed else ""
        raise LaunchError(
            f"{kernel}: {len(arguments)} arguments for {len(names)} parameters"
            f" ({', '.join(names) or 'none'}){missing} (accepted: an --arg for each, and"
            " --constexpr NAME=VALUE)"
        )
    odd = [each for each in named if each not in (*kernel.base.arg_names, *_OPTIONS)]
    if odd:
        raise LaunchError(f"{kernel} has no {odd[0]!r}: {accepted(odd[0], kernel.base.arg_names)}")
    values = dict(zip(names, map(wrapped, arguments), strict=True))
    _check_types(values, types)
    try:
        with triton(config=config, **options) as launches:
            kernel.function[_grid(grid)](**values, **named)
    except BankwiseError:
        raise
    except Exception as error:  # its compiler raises types of its own
        raise CompileError(f"{kernel.name} does not compile: {error}") from error
    return list(launches)


def run_script(path: str, **options: Any) -> list[CompiledReport]:
    """Run a Python file as a script, and replay its launches; return their reports.

    Raises CompileError for what the script raises, and what `triton` raises.
    """
    before = list(sys.path)
    _import_pytorch(path)
    try:
        with in_script(**options) as launches:
            sys.path.insert(0, str(Path(path).absolute().parent))
            runpy.run_path(path, run_name="__main__")
    except (BankwiseError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        if error.code not in (None, 0):
            raise CompileError(f"{path} ended with {error.code}") from None
    except Exception as error:  # anything at all
        raise CompileError(f"{path}: {type(error).__name__}: {error}") from error
    finally:
        sys.path[:] = before
    return list(launches)


def _import_pytorch(path: str) -> None:
    """Import PyTorch before a file that does, so that its tensors "on cuda" can be replayed."""
    with suppress(OSError, ImportError):  # the file's own import says what is wrong
        text = Path(path).read_text(errors="replace")
        if re.search(r"^\s*(import|from)\s+torch\b", text, re.MULTILINE):
            importlib.import_module("torch")


def constant(text: str) -> Any:
    """Return a constexpr as people type it: a Python literal, a dtype of `tl`, or else a string.

    >>> constant("64"), constant("None"), constant("True"), constant("leaky_relu")
    (64, None, True, 'leaky_relu')

    Raises CompileError for a dtype that Triton does not have.
    """
    text = text.strip()
    if found := re.fullmatch(r"(?:tl|triton\.language)\.(\w+)", text):
        import triton.language as tl

        if not hasattr(tl, found[1]):
            raise CompileError(f"{text!r} is not in triton.language (accepted: tl.float16, …)")
        return getattr(tl, found[1])
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _is_kernel(value: Any) -> bool:
    from triton.runtime.jit import KernelInterface

    return isinstance(value, KernelInterface) and hasattr(value, "arg_names")


class _LaunchedError(Exception):
    """A file launches a kernel while it is imported."""


def _imported(place: str) -> ModuleType:
    from triton.runtime.jit import KernelInterface

    def stop(_self: Any, _grid: Any) -> Any:
        raise _LaunchedError

    if place.endswith(".py"):
        _import_pytorch(place)
    with in_script():
        plain = KernelInterface.__getitem__
        KernelInterface.__getitem__ = stop
        before = list(sys.path)
        try:
            if not place.endswith(".py"):
                sys.path.insert(0, "")
                return importlib.import_module(place)
            path = Path(place)
            spec = importlib.util.spec_from_file_location(path.stem, path)
            if spec is None or spec.loader is None:
                raise ImportError(place)
            module = importlib.util.module_from_spec(spec)
            sys.path.insert(0, str(path.absolute().parent))
            with suppress(_LaunchedError):  # its kernels are there
                spec.loader.exec_module(module)
            return module
        except (KeyboardInterrupt, BankwiseError):
            raise
        except BaseException as error:  # whatever the file does
            said = str(error) or type(error).__name__
            raise CompileError(f"{place} cannot be imported: {said}") from error
        finally:
            KernelInterface.__getitem__ = plain
            sys.path[:] = before


def _signed(kernel: TritonKernel, signature: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Read a signature: constants and types, by parameter."""
    names = list(kernel.base.arg_names)
    given = [part.strip() for part in signature.split(",") if part.strip()]
    if len(given) != len(names):
        raise CompileError(
            f"signature {signature!r} has {len(given)} entries for the parameters"
            f" {', '.join(names)} of {kernel.name} (accepted: a type or a constexpr's value for"
            " each)"
        )
    constants: dict[str, Any] = {}
    types: dict[str, str] = {}
    for parameter, text in zip(kernel.base.params, given, strict=True):
        bare = re.fullmatch(
            r"(\*?k?(?:fp(?:16|32|64|8e\w+)|bf16|[iu](?:1|8|16|32|64)))(:16|:1)?", text
        )
        if bare and not parameter.is_constexpr:
            types[parameter.name] = bare[1]
            continue
        constants[parameter.name] = constant(text)
        if isinstance(constants[parameter.name], str) and not parameter.is_constexpr:
            raise CompileError(
                f"{text!r} in a signature (accepted: *fp32, bf16, i32, … or a constexpr's value)"
            )
    return constants, types


def _check_types(values: Mapping[str, Any], types: Mapping[str, str]) -> None:
    """Refuse a signature that says other types than Triton finds."""
    from triton.runtime.jit import mangle_type

    for name, wanted in types.items():
        value = values.get(name)
        if value is None or isinstance(value, Pointer):
            continue
        found = mangle_type(value)
        if wanted.replace("k", "") != found and not (
            isinstance(value, float) and "*" not in wanted
        ):
            raise LaunchError(
                f"the signature has {wanted} for {name}, and Triton launches it with {found}"
                f" (accepted: an argument of that type, or {found} in the signature)"
            )


def _grid(text: str) -> Any:
    """Return the grid, or what Triton calls for it with the names of a launch."""
    if re.fullmatch(r"\s*\d+(\s*x\s*\d+){0,2}\s*", text):
        return tuple(int(each) for each in text.split("x"))
    expressions = [Expression(each.strip()) for each in text.split(",")]

    def grid(meta: Mapping[str, Any]) -> tuple[int, ...]:
        names = {
            name: int(value)
            for name, value in meta.items()
            if isinstance(value, int) and -(2**31) <= value < 2**31
        }
        sizes = []
        for each in expressions:
            try:
                each.check(names)
                sizes.append(each(names))
            except ExpressionError as error:
                raise LaunchError(f"--grid {text!r}: {error}") from error
        return tuple(sizes)

    return grid


def listing(kernels: Sequence[TritonKernel], place: str) -> list[str]:
    """Return a command to edit for each kernel, with its parameters above it."""
    said = []
    for each in kernels:
        said.append(str(each))
        words = [f"--triton {place}:{each.name}", "--grid '<grid>'"]
        words += [f"--arg '<{name}>'" for name in each.passed]
        words += [f"--constexpr {name}='<value>'" for name in each.constants]
        said.append(f"  bankwise sass {' '.join(words)}")
        said += [f"    --config {i}: {config}" for i, config in enumerate(each.configs)]
    return said
