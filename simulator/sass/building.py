"""From what was given to a program that is ready to run; again, where its source was changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simulator.errors import CompileError, CubinError
from simulator.sass.code.cubin import Cubin
from simulator.sass.code.images import Given, load, recompiled
from simulator.sass.code.linking import linked
from simulator.sass.code.naming import plain_path, source_text
from simulator.sass.code.nvdisasm import SassInstruction, disassemble
from simulator.sass.code.options import CompilerOptions
from simulator.sass.code.signatures import signatures
from simulator.sass.code.source import Source
from simulator.sass.code.symbols import with_symbols
from simulator.sass.code.unset import never_set
from simulator.sass.lift.program import Program, decode

__all__ = ["Build", "Built"]


@dataclass(frozen=True)
class Built:
    """A kernel that is ready to run."""

    cubin: Cubin
    program: Program
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Build:
    """How a kernel is made: what was given, for which architecture, with which options."""

    given: Given
    arch: str
    kernel: str | None
    options: CompilerOptions
    symbols: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> tuple[Cubin, str]:
        """Return the device code and its source's name. Raises what `images.load` raises."""
        return load(self.given, self.arch, self.kernel, self.options)

    def built(self, cubin: Cubin, source: str, say: Callable[[str], None]) -> Built:
        """Disassemble the kernel, set its variables, decode it.

        Raises CubinError and ToolError; LaunchError for variables that it does not have.
        """
        try:
            chosen = cubin.kernel(self.kernel)
        except CubinError:
            self._check_template(source)
            raise
        say(f"disassembling {chosen.name}")
        code = linked(disassemble(cubin.image, chosen.name), chosen.links)
        instructions = _named(code, source)
        unset = tuple(
            f"the {kind} {name} is read and was never set: it is zero (set it: --set {name}=…, or"
            f" symbols={{{name!r}: …}})"
            for kind, name in never_set(cubin, chosen, instructions, self.symbols)
        )
        cubin = with_symbols(cubin, self.symbols)
        return Built(
            cubin, decode(instructions, cubin.kernels[chosen.name]), (*cubin.notes, *unset)
        )

    def _check_template(self, source: str) -> None:
        """Raise CubinError where the kernel is a template in the source, without arguments."""
        path = self.path
        if not source or self.kernel is None or "<" in self.kernel:
            return
        text = source_text(path) if path else str(self.given)
        for each in signatures(Source(text)).get(self.kernel.rsplit("::", 1)[-1], ()):
            if each.template:
                raise CubinError(
                    f"{each.full_name} is a template of {', '.join(each.template)} (accepted: with"
                    f" its arguments, --kernel '{each.full_name}<…>')"
                )

    @property
    def path(self) -> Path | None:
        """The file that was given; None for text or bytes."""
        return self.given if isinstance(self.given, Path) else None

    def changed(self, text: str, name: str) -> Built:
        """Compile the source with another text, under its name.

        Raises CompileError, also where no source was given.
        """
        if isinstance(self.given, bytes | bytearray) or not name:
            raise CompileError(
                "a cubin or PTX was given, so there is no source to change (accepted: CUDA source)"
            )
        cubin = recompiled(text, self.path, self.arch, self.kernel, self.options)
        return self.built(cubin, name, lambda _: None)


def _named(instructions: tuple[SassInstruction, ...], source: str) -> tuple[SassInstruction, ...]:
    """Call the compiled source as it was given; the line table has its full path."""
    full = str(Path(plain_path(source)).absolute())
    return tuple(
        replace(each, file=source) if source and each.file == full else each
        for each in instructions
    )
