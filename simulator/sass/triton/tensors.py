"""Tensors as Triton takes them, over the memory of NumPy arrays and of PyTorch's CPU tensors."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import short
from simulator.errors import LaunchError
from simulator.sass.parameters import Pointer
from simulator.sass.run.buffers import span

__all__ = ["Tensor", "forget", "pointed", "pointer", "remember", "unwrapped", "wrapped"]

_APART = 1 << 12
"""How many times as far from each other arrays are as in the host's memory, and how aligned."""
_POINTERS = 1 << 16
"""The most elements of an array that are read as pointers."""
_ASKED: dict[int, Any] = {}
"""Addresses that were asked for, and weak references to whose they are."""
_BY_BYTES = {"torch.bfloat16": "bfloat16", "torch.float8_e4m3fn": "float8_e4m3fn",
             "torch.float8_e5m2": "float8_e5m2"}  # fmt: skip


class Tensor:
    """A NumPy array with what Triton and its users ask a tensor for.

    Whatever else is asked for is the array's own.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.array, name)

    def __len__(self) -> int:
        return len(self.array)

    def data_ptr(self) -> int:
        """Return an address as far from a page's start as on a device.

        A view is as far from it as it is from the array that it is a view of. No two arrays have
        the same, so addresses may stand in another array: those of its elements point.
        """
        memory, offset = _memory(self.array)
        first = int(memory.__array_interface__["data"][0]) if memory.size else 0
        address = _APART * first + offset
        remember(address, self.array)
        return address

    def stride(self, axis: int | None = None) -> Any:
        """Return the strides, in elements, or that of an axis."""
        strides = tuple(each // self.array.itemsize for each in self.array.strides)
        return strides if axis is None else strides[axis]

    def numel(self) -> int:
        """Return the number of elements."""
        return self.array.size

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self.array.itemsize

    # What `reset_to_zero` and `restore_value` of triton.autotune call.
    def zero_(self) -> Tensor:
        """Fill the array with zeros."""
        self.array[...] = 0
        return self

    def clone(self) -> Tensor:
        """Return a copy."""
        return Tensor(self.array.copy())

    def copy_(self, other: Tensor) -> Tensor:
        """Take over the elements of another tensor."""
        self.array[...] = other.array
        return self


def wrapped(value: Any) -> Any:
    """Return an argument of a launch as Triton takes it: arrays as tensors, NumPy's scalars plain.

    >>> wrapped(np.int32(7)), wrapped(np.zeros(4, np.float16)).data_ptr() % 16
    (7, 0)
    """
    if isinstance(value, np.ndarray):
        return Tensor(value)
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (tuple, list):
        return type(value)(map(wrapped, value))
    return value


def unwrapped(value: Any) -> NDArray[Any]:
    """Return the array, shape and strides included, that a tensor of either kind is.

    Raises LaunchError for what has no memory that can be read here.
    """
    while hasattr(value, "base") and not hasattr(value, "numpy") and not _is_array(value):
        value = value.base  # triton.reinterpret: a tensor's bytes as another type
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, np.ndarray):
        return value
    try:
        tensor = value.detach()
        if small := _BY_BYTES.get(str(tensor.dtype)):
            import ml_dtypes
            import torch

            same = torch.int16 if tensor.element_size() == 2 else torch.uint8
            return np.asarray(tensor.view(same).numpy().view(getattr(ml_dtypes, small)))
        return np.asarray(tensor.numpy())
    except Exception as error:  # whatever its framework raises
        raise LaunchError(
            f"{short(value)} cannot be read ({error}; accepted: NumPy arrays, and PyTorch tensors"
            " on the CPU)"
        ) from None


def pointer(value: Any) -> Pointer:
    """Return what points to a tensor's first element, in all the memory that it is a part of.

    Writing to that memory writes to the tensor. Raises what `unwrapped` raises.
    """
    return Pointer(*_memory(unwrapped(value)))


def remember(address: int, owner: Any) -> None:
    """Keep in mind whose address was asked for, as long as that lives.

    Of a view it is the tensor or array that it is a view of.
    """
    whole = getattr(owner, "_base", None)
    while isinstance(owner, np.ndarray) and isinstance(owner.base, np.ndarray):
        owner = owner.base
    _ASKED[address] = weakref.ref(owner if whole is None else whole)


def forget() -> None:
    """Forget all addresses."""
    _ASKED.clear()


def pointed(value: Any) -> list[Pointer | None] | None:
    """Return what the elements of an array of addresses point to; None: they are numbers.

    Each is an address that `data_ptr` returned, or 0. Raises what `unwrapped` raises.
    """
    array = unwrapped(value)
    if not 0 < array.size <= _POINTERS or not array.any():
        return None
    found: list[Pointer | None] = []
    for address in map(int, array.ravel()):
        owner = _ASKED[address]() if address in _ASKED else None
        if address and owner is None:
            return None
        found.append(_pointer_at(owner, address) if address else None)
    return found


def _pointer_at(owner: Any, address: int) -> Pointer:
    whole = pointer(owner)
    first = wrapped(owner).data_ptr()
    return Pointer(whole.array, whole.offset + address - first)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | Tensor)


def _memory(array: NDArray[Any]) -> tuple[NDArray[np.uint8], int]:
    """Return all bytes of the array that this is a view of, and where its first element is."""
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not array.size:
        return np.zeros(0, np.uint8), 0
    first = array.__array_interface__["data"][0]
    (low, high), own = span(root), span(array)
    if hasattr(root.base, "untyped_storage"):  # a tensor's: other tensors may lie beside it
        storage = root.base.untyped_storage()
        low, high = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    low, high = min(low, own[0]), max(high, own[1])
    return np.asarray(_Memory(array, low, high)), first - low


class _Memory:
    """Bytes of memory that an array keeps alive, as NumPy reads them."""

    def __init__(self, array: NDArray[Any], low: int, high: int) -> None:
        self.array = array
        self.__array_interface__ = {
            "version": 3, "shape": (high - low,), "typestr": "|u1",
            "data": (low, not array.flags.writeable),
        }  # fmt: skip
