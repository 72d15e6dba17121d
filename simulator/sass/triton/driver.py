"""The driver that Triton launches its kernels with: it replays them, for a GPU that is not there.

Triton asks a driver what to compile for, hands it the cubin to load, and calls its launcher with
the arguments. All else is Triton's own: specialising, compiling, tuning, descriptors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from simulator.errors import LaunchError
from simulator.law.capabilities import CAPABILITIES
from simulator.law.chips import Chip
from simulator.sass.code.cubin import read_cubin
from simulator.sass.run.map_argument import TensorMap
from simulator.sass.triton.tensors import pointed, pointer, unwrapped

__all__ = ["Loaded", "TritonLaunch", "make_driver"]

_SWIZZLES = (None, 32, 64, 128)
_SCALARS = {
    "i1": np.int8, "u1": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "fp16": np.float16,
    "fp32": np.float32, "f32": np.float32, "fp64": np.float64,
}  # fmt: skip


class Loaded(NamedTuple):
    """A compiled kernel, as Triton gives it to a driver to load."""

    kernel: str
    cubin: bytes
    shared_bytes: int


class TritonLaunch(NamedTuple):
    """What Triton asks a driver to launch."""

    loaded: Loaded
    source: Any
    """Triton's own description of what it compiled."""
    metadata: Any
    grid: tuple[int, int, int]
    """Of blocks, so a multiple of the cluster along x."""
    threads: int
    cluster: int
    arguments: list[Any]
    """As the machine code takes them, those that Triton adds among them."""
    given: list[Any]
    """One per parameter of the Python function."""


def make_driver(capability: int, chip: Chip | None, launch: Callable[[TritonLaunch], None]) -> Any:
    """Return a driver for Triton that calls `launch` for each launch.

    Its device is a name that no real one has, so nothing that Triton keeps for a device mixes.
    """
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase

    class Launcher:
        """What Triton makes of each compiled kernel, and calls."""

        def __init__(self, source: Any, metadata: Any) -> None:
            self.source, self.metadata = source, metadata

        def __call__(self, x: int, y: int, z: int, *rest: Any) -> None:
            _stream, loaded, packed, launch_metadata, enter, leave, *given = rest
            warps, cluster = packed[:2]
            if x * y * z == 0:
                return
            blocks = x * y * z * cluster
            arguments = _arguments(self.source, self.metadata, given, blocks)
            if enter is not None:
                enter(launch_metadata)
            launch(
                TritonLaunch(
                    loaded, self.source, self.metadata, (x * cluster, y, z), 32 * warps, cluster,
                    arguments, list(given),
                )
            )  # fmt: skip
            if leave is not None:
                leave(launch_metadata)

    class Utilities:
        """What Triton asks of a device."""

        def get_device_properties(self, _device: Any) -> dict[str, int]:
            limits = CAPABILITIES[capability]
            known = chip or Chip.of("H200")
            return {
                "max_shared_mem": min(limits.shared_bytes, (chip or limits).shared_bytes),
                "max_num_regs": limits.registers_per_block,
                "multiprocessor_count": known.multiprocessors or 132,
                "warpSize": 32,
                "sm_clock_rate": int(1000 * (known.clock_mhz or 1980)),
                "mem_clock_rate": int(1000 * (known.clock_mhz or 1980)),
                "mem_bus_width": 5120,
            }

        def load_binary(
            self, name: str, kernel: bytes, shared: int, _device: Any
        ) -> tuple[None, Loaded, int, int, int]:
            registers = read_cubin(bytes(kernel)).kernel(name).registers
            return None, Loaded(name, bytes(kernel), shared), registers, 0, 1024

        def unload_module(self, _module: Any) -> None:
            pass

    class Driver(DriverBase):  # type: ignore[misc]  # Triton has no types
        """Launches on a device that is replayed."""

        def __init__(self) -> None:
            self.utils = Utilities()
            self.launcher_cls = Launcher
            self.name = f"bankwise replays sm_{capability}"

        @classmethod
        def is_active(cls) -> bool:
            return True

        def get_current_device(self) -> str:
            return self.name

        def set_current_device(self, _device: Any) -> None:
            pass

        def get_current_stream(self, _device: Any) -> int:
            return 0

        def get_device_capability(self, _device: Any = None) -> tuple[int, int]:
            return divmod(capability, 10)

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", capability, 32)

        def get_active_torch_device(self) -> Any:
            import torch

            return torch.device("cpu")

        def get_benchmarker(self) -> Any:
            return _benchmark

        def map_python_to_cpp_type(self, ty: str) -> str:
            from triton.backends.nvidia.driver import ty_to_cpp

            return str(ty_to_cpp(ty))

    return Driver()


def _benchmark(call: Callable[[], Any], **_options: Any) -> list[float]:
    """Launch once: a replay has no clock, so all configurations are as fast."""
    call()
    return [0.0, 0.0, 0.0]


def _arguments(source: Any, metadata: Any, given: Sequence[Any], blocks: int) -> list[Any]:
    """Return what the machine code takes, in order.

    Raises LaunchError for an argument that is not read here, such as a tensor on a GPU.
    """
    from triton.backends.driver import expand_signature, wrap_handle_tensordesc_impl

    meta = getattr(metadata, "tensordesc_meta", None)
    found: list[Any] = []
    types = expand_signature(source.signature.values(), meta, "nvTmaDesc")
    wrap_handle_tensordesc_impl(
        lambda values: _flatten(types, values, found), source.signature, meta, _descriptor
    )(tuple(given))
    # Behind them: memory for tensor maps that the kernel makes itself, and for a profile.
    for name in ("global_scratch_size", "profile_scratch_size"):
        size = int(getattr(metadata, name, 0) or 0)
        found.append(np.zeros(size * blocks, np.uint8) if size else None)
    return found


def _flatten(types: Sequence[Any], values: Sequence[Any], found: list[Any]) -> None:
    """Append what is passed of values; constants are in the machine code."""
    for kind, value in zip(types, values, strict=True):
        if isinstance(kind, tuple):
            _flatten(kind, value, found)
        elif kind != "constexpr":
            found.append(_passed(kind, value))


def _passed(kind: str, value: Any) -> Any:
    if isinstance(value, TensorMap):
        return value
    if kind in ("*i64", "*u64") and value is not None and (found := pointed(value)) is not None:
        return found
    if kind.startswith("*"):
        return None if value is None else pointer(value)
    if kind == "bf16":
        import ml_dtypes

        return np.array(value, ml_dtypes.bfloat16)[()]
    if kind not in _SCALARS:
        raise LaunchError(
            f"no argument can be made for Triton's type {kind} (accepted: pointers such as *fp16,"
            f" {', '.join(_SCALARS)})"
        )
    return np.array(value).astype(_SCALARS[kind])[()]


def _descriptor(descriptor: Any, meta: Any, _launch: Any) -> list[Any]:
    """Return what stands for a tensor descriptor among the arguments: a tensor map, sizes, strides.

    Raises LaunchError for maps that are not made here.
    """
    if meta is None:
        from triton.backends.driver import decompose_descriptor

        return list(decompose_descriptor(descriptor))
    if meta["fp4_padded"] or meta.get("is_im2col"):
        what = "padded 4-bit floats" if meta["fp4_padded"] else "im2col"
        raise LaunchError(
            f"a tensor descriptor for {what} is not replayed (accepted: tiles of whole-byte"
            " elements)"
        )
    base = unwrapped(descriptor.base)
    strides = [each * base.itemsize for each in descriptor.strides]
    if base.itemsize == 1:
        base = base.view(np.uint8)  # NumPy has no stride tricks for ml_dtypes' floats of 8 bits
    array = np.lib.stride_tricks.as_strided(base, list(descriptor.shape), strides)
    tiles = TensorMap(
        array,
        meta["block_size"],
        swizzle=_SWIZZLES[meta["swizzle"]],  # type: ignore[arg-type]
        fill="nan" if descriptor.padding == "nan" else "zero",
        element="tfloat32" if descriptor.round_f32_to_tf32 else None,
    )
    return [tiles, *descriptor.shape, *descriptor.strides]
