"""PyTorch while launches are replayed: its device "cuda" is memory of the CPU.

So a script that makes its tensors on a GPU runs as it is, and what its kernels store is in them.
Nothing here imports PyTorch: who uses it has done so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from simulator.sass.triton.tensors import remember

__all__ = ["pytorch_on_cpu", "without_clock"]


@contextmanager
def pytorch_on_cpu(capability: int, name: str, properties: Mapping[str, int]) -> Iterator[None]:
    """Let PyTorch, where it is imported, put what is for a GPU into the CPU's memory.

    Parameters
    ----------
    capability
        That of the chip which is replayed: 90.
    name
        What `torch.cuda.get_device_name` returns.
    properties
        What Triton's driver says of the device.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    with ExitStack() as stack:
        for place, value in _stand_ins(torch, capability, name, properties).items():
            if hasattr(torch.cuda, place):
                stack.enter_context(patch.object(torch.cuda, place, value))
        stack.enter_context(_blas(torch))
        stack.enter_context(_mode(torch))
        yield


def _mode(torch: Any) -> Any:
    """Return what PyTorch asks before it does anything, while it is entered."""
    from torch.overrides import TorchFunctionMode

    is_cuda, data_ptr = torch.Tensor.is_cuda.__get__, torch.Tensor.data_ptr
    stays = (torch.Tensor.cuda, torch.Tensor.pin_memory)

    def moved(value: Any) -> Any:
        kind = value if isinstance(value, str) else getattr(value, "type", None)
        is_place = isinstance(value, str | torch.device)
        return "cpu" if is_place and str(kind).split(":")[0] == "cuda" else value

    class OnCpu(TorchFunctionMode):  # type: ignore[misc]  # PyTorch is not installed here
        """Takes "cpu" for "cuda"."""

        def __torch_function__(
            self, function: Any, _types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            named = dict(kwargs or {})
            if function == is_cuda:
                return True
            if function in stays:
                return args[0]
            named.pop("pin_memory", None)
            if "device" in named:
                named["device"] = "cpu" if _is_number(named["device"]) else moved(named["device"])
            if function is torch.Tensor.to:
                args = (args[0], *map(moved, args[1:]))
            found = function(*args, **named)
            if function == data_ptr:
                remember(found, args[0])
            return found

    return OnCpu()


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class _Event:
    """A `torch.cuda.Event`: there is no clock, so no time has passed between two."""

    def __init__(self, *_args: Any, **_options: Any) -> None:
        pass

    def record(self, *_stream: Any) -> None:
        """Do nothing: all launches before it have ended."""

    wait = synchronize = record

    def query(self) -> bool:
        """Return whether what was before it has ended."""
        return True

    def elapsed_time(self, _end: Any) -> float:
        """Return no number, for a replay has no clock."""
        return float("nan")


def _stand_ins(
    torch: Any, capability: int, name: str, properties: Mapping[str, int]
) -> dict[str, Any]:
    """Return what `torch.cuda` answers for the device that is replayed."""
    major, minor = divmod(capability, 10)
    device = SimpleNamespace(
        name=name, major=major, minor=minor, total_memory=1 << 37, warp_size=32, is_integrated=0,
        multi_processor_count=properties["multiprocessor_count"],
        regs_per_multiprocessor=properties["max_num_regs"],
        shared_memory_per_block_optin=properties["max_shared_mem"],
        max_threads_per_multi_processor=2048,
    )  # fmt: skip
    stream = SimpleNamespace(
        cuda_stream=0, synchronize=_nothing, wait_stream=_nothing, wait_event=_nothing,
        record_event=lambda event=None: event or _Event(), device=torch.device("cpu"),
    )  # fmt: skip
    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_capability": lambda *_: (major, minor),
        "get_device_properties": lambda *_: device,
        "get_device_name": lambda *_: name,
        "current_stream": lambda *_: stream,
        "default_stream": lambda *_: stream,
        "Event": _Event,
        **dict.fromkeys(
            ("synchronize", "empty_cache", "set_device", "manual_seed", "manual_seed_all"), _nothing
        ),
    }


def _nothing(*_args: Any, **_options: Any) -> None:
    pass


def _blas(torch: Any) -> Any:
    """Return what gives Triton's way to cuBLAS to PyTorch's product on the CPU."""
    from triton._C.libtriton import nvidia

    class Products:
        """Triton's `CublasLt`, which its tutorials compare with: A by the transpose of B."""

        def __init__(self, _workspace: Any) -> None:
            pass

        def matmul(self, a: Any, b: Any, out: Any) -> None:
            """Store the product."""
            out.copy_(torch.matmul(a.float(), b.float().T))

        def gemm(self, a: Any, b: Any, c: Any, out: Any, alpha: float, beta: float) -> None:
            """Store alpha times the product, plus beta times C."""
            out.copy_(alpha * torch.matmul(a.float(), b.float().T) + beta * c.float())

    return patch.object(nvidia.cublas, "CublasLt", Products)


@contextmanager
def without_clock() -> Iterator[None]:
    """Let Triton's benchmarks launch once, and take no time; sweeps of them are left out."""
    from triton import testing

    def bench(call: Callable[[], Any], *_args: Any, **options: Any) -> Any:
        call()
        quantiles = options.get("quantiles")
        if quantiles is None:
            return [float("nan")] if options.get("return_mode") == "all" else float("nan")
        return [float("nan")] * len(quantiles)

    def sweep(mark: Any, *_args: Any, **_options: Any) -> None:
        name = getattr(mark.fn, "__name__", "a benchmark")
        print(f"bankwise: {name} is left out, for a replay has no clock", file=sys.stderr)

    with ExitStack() as stack:
        for name in (each for each in dir(testing) if each.startswith("do_bench")):
            stack.enter_context(patch.object(testing, name, bench))
        stack.enter_context(patch.object(testing.Mark, "run", sweep))
        yield
