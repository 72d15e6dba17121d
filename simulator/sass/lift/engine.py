"""Compiling and linking: LLVM modules to machine code that this process can call."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir

from simulator.sass import kept
from simulator.sass.lift.helpers import emit_helper, used

__all__ = ["Engine", "MachineCode", "compiled"]

_lock = threading.Lock()


def _new_machine(effort: int) -> Any:
    """Return a compiler for this processor. What executes code takes one over as its own."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=effort,
        jit=True,
        reloc="default",
        codemodel="jitdefault",
    )


_machine = lru_cache(_new_machine)


@dataclass(frozen=True)
class MachineCode:
    """A module's machine code, and the helpers that it calls."""

    image: bytes
    needs: list[str]


def compiled(name: str, write: Callable[[], ir.Module], optimize: bool = False) -> MachineCode:
    """Return a module's machine code: as it was kept under its name, or compiled and kept now."""
    found = kept.find(name)
    if found is not None:
        needs, _, image = found.partition(b"\n")
        return MachineCode(image, json.loads(needs))
    made = _compile_module(write(), optimize)
    kept.keep(name, json.dumps(made.needs).encode() + b"\n" + made.image)
    return made


def _compile_module(module: ir.Module, optimize: bool) -> MachineCode:
    """Compile a module; `optimize`: run LLVM's passes too, which loops need."""
    machine, text = _machine(2 if optimize else 1), str(module)
    parsed = llvm.parse_assembly(text)
    if optimize:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_unrolling = False
        # With AVX-512 DQ, LLVM 22 gets signs of 128 bits wrong where it takes lanes together.
        options.loop_vectorization = "i128" not in text
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(parsed, builder)
    return MachineCode(machine.emit_object(parsed), used(module))


@lru_cache(maxsize=256)
def _helper(symbol: str) -> MachineCode:
    return compiled(kept.key(symbol), partial(emit_helper, symbol), optimize=True)


class Engine:
    """Machine code that belongs together, and lives as long as this object."""

    def __init__(self) -> None:
        with _lock:
            empty = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(empty, _new_machine(1))
            self._known: set[str] = set()

    def add(self, symbol: str, code: MachineCode) -> int:
        """Link a function and the helpers that it needs; its address."""
        with _lock:
            self._add(symbol, code)
            self._engine.finalize_object()
            return int(self._engine.get_function_address(symbol))

    def helper(self, symbol: str) -> int:
        """Return the address of a helper."""
        return self.add(symbol, _helper(symbol))

    def _add(self, symbol: str, code: MachineCode) -> None:
        if symbol in self._known:
            return
        self._known.add(symbol)
        for need in code.needs:
            self._add(need, _helper(need))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code.image))
