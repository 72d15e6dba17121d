"""`replay_compiled`: any CUDA kernel as it was compiled, executed and counted, without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from layouts.errors import accepted, short
from simulator.errors import ExecutionError, LaunchError, OptionError
from simulator.law.chips import Chip, ChipLike, optional_chip
from simulator.law.counting import check_rule
from simulator.law.instructions import Rule
from simulator.sass.architectures import ARCHITECTURES, Arch
from simulator.sass.building import Build
from simulator.sass.code.cubin import Cubin
from simulator.sass.code.demangling import parameter_types
from simulator.sass.code.images import SOURCE, Given, existing
from simulator.sass.code.naming import source_text
from simulator.sass.code.objects import code_of
from simulator.sass.code.options import CompilerOptions, make_options
from simulator.sass.found import types_in
from simulator.sass.parameter_types import check_types, declared_types
from simulator.sass.report import CompiledReport
from simulator.sass.rows import make_report
from simulator.sass.run.grid import GridRun, Progress, dim3
from simulator.sass.sampling import BLOCKS, Blocks, Relaunch, arguments_of, run_blocks
from simulator.sass.source import impossible_lines, source_lines
from simulator.sass.structures import as_declared, has_structures

__all__ = ["BLOCKS", "DEFAULT_ARCH", "Blocks", "arch_for", "replay_compiled", "with_lines"]

DEFAULT_ARCH: Arch = "sm_90"
"""What source is compiled for where nothing else is said: the H200's."""


def replay_compiled(
    source_or_cubin: Given | Any,
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
    cooperative: bool = False,
) -> CompiledReport:
    """Execute a compiled kernel's machine code on the CPU and count its memory accesses.

    Raises SassError: CompileError, CubinError, ToolError before the launch, LaunchError for what
    cannot be launched. An ExecutionError is for an instruction that is not modelled, an access out
    of bounds, a deadlock, or a limit reached; its `partial` is the report until then.

    Parameters
    ----------
    source_or_cubin
        A Path, or a str naming an existing file, is a file: a cubin, a fatbinary, an object, a
        library, PTX or CUDA source, told by content. Any other str is CUDA source or PTX; bytes
        are a cubin. A kernel of Numba, of CuPy (RawKernel, RawModule) or of cuda.core (Program,
        ObjectCode) is code, too.
    grid, block
        Blocks and threads along x, y and z.
    args
        A NumPy array (copied) or None (a null pointer) for each pointer, a NumPy scalar for each
        value; types of ml_dtypes, such as bfloat16, too. A TensorMap for each tensor map. A tuple
        or a dict for each structure; a list of them for a pointer to those.
        Arguments that share memory are one buffer.
    kernel
        Its symbol or C++ name, for a template with its arguments: "gemm<64, 64>".
    cluster
        Blocks that run together; None: what the kernel requires, or 1.
    cooperative
        All blocks run at once, as by cudaLaunchCooperativeKernel: they may wait for each other.
    shared_bytes
        Dynamic shared memory.
    blocks
        "all", or "sample": corners, edges and one interior block. Their counts are extrapolated to
        the grid where all of them agree in shared memory. Where they do not, the report covers
        those blocks only and its notes say so.
    max_instructions
        Of warps, in the launch.
    symbols
        Arrays or scalars for `__constant__` and `__device__` variables, by name.
    include, define, options
        For the compiler: folders of headers, macros, and whatever else nvcc would be given.
    arch
        Source is compiled for it; by default that of the chip, and sm_90 without one.
    rule, chip
        Those of `count`.
    progress
        Called now and then with thread instructions executed, blocks done, blocks to do.
    announce
        Called with what is about to be waited for, in a few words.

    Examples
    --------
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
    >>> report.bank_conflicts, report.wavefronts
    (992, 1056)
    >>> bool((report.outputs[0] == np.arange(1024).reshape(32, 32).T).all())
    True
    """
    if not isinstance(blocks, str) or blocks not in BLOCKS:
        raise OptionError(f"unknown blocks {blocks!r}: {accepted(blocks, BLOCKS)}")
    check_rule(rule)
    shape, threads = dim3(grid, "grid"), dim3(block, "block")
    chosen_chip = optional_chip(chip)
    if isinstance(args, str | bytes) or not isinstance(args, Sequence):
        raise LaunchError(f"args {short(args)} (accepted: a list with one value per parameter)")
    if symbols is not None and not isinstance(symbols, Mapping):
        raise LaunchError(f"symbols {short(symbols)} (accepted: a dict, such as {{'w': array}})")
    say = announce or (lambda _: None)
    say("reading the kernel, or compiling it with NVRTC")
    given, target, code = source_or_cubin, arch_for(arch, chosen_chip), None
    if isinstance(given, bytearray):
        given = bytes(given)
    elif not isinstance(given, str | bytes | Path):
        code = code_of(given, args, target)
        given, kernel, args = code.code, kernel or code.kernel, code.arguments
        options = (*code.options, *options)
    if isinstance(given, str):
        given = existing(given) or given
    compiler = make_options(include, define or {}, options)
    build = Build(given, target, kernel, compiler, symbols or {})
    cubin, source = build.load()
    _check_runs(cubin, chosen_chip)
    built = build.built(cubin, source, say)
    chosen = built.program.kernel
    if source:
        args = _as_source_has_them(args, chosen.name, given, source, compiler)
    size = dim3(cluster, "cluster") if cluster is not None else chosen.cluster or (1, 1, 1)
    launch = GridRun(
        built.cubin, built.program, shape, threads, tuple(args), shared_bytes, max_instructions,
        rule, progress, announce, chosen_chip, size, cooperative=cooperative,
    )  # fmt: skip
    try:
        report = run_blocks(launch, blocks, built.notes)
    except ExecutionError as error:
        stopped = make_report(launch, launch.done, 1, 0, ["stopped by an error"])
        error.partial = _with_sources(stopped, given, source)
        raise
    report = _with_sources(report, given, source)
    if code is not None:
        report = replace(report, outputs=code.outputs(report.outputs))
        if code.file is not None:
            lines = source_lines(report.instructions["file"], code.file)
            report = with_lines(report, lines)
    again = Relaunch(
        arguments_of(launch), blocks, built.notes, report.sources, build, source or None
    )
    return replace(report, rerun=again)


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


def _as_source_has_them(
    args: Sequence[Any], kernel: str, given: Given, source: str, compiler: CompilerOptions
) -> Sequence[Any]:
    """Return the arguments with the members of structures in order. Raises LaunchError."""
    kinds = parameter_types(kernel)
    if kinds and not has_structures(args):
        return args
    path = None if isinstance(given, str) else Path(source)
    text = str(given) if path is None else source_text(path)
    if not kinds and (kinds := declared_types(text, kernel)):
        check_types(args, kernel, kinds)
    if not has_structures(args):
        return args
    return as_declared(args, kinds, types_in(text, path, compiler))


def _with_sources(report: CompiledReport, given: Given, source: str) -> CompiledReport:
    """Return the report with the source files that it names, where they can be found."""
    texts = {SOURCE: given} if source and isinstance(given, str) else {}
    path = None if texts or isinstance(given, bytes | bytearray) else Path(given)
    return with_lines(report, source_lines(report.instructions["file"], path, texts))


def with_lines(report: CompiledReport, sources: Mapping[str, tuple[str, ...]]) -> CompiledReport:
    """Return the report with its source files, and a note where they cannot be those."""
    found = report.instructions
    said = impossible_lines(found["file"], found["line"], sources)
    return replace(report, sources=sources, notes=(*report.notes, *said))
