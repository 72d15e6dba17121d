"""Launches that stand in a source: `kernel<<<grid, block>>>(…)`, with what its host code says.

Host code is read as far as it can be evaluated: numbers, dim3, sizes of allocations; see
`hostreader`. Nothing of it is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.sass.code.describing import Described, describe
from simulator.sass.code.evaluation import text_of
from simulator.sass.code.hostreader import LAUNCH, HostReader
from simulator.sass.code.hostvalues import (
    ATTRIBUTES,
    ENUMERATOR,
    Allocation,
    Reference,
    Type,
    Unknown,
    plain_type,
)
from simulator.sass.code.preprocessor import Macro
from simulator.sass.code.signatures import Signature, signatures, walk
from simulator.sass.code.source import Source, parser

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["FoundLaunch", "Launches", "find_launches"]

_ALLOCATE = {"cudaMalloc", "cudaMallocManaged", "cudaMallocHost", "cudaMallocAsync", "cuMemAlloc",
             "cudaHostAlloc", "hipMalloc"}  # fmt: skip

_ASKED = {"cudaGetDevice": 0, "cudaGetDeviceCount": 1, "cudaDeviceGetAttribute": None}
# What host code asks of the device, with the answer; None: by the attribute.


_QUALIFIED = re.compile(r"\b(?:const|volatile|__restrict__|__restrict)\b|[&*\s]")


@dataclass(frozen=True)
class FoundLaunch:
    """A launch as the source has it; texts with a name in them where a value is not known."""

    kernel: str
    """With its template arguments."""
    line: int = field(compare=False)
    grid: str
    block: str
    shared_bytes: str
    arguments: tuple[str, ...]
    unknown: tuple[str, ...]
    """Names in the source whose values are asked for."""
    signature: Signature | None = field(default=None, compare=False)
    cooperative: bool = False

    def command(self, file: str) -> str:
        """Return the command that replays it."""
        parts = ["bankwise sass", file, "--kernel", _quoted(self.kernel), "--grid", self.grid,
                 "--block", self.block]  # fmt: skip
        if self.shared_bytes != "0":
            parts += ["--shared-bytes", self.shared_bytes]
        if self.cooperative:
            parts.append("--cooperative")
        for each in self.arguments:
            parts += ["--arg", _quoted(each)]
        return " ".join(parts)


@dataclass(frozen=True)
class Launches:
    """What a source says of its kernels."""

    kernels: dict[str, list[Signature]]
    launches: tuple[FoundLaunch, ...]
    is_doubtful: bool = False
    """Whether something in the source could not be read: macros, or what is not C++."""

    def instances(self) -> tuple[str, ...]:
        """Return the templates' instances that are launched."""
        return tuple(dict.fromkeys(each.kernel for each in self.launches if "<" in each.kernel))


def _quoted(text: str) -> str:
    return f"'{text}'" if re.search(r"[^\w.:=/,+-]", text) else text


def find_launches(
    text: str, outside: dict[str, Macro] | None = None, others: Iterable[Source] = (),
    assumed: Mapping[str, int | float] | None = None,
) -> Launches:  # fmt: skip
    """Find the launches in a source, in the order in which its host code reaches them.

    `outside`: macros from elsewhere. `others`: headers of the project, whose kernels, types and
    functions count. `assumed`: values of names that host code does not tell, such as parameters of
    a function that nothing calls; of a pointer its elements, and of "*" those of all others.
    """
    source = Source(text, outside or {})
    reader = _Reader([source, *others], assumed or {})
    reader.read()
    return Launches(
        reader.kernels,
        tuple(dict.fromkeys(_chosen(reader.found, reader.possible))),
        parser().parse(source.readable().encode()).root_node.has_error,
    )


def _chosen(found: list[FoundLaunch], possible: list[FoundLaunch]) -> list[FoundLaunch]:
    """Give the launches of the program, and of ways that it does not take what it lacks."""
    known = {_base(each.kernel) for each in found if not each.unknown}
    ways = [each for each in possible if _base(each.kernel) not in known]
    sure = {each.kernel for each in ways if not each.unknown}
    found = [each for each in found if not each.unknown or each.kernel not in sure]
    launched = sure | {each.kernel for each in found}
    return found + [each for each in ways if not each.unknown or each.kernel not in launched]


def _deduced(signature: Signature, types: tuple[Any, ...], values: list[Any]) -> tuple[Any, ...]:
    """Add the template arguments that the compiler deduces from a launch's arguments."""
    found = list(types)
    for text in signature.template[len(types) :]:
        name = re.split(r"[\s.]+", text.split("=")[0].strip())[-1]
        given = [
            value for (kind, _), value in zip(signature.parameters, values, strict=False)
            if _QUALIFIED.sub("", kind) == name
        ]  # fmt: skip
        made = [Type(each.element) for each in given
                if isinstance(each, Allocation) and each.element]  # fmt: skip
        made += [Type("int") for each in given if type(each) is int]
        made += [Type("float") for each in given if isinstance(each, float)]
        if not made and "=" in text:
            break  # this one and what follows have defaults
        found.append(made[0] if made else Unknown(name))
    return tuple(found)


def _base(kernel: str) -> str:
    """Return a kernel's name without template arguments: on a way not taken they hardly fit."""
    return kernel.split("<")[0]


class _Reader(HostReader):
    """Takes note of launches, and of what allocations give their arguments."""

    def __init__(self, sources: list[Source], assumed: Mapping[str, int | float]) -> None:
        super().__init__(sources)
        self.assumed = assumed
        self.kernels: dict[str, list[Signature]] = {}
        for each in sources:
            for name, listed in signatures(each).items():
                self.kernels.setdefault(name, []).extend(listed)
        self.found: list[FoundLaunch] = []
        self.possible: list[FoundLaunch] = []
        """Those on ways that the program does not take."""

    # ---- Calls and launches. -----------------------------------------------------------------
    def _call_expression(self, node: Node) -> Any:
        syntax = next((n for n in node.named_children if n.type == "kernel_call_syntax"), None)
        if syntax is not None:
            configuration = [n for n in syntax.named_children if n.type != "comment"]
            function = node.child_by_field_name("function")
            if function is not None and len(configuration) >= 2:
                values = [self.value(each) for each in configuration]
                self._launch(function, values, [self.value(n) for n in self.arguments(node)], node)
            return Unknown("a launch")
        return super()._call_expression(node)

    def call(self, name: str, function: Node, given: list[Node], node: Node) -> Any:
        """Evaluate a call: allocations, launches and functions of the source count."""
        if name in _ALLOCATE and len(given) >= 2:
            cell = self.value(given[0])
            size = self.value(given[1])
            if isinstance(cell, Reference):
                kind = cell.cell.type
                element = plain_type(kind)[:-1] if plain_type(kind).endswith("*") else None
                cell.cell.value = Allocation(size if isinstance(size, int) else None, element)
            return 0
        if name in _ASKED and given:
            cell = self.value(given[0])
            answer = _ASKED[name]
            if answer is None and len(given) >= 2:
                answer = ATTRIBUTES.get(text_of(given[1]).rsplit("::", 1)[-1])
            if isinstance(cell, Reference) and answer is not None:
                cell.cell.value = answer
            return 0
        if name.startswith("cudaMemset") and len(given) >= 3:
            target = self.value(given[0])
            if isinstance(target, Allocation):
                target.zero = self.value(given[1]) == 0
            return 0
        if name in LAUNCH and len(given) >= 4 and name != "cudaLaunchKernelEx":
            listed = self.value(given[3])
            shared = self.value(given[4]) if len(given) > 4 else 0
            values = [each.cell.value if isinstance(each, Reference) else each
                      for each in (listed if isinstance(listed, list) else [])]  # fmt: skip
            kernel = given[0]
            while kernel.type in ("cast_expression", "pointer_expression"):
                kernel = kernel.child_by_field_name("value") or kernel.named_children[-1]
            grid = [self.value(given[1]), self.value(given[2]), shared]
            self._launch(kernel, grid, values, node, "Cooperative" in name)
            return 0
        if name == "cudaLaunchKernelEx" and len(given) >= 2:
            config = self.value(given[0])
            config = config.cell.value if isinstance(config, Reference) else config
            if isinstance(config, dict):
                parts = [config[n].value if n in config else Unknown(n)
                         for n in ("gridDim", "blockDim", "dynamicSmemBytes")]  # fmt: skip
                self._launch(given[1], parts, [self.value(n) for n in given[2:]], node)
            return 0
        if name in self.functions and name != "main":
            types = self._template_arguments(function)
            values = []
            for each in given:
                cell = self.place(each)
                values.append(cell if cell is not None else self.value(each))
            return self._run(name, values, types)
        return super().call(name, function, given, node)

    def _template_arguments(self, function: Node) -> tuple[Any, ...]:
        listed = next((n for n in walk(function) if n.type == "template_argument_list"), None)
        found: list[Any] = []
        for each in listed.named_children if listed is not None else ():
            if each.type == "type_descriptor":
                cell = self.find(text_of(each))
                known = cell is not None and not isinstance(cell.value, Unknown)
                if cell is not None and cell.type == ENUMERATOR:
                    found.append(Type(text_of(each)))
                elif known:
                    found.append(cell.value)  # type: ignore[union-attr]
                else:
                    number = self.from_text(text_of(each))
                    named = Unknown(text_of(each)) if cell else Type(text_of(each))
                    found.append(named if isinstance(number, Unknown) else number)
            else:
                cell = self.find(text_of(each)) if each.type == "identifier" else None
                constant = cell is not None and cell.type == ENUMERATOR
                found.append(Type(text_of(each)) if constant else self.value(each))
        return tuple(found)

    def _launch(
        self, function: Node, configuration: list[Any], values: list[Any], node: Node,
        cooperative: bool = False,
    ) -> None:  # fmt: skip
        name = text_of(function)
        cell = self.find(name)
        if cell is not None and isinstance(cell.value, Unknown) and cell.value.name != name:
            name = cell.value.name  # auto kernel = gemm<64>; kernel<<<…>>>
        plain_name = name.split("<")[0].rsplit("::", 1)[-1].strip()
        candidates = self.kernels.get(plain_name, [])
        signature = next((s for s in candidates if len(s.parameters) == len(values)),
                         candidates[0] if candidates else None)  # fmt: skip
        types = self._template_arguments(function)
        table = {}
        if signature is not None and signature.template:
            types = _deduced(signature, types, values)
            for text, value in zip(signature.template, types, strict=False):
                table[re.split(r"[\s.]+", text.split("=")[0].strip())[-1]] = value
        described = Described()
        arguments = describe(values, signature, table, self, described)
        shown = [described.text(each) for each in types]
        full = (signature.full_name if signature else plain_name) + (
            f"<{', '.join(shown)}>" if shown else ""
        )
        shared = configuration[2] if len(configuration) > 2 else 0
        (self.possible if self.maybe else self.found).append(
            FoundLaunch(
                full, node.start_point.row + 1, described.shape(configuration[0]),
                described.shape(configuration[1]), described.text(shared), arguments,
                tuple(dict.fromkeys(described.unknown)), signature, cooperative,
            )
        )  # fmt: skip
