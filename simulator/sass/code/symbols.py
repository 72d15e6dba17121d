"""Variables of a module that host code sets before a launch: `__constant__` and `__device__`."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from layouts.errors import accepted
from simulator.errors import LaunchError
from simulator.sass.code.cubin import Cubin, Variable, base_name

__all__ = ["Symbol", "module_symbols", "with_symbols"]


@dataclass(frozen=True)
class Symbol:
    """A variable: the section that holds it, where in it, and how many bytes."""

    name: str
    section: str
    offset: int
    size: int

    @property
    def bank(self) -> int | None:
        """The constant bank; None for global memory."""
        found = re.match(r"\.nv\.constant(\d+)", self.section)
        return int(found[1]) if found else None


def module_symbols(cubin: Cubin) -> dict[str, Symbol]:
    """Return the variables of a module by their names in the symbol table."""
    from elftools.elf.elffile import ELFFile

    elf: Any = ELFFile(io.BytesIO(cubin.image))
    table = elf.get_section_by_name(".symtab")
    found = {}
    for symbol in table.iter_symbols() if table is not None else ():
        place = symbol["st_shndx"]
        if symbol["st_info"]["type"] != "STT_OBJECT" or not isinstance(place, int):
            continue
        section = elf.get_section(place).name
        if re.match(r"\.nv\.(?:constant3|global(?:\.init)?)$", section) and symbol["st_size"]:
            found[symbol.name] = Symbol(
                symbol.name, section, int(symbol["st_value"]), int(symbol["st_size"])
            )
    return found


class FromHost(NamedTuple):
    """What host code sets a variable to; the module need not have it."""

    value: Any


def with_symbols(cubin: Cubin, given: Mapping[str, Any]) -> Cubin:
    """Return the module with variables set.

    A value is an array or a scalar of NumPy, of at most the variable's bytes; it is written from
    the variable's beginning. Raises LaunchError for a name that is not there (the names that are
    there are listed), and for a value that does not fit. Of a value `FromHost` what fits is taken.
    """
    if not given:
        return cubin
    known = module_symbols(cubin)
    banks: dict[int, bytearray] = {}
    for kernel in cubin.kernels.values():
        for number, data in kernel.banks.items():
            banks.setdefault(number, bytearray(data))
    variables = {each.name: bytearray(each.data) for each in cubin.variables}
    for name, value in given.items():
        if isinstance(value, FromHost):
            if name not in {base_name(each) for each in known}:
                continue  # no kernel of this module has it
            symbol = _find(name, known)
            value = np.frombuffer(value.value.tobytes()[: symbol.size], np.uint8)
        symbol = _find(name, known)
        if not isinstance(value, np.ndarray | np.generic) or value.dtype.hasobject:
            raise LaunchError(f"symbol {name}: {type(value).__name__} (accepted: arrays of NumPy)")
        if not value.dtype.isnative:
            raise LaunchError(
                f"symbol {name} is {value.dtype.str}: its bytes are not in this machine's order"
                " (accepted:"
                " array.astype(array.dtype.newbyteorder('=')))"
            )
        data = value.tobytes()
        if len(data) > symbol.size:
            raise LaunchError(
                f"symbol {name} has {symbol.size} bytes and the value {len(data)} (accepted: at"
                f" most {symbol.size})"
            )
        target = banks[symbol.bank] if symbol.bank is not None else variables[symbol.section]
        target[symbol.offset : symbol.offset + len(data)] = data
    kernels = {
        name: replace(
            kernel,
            banks={
                number: bytes(banks[number]) if number == 3 else data
                for number, data in kernel.banks.items()
            },
        )
        for name, kernel in cubin.kernels.items()
    }
    return replace(
        cubin, kernels=kernels,
        variables=tuple(Variable(name, bytes(data)) for name, data in variables.items()),
    )  # fmt: skip


def _find(name: str, symbols: Mapping[str, Symbol]) -> Symbol:
    if name in symbols:
        return symbols[name]
    fitting = [
        each for each in symbols.values() if base_name(each.name) == name.rsplit("::", 1)[-1]
    ]
    if len(fitting) == 1:
        return fitting[0]
    names = sorted({base_name(each) for each in symbols})
    if not names:
        raise LaunchError(f"symbol {name!r}: the module has no variables")
    raise LaunchError(f"symbol {name!r}: {accepted(name, names)}")
