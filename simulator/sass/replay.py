"""`replay_compiled`: any CUDA kernel as it was compiled, executed and counted, without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Literal, get_args

from layouts.errors import accepted, short
from simulator.errors import ExecutionError, LaunchError, OptionError
from simulator.law.chips import Chip, ChipLike, optional_chip
from simulator.law.counting import check_rule
from simulator.law.instructions import Rule
from simulator.sass.architectures import ARCHITECTURES, Arch
from simulator.sass.code.cubin import Cubin
from simulator.sass.code.images import SOURCE, Given, load
from simulator.sass.code.naming import plain_path
from simulator.sass.code.nvdisasm import SassInstruction, disassemble
from simulator.sass.code.options import make_options
from simulator.sass.code.symbols import never_set, with_symbols
from simulator.sass.lift.program import decode
from simulator.sass.report import CompiledReport
from simulator.sass.rows import make_report
from simulator.sass.run.grid import Dim3, GridRun, Progress, dim3
from simulator.sass.run.timeline import Timeline
from simulator.sass.source import source_lines
from simulator.sass.work import work_of

__all__ = ["BLOCKS", "DEFAULT_ARCH", "Blocks", "arch_for", "replay_compiled"]

DEFAULT_ARCH: Arch = "sm_90"
"""What source is compiled for where nothing else is said: the H200's."""

Blocks = Literal["sample", "all"]
"""`sample`: corners, edges and one interior block. `all`: the whole grid."""

BLOCKS: tuple[Blocks, ...] = get_args(Blocks)

_MOST_BLOCKS = 1 << 24


def replay_compiled(
    source_or_cubin: Given,
    *,
    kernel: str | None = None,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    args: Sequence[Any],
    shared_bytes: int = 0,
    blocks: Blocks = "sample",
    arch: Arch | None = None,
    chip: ChipLike | None = None,
    symbols: Mapping[str, Any] | None = None,
    include: Sequence[str | Path] = (),
    define: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
    max_instructions: int | None = None,
    rule: Rule = "silicon",
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
    cluster: int | tuple[int, ...] | None = None,
) -> CompiledReport:
    """Execute a compiled kernel's machine code on the CPU and count its memory accesses.

    `source_or_cubin`: a Path, or a str naming an existing file, is a file (a cubin, a fatbinary,
    an object, a library, PTX or CUDA source, told by content); any other str is CUDA source or PTX;
    bytes are a cubin.
    `kernel`: its symbol or C++ name, for a template with its arguments ("gemm<64, 64>"). `args`: a
    NumPy array (copied) or None (a null pointer) for each pointer, a NumPy scalar for each value;
    types of ml_dtypes, such as bfloat16, too; a TensorMap for each tensor map. Arguments that share
    memory are one buffer. `cluster`: blocks that run together; None: what the kernel requires, or
    1. `shared_bytes`: dynamic shared memory. `blocks`:
    "all", or "sample" for corners, edges and one interior block, whose counts are extrapolated to
    the grid where all of them agree in shared memory; where they do not, the report covers those
    blocks only and its notes say so. `max_instructions`: of warps, in the launch.
    `symbols`: arrays or scalars for `__constant__` and `__device__` variables, by name. `include`,
    `define`, `options`: folders of headers, macros, and whatever else nvcc would be given, for the
    compiler. Source is compiled for `arch`, by default that of the chip, and sm_90 without one; a
    cubin is for its own. `rule`, `chip`: those of `count`. `progress` is called now and then with
    thread instructions executed, blocks done, blocks to do; `announce` with what is about to be
    waited for, a few words.

    >>> import numpy as np
    >>> report = replay_compiled(
    ...     "__global__ void turn(float* a) {"
    ...     "  __shared__ float s[32][32];"
    ...     "  s[threadIdx.y][threadIdx.x] = a[threadIdx.y * 32 + threadIdx.x];"
    ...     "  __syncthreads();"
    ...     "  a[threadIdx.y * 32 + threadIdx.x] = s[threadIdx.x][threadIdx.y]; }",
    ...     grid=1, block=(32, 32), args=[np.arange(1024, dtype=np.float32).reshape(32, 32)],
    ... )
    >>> report.instructions["opcode"], report.instructions["wavefronts"]
    (['LDG.E', 'STS', 'LDS', 'STG.E'], [0, 32, 1024, 0])
    >>> report.instructions["sectors"], report.instructions["ideal_sectors"]
    ([128, 0, 0, 128], [128, 0, 0, 128])
    >>> bool((report.outputs[0] == np.arange(1024).reshape(32, 32).T).all())
    True

    Raises SassError: CompileError, CubinError, ToolError before the launch, LaunchError for what
    cannot be launched, and an ExecutionError with `partial`, the report until then, for an
    instruction that is not modelled, an access out of bounds, a deadlock, or a limit reached.
    """
    if not isinstance(blocks, str) or blocks not in BLOCKS:
        raise OptionError(f"unknown blocks {blocks!r}: {accepted(blocks, BLOCKS)}")
    check_rule(rule)
    shape, threads = dim3(grid, "grid"), dim3(block, "block")
    chosen_chip = optional_chip(chip)
    if isinstance(args, str | bytes) or not isinstance(args, Sequence):
        raise LaunchError(f"args {short(args)} (accepted: a list with a value a parameter)")
    if symbols is not None and not isinstance(symbols, Mapping):
        raise LaunchError(f"symbols {short(symbols)} (accepted: a dict, such as {{'w': array}})")
    say = announce or (lambda _: None)
    say("reading the kernel, or compiling it with NVRTC")
    built = make_options(include, define or {}, options)
    cubin, source = load(source_or_cubin, arch_for(arch, chosen_chip), kernel, built)
    _check_runs(cubin, chosen_chip)
    chosen = cubin.kernel(kernel)
    say(f"disassembling {chosen.name}")
    instructions = _named(disassemble(cubin.image, chosen.name), source)
    unset = [
        f"the constant {name} is read and was never set: it is zero (set it: --set {name}=…, or"
        f" symbols={{{name!r}: …}})"
        for name in never_set(cubin, instructions, symbols or {})
    ]
    cubin = with_symbols(cubin, symbols or {})
    chosen = cubin.kernels[chosen.name]
    program = decode(instructions, chosen)
    size = dim3(cluster, "cluster") if cluster is not None else chosen.cluster or (1, 1, 1)
    launch = GridRun(
        cubin, program, shape, threads, tuple(args), shared_bytes, max_instructions, rule, progress,
        announce, chosen_chip, size,
    )  # fmt: skip
    count = launch.grid[0] * launch.grid[1] * launch.grid[2]
    try:
        if blocks == "all":
            if count > _MOST_BLOCKS:
                raise LaunchError(f"{count} blocks (accepted with blocks='all': {_MOST_BLOCKS})")
            sizes = zip(launch.grid, launch.cluster, strict=True)
            axes = [range(0, blocks, step) for blocks, step in sizes]
            every = [(x, y, z) for z, y, x in product(*reversed(axes))]
            report = make_report(launch, launch.run_all(every), 1, count, unset)
        else:
            report = _sampled(launch, count, unset)
    except ExecutionError as error:
        stopped = make_report(launch, launch.done, 1, 0, ["stopped by an error"])
        error.partial = _with_sources(stopped, source_or_cubin, source)
        raise
    return replace(
        _with_sources(report, source_or_cubin, source), rerun=_rerun(launch), work=work_of(launch)
    )


def arch_for(arch: str | None, chip: Chip | None) -> str:
    """Return the architecture that source is compiled for.

    >>> arch_for(None, None), arch_for(None, Chip.of("A100")), arch_for("sm_80", Chip.of("L4"))
    ('sm_90', 'sm_80', 'sm_80')

    Raises LaunchError for a chip whose code cannot be replayed.
    """
    if arch is not None or chip is None:
        return arch or DEFAULT_ARCH
    if chip.capability not in ARCHITECTURES:
        known = ", ".join(each.name for each in ARCHITECTURES.values())
        raise LaunchError(
            f"{chip} runs code for {chip.arch}, which is not replayed (accepted: a chip that runs"
            f" code for one of {known})"
        )
    return chip.arch


def _check_runs(cubin: Cubin, chip: Chip | None) -> None:
    if chip is not None and not chip.runs(cubin.architecture.capability):
        raise LaunchError(
            f"code for {cubin.architecture.name} does not run on {chip} (accepted: code for"
            f" {chip.arch}, or for a smaller minor capability of the same major one)"
        )


def _with_sources(report: CompiledReport, given: Given, source: str) -> CompiledReport:
    """Return the report with the source files that it names, where they can be found."""
    texts = {SOURCE: given} if source == SOURCE and isinstance(given, str) else {}
    path = None if texts or isinstance(given, bytes | bytearray) else Path(given)
    return replace(report, sources=source_lines(report.instructions["file"], path, texts))


def _named(instructions: tuple[SassInstruction, ...], source: str) -> tuple[SassInstruction, ...]:
    """Call the compiled source as it was given; the line table has its full path."""
    full = str(Path(plain_path(source)).absolute())
    return tuple(
        replace(each, file=source) if source and each.file == full else each
        for each in instructions
    )


def _rerun(launch: GridRun) -> Callable[[], dict[Dim3, Timeline]]:
    """Return what runs sampled blocks again; it does not keep the launch's memory and code."""
    given = {each.name: getattr(launch, each.name) for each in fields(launch) if each.init}

    def rerun() -> dict[Dim3, Timeline]:
        again = GridRun(**given | {"progress": None, "announce": None})
        firsts = _first_blocks(again)
        blocks = [block for first in firsts for block in again.members(first)]
        return dict(zip(blocks, again.timelines(firsts), strict=True))

    return rerun


def _sampled(launch: GridRun, count: int, notes: list[str]) -> CompiledReport:
    firsts, size = _first_blocks(launch), prod(launch.cluster)
    tallies = launch.run_each(firsts)
    total, first = launch.done, tallies[0]
    notes = list(notes)
    ran, times = len(firsts) * size, count // size
    if ran == count:
        return make_report(launch, total, 1, count, notes)
    sites = launch.program.sites
    if all(first.agrees(other, sites) for other in tallies[1:]):
        notes.append(f"{ran} of {count} blocks ran and agreed: their figures stand for the grid")
        differing = sorted(set().union(*(first.differing(each, sites) for each in tallies[1:])))
        if differing:
            notes.append(
                f"global memory: {', '.join(map(launch.place, differing))}: the blocks' figures"
                " differ, and are not known for the grid (--blocks all / blocks='all' runs every"
                " block)"
            )
        return make_report(launch, first, times, ran, notes, total.threads, differing)
    notes.append(
        f"{ran} of {count} blocks ran and did not agree: the figures are those blocks'"
        " sums, not the grid's (--blocks all / blocks='all' runs every block)"
    )
    return make_report(launch, total, 1, ran, notes)


def _first_blocks(launch: GridRun) -> list[Dim3]:
    """Give the first block of each cluster that stands for others; without clusters, the block."""
    x, y, z = launch.cluster
    clusters = tuple(blocks // size for blocks, size in zip(launch.grid, (x, y, z), strict=True))
    return [(i * x, j * y, k * z) for i, j, k in _sample(clusters)]


def _sample(grid: tuple[int, ...]) -> list[Dim3]:
    """Corners, edges and one interior block, in the order in which the grid counts.

    >>> _sample((8, 1, 1))
    [(0, 0, 0), (4, 0, 0), (7, 0, 0)]
    """
    axes = [sorted({0, size // 2, size - 1}) for size in grid]
    return [(x, y, z) for z, y, x in product(*reversed(axes))]
