"""What `bankwise mcp` serves: the questions of the command line, as functions of plain values.

Each gives the text that people read, and the object that `--format json` prints. This module does
not know the protocol; `simulator.cli.mcp` serves its functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from simulator.errors import InputError, LaunchError, SassError
from simulator.results.text import Table, as_text

if TYPE_CHECKING:
    from simulator.sass.report import CompiledReport

__all__ = ["MOST_TEXT", "ToolReply", "Tools"]

MOST_TEXT = 20_000
"""Characters of a text; what is longer is cut."""

Rule = Literal["silicon", "documented"]
Objective = Literal["cycles", "wavefronts", "bank_conflicts"]


class ToolReply(NamedTuple):
    """What a tool answers."""

    text: str
    data: dict[str, Any]
    """rows and totals, by the schema of the command of that name."""


def _reply(text: str, table: Table) -> ToolReply:
    cut = "" if len(text) <= MOST_TEXT else f"\n... cut after {MOST_TEXT:,} characters"
    return ToolReply(
        text[:MOST_TEXT] + cut, {"rows": list(table.rows), "totals": dict(table.totals)}
    )


class Tools:
    """The functions, with the folder whose files they may be asked to read."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock = Lock()
        """One kernel at a time: a replay takes all processors."""

    def explain(
        self,
        question: str,
        *,
        op: str | None = None,
        block: str | None = None,
        layout: str | None = None,
        element: int | None = None,
        names: dict[str, int] | None = None,
        active: str | None = None,
        chip: str | None = None,
        rule: Rule = "silicon",
        warp: int | None = None,
    ) -> ToolReply:
        """Say whether a shared-memory access has bank conflicts, why, and which layout has none.

        `question` is C, a declaration and an access: "float s[32][33];
        s[threadIdx.x][threadIdx.y]". It is a store if it is assigned to. With `op`, it may be an
        index of elements: "lane*33".
        The answer has the verdict, the cause, a map of the 32 banks and the price in cycles. It
        names the least padding and the simplest swizzle that cure it, both counted again.
        `op` is an instruction in SASS or PTX ("LDS.128", "ldmatrix.x4", "ld.shared.v4.f32"). By
        default it follows from the type. `block` is the threads of the block, "32x8".
        `layout` is in CuTe's or Triton's notation; the question is then "row, column" of it.
        `element` is bytes per element, `names` has values of names. `active` is an expression that
        is 0 for inactive threads. `chip` is such as "A100"; by default it is an H200.
        """
        from simulator.asking.ask import answer
        from simulator.asking.reading import asked_of

        asked = asked_of(
            question if op is None else op, None if op is None else question, block=block,
            layout=layout, element=element, names=names, active=active,
            chip=self._chip(chip), warp=warp,
        )  # fmt: skip
        found = answer(asked, rule)
        return _reply(str(found), found.table())

    def count(
        self,
        question: str,
        *,
        op: str | None = None,
        block: str | None = None,
        layout: str | None = None,
        element: int | None = None,
        names: dict[str, int] | None = None,
        active: str | None = None,
        chip: str | None = None,
        rule: Rule = "silicon",
    ) -> ToolReply:
        """Count wavefronts, bank conflicts and cycles of an access: a row per warp of the block.

        The question and its options are those of `explain`, which also says why and what to do.
        """
        from simulator.asking.reading import asked_of
        from simulator.law.counting import count
        from simulator.results.columns import law_columns

        asked = asked_of(
            question if op is None else op, None if op is None else question, block=block,
            layout=layout, element=element, names=names, active=active, chip=self._chip(chip),
        )  # fmt: skip
        masks = None if asked.whole else asked.masks
        counts = count(asked.instruction, asked.addresses(), masks, rule=rule)
        table = counts.table()
        law = law_columns(rule, None if asked.chip is None else asked.chip.name)
        rows = [
            {**row, "access": number, "op": asked.instruction.name, **law}
            for number, row in zip(asked.warps, table.rows, strict=True)
        ]
        shown = Table(rows, counts.totals(), hidden=tuple(law))
        return _reply(as_text(shown), shown)

    def optimize(
        self,
        accesses: list[str],
        *,
        block: str | None = None,
        names: dict[str, int] | None = None,
        loops: dict[str, int] | None = None,
        chip: str | None = None,
        rule: Rule = "silicon",
        objective: Objective = "cycles",
    ) -> ToolReply:
        """Find the padding or swizzle of an array that costs least over all of its accesses.

        Each of `accesses` is a question in C, a load or a store of the array, declared alike:
        "float s[32][32]; s[threadIdx.x][i]" and "float s[32][32]; s[i][threadIdx.x] = v".
        "8*STS: " before one weighs it and names its instruction. `loops` has names with their
        numbers of turns, {"i": 32}. The answer says the layout in C and in CuTe's notation, what it
        costs, and whether none can be better.
        """
        from simulator.search import optimize

        if not accesses:
            raise InputError("no accesses (accepted: one question in C or more)")
        best = optimize(
            accesses, loops=loops, names=names, block=block, chip=self._chip(chip), rule=rule,
            objective=objective,
        )  # fmt: skip
        return _reply(str(best), best.table())

    def compare(
        self,
        inputs: list[str],
        *,
        op: str | None = None,
        index: str | None = None,
        element: int | None = None,
        block: str | None = None,
        chip: str | None = None,
        rule: Rule = "silicon",
    ) -> ToolReply:
        """Compare two or more accesses, layouts or warp shapes: figures, changes from the first.

        Each of `inputs` is a question in C as for `explain`; or a layout in CuTe's or Triton's
        notation, read at `index` ("lane%16, lane/16*8") by `op` ("ldmatrix.x4") with `element`
        bytes per element; or a warp shape of a GEMM, "4x8"; or a kernel's name in the catalogue.
        """
        from simulator.asking.compare import compare

        if len(inputs) < 2:
            raise InputError(f"{len(inputs)} inputs (accepted: two or more)")
        found = compare(
            *inputs,
            op=op,
            index=index,
            element=element,
            block=block,
            chip=self._chip(chip),
            rule=rule,
        )
        return _reply(str(found), found.table())

    def sass(
        self,
        file: str,
        *,
        kernel: str | None = None,
        grid: str | None = None,
        block: str | None = None,
        args: list[str] | None = None,
        shared_bytes: int = 0,
        cluster: str | None = None,
        define: dict[str, str] | None = None,
        include: list[str] | None = None,
        arch: str | None = None,
        chip: str | None = None,
        by: Literal["instruction", "line"] = "line",
        fix: bool = False,
        max_instructions: int = 200_000_000,
    ) -> ToolReply:
        """Execute a compiled CUDA kernel on the CPU, and count its memory accesses line by line.

        `file` is CUDA source, PTX, a cubin or an object within the folder that is served. Source
        without `grid`, `block` and `args` is replayed as its own host code launches it. `args` has
        a text per parameter: "random:f32[1024,1024]", "zeros:f16[64]", "i32=1024", "null",
        "A.npy". `by` is what a row is; `max_instructions` is of warps, over the launch. No GPU is
        used. Compiling takes seconds at first. `fix` also says what to change in each array with
        conflicts: every fix was run, and left the same outputs. `#include` may name files outside
        of the folder.
        """
        from simulator.fixing.beside import kernel_names
        from simulator.fixing.fix import fixes_table
        from simulator.sass.reading import for_people

        self._inside(file)
        given = {
            "file": file, "kernel": kernel, "grid": grid, "block": block, "args": args,
            "cluster": cluster, "define": define, "arch": arch, "chip": self._chip(chip),
            "max_instructions": max_instructions, "shared_bytes": shared_bytes or None,
            "include": None if include is None else [str(self._inside(each)) for each in include],
        }  # fmt: skip
        for text in args or ():
            for name in re.findall(r"[^\s{},:]+\.npy", text):
                self._inside(name)
        with self._lock:
            reports, problems = self._replay({k: v for k, v in given.items() if v is not None})
        rows: list[dict[str, Any]] = []
        for report in reports:
            sizes = ("x".join(map(str, size)) for size in (report.grid, report.block))
            place = dict(zip(("kernel", "grid", "block"), (report.title, *sizes), strict=True))
            rows.extend({**place, **row} for row in report.table(by=by).rows)
        totals: dict[str, Any] = {}
        totals["bank_conflicts"] = sum(
            report.totals()["all"]["bank_conflicts"] for report in reports
        )
        texts = [*(as_text(for_people(report.table(by=by))) for report in reports), *problems]
        if fix:
            with self._lock:
                fixes = [report.fixes(reports) for report in reports]
            named = zip(kernel_names(reports), fixes, strict=True)
            texts += [as_text(fixes_table(each, kernel=name)) for name, each in named if each]
            totals["fixes"] = [one.to_dict() for each in fixes for one in each]
        return _reply("\n\n".join(texts), Table(rows, totals))

    def _replay(self, given: Mapping[str, Any]) -> tuple[list[CompiledReport], list[str]]:
        """Return the reports of a file's launches, and what is wrong with the others."""
        from simulator.checking.config import Entry
        from simulator.checking.launches import planned
        from simulator.checking.measured import Measured, SourcePlace
        from simulator.sass.replay import replay_compiled

        reports, problems = [], []
        here = Measured(given["file"], Entry("kernel", "", 1, given), SourcePlace(given["file"]))
        for one, path, launch in planned(self.root, here):
            try:
                if one.error:
                    raise LaunchError(one.error)
                reports.append(replay_compiled(path, **launch))
            except SassError as error:
                problems.append(f"{one.name}: {error}")
        if not reports:
            raise SassError("\n".join(problems))
        return reports, problems

    def _chip(self, chip: str | None) -> str | None:
        """Return a chip's name, or the path of a chip file in the root."""
        if chip is None or not chip.lower().endswith(".json"):
            return chip
        return str(self._inside(chip))

    def _inside(self, name: str) -> Path:
        """Return a file or folder of the root's, with links followed; raises InputError."""
        try:
            path = (self.root / name).resolve()
        except (OSError, ValueError, RuntimeError):
            path = Path("/")
        if not path.is_relative_to(self.root):
            raise InputError(
                f"{name!r} is not in {self.root} (accepted: paths in the folder that"
                " bankwise mcp --root serves)"
            )
        if not path.exists():
            raise InputError(f"there is no {name!r} in {self.root}")
        return path
