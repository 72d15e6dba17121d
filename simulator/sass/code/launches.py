"""Launches that stand in a source: `kernel<<<grid, block>>>(…)`, with what its host code says.

Host code is read as far as it can be evaluated: numbers, dim3, sizes of allocations; see
`hostreader`. Nothing of it is run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.errors import LaunchError
from simulator.law.chips import Chip
from simulator.sass.code.conditions import chosen
from simulator.sass.code.constants import compiled_in
from simulator.sass.code.deduction import deduced, parameter_name, spelled, type_of
from simulator.sass.code.describing import Described, describe, symbol_text
from simulator.sass.code.device import attribute, cores, device_for, properties
from simulator.sass.code.evaluation import text_of
from simulator.sass.code.hostreader import HostReader
from simulator.sass.code.hostvalues import (
    ENUMERATOR,
    Allocation,
    Cell,
    Pack,
    Reference,
    Type,
    Unknown,
    bytes_of,
    plain_type,
)
from simulator.sass.code.loops import LAUNCH, asks_arguments
from simulator.sass.code.preprocessor import Macro
from simulator.sass.code.records import Types
from simulator.sass.code.signatures import Signature, parameters_of, signatures, walk
from simulator.sass.code.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["FoundLaunch", "Launches", "find_launches"]

_ALLOCATE = {"cudaMalloc", "cudaMallocManaged", "cudaMallocHost", "cudaMallocAsync", "cuMemAlloc",
             "cudaHostAlloc", "hipMalloc"}  # fmt: skip

_COPY = {"cudaMemcpy", "cudaMemcpyAsync", "memcpy"}
_ASKED = {"cudaGetDevice": 0, "cudaGetDeviceCount": 1, "cudaDeviceGetAttribute": None}
# What host code asks of the device, with the answer; None: by the attribute.
_OPTIONS = {"getopt": -1, "getopt_long": -1, "checkCmdLineFlag": 0, "getCmdLineArgumentString": 0,
            "getCmdLineArgumentInt": 0, "getCmdLineArgumentFloat": 0}  # fmt: skip
# What reads a command line, with what it gives where that has no arguments.


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
    symbols: tuple[tuple[str, str], ...] = ()
    """Variables that host code sets before it, and values as arguments are written."""
    arrays: tuple[tuple[str, str], ...] = ()
    """Arrays that several arguments share, by the name that those have for them."""

    @property
    def full_name(self) -> str:
        """Its kernel with the grid and the block, to tell it from others of that kernel."""
        return f"{self.kernel} <<<{self.grid}, {self.block}>>>"

    def texts(self) -> tuple[str, ...]:
        """Return its arguments and the arrays that they share."""
        return self.arguments + tuple(text for _, text in self.arrays)

    def command(self, file: str) -> str:
        """Return the command that replays it."""
        parts = ["bankwise sass", shlex.quote(file), "--kernel", _quoted(self.kernel),
                 "--grid", _quoted(self.grid), "--block", _quoted(self.block)]  # fmt: skip
        if self.shared_bytes != "0":
            parts += ["--shared-bytes", _quoted(self.shared_bytes)]
        if self.cooperative:
            parts.append("--cooperative")
        for name, array in self.arrays:
            parts += ["--array", _quoted(f"{name}={array}")]
        for each in self.arguments:
            parts += ["--arg", _quoted(each)]
        for name, value in self.symbols:
            parts += ["--set", _quoted(f"{name}={value}")]
        return " ".join(parts)


@dataclass(frozen=True)
class Launches:
    """What a source says of its kernels."""

    kernels: dict[str, list[Signature]]
    launches: tuple[FoundLaunch, ...]
    types: Types
    """What is known of its structures."""
    asks_arguments: bool
    """Whether its main goes on by arguments, which are read as none. Not where values are given."""

    def instances(self) -> tuple[str, ...]:
        """Return the templates' instances that are launched."""
        return tuple(dict.fromkeys(each.kernel for each in self.launches if "<" in each.kernel))


def _quoted(text: str) -> str:
    return f"'{text}'" if re.search(r"[^\w.:=/,+-]", text) else text


def find_launches(
    text: str | Source, outside: Mapping[str, Macro] | None = None, others: Iterable[Source] = (),
    assumed: Mapping[str, int | float] | None = None, chip: Chip | None = None,
) -> Launches:  # fmt: skip
    """Find the launches in a source, in the order in which its host code reaches them.

    `outside`: macros from elsewhere. `others`: headers of the project, whose kernels, types and
    functions count. `assumed`: values of names that host code does not tell, such as parameters of
    a function that nothing calls; of a pointer its elements, and of "*" those of all others.
    `chip`: what host code asks of its device is told of it; None: an H200.

    Branches of `#if` that the macros do not choose are not read: see `chosen`.

    Raises LaunchError for an assumed name that no host code has that launches, or device code has.
    It raises one for host code that is nested too deeply, too.
    """
    main = Source(text, outside or {}) if isinstance(text, str) else text
    sources = chosen(main, outside or {}, [*others])
    reader = _Reader(sources, assumed or {}, properties(device_for(chip)))
    try:
        reader.read()
    except RecursionError:
        raise LaunchError(
            "the host code is nested too deeply to be read for its launches (accepted: a kernel"
            " with its grid, block and args)"
        ) from None
    _check_assumed(reader)
    return Launches(
        reader.kernels,
        tuple(dict.fromkeys(_chosen(reader.found, reader.possible))),
        reader.types,
        not reader.assumed
        and asks_arguments(reader.functions.get("main", (None,))[0], reader.program_arguments),
    )


def _check_assumed(reader: _Reader) -> None:
    """Refuse an assumed value that nothing takes, or that device code would not take."""
    compiled = compiled_in(reader.sources) if reader.assumed else {}
    for name in reader.assumed:
        if name in compiled:
            raise LaunchError(
                f"--let {name}={reader.assumed[name]}: {name} is a constant of the whole file,"
                f" and device code uses it, too: {compiled[name]!r} (accepted: change the value"
                " in the file)"
            )
    for name, pointer in reader.no_counts.items():
        raise LaunchError(
            f"--let {name}={reader.assumed[name]}: {pointer} is a pointer, and this is its number"
            " of elements (accepted: a whole number above zero)"
        )
    for name in set(reader.assumed) - reader.used - {"*"}:
        value = reader.assumed[name]
        is_macro = name in reader.macros
        raise LaunchError(
            f"--let {name}={value}: {name} is "
            + (f"a macro, and not a variable (accepted: -D {name}={value}, if the file itself"
            " does not define it)"
               if is_macro else "not a variable of host code that launches a kernel (accepted: a"
               " variable that a launch needs; to list them, leave out --let)")
        )  # fmt: skip


def _chosen(found: list[FoundLaunch], possible: list[FoundLaunch]) -> list[FoundLaunch]:
    """Return the launches of the program, and of ways that it does not take what it lacks."""
    known = {_base(each.kernel) for each in found if not each.unknown}
    ways = [each for each in possible if _base(each.kernel) not in known]
    sure = {each.kernel for each in ways if not each.unknown}
    found = [each for each in found if not each.unknown or each.kernel not in sure]
    launched = sure | {each.kernel for each in found}
    return found + [each for each in ways if not each.unknown or each.kernel not in launched]


def _base(kernel: str) -> str:
    """Return a kernel's name without template arguments, which need not fit on a way not taken."""
    return kernel.split("<")[0]


class _Reader(HostReader):
    """Takes note of launches, and of what allocations give their arguments."""

    def __init__(
        self, sources: list[Source], assumed: Mapping[str, int | float], device: dict[str, int]
    ) -> None:
        super().__init__(sources)
        self.assumed, self.device = assumed, device
        self.kernels: dict[str, list[Signature]] = {}
        for each in sources:
            for name, listed in signatures(each).items():
                self.kernels.setdefault(name, []).extend(listed)
        self.found: list[FoundLaunch] = []
        self.symbols: dict[str, str] = {}
        self.possible: list[FoundLaunch] = []
        """Those on ways that the program does not take."""

    # ---- Types of the function that is read. -------------------------------------------------
    def _on_alias_declaration(self, node: Node) -> None:
        """Declare a type of the function that is read: `using T = float;`."""
        name, kind = (node.child_by_field_name(n) for n in ("name", "type"))
        if name is not None and kind is not None and len(self.scopes) > 1:
            said = spelled(text_of(kind), self)
            self.declare(text_of(name), Unknown(text_of(name)) if said is None else Type(said))

    def _on_type_definition(self, node: Node) -> None:
        """Declare a type of the function that is read: `typedef float T;`."""
        name, kind = (node.child_by_field_name(n) for n in ("declarator", "type"))
        if name is None or kind is None or name.type != "type_identifier" or len(self.scopes) < 2:
            return
        said = spelled(text_of(kind), self)
        self.declare(text_of(name), Unknown(text_of(name)) if said is None else Type(said))

    # ---- Calls and launches. -----------------------------------------------------------------
    def _call_expression(self, node: Node) -> Any:
        syntax = next((n for n in node.named_children if n.type == "kernel_call_syntax"), None)
        if syntax is not None:
            configuration = [n for n in syntax.named_children if n.type != "comment"]
            function = node.child_by_field_name("function")
            if function is not None and len(configuration) >= 2:
                values = [self.value(each) for each in configuration]
                own, types = self._expanded(self.arguments(node))
                self._launch(function, values, own, node, types=types)
            return Unknown("a launch")
        return super()._call_expression(node)

    def call(self, name: str, function: Node, given: list[Node], node: Node) -> Any:
        """Evaluate a call: allocations, launches and functions of the source count."""
        if name in self.launchers and name in self.macros:
            self.read_macro(name, node)
            return 0
        if name in _ALLOCATE and len(given) >= 2:
            cell = self.value(given[0])
            size = self.value(given[1])
            if isinstance(cell, Reference):
                kind = cell.cell.type
                element = plain_type(kind)[:-1] if plain_type(kind).endswith("*") else None
                cell.cell.value = Allocation(bytes_of(size), element)
            return 0
        if name in _OPTIONS and given and self.value(given[0]) == 1:  # argc
            return _OPTIONS[name]
        if name in _ASKED and given:
            cell = self.value(given[0])
            answer = _ASKED[name]
            if answer is None and len(given) >= 2:
                answer = attribute(text_of(given[1]), self.device)
            if isinstance(cell, Reference) and answer is not None:
                cell.cell.value = answer
            return 0
        if name == "_ConvertSMVer2Cores":  # helper_cuda.h looks them up in an array of structures
            capability = [self.value(each) for each in given]
            if len(capability) == 2 and all(isinstance(each, int) for each in capability):
                return cores(*capability)
        if name.startswith("cudaMemcpyToSymbol") and len(given) >= 3:
            variable = text_of(given[0]).lstrip("&")
            told = symbol_text(self.value(given[1]), self.value(given[2]), self)
            if told is not None and variable.isidentifier():
                self.symbols[variable] = told
            return 0
        if name in _COPY and len(given) >= 3:
            target, source = self.value(given[0]), self.value(given[1])
            if isinstance(target, Allocation) and isinstance(source, Allocation):
                target.target.pointers = source.pointers or target.pointers
            return 0
        if name.startswith("cudaMemset") and len(given) >= 3:
            target = self.value(given[0])
            if isinstance(target, Allocation):
                target.target.zero = self.value(given[1]) == 0
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
                own, types = self._expanded(given[2:])
                self._launch(given[1], parts, own, node, types=types)
            return 0
        if name in self.functions and name != "main":
            values = []
            for each in given:
                cell = self.place(each)
                values.append(cell if cell is not None else self.value(each))
            arguments = self._arguments_for(name, function, given, values)
            return self._run(name, values, arguments, self._types(given, values))
        return super().call(name, function, given, node)

    def _template_arguments(self, function: Node) -> tuple[Any, ...]:
        listed = next((n for n in walk(function) if n.type == "template_argument_list"), None)
        children = listed.named_children if listed is not None else ()
        return tuple(self._template_argument(each) for each in children if each.type != "comment")

    def _template_argument(self, node: Node) -> Any:
        """Return a number, a type, or the text that the compiler understands."""
        text = text_of(node)
        cell = self.find(text.rsplit("::", 1)[-1])
        if cell is not None and cell.type == ENUMERATOR:
            return Type(text)
        if cell is not None and isinstance(cell.value, Unknown) and "::" not in text:
            return Unknown(text)
        number = self.from_text(text) if node.type == "type_descriptor" else self.value(node)
        if isinstance(number, bool | int | Type):
            return number
        said = spelled(text, self)
        is_type = node.type == "type_descriptor" or "::" in text
        return Type(said) if is_type and said is not None else Unknown(text)

    def _arguments_for(
        self, name: str, function: Node, given: list[Node], values: list[Any]
    ) -> tuple[Any, ...]:
        """Return the template arguments of a call of a host function, deduced ones too."""
        types = self._template_arguments(function)
        node, template = self.functions[name]
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        if not template or declarator is None:
            return types
        kinds = [kind for kind, _ in parameters_of(declarator)]
        return deduced(template, kinds, types, self._types(given, values))

    def _expanded(self, nodes: list[Node]) -> tuple[list[Any], list[str | None]]:
        """Return the values and the types of arguments, of packs (`args...`) each member's."""
        values: list[Any] = []
        types: list[str | None] = []
        for node in nodes:
            names = [each for each in walk(node) if each.type == "identifier"]
            cell = self.find(text_of(names[-1])) if names else None
            if node.type == "parameter_pack_expansion" and cell and isinstance(cell.value, Pack):
                values += cell.value.values
                types += cell.value.types
            else:
                values.append(self.value(node))
                types += self._types([node], values[-1:])
        return values, types

    def _types(self, nodes: list[Node], values: list[Any]) -> list[str | None]:
        plain = [each.value if isinstance(each, Cell) else each for each in values]
        return [type_of(*each, self) for each in zip(nodes, plain, strict=False)]

    def _launch(
        self, function: Node, configuration: list[Any], values: list[Any], node: Node,
        cooperative: bool = False, types: Sequence[str | None] = (),
    ) -> None:  # fmt: skip
        while function.type == "parenthesized_expression":  # a macro has it so
            function = function.named_children[0]
        name = text_of(function)
        cell = self.find(name)
        if cell is not None and isinstance(cell.value, Unknown) and cell.value.name != name:
            name = cell.value.name  # auto kernel = gemm<64>; kernel<<<…>>>
        plain_name = name.split("<")[0].rsplit("::", 1)[-1].strip()
        candidates = self.kernels.get(plain_name, [])
        signature = next((s for s in candidates if len(s.parameters) == len(values)),
                         candidates[0] if candidates else None)  # fmt: skip
        instance = self._template_arguments(function)
        table = {}
        if signature is not None and signature.template:
            kinds = [kind for kind, _ in signature.parameters]
            instance = deduced(signature.template, kinds, instance, types)
            for text, value in zip(signature.template, instance, strict=False):
                table[parameter_name(text)] = value
            for text in signature.template[len(instance) :]:
                if "=" in text:
                    table[parameter_name(text)] = Type(text.split("=", 1)[1].strip())
        described = Described()
        arguments = describe(values, signature, table, self, described)
        shown = [described.name(each) for each in instance]
        full = signature.full_name if signature else plain_name
        if instance or (signature is not None and signature.template):
            full += f"<{', '.join(shown)}>"
        shared = configuration[2] if len(configuration) > 2 else 0
        row = node.start_point.row if self.row is None else self.row
        (self.possible if self.maybe else self.found).append(
            FoundLaunch(
                full, row + 1, described.shape(configuration[0]),
                described.shape(configuration[1]), described.text(shared), arguments,
                tuple(dict.fromkeys(described.unknown)), signature, cooperative,
                tuple(self.symbols.items()), described.arrays,
            )
        )  # fmt: skip
