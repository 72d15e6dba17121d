"""The table of docs/sass.md, by the decoder: `python -m simulator.sass.decode.coverage`."""

from __future__ import annotations

from simulator.sass.decode.decoder import GROUPS

__all__ = ["coverage_table"]


def coverage_table() -> str:
    """Give the modelled mnemonics as a Markdown table, a row for each function that lowers them.

    >>> print(coverage_table().splitlines()[0])
    | opcodes | what is modelled |
    """
    rows = ["| opcodes | what is modelled |", "|---|---|"]
    for title, opcodes in GROUPS.items():
        rows.append(f"| **{title}** | |")
        sentences = dict.fromkeys(each.says for each in opcodes)
        for says in sentences:
            names = ", ".join(f"`{each.name}`" for each in opcodes if each.says == says)
            rows.append(f"| {names} | {says} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(coverage_table())
