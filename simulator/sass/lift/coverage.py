"""The table of docs/reference/sass.md: `python -m simulator.sass.lift.coverage` prints it."""

from __future__ import annotations

from types import ModuleType

from simulator.sass.lift import opcodes
from simulator.sass.lift.table import OPCODES, Opcode

__all__ = ["coverage_table", "groups"]

_TITLES: dict[str, tuple[ModuleType, ...]] = {
    "Moves and special registers": (opcodes.moves,),
    "Integers and bits": (opcodes.integers, opcodes.extremes, opcodes.bits),
    "Floats": (opcodes.floats, opcodes.doubles, opcodes.halves),
    "Conversions": (opcodes.conversions, opcodes.packing),
    "Lanes of a warp": (opcodes.lanes,),
    "Tensor cores": (opcodes.tensors,),
    "Memory": (opcodes.memory, opcodes.transfers),
    "Control and barriers": (opcodes.control, opcodes.barriers),
    "Hopper's own units": (opcodes.hopper,),
}


def groups() -> dict[str, list[Opcode]]:
    """Give the opcodes under the title of the files that lift them."""
    return {
        title: [
            each
            for module in modules
            for each in OPCODES.values()
            if each.lift.__module__ == module.__name__
        ]
        for title, modules in _TITLES.items()
    }


def coverage_table() -> str:
    """Give the modelled opcodes as a Markdown table, a row for each function that lifts them.

    >>> print(coverage_table().splitlines()[0])
    | opcodes | what is modelled |
    """
    rows = ["| opcodes | what is modelled |", "|---|---|"]
    for title, family in groups().items():
        rows.append(f"| **{title}** | |")
        for says in dict.fromkeys(each.says for each in family):
            names = ", ".join(f"`{each.name}`" for each in family if each.says == says)
            cell = says.replace("|", r"\|")
            rows.append(f"| {names} | {cell} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(coverage_table())
