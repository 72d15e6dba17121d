"""Reading a cubin: its kernels, what each needs, its constants and global variables.

A cubin is an ELF file; pyelftools takes it apart. What NVIDIA adds to ELF is read here. Attributes
(parameters, stack) are in `.nv.info.<kernel>`; shared memory is the size of `.nv.shared.<kernel>`;
constant banks are `.nv.constant<bank>[.<kernel>]`. Addresses of global variables are relocations of
bank 4.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from layouts.errors import accepted
from simulator.errors import CubinError
from simulator.sass.architectures import ARCHITECTURES, Architecture
from simulator.sass.code.demangling import demangled, has_more, same_name
from simulator.sass.code.linking import BANK as LINKS
from simulator.sass.code.linking import SYSTEM, CodeLink, read_links

__all__ = ["Cubin", "CubinKernel", "Parameter", "Variable", "base_name", "plain_name", "read_cubin"]

# Attributes of .nv.info sections (EIATTR_…), as `cuobjdump -elf` names them.
_FRAME_SIZE, _MIN_STACK_SIZE, _KPARAM_INFO, _PARAM_CBANK = 0x11, 0x12, 0x17, 0x0A
_CTA_PER_CLUSTER, _REGISTER_COUNT = 0x3D, 0x2F
_UNKNOWN = 0xFFFFFFFF
_FIRST = 20  # the capability of the oldest architecture with cubins of this kind
_MOST_BYTES = 1 << 28  # of one section; nothing a kernel needs comes near

# Types by their letter in a mangled symbol (Itanium C++ ABI, 5.1.5.2, "Builtin types").
_TYPES = {
    "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long",
    "x": "long long", "y": "unsigned long long", "f": "float", "d": "double",
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter: where it lies among the parameters, and its bytes."""

    offset: int
    size: int


@dataclass(frozen=True)
class Variable:
    """Bytes of global memory that the module brings along."""

    name: str
    data: bytes


@dataclass(frozen=True)
class CubinKernel:
    """One entry point."""

    name: str
    """As the file has it: mangled, for C++."""
    code_bytes: int
    parameters: tuple[Parameter, ...]
    parameter_base: int
    """Where the parameters begin in constant bank 0."""
    shared_bytes: int
    """Static shared memory, with what the architecture reserves."""
    stack_bytes: int
    banks: dict[int, bytes]
    """Constant banks; bank 0 holds zeros where launch and parameters go."""
    addresses: tuple[tuple[int, int, str, int], ...]
    """(bank, offset, variable, offset in it): 64-bit addresses to fill in."""
    entries: dict[str, int]
    """Functions inside the kernel's code, by symbol: their offset."""
    system: tuple[tuple[int, int, str], ...] = ()
    """(bank, offset, function): addresses of the system's functions to fill in."""
    cluster: tuple[int, int, int] | None = None
    """The blocks of a cluster, where the kernel requires a number of them."""
    registers: int = 0
    """Of 32 bits, per thread; 0: not known."""
    code: bytes = field(default=b"", repr=False)
    """The instructions, 16 bytes each."""
    links: tuple[CodeLink, ...] = ()
    """What its instructions name, and a driver fills in."""


@dataclass(frozen=True)
class Cubin:
    """Device code for one architecture."""

    image: bytes
    architecture: Architecture
    kernels: dict[str, CubinKernel]
    variables: tuple[Variable, ...]
    asked: dict[str, str] = field(default_factory=dict)
    """Symbols of templates that were instantiated by name, such as "gemm<Alias>"."""
    notes: tuple[str, ...] = ()
    """What the compiler said that a reader of figures must know."""

    def kernel(self, name: str | None) -> CubinKernel:
        """Find a kernel by its symbol or by its plain C++ name; None: the only one.

        Raises CubinError, which lists the kernels, where that names none or several.
        """
        if name is None:
            if len(self.kernels) == 1:
                return next(iter(self.kernels.values()))
            raise CubinError(f"which kernel? (accepted: {_listed(self.kernels)})")
        name = self.asked.get(name, name)
        if name in self.kernels:
            return self.kernels[name]
        exact = [each for each in self.kernels.values() if same_name(demangled(each.name), name)]
        exact = exact or [
            each for each in self.kernels.values() if has_more(demangled(each.name), name)
        ]
        if len(exact) == 1:
            return exact[0]
        plain = re.sub(r"\s|<.*>$|\(.*\)$", "", name).rsplit("::", 1)[-1]
        found = [kernel for kernel in self.kernels.values() if base_name(kernel.name) == plain]
        if len(found) == 1 and "<" not in name:
            return found[0]
        if several := exact or (found if "<" not in name else []):
            told = _listed(each.name for each in several)
            raise CubinError(f"{name!r} names {len(several)} kernels (accepted: {told})")
        if found:
            told = _listed(each.name for each in found)
            raise CubinError(f"there is no kernel {name!r} (accepted: {told})")
        names = {*map(base_name, self.kernels), *map(demangled, self.kernels)}
        raise CubinError(f"no kernel {name!r}: {accepted(name, sorted(names))}")


def base_name(symbol: str) -> str:
    """Return the plain name in a mangled symbol.

    >>> base_name("_ZN2my5sgemmILi128EEEvPKfS2_Pfiii")
    'sgemm'
    >>> base_name("softmax")
    'softmax'
    """
    nested = symbol.startswith("_ZN")
    rest = symbol[3:] if nested else symbol.removeprefix("_Z")
    if rest == symbol:
        return symbol
    name = symbol
    while found := re.match(r"L?(\d+)", rest):
        size = int(found[1])
        name, rest = rest[found.end() : found.end() + size], rest[found.end() + size :]
        if not nested:
            break
    return name


def plain_name(symbol: str) -> str:
    """Return the name in a mangled symbol, with its template's numbers and plain types.

    >>> plain_name("_ZN2my5sgemmILi128ELb1EfEEvPKfS2_Pfiii"), plain_name("softmax")
    ('sgemm<128, true, float>', 'softmax')
    """
    name = base_name(symbol)
    argument = f"L[a-z]n?\\d+E|[{''.join(_TYPES)}]"
    found = re.search(rf"{len(name)}{re.escape(name)}I((?:{argument})+)E", symbol)
    if found is None:  # no template, or arguments that would take a whole demangler
        return name
    parts = re.findall(r"L([a-z])(n?\d+)E|([a-z])", found[1])
    said = [_TYPES[kind] if kind else _literal(of, value) for of, value, kind in parts]
    return f"{name}<{', '.join(said)}>"


def _literal(kind: str, value: str) -> str:
    return ("false", "true")[value != "0"] if kind == "b" else value.replace("n", "-")


def read_cubin(image: bytes, name: str = "the cubin") -> Cubin:
    """Take a cubin apart. Raises CubinError for anything that is not a whole, linked cubin.

    `name` is what errors call it.
    """
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(io.BytesIO(image))
        sections = {section.name: section for section in elf.iter_sections()}
        if elf.header.e_machine not in ("EM_CUDA", 190):
            raise CubinError(
                f"{name} is an ELF file for machine {elf.header.e_machine} (accepted: device code)"
            )
        return _read(image, elf, sections, name)
    except CubinError:
        raise
    except Exception as error:  # a broken file can break any part of the reader
        raise CubinError(
            f"{name} is not a readable cubin: {type(error).__name__}: {error} (accepted: a whole"
            " file, as nvcc -cubin writes it; next: compile or copy it again)"
        ) from error


def _read(image: bytes, elf: Any, sections: dict[str, Any], file: str) -> Cubin:
    flags = elf.header.e_flags
    number = flags & 0xFF if flags & 0xFF in ARCHITECTURES else (flags >> 8) & 0xFF
    if number not in ARCHITECTURES:
        known = ", ".join(each.name for each in ARCHITECTURES.values())
        found = next((each for each in (flags & 0xFF, (flags >> 8) & 0xFF) if each >= _FIRST), None)
        what = f"sm_{found}" if found else f"an architecture with flags {flags:#x}"
        raise CubinError(
            f"{file} is code for {what} (accepted: code for {known}; next: compile its source for"
            " one of them, such as nvcc -cubin -arch=sm_90)"
        )
    architecture = ARCHITECTURES[number]
    symbols = list(sections[".symtab"].iter_symbols()) if ".symtab" in sections else []
    places = {section.name: at for at, section in reversed([*enumerate(elf.iter_sections())])}
    stacks = _largest(sections, symbols, (_FRAME_SIZE, _MIN_STACK_SIZE))
    registers = _largest(sections, symbols, (_REGISTER_COUNT,))
    addresses = tuple(_addresses(elf, sections, symbols))
    system = tuple(_system(sections, symbols))
    kernels = {}
    for name, section in sections.items():
        kernel = name.removeprefix(".text.")
        if kernel == name or f".nv.info.{kernel}" not in sections:
            continue
        if f".nv.constant0.{kernel}" not in sections:
            continue  # a device function of its own
        inside = list(_inside(sections, kernel))
        links = read_links(elf, inside, symbols)
        if inside and not links:
            called = _called(inside, symbols, kernel)
            hint = "; -D NDEBUG leaves asserts out" if "__assertfail" in called else ""
            raise CubinError(
                f"{kernel} is not linked yet: it calls {', '.join(called)}"
                f" (accepted: a linked cubin{hint})"
            )
        made = _kernel(
            kernel, places[name], section, sections, symbols, addresses, stacks.get(kernel, 0),
            registers.get(kernel, 0), system,
        )  # fmt: skip
        kernels[kernel] = _with_links(made, links, _called(inside, symbols, kernel))
    if not kernels:
        raise CubinError(f"{file} holds no kernel")
    variables = tuple(
        Variable(name, _data(sections[name]))
        for name in (".nv.global", ".nv.global.init")
        if name in sections
    )
    return Cubin(image, architecture, kernels, variables)


def _kernel(
    name: str, index: int, code: Any, sections: dict[str, Any], symbols: list[Any],
    addresses: tuple[tuple[int, int, str, int], ...], stack: int, registers: int,
    system: tuple[tuple[int, int, str], ...],
) -> CubinKernel:  # fmt: skip
    parameters: dict[int, Parameter] = {}
    base, cluster = 0, None
    for attribute, value in _attributes(_data(sections[f".nv.info.{name}"])):
        if attribute == _KPARAM_INFO and isinstance(value, bytes):
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            parameters[ordinal] = Parameter(offset, packed >> 18)
        elif attribute == _PARAM_CBANK and isinstance(value, bytes):
            base = struct.unpack("<IHH", value)[1]
        elif attribute == _CTA_PER_CLUSTER and isinstance(value, bytes) and any(value):
            cluster = struct.unpack("<III", value)
    banks = {}
    for section in sections:
        found = re.fullmatch(r"\.nv\.constant(\d{1,2})(?:\.(.*))?", section)
        if found and found[2] in (None, name) and int(found[1]) < 32:
            banks[int(found[1])] = _data(sections[section])
    shared = sections.get(f".nv.shared.{name}")
    return CubinKernel(
        name,
        int(code["sh_size"]),
        tuple(parameters[ordinal] for ordinal in sorted(parameters)),
        base,
        0 if shared is None else int(shared["sh_size"]),
        stack,
        banks,
        addresses,
        {
            symbol.name: int(symbol["st_value"])
            for symbol in symbols
            if symbol["st_shndx"] == index and symbol["st_info"]["type"] == "STT_FUNC"
        },
        system,
        cluster,
        registers,
        _data(code),
    )


def _largest(
    sections: dict[str, Any], symbols: list[Any], attributes: tuple[int, ...]
) -> dict[str, int]:
    """Return the largest of some of the module's attributes, by kernel."""
    found: dict[str, int] = {}
    if ".nv.info" in sections:
        for attribute, value in _attributes(_data(sections[".nv.info"])):
            if attribute in attributes and isinstance(value, bytes):
                symbol, size = struct.unpack("<II", value)
                name = symbols[symbol].name
                if size != _UNKNOWN:  # recursion: what a launch has by default must do
                    found[name] = max(found.get(name, 0), size)
    return found


def _addresses(
    elf: Any, sections: dict[str, Any], symbols: list[Any]
) -> Iterator[tuple[int, int, str, int]]:
    """Relocations of constant banks that point into global memory."""
    for bank, relocation, addend, symbol in _relocations(sections, symbols):
        if symbol["st_shndx"] != "SHN_UNDEF":
            target = elf.get_section(symbol["st_shndx"]).name
            yield bank, relocation["r_offset"], target, symbol["st_value"] + addend


def _system(sections: dict[str, Any], symbols: list[Any]) -> Iterator[tuple[int, int, str]]:
    """Relocations of constant banks that are for functions of the system: see `run.system`."""
    for bank, relocation, _, symbol in _relocations(sections, symbols):
        if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name:
            yield bank, relocation["r_offset"], symbol.name


def _inside(sections: dict[str, Any], kernel: str) -> Iterator[Any]:
    """Yield the relocations of a kernel's instructions."""
    for name in (f".rela.text.{kernel}", f".rel.text.{kernel}"):
        if name in sections and sections[name]["sh_size"]:
            yield from sections[name].iter_relocations()


def _called(inside: Iterable[Any], symbols: list[Any], kernel: str) -> list[str]:
    """Name what relocations name."""
    found = dict.fromkeys(symbols[each["r_info_sym"]].name or "a section" for each in inside)
    return [name for name in found if name != kernel] or list(found)


def _with_links(kernel: CubinKernel, links: list[CodeLink], called: list[str]) -> CubinKernel:
    """Give a kernel the bank that holds what its instructions name."""
    if not links:
        return kernel
    places = {(LINKS, each.offset, each.section, each.inside) for each in links if each.section}
    calls = tuple((LINKS, 8 * len(places), name) for name in called if name in SYSTEM)
    return replace(
        kernel, links=tuple(links), addresses=(*kernel.addresses, *sorted(places)),
        system=(*kernel.system, *calls), banks={**kernel.banks, LINKS: bytes(8 * len(places) + 8)},
    )  # fmt: skip


def _relocations(
    sections: dict[str, Any], symbols: list[Any]
) -> Iterator[tuple[int, Any, int, Any]]:
    """Yield bank, relocation, addend and symbol of each relocation of a constant bank."""
    for name, section in sections.items():
        if found := re.fullmatch(r"\.rela?\.nv\.constant(\d+)", name):
            for relocation in section.iter_relocations():
                addend = relocation["r_addend"] if relocation.is_RELA() else 0
                yield int(found[1]), relocation, addend, symbols[relocation["r_info_sym"]]


def _attributes(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the entries of an .nv.info section: attribute and value."""
    offset = 0
    while offset + 4 <= len(data):
        form, attribute, value = struct.unpack_from("<BBH", data, offset)
        offset += 4
        if form == 4:
            yield attribute, data[offset : offset + value]
            offset += value
        else:
            yield attribute, value


def _data(section: Any) -> bytes:
    size = section["sh_size"]
    if size > _MOST_BYTES:
        raise CubinError(f"section {section.name} has {size} bytes (accepted: up to {_MOST_BYTES})")
    return bytes(size) if section["sh_type"] == "SHT_NOBITS" else bytes(section.data())


def _listed(symbols: Iterable[str]) -> str:
    """List kernels by their names, or by their symbols where two have one name."""
    given = sorted(symbols)
    names = [demangled(each) for each in given]
    shown = [
        name if names.count(name) == 1 else symbol
        for name, symbol in zip(names, given, strict=True)
    ]
    return ", ".join(shown)
