"""Draws the house from its imports: `python docs/house.py` writes the picture, `--check` compares.

An arrow says: imports. What can be reached by a longer way is not drawn. An arrow over several
floors passes beside the parts between its ends, as if it had a narrow part of its own on each.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import grimp

PICTURE = Path(__file__).parent / "explanation" / "house.svg"
TOPS = ("bankwise", "pytest_bankwise", "simulator", "layouts", "viz", "gpu_check")
_STEP, _FLOOR, _WIDE, _HIGH = 175, 78, 160, 30
_SHAFT = 30  # pixels for an arrow that passes a floor
_SWEEPS = 8

Shaft = tuple[str, str, int]
"""Where an arrow passes: its ends, and the floor."""


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


def floors(found: dict[str, set[str]]) -> list[list[str | Shaft]]:
    """Return each floor's parts and the arrows that pass it, from the top, so that few cross."""
    levels = depths(found)
    top = max(levels.values())
    rows: list[list[str | Shaft]] = [
        [*sorted(name for name in found if top - levels[name] == row)] for row in range(top + 1)
    ]
    ways = [
        way(name, other, top, levels) for name in sorted(found) for other in sorted(found[name])
    ]
    for each in ways:
        for floor, place in enumerate(each[1:-1], top - levels[str(each[0])] + 1):
            rows[floor].append(place)
    for sweep in range(_SWEEPS):
        step = 1 if sweep % 2 == 0 else -1
        for row in rows[::step]:
            places = spots(rows)
            near = {
                each: [
                    places[one[::step][k - 1]]
                    for one in ways
                    for k, passed in enumerate(one[::step])
                    if passed == each and k
                ]
                for each in row
            }
            row.sort(
                key=lambda each: sum(near[each]) / len(near[each]) if near[each] else places[each]
            )
    return rows


def way(name: str, other: str, top: int, levels: dict[str, int]) -> list[str | Shaft]:
    """Return what an arrow passes: its ends, and a shaft on each floor between them."""
    between = range(top - levels[name] + 1, top - levels[other])
    return [name, *((name, other, row) for row in between), other]


def spots(rows: list[list[str | Shaft]]) -> dict[str | Shaft, int]:
    """Return the middle of each part and shaft, with all floors centred."""
    widths = [[_STEP if isinstance(each, str) else _SHAFT for each in row] for row in rows]
    whole = max(map(sum, widths))
    found: dict[str | Shaft, int] = {}
    for row, wide in zip(rows, widths, strict=True):
        left = (whole - sum(wide)) // 2
        for each, pixels in zip(row, wide, strict=True):
            found[each] = left + pixels // 2
            left += pixels
    return found


def picture() -> str:
    """Return the house as an SVG: a row per depth, an arrow per import."""
    found = shortest(edges())
    levels, rows = depths(found), floors(found)
    top = len(rows) - 1
    x_of = spots(rows)
    wide = max(sum(_STEP if isinstance(each, str) else _SHAFT for each in row) for row in rows)
    y_of = {each: 20 + row * _FLOOR for row, floor in enumerate(rows) for each in floor}
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {len(rows) * _FLOOR}"'
        ' font-family="sans-serif" font-size="13" role="img" aria-label="what imports what">'
    )
    arrow = (
        '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"'
        ' orient="auto"><path d="M0 0L8 4L0 8z" fill="#667788"/></marker>'
    )
    parts = [head, arrow, '<rect width="100%" height="100%" fill="#fff"/>']
    for name, direct in sorted(found.items()):
        for other in sorted(direct):
            passed = way(name, other, top, levels)
            line = f"M{x_of[name]} {y_of[name] + _HIGH}"
            for here, there in itertools.pairwise(passed):
                y, to_y = y_of[here] + _HIGH, y_of[there]
                middle = (y + to_y) // 2
                line += f" C{x_of[here]} {middle} {x_of[there]} {middle} {x_of[there]} {to_y}"
                line += f" V{to_y + _HIGH}" if there != other else ""
            parts.append(f'<path d="{line}" fill="none" stroke="#667788" marker-end="url(#head)"/>')
    for name in sorted(found):
        x, y = x_of[name], y_of[name]
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
