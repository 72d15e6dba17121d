"""The command `gpu-check`: the model against a GPU, or against recorded measurements of one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.commands import cli, format_option
from simulator.cli.html import html_options, keep
from simulator.cli.output import Format, Table, show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpu_check.clocks import Measurements

__all__ = ["gpu_check"]


@cli.command(name="gpu-check")
@click.option("--op", "ops", multiple=True, help="Instruction; repeatable.  [default: all]")
@click.option("--full", is_flag=True, help="200,000 accesses, not 2,000: about ten minutes.")
@click.option("--kernels", is_flag=True, help="Check, time and count whole GEMM kernels instead.")
@click.option("--phases", is_flag=True, help="Learn the phases from the chip instead.")
@click.option(
    "--counters",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="Read hardware counters with ncu.",
)
@click.option("--recorded", is_flag=True, help="Compare recorded data of an H200: needs no GPU.")
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    help="Write the measurements to FILE.npz; with --phases, write a chip file, FILE.json.",
)
@click.option(
    "--load",
    type=click.Path(path_type=Path),
    help="Compare the measurements in a file that --save wrote.",
)
@click.option("--device", default=0, show_default=True, help="Which GPU.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Seed of the random accesses.",
)
@format_option
@html_options
def gpu_check(
    *,
    ops: Sequence[str],
    full: bool,
    kernels: bool,
    phases: bool,
    counters: str,
    recorded: bool,
    save: Path | None,
    load: Path | None,
    device: int,
    seed: int,
    output: Format,
) -> int:
    """Compare the model with a GPU, access by access.

    Exit code 1 means that they differ, 2 that there was nothing to compare.
    """
    _check_options(recorded=recorded, load=load, kernels=kernels, phases=phases)
    if recorded and kernels:
        return _recorded_kernels(output)
    if recorded or load is not None:
        return _compared(_recorded(load), ops, output)
    if kernels:
        return _kernels(counters, device, output)
    if save is not None:
        if phases and save.suffix.lower() != ".json":  # the end by which --chip knows a file
            raise click.UsageError(
                f"--save: {save} is not a chip file's name (accepted: FILE.json)"
            )
        from simulator.results.files import check_target

        check_target(save)  # before the work, not after it
    chosen = _ops(ops, device)
    if phases:
        return _phases(chosen, counters, device, save, output)
    return _compared(_measured(chosen, full, counters, save, device, seed), ops, output)


def _check_options(**given: Any) -> None:
    """Refuse what the kind of comparison that is asked for does not use."""
    from simulator.cli.options import refuse_ignored

    uses = {
        "recorded kernels": (),
        "recorded": ("ops",),
        "load": ("ops",),
        "kernels": ("counters", "device"),
        "phases": ("ops", "counters", "device", "save"),
    }
    for mode, used in uses.items():
        flags = mode.split()
        if all(given[flag] not in (False, None) for flag in flags):
            written = {"output", "html", "svg", "cdn", "force"}
            ignored = {*click.get_current_context().params} - {*flags, *used, *written}
            refuse_ignored(ignored, "with " + " ".join(f"--{flag}" for flag in flags))
            return


def _ops(ops: Sequence[str], device: int) -> list[str]:
    from gpu_check.campaign import all_ops
    from gpu_check.device import open_gpu
    from gpu_check.probe.ops import probe_op, require_capability

    chip = open_gpu(device)
    chosen = [probe_op(op) for op in dict.fromkeys(ops)]
    for each in chosen:
        require_capability(chip, each)
    return [each.name for each in chosen] or all_ops(chip.capability)


def _recorded(path: Path | None) -> list[Measurements]:
    from gpu_check.recordings import load, packaged

    if path is not None:
        return list(load(path).measurements)
    return list(packaged("h200_accesses").measurements)


def _use_counters(counters: str) -> bool:
    """Whether ncu is there; in `auto` its absence is said and accepted."""
    from gpu_check.counters import find_ncu
    from gpu_check.errors import CountersError

    if counters == "off":
        return False
    try:
        find_ncu()
    except CountersError as error:
        if counters == "on":
            raise
        click.echo(f"bankwise: clocks alone: {error}", err=True)
        return False
    return True


def _measured(
    ops: list[str], full: bool, counters: str, save: Path | None, device: int, seed: int
) -> list[Measurements]:
    from gpu_check.campaign import forget, full_plan, provenance, quick_plan, run
    from gpu_check.errors import CountersError
    from gpu_check.recordings import save as write

    folder = save.with_name(f"{save.name}.parts") if save else None
    with_counters = _use_counters(counters)
    while True:
        plan = (full_plan if full else quick_plan)(ops, with_counters, seed)
        try:
            with click.progressbar(length=plan.steps, label="measuring", file=sys.stderr) as bar:
                measured = run(plan, device=device, folder=folder, progress=bar.update)
            break
        except CountersError as error:
            if counters == "on" or not with_counters:
                raise
            click.echo(f"bankwise: clocks alone: {error}", err=True)
            with_counters = False
    if save and folder:
        write(save, measured, provenance(plan, device))
        forget(plan, folder)
    return measured


def _compared(measured: Iterable[Measurements], ops: Sequence[str], output: Format) -> int:
    from gpu_check.compare import LEGEND, compare, simulated
    from gpu_check.errors import RecordingError
    from gpu_check.probe.ops import probe_op

    names = {probe_op(op).name for op in ops}
    rows: list[dict[str, Any]] = []
    worst: list[str] = []
    for each in measured:
        if names and each.op not in names:
            continue
        comparison = compare(simulated(each), each)
        if comparison.wavefronts_equal is None and comparison.over is None:
            continue
        rows.append(comparison.to_dict()["totals"])
        worst += comparison.worst
    if not rows:
        wanted = ", ".join(sorted(names)) or "any instruction"
        raise RecordingError(f"no measurements of {wanted} (next: another --op, or another file)")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    rows = [{name: row.get(name) for name in columns} for row in rows]
    summed = ("accesses", "differing", "wavefronts_equal", "conflicts_equal")
    totals = {name: sum(row[name] or 0 for row in rows if name in row) for name in summed}
    text = [LEGEND, *worst[:3]]
    table = Table(rows, totals, sums=[("total", totals)], text=text)
    differing = totals["differing"]
    said = f"{differing:,} of {totals['accesses']:,} accesses differ from the chip"
    equal = f"All {totals['accesses']:,} accesses are as on the chip"
    keep(replace(table, title=said if differing else equal))
    show(table, output)
    return int(differing > 0)


def _phases(ops: list[str], counters: str, device: int, save: Path | None, output: Format) -> int:
    from gpu_check.campaign import chip_provenance
    from gpu_check.chip_file import chip_json
    from gpu_check.device import limits, open_gpu
    from gpu_check.discovery import PhaseTable, infer_phases
    from gpu_check.errors import DiscoveryError

    rows, tables = [], []
    with_counters = _use_counters(counters)
    with click.progressbar(ops, label="asking", file=sys.stderr) as bar:
        for op in bar:
            try:
                found = infer_phases(op, device=device)
            except DiscoveryError:
                if not with_counters:
                    raise
                found = infer_phases(op, device=device, counters=True)
            tables.append(found)
            other = found.differences(PhaseTable.of(op))
            rows.append(
                {
                    "op": op,
                    "phases": _lanes(found.phases),
                    "fused": _lanes(found.fused),
                    "partners": " ".join(f"i^{p}" for p in found.partners),
                    "merges": found.merges,
                    "passes": found.passes,
                    "differs": "; ".join(other),
                }
            )
    if save is not None:
        from simulator.results.files import save as write

        content = chip_json(open_gpu(device), tables, chip_provenance(device), limits(device))
        write(save, lambda file: file.write_text(content, encoding="utf-8"))
    differing = sum(bool(row["differs"]) for row in rows)
    table = Table(rows, {"differing": differing}, sums=[])
    keep(replace(table, title=f"The phases of {len(rows)} instructions, asked of the chip"))
    show(table, output)
    return int(differing > 0)


def _lanes(groups: tuple[tuple[int, ...], ...]) -> str:
    from simulator.law.explaining import ranges

    return " | ".join(ranges(group) for group in groups)


def _kernels(counters: str, device: int, output: Format) -> int:
    from gpu_check.device import open_gpu
    from gpu_check.gemm import GEMMS
    from gpu_check.kernel_table import kernel_rows, measure_kernels

    chip = open_gpu(device)
    names = [name for name in GEMMS if GEMMS[name].file != "wmma" or chip.capability >= 75]
    with click.progressbar(names, label="kernels", file=sys.stderr) as bar:
        found = measure_kernels(bar, counters=_use_counters(counters), device=device)
    return _show_kernels(kernel_rows(found), output)


def _recorded_kernels(output: Format) -> int:
    from gpu_check.kernel_table import kernel_rows
    from gpu_check.recordings import packaged_table

    return _show_kernels(kernel_rows(packaged_table("h200_kernels")), output)


def _show_kernels(rows: list[dict[str, Any]], output: Format) -> int:
    differing = sum(row["equal"] is False for row in rows)
    text = (
        "model: wavefronts of the shared-memory instructions. counter: the same, counted."
        " pipe: share of the kernel's time that the model's wavefronts keep the pipe busy."
    )
    table = Table(rows, {"differing": differing}, sums=[], text=[text])
    keep(replace(table, title=f"{len(rows) - differing} of {len(rows)} kernels are as counted"))
    show(table, output)
    return int(differing > 0)
