"""Draws the house from its imports: `python docs/house.py` writes the picture, `--check` compares.

An arrow says: imports. What can be reached by a longer way is not drawn.
"""

from __future__ import annotations

import sys
from pathlib import Path

import grimp

PICTURE = Path(__file__).parent / "explanation" / "house.svg"
TOPS = ("bankwise", "pytest_bankwise", "simulator", "layouts", "viz", "gpu_check")
_STEP, _FLOOR, _WIDE, _HIGH = 175, 78, 160, 30


def edges() -> dict[str, set[str]]:
    """Return, for each package of the house, those that it imports."""
    graph = grimp.build_graph(*TOPS, exclude_type_checking_imports=True)
    found: dict[str, set[str]] = {}
    for module in graph.modules:
        here = _package(module)
        found.setdefault(here, set())
        for other in graph.find_modules_directly_imported_by(module):
            if (there := _package(other)) != here:
                found[here].add(there)
    return found


def _package(module: str) -> str:
    """Give the part of the house that a module belongs to: simulator's packages are parts."""
    parts = module.split(".")
    if parts[0] != "simulator" or len(parts) == 1:
        return parts[0]
    return "simulator" if parts[1] == "__main__" else ".".join(parts[:2])


def shortest(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the edges without those that a longer way implies."""

    def reached(start: str, seen: set[str]) -> set[str]:
        for each in found[start] - seen:
            seen.add(each)
            reached(each, seen)
        return seen

    below = {name: reached(name, set()) for name in found}
    return {
        name: {each for each in direct if not any(each in below[o] for o in direct - {each})}
        for name, direct in found.items()
    }


def depths(found: dict[str, set[str]]) -> dict[str, int]:
    """Return how far each part stands above the ground: one more than what it imports."""

    def depth(name: str) -> int:
        return max((1 + depth(each) for each in found[name]), default=0)

    return {name: depth(name) for name in found}


def picture() -> str:
    """Return the house as an SVG: a row per depth, an arrow per import."""
    found = shortest(edges())
    levels = depths(found)
    rows = [
        sorted(n for n in found if levels[n] == level) for level in range(max(levels.values()) + 1)
    ]
    wide = max(map(len, rows)) * _STEP
    at = {}
    for level, names in enumerate(reversed(rows)):
        for place, name in enumerate(names):
            left = (wide - len(names) * _STEP) // 2 + place * _STEP
            at[name] = (left + _STEP // 2, 20 + level * _FLOOR)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {len(rows) * _FLOOR}"'
        ' font-family="sans-serif" font-size="13" role="img" aria-label="what imports what">'
    )
    parts = [head, '<rect width="100%" height="100%" fill="#fff"/>']
    for name, direct in sorted(found.items()):
        x, y = at[name]
        for other in sorted(direct):
            to_x, to_y = at[other]
            parts.append(
                f'<path d="M{x} {y + _HIGH} C{x} {y + _FLOOR - 20} {to_x} {to_y - _FLOOR + 50}'
                f' {to_x} {to_y}" fill="none" stroke="#8899aa"/>'
            )
    for name, (x, y) in sorted(at.items()):
        parts.append(
            f'<rect x="{x - _WIDE // 2}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="5"'
            ' fill="#eef3f8" stroke="#446688"/>'
            f'<text x="{x}" y="{y + 19}" text-anchor="middle" fill="#112233">{name}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> int:
    """Write the picture, or say that the imports make another one."""
    drawn = picture()
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(drawn, encoding="utf-8")
        return 0
    if PICTURE.read_text(encoding="utf-8") != drawn:
        print(f"{PICTURE}: the imports have changed; draw it again: python docs/house.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
