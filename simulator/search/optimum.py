"""What a search found: the layout, what it saves, and how it is known that none is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from layouts.errors import plural
from layouts.tile import Tile
from simulator.law.chips import Chip
from simulator.law.instructions import Instruction, Rule
from simulator.results.columns import law_columns
from simulator.results.tables import Result
from simulator.results.text import Table
from simulator.search.cases import Case, blocks_by_shared
from simulator.search.pricing import Objective, counts_of

__all__ = [
    "AccessRow", "Certificate", "Optimum", "Padding", "WorstAccess", "access_rows", "amount",
    "worst_accesses",
]  # fmt: skip

_MOST_DRAWN = 2  # accesses that a notebook draws before and after


@dataclass(frozen=True)
class Certificate:
    """How it is known that no layout is better."""

    kind: Literal["floor", "exhaustive", "sampled"]
    """`floor`: no layout of any kind is. `exhaustive`: none of the family searched. `sampled`:
    none of those that were tried; that is not a proof."""
    floor: int
    """What no layout of any kind undercuts: each phase carries its bytes, 128 per wavefront."""
    layouts: int
    """Layouts, over all choices of the free values, that are known to be no better."""
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class AccessRow:
    """One access under the first layout (`_before`; None where it could not run) and the best."""

    access: str
    op: str
    requests: int
    cycles_before: int | None
    cycles: int
    wavefronts_before: int | None
    wavefronts: int
    bank_conflicts_before: int | None
    bank_conflicts: int


@dataclass(frozen=True)
class WorstAccess:
    """The warp access of one row that had most bank conflicts: what a picture shows of it."""

    access: str
    instruction: Instruction
    mask: int
    before: tuple[int, ...] | None
    """Byte addresses of the lanes under the first layout."""
    after: tuple[int, ...]
    """Byte addresses of the lanes under the best."""


@dataclass(frozen=True)
class Padding:
    """The least padding that costs least, of a tile whose best layout has a swizzle."""

    layout: Tile
    cost: int
    bytes: int


@dataclass(frozen=True, eq=False)
class Optimum(Result):
    """The layout with the least cost."""

    objective: Objective
    rule: Rule
    values: Mapping[str, Any]
    """What was chosen for each free name; with a tile also `pad` and, with XOR terms, `swizzle`."""
    layout: Tile | None
    """The tile's layout, which `count` takes as it is; None where kernel or fragment parameters
    were searched."""
    cost: int
    before: int | None
    """The cost of the layout that was started from: no padding, no swizzle, and the first of
    each free name's values (a kernel's or `simulate`'s own defaults); None if it cannot run."""
    certificate: Certificate
    bytes: int
    bytes_before: int | None
    accesses: tuple[AccessRow, ...]
    skipped: Mapping[str, int]
    """Choices that cannot run, by reason."""
    chip: Chip | None = None
    """Whose law counted; None: the H200's."""
    worst: tuple[WorstAccess, ...] = field(default=(), repr=False, compare=False)
    """One per row of `accesses`."""
    padding: Padding | None = None
    """What padding alone would do; None where the best is without a swizzle, or none helps."""

    @property
    def proved(self) -> bool:
        """Whether no layout of the family can be better."""
        return self.certificate.kind != "sampled"

    @property
    def helps(self) -> bool:
        """Whether the optimum is better than what was started from."""
        return self.before is None or self.cost < self.before

    @property
    def expression(self) -> str | None:
        """The element's offset as a C expression of row and col (or of the index as given)."""
        if self.layout is None:
            return None
        return self.layout.c(col="col" if self.layout.rows > 1 else "index")

    @property
    def notation(self) -> str | None:
        """The layout in CuTe's notation; None where CuTe has none."""
        return self.layout.notation if self.layout else None

    @property
    def leading_dimension(self) -> int | None:
        """Elements from row to row, padding included."""
        return self.layout.leading_dimension if self.layout else None

    @property
    def operations(self) -> int:
        """XOR, AND and shift operations that the expression adds to an access."""
        return self.layout.operations if self.layout else 0

    @property
    def blocks_per_sm(self) -> int:
        """Blocks of the chip's SM that these bytes of shared memory leave room for."""
        return blocks_by_shared(self.bytes, self.chip)

    def totals(self) -> dict[str, int | None]:
        """Sum over the accesses."""
        sums: dict[str, int | None] = {}
        for each in fields(AccessRow)[2:]:
            values = [getattr(row, each.name) for row in self.accesses]
            sums[each.name] = None if None in values else sum(values)
        return sums

    def to_dict(self) -> dict[str, Any]:
        """Return `{"accesses": {column: list}, "totals": {…}}`."""
        names = [each.name for each in fields(AccessRow)]
        columns = {name: [getattr(row, name) for row in self.accesses] for name in names}
        return {"accesses": columns, "totals": self.totals()}

    def summary(self) -> dict[str, Any]:
        """Return everything but the accesses, in plain values."""
        return {
            "objective": self.objective,
            **law_columns(self.rule, None if self.chip is None else self.chip.name),
            "values": {name: _plain(value) for name, value in self.values.items()},
            "before": self.before,
            "cost": self.cost,
            "floor": self.certificate.floor,
            "proved": self.proved,
            "certificate": self.certificate.text,
            "expression": self.expression,
            "notation": self.notation,
            "leading_dimension": self.leading_dimension,
            "operations": self.operations,
            "bytes_before": self.bytes_before,
            "bytes": self.bytes,
            "blocks_per_sm": self.blocks_per_sm,
            "padding": None if self.padding is None else self.padding.layout.c(),
            "padding_cost": None if self.padding is None else self.padding.cost,
            "padding_bytes": None if self.padding is None else self.padding.bytes,
            "skipped": dict(self.skipped),
        }

    @property
    def sentences(self) -> tuple[str, ...]:
        """The result in words."""
        said = []
        if self.before is None:
            said.append(f"{self._said(self.cost)}; the layout started from cannot run.")
        elif self.helps:
            said.append(f"{self.before:,} → {self._said(self.cost)}.")
        elif self.cost == self.before:
            none = "No layout" if self.proved else "None of the layouts tried"
            said.append(f"{none} helps: {self._said(self.cost)}, as before.")
        else:
            said.append(
                f"{self.before:,} → {self._said(self.cost)}: the layout started from is better,"
                " and not in the space."
            )
        beside = dict.fromkeys(
            each.instruction.name for each in self.worst if not each.instruction.phases
        )
        said += [
            f"{name} does not pass through the shared-memory pipe: it makes no requests there."
            for name in beside
        ]
        if self.chip is not None:
            said.append(f"Counted for the chip {self.chip}, whose law is {self.chip.law}.")
        # A tile's padding and swizzle are said by its index, below.
        own = ("pad", "swizzle") if self.layout and self.layout.rows > 1 else ("swizzle",)
        chosen = {name: value for name, value in self.values.items() if name not in own}
        if chosen:
            listed = ", ".join(f"{name} = {_plain(value)}" for name, value in chosen.items())
            said.append(f"Chosen: {listed}.")
        if self.layout is not None:
            if self.expression != "index":  # as it was given
                said.append(f"Index: {self.expression}")
            if self.layout.rows > 1:
                said.append(f"CuTe: {self.notation or f'no notation. {self.layout.why_not_cute}.'}")
            if self.layout.rows > 1:
                said.append(f"Leading dimension: {self.leading_dimension} elements.")
        spent = "" if self.bytes_before is None else f", {self.bytes_before:,} before"
        said.append(
            f"{self.bytes:,} bytes of shared memory{spent};"
            f" {plural(self.operations, 'operation')} per index."
        )
        if self.padding is not None:
            said.append(
                f"Or pad, without a swizzle: {self.padding.layout.c()}, {self.padding.bytes:,}"
                f" bytes, {self._said(self.padding.cost)}."
            )
        said.append(self.certificate.text)
        if self.skipped:
            what = "layout" if self.layout is not None else "choice"
            said += [
                f"{plural(many, what)} skipped: {_skipping(why, many)}."
                for why, many in sorted(self.skipped.items())
            ]
        return tuple(said)

    def table(self) -> Table:
        """Return a row per access, before and after, and the result in words."""
        rows, totals = self.rows(), self.totals()
        title, *text = self.sentences
        hidden = [name for name in rows[0] if all(row[name] is None for row in rows)]
        pairs = (("wavefronts", "cycles"), ("wavefronts_before", "cycles_before"))
        if all(row[first] == row[second] for row in rows for first, second in pairs):
            hidden += [first for first, _ in pairs]
            text.append("Wavefronts are as many as cycles.")
        return Table(
            rows,
            {**totals, "optimum": self.summary()},
            sums=[("total", totals)],
            title=title,
            text=text,
            hidden=hidden,
        )

    def shown(self) -> list[Table]:
        """Return the table for people: before and after in one column, on one page."""
        from simulator.results.fitting import with_short_names

        table = self.table()
        sums = [(label, _before_and_after(row)) for label, row in table.sums or ()]
        rows = [_before_and_after(row) for row in table.rows]
        return [with_short_names(replace(table, rows=rows, sums=sums))]

    def _repr_html_(self) -> str:
        from simulator.law.explaining import explain
        from simulator.results.html import bank_table, figure, side_by_side

        known = [each for each in self.worst if each.before is not None]
        figures = []
        for heading, places in (("As given", "before"), ("The best layout", "after")):
            tables = []
            for each in known[:_MOST_DRAWN]:
                one = explain(each.instruction, getattr(each, places), each.mask, rule=self.rule)
                served = one.to_dict()["served"]
                name = f"{one.op}: {each.access}, {plural(one.wavefronts, 'wavefront')}"
                tables.append((name, bank_table(served, passes=one.instruction.passes)))
            code = (self.notation or self.expression or "") if places == "after" else ""
            figures.append(figure(heading, tables, code=code))
        return super()._repr_html_() + (side_by_side(figures) if known else "")

    def _said(self, cost: int) -> str:
        return amount(cost, self.objective)


def amount(cost: int, objective: Objective) -> str:
    """Say a cost in words.

    >>> amount(1, "bank_conflicts"), amount(1000, "cycles")
    ('1 bank conflict', '1,000 cycles')
    """
    noun = objective.replace("_", " ")
    return f"{cost:,} {noun[:-1] if cost == 1 else noun}"


def worst_accesses(
    before: tuple[Case, Tile] | None, after: tuple[Case, Tile], rule: Rule
) -> tuple[WorstAccess, ...]:
    """Return of each row the warp access with most bank conflicts, before if it could run."""
    found = []
    for position, group in enumerate(after[0].groups):
        old = before[0].groups[position] if before and _alike(before[0], after[0]) else None
        if before is not None and old is not None:
            place = counts_of(old, before[1], before[0].element, rule).worst()
            first = tuple((before[1].offset(old.places[place]) * before[0].element).tolist())
        else:
            place, first = counts_of(group, after[1], after[0].element, rule).worst(), None
        last = tuple((after[1].offset(group.places[place]) * after[0].element).tolist())
        named, mask = group.name.removeprefix(f"{group.instruction.name} "), int(group.masks[place])
        found.append(WorstAccess(named, group.instruction, mask, first, last))
    return tuple(found)


def _alike(before: Case, after: Case) -> bool:
    """Whether both make the same accesses, one by one."""
    return [len(each.places) for each in before.groups] == [
        len(each.places) for each in after.groups
    ]


def access_rows(
    before: tuple[Case, Tile] | None, after: tuple[Case, Tile], rule: Rule
) -> tuple[AccessRow, ...]:
    """Count each access under both layouts."""
    first = _figures(*before, rule) if before else []
    rows = []
    for position, (group, figures) in enumerate(
        zip(after[0].groups, _figures(*after, rule), strict=True)
    ):
        # A kernel's parameters may change its accesses; then the first has no counterpart.
        same = len(first) == len(after[0].groups)
        old = first[position] if same else {}
        rows.append(
            AccessRow(
                access=group.name.removeprefix(f"{group.instruction.name} "),
                op=group.instruction.name,
                requests=figures["requests"],
                cycles_before=old.get("cycles"),
                cycles=figures["cycles"],
                wavefronts_before=old.get("wavefronts"),
                wavefronts=figures["wavefronts"],
                bank_conflicts_before=old.get("bank_conflicts"),
                bank_conflicts=figures["bank_conflicts"],
            )
        )
    return tuple(rows)


def _figures(case: Case, layout: Tile, rule: Rule) -> list[dict[str, int]]:
    found = []
    for group in case.groups:
        counted = counts_of(group, layout, case.element, rule)
        figures = {
            name: int(getattr(counted, name) @ group.weights)
            for name in ("cycles", "wavefronts", "bank_conflicts")
        }
        found.append({"requests": int((counted.phases > 0) @ group.weights), **figures})
    return found


def _before_and_after(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose figures are those before and after, where it has both.

    >>> _before_and_after({"op": "LDS", "cycles_before": 1024, "cycles": 32, "wavefronts": 4})
    {'op': 'LDS', 'cycles': '1,024 → 32', 'wavefronts': 4}
    """
    before = {name: row.get(f"{name}_before") for name in row}
    return {
        name: value if before[name] is None else f"{before[name]:,} → {value:,}"
        for name, value in row.items()
        if not name.endswith("_before")
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | str | None) else str(value)


def _skipping(why: str, many: int) -> str:
    """Return why layouts were skipped, as the end of a sentence.

    >>> _skipping("STS.128 misaligned", 28)
    'they misalign STS.128'
    >>> _skipping("the warp tile does not divide the block tile", 12)
    'the warp tile does not divide the block tile'
    """
    they = "it" if many == 1 else "they"
    op, _, what = why.partition(" ")
    if what == "misaligned":
        return f"{they} {'misaligns' if many == 1 else 'misalign'} {op}"
    if what == "split by the swizzle":
        return f"the swizzle splits what {op} moves together"
    if op == "more":
        return f"{they} {'takes' if many == 1 else 'take'} {why}"
    return why  # a sentence of its own
