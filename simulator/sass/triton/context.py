"""`triton()`: launches of Triton kernels are replayed where they stand."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import accepted
from simulator.errors import LaunchError, OptionError, ToolError
from simulator.law.chips import ChipLike, optional_chip
from simulator.law.counting import check_rule
from simulator.law.instructions import Rule
from simulator.sass.architectures import Arch, architecture
from simulator.sass.parameters import Pointer
from simulator.sass.replay import BLOCKS, Blocks, arch_for, replay_compiled, with_lines
from simulator.sass.report import CompiledReport
from simulator.sass.run.grid import Progress
from simulator.sass.run.map_argument import TensorMap
from simulator.sass.source import source_lines
from simulator.sass.triton.driver import TritonLaunch, make_driver
from simulator.sass.triton.pytorch import pytorch_on_cpu, without_clock
from simulator.sass.triton.tensors import Tensor, forget, unwrapped, wrapped

__all__ = ["Config", "TritonLaunches", "check_installed", "in_script", "triton"]

Config = str | int | Mapping[str, Any]
"""Which configurations of an autotuned kernel run: "all", a place among them, or what they hold."""

_RUNNING: list[_Session] = []


class TritonLaunches(list[CompiledReport]):
    """The reports of the launches so far, in their order."""

    def tensor(self, array: Any) -> Any:
        """Return an array as a tensor, for what Triton asks more of than an array has.

        Such is the base of a `TensorDescriptor`.
        """
        return wrapped(array)


@contextmanager
def triton(
    *,
    arch: Arch | None = None,
    chip: ChipLike | None = None,
    config: Config = "all",
    blocks: Blocks = "all",
    max_instructions: int | None = None,
    rule: Rule = "silicon",
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
) -> Iterator[TritonLaunches]:
    """Replay the launches of Triton kernels inside a `with`, without a GPU; yield their reports.

    Triton compiles each as for the chip: for the types, alignments and values of its arguments.
    They are NumPy arrays, PyTorch tensors on the CPU, or what else Triton takes. What the kernel
    stores is in them afterwards, as far as its blocks ran.

        with triton() as launches:
            kernel[grid](a, b, c, n, BLOCK=128)
        print(launches[0])

    docs/how-to/triton.md has examples that run.

    Raises ToolError without Triton, OptionError for options, and inside the `with` LaunchError for
    what cannot be launched, what `replay_compiled` raises, and Triton's own errors.

    Parameters
    ----------
    arch, chip, rule
        Those of `replay_compiled`.
    config
        Which configurations of `triton.autotune` are replayed: "all", a number for one by its
        place, or a dict or text such as "BLOCK_M=64, num_warps=4" for those that hold that. With
        more than one, the first one's results stay.
    blocks
        Which blocks run, as for `replay_compiled`.
    max_instructions, progress, announce
        Those of `replay_compiled`.
    """
    check_installed()
    if blocks not in BLOCKS:
        raise OptionError(f"unknown blocks {blocks!r}: {accepted(blocks, BLOCKS)}")
    check_rule(rule)
    chosen = optional_chip(chip)
    if _RUNNING:
        asked = {"arch": arch, "chip": chosen, "config": config, "rule": rule,
                 "max_instructions": max_instructions}  # fmt: skip
        with _RUNNING[0].joined(asked, blocks) as launches:
            yield launches
        return
    name = arch_for(arch, chosen)
    capability = architecture(name).capability
    launches = TritonLaunches()
    options = {
        "chip": chosen, "rule": rule, "max_instructions": max_instructions,
        "progress": progress, "announce": announce,
    }  # fmt: skip
    tuning = _Tuning(config)
    session = _Session([launches], blocks)

    def launch(what: TritonLaunch) -> None:
        report = _replayed(what, {**options, "blocks": session.blocks})
        if tuning.is_recorded:
            for each in session.lists:
                each.append(report)

    driver = make_driver(capability, chosen, launch)
    device = driver.utils.get_device_properties(driver.name)
    with (
        _installed(driver, session),
        tuning.installed(),
        without_clock(),
        pytorch_on_cpu(capability, driver.name, device),
    ):
        yield launches


@contextmanager
def in_script(**options: Any) -> Iterator[TritonLaunches]:
    """Do what `triton` does, for a script that may hold a `with triton()` of its own.

    That one joins this: its launches are reported in both, as the options here say; `blocks`, on
    which the script's results depend, is its own. Raises OptionError for its other options where
    they differ from those here, and what `triton` raises.
    """
    with triton(**options) as launches:
        _RUNNING[0].given = options
        yield launches


_USUAL = {"arch": None, "chip": None, "config": "all", "max_instructions": None, "rule": "silicon"}


@dataclass
class _Session:
    """A `with` that runs."""

    lists: list[TritonLaunches]
    """Those that take each report."""
    blocks: Blocks
    given: Mapping[str, Any] | None = None
    """A script's options; None: there is no script whose own `with` may join."""

    @contextmanager
    def joined(self, asked: Mapping[str, Any], blocks: Blocks) -> Iterator[TritonLaunches]:
        """Yield the launches inside a script's own `with`."""
        if self.given is None or len(self.lists) > 1:
            raise OptionError(
                "bankwise.triton() is running already (accepted: one `with` at a time)"
            )
        for name, value in asked.items():
            if value != _USUAL[name] and value != self.given.get(name, value):
                raise OptionError(
                    f"bankwise.triton({name}={str(value)!r}) in a script that is replayed with"
                    f" {name}={str(self.given[name])!r} (accepted: the same, or no {name}; or run"
                    " the script with python)"
                )
        inner, before = TritonLaunches(), self.blocks
        self.lists.append(inner)
        self.blocks = blocks
        try:
            yield inner
        finally:
            self.lists.pop()
            self.blocks = before


def check_installed() -> None:
    """Raise ToolError unless there is a Triton that launches as this one does."""
    if importlib.util.find_spec("triton") is None:
        raise ToolError("Triton is not installed (install it with: pip install triton)")
    try:
        from triton.backends.driver import expand_signature, wrap_handle_tensordesc_impl
    except ImportError:
        import triton as installed

        raise ToolError(
            f"Triton {installed.__version__} launches kernels in a way that is not supported"
            " (accepted: Triton 3.9 and later)"
        ) from None
    del expand_signature, wrap_handle_tensordesc_impl


def _replayed(launch: TritonLaunch, options: dict[str, Any]) -> CompiledReport:
    """Replay a launch, write what it stored into the arguments, and return its report."""
    report = replay_compiled(
        launch.loaded.cubin,
        kernel=launch.loaded.kernel,
        grid=launch.grid,
        block=launch.threads,
        args=launch.arguments,
        shared_bytes=launch.loaded.shared_bytes,
        cluster=launch.cluster if launch.cluster > 1 else None,
        **options,
    )
    for given, stored in _stored(launch.arguments, report.outputs):
        memory = given.array
        if memory.flags.writeable:
            memory[...] = stored
        elif not np.array_equal(memory.view(np.uint8), stored.view(np.uint8)):
            raise LaunchError(
                f"{report.title} stores into an array that cannot be written (accepted: an"
                " array with flags.writeable)"
            )
    notes = (*report.notes, _specialised(launch))
    made = replace(report, notes=notes, outputs=_outputs(launch))
    return with_lines(made, _sources(launch, report))


def _stored(
    arguments: list[Any], outputs: list[Any]
) -> Iterator[tuple[Pointer | TensorMap, NDArray[Any]]]:
    """Yield each array that was passed, those behind pointers too, with what the kernel left."""
    for given, stored in zip(arguments, outputs, strict=True):
        if isinstance(given, Pointer | TensorMap):
            yield given, stored
        elif isinstance(given, list):
            yield from _stored(given, stored)


def _outputs(launch: TritonLaunch) -> list[Any]:
    """Return the arguments of the Python function as the kernel left them, without constants."""
    found = []
    for parameter, value in zip(launch.source.fn.params, launch.given, strict=True):
        if parameter.is_constexpr:
            continue
        is_tensor = isinstance(value, Tensor) or hasattr(value, "data_ptr")
        found.append(unwrapped(value).copy() if is_tensor else value)
    return found


def _specialised(launch: TritonLaunch) -> str:
    """Say what Triton compiled for: types, with :16 where divisible by it, and constants."""
    import triton as installed

    said = []
    attributes = launch.source.attrs
    for place, (name, kind) in enumerate(launch.source.signature.items()):
        if kind == "constexpr":
            said.append(f"{name}={launch.source.constants.get((place,))}")
        else:
            divisible = any("tt.divisibility" in each for each in attributes.get((place,), ()))
            said.append(f"{name} {kind}{':16' if divisible else ''}")
    options = ("num_warps", "num_stages", "num_ctas")
    said += [f"{option}={getattr(launch.metadata, option, '?')}" for option in options]
    return f"Triton {installed.__version__} compiled it for {', '.join(said)}"


def _sources(launch: TritonLaunch, report: CompiledReport) -> dict[str, tuple[str, ...]]:
    """Return the source files that the kernel and what it calls stand in."""
    file = getattr(launch.source.fn, "file_name", "")
    return source_lines(report.instructions["file"], Path(file)) if file else {}


@contextmanager
def _installed(driver: Any, session: _Session) -> Iterator[None]:
    """Let Triton launch with a driver, and take NumPy's arrays."""
    from triton.runtime import driver as drivers
    from triton.runtime.jit import KernelInterface

    plain = KernelInterface.__getitem__
    before = drivers._active

    def launcher(self: Any, grid: Any) -> Callable[..., Any]:
        size = (grid,) if isinstance(grid, int) else grid
        run = plain(self, size)

        def call(*args: Any, **options: Any) -> Any:
            named = {name: wrapped(value) for name, value in options.items()}
            return run(*map(wrapped, args), **named)

        return call

    _RUNNING.append(session)
    drivers.set_active(driver)
    KernelInterface.__getitem__ = launcher
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="TRITON_")  # advice about its own settings
            yield
    finally:
        KernelInterface.__getitem__ = plain
        drivers.set_active(before)
        _RUNNING.pop()
        forget()


class _Tuning:
    """Which configurations of autotuned kernels run, and which of their launches are recorded."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.is_recorded = True

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let autotuned kernels run the chosen configurations, in Triton's own way."""
        from triton.runtime.autotuner import Autotuner

        plain = Autotuner.run

        def run(tuner: Any, *args: Any, **options: Any) -> Any:
            before = dict(tuner.__dict__)
            tuner.__dict__.update(
                configs=self.chosen(tuner), cache={}, do_bench=self.bench, cache_results=False
            )
            try:
                return plain(tuner, *args, **options)
            finally:
                self.is_recorded = True
                tuner.__dict__.clear()
                tuner.__dict__.update(before)

        Autotuner.run = run
        try:
            yield
        finally:
            Autotuner.run = plain

    def bench(self, call: Callable[[], Any], **_options: Any) -> list[float]:
        """Take the place of Triton's clock: launch once, and let all configurations be as fast.

        Triton runs the first of them again for its results: that launch is not recorded.
        """
        self.is_recorded = True
        try:
            call()
        finally:
            self.is_recorded = False
        return [0.0, 0.0, 0.0]

    def chosen(self, tuner: Any) -> list[Any]:
        """Return the configurations that are to run. Raises LaunchError where none is meant."""
        configs = list(tuner.configs)
        if self.config == "all":
            return configs
        if isinstance(self.config, int):
            found = configs[self.config : self.config + 1] if self.config >= 0 else []
        else:
            wanted = _settings(self.config)
            found = [each for each in configs if wanted.items() <= _held(each).items()]
        if not found:
            listed = "\n  ".join(f"{i}: {each}" for i, each in enumerate(configs))
            name = getattr(tuner.base_fn, "__name__", "the kernel")
            raise LaunchError(
                f"no configuration of {name} is {self.config!r} (accepted: all, a number, or"
                f" settings such as num_warps=4, of\n  {listed}\n)"
            )
        return found


def _held(config: Any) -> dict[str, str]:
    return {name: str(value) for name, value in config.all_kwargs().items()}


def _settings(config: str | Mapping[str, Any]) -> dict[str, str]:
    """Read what configurations must hold: a mapping, or text such as "BLOCK=64, num_warps=4"."""
    if not isinstance(config, str):
        return {str(name): str(value) for name, value in config.items()}
    found = {}
    for part in config.split(","):
        name, sign, value = part.replace(":", "=", 1).partition("=")
        if not sign or not name.strip():
            raise OptionError(f"config {config!r} (accepted: all, a number, NAME=VALUE, …)")
        found[name.strip()] = value.strip()
    return {name: value for name, value in found.items() if value != "None"}
