"""`TensorMap`: what a Hopper kernel takes where the host would give it a `CUtensorMap`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from layouts.errors import accepted
from simulator.errors import TensorMapError
from simulator.sass.run.map_fields import ELEMENT_TYPES, MapFields
from simulator.sass.run.map_rules import broken_rules
from simulator.sass.run.tensor_map import encode

__all__ = ["TensorMap"]

_OF_NUMPY = {
    **{name: name for name in ELEMENT_TYPES if name not in ("tfloat32", "float32_ftz")},
    "bool": "uint8", "int8": "uint8", "int16": "uint16",
}  # fmt: skip


class TensorMap:
    """A tensor map over an array: an argument of a kernel that copies tiles of it by TMA.

    8-bit floats are copied as bytes.

    Raises TensorMapError with the rule's name for what `cuTensorMapEncodeTiled` refuses: rows of
    the box that are not multiples of 16 bytes, more than 256 elements along an axis, rows longer
    than the swizzle's span.

    Parameters
    ----------
    array
        Sizes, strides and the element type come from it. It has 1 to 5 axes, the last contiguous.
    box
        The tile that one copy moves, in elements, in the array's axis order.
    swizzle
        Bytes within which 16-byte pieces are permuted in shared memory: None, 32, 64 or 128.
    element_strides
        Every n-th element along each axis is taken.
    interleave, l2_promotion
        Those of `cuTensorMapEncodeTiled`, in bytes. The last axis of an interleaved map counts
        slices of so many bytes, and a copy takes one place of the axis before it.
    fill
        What a tile has outside the array: "zero" or "nan".
    element
        Another type of the same size, such as "tfloat32" for float32.

    Examples
    --------
    >>> import numpy as np
    >>> tiles = TensorMap(np.zeros((4096, 1024), np.float16), (128, 64), swizzle=128)
    >>> tiles
    TensorMap(float16[4096,1024], box=(128, 64), swizzle=128)
    >>> tiles.encode(0x7F0000000000)[:8].hex()
    '00000000007f0000'
    """

    def __init__(
        self,
        array: NDArray[Any],
        box: Sequence[int],
        *,
        swizzle: Literal[32, 64, 128] | None = None,
        element_strides: Sequence[int] | None = None,
        interleave: Literal[16, 32] | None = None,
        fill: Literal["zero", "nan"] = "zero",
        l2_promotion: Literal[64, 128, 256] | None = None,
        element: str | None = None,
    ) -> None:
        self._take(
            array, element, element_strides, box=_inner_first("box", box, np.ndim(array)),
            swizzle=swizzle, interleave=interleave, fill=fill, l2_promotion=l2_promotion,
        )  # fmt: skip

    @classmethod
    def im2col(
        cls,
        array: NDArray[Any],
        channels: int,
        pixels: int,
        *,
        lower: Sequence[int] | None = None,
        upper: Sequence[int] | None = None,
        **options: Any,
    ) -> TensorMap:
        """Return a map over a batch of images, shape (N, H, W, C), that copies pixels in im2col.

        Shapes (N, W, C) and (N, D, H, W, C) are taken, too. Raises TensorMapError, also for arrays
        of fewer or more axes.

        Parameters
        ----------
        array
            The images, channels last.
        channels, pixels
            Of one copy.
        lower, upper
            Corners (H, W) of the box in which pixels are visited, as offsets from the image's own
            corners: 0 without them.
        **options
            Those of TensorMap.
        """
        if not 3 <= np.ndim(array) <= 5:
            raise TensorMapError(
                "im2col rank",
                f"an array of {np.ndim(array)} axes (accepted: 3 to 5, as N, H, W, C)",
            )
        inner = np.ndim(array) - 2
        self = cls.__new__(cls)
        self._take(
            array, options.pop("element", None), options.pop("element_strides", None),
            kind="im2col", channels=channels, pixels=pixels,
            lower=_inner_first("lower", (0,) * inner if lower is None else lower, inner),
            upper=_inner_first("upper", (0,) * inner if upper is None else upper, inner),
            **options,
        )  # fmt: skip
        return self

    def _take(
        self,
        array: NDArray[Any],
        element: str | None,
        element_strides: Sequence[int] | None,
        **shape: Any,
    ) -> None:
        """Describe an array, and check what can be checked without its address."""
        if not isinstance(array, np.ndarray):
            raise TensorMapError(
                "array", f"a {type(array).__name__} (accepted: a NumPy array of 1 to 5 axes)"
            )
        if not 1 <= array.ndim <= 5:
            raise TensorMapError("rank", f"an array of {array.ndim} axes (accepted: 1 to 5)")
        if array.size and array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
            raise TensorMapError(
                "contiguous axis",
                f"elements of the last axis lie {array.strides[-1]} bytes apart (accepted:"
                f" {array.itemsize}, one element; next: pass numpy.ascontiguousarray(array))",
            )
        steps = (1,) * array.ndim if element_strides is None else element_strides
        self.array = array
        self.fields = MapFields(
            element=_element(array.dtype, element), address=0, sizes=array.shape[::-1],
            strides=array.strides[-2::-1] if array.ndim > 1 else (),
            element_strides=_inner_first("element_strides", steps, array.ndim), **shape,
        )  # fmt: skip
        for rule, problem in broken_rules(self.fields):
            raise TensorMapError(rule, problem)

    def encode(self, address: int) -> bytes:
        """Return the 128 bytes that the driver makes for the array at a global address.

        Raises TensorMapError unless it is a multiple of 16, or 32 where interleave is 32.
        """
        return encode(replace(self.fields, address=address))

    def __repr__(self) -> str:
        fields, shape = self.fields, ",".join(map(str, self.array.shape))
        said = [f"{self.array.dtype}[{shape}]"]
        if fields.kind == "tiled":
            said.append(f"box={fields.box[::-1]}")
        else:
            said += [f"channels={fields.channels}", f"pixels={fields.pixels}"]
            said += [f"lower={fields.lower[::-1]}", f"upper={fields.upper[::-1]}"]
        said += [f"swizzle={fields.swizzle}"] if fields.swizzle else []
        said += [f"interleave={fields.interleave}"] if fields.interleave else []
        if any(step != 1 for step in fields.element_strides):
            said.append(f"element_strides={fields.element_strides[::-1]}")
        said += ["fill='nan'"] if fields.fill == "nan" else []
        name = "TensorMap" if fields.kind == "tiled" else "TensorMap.im2col"
        return f"{name}({', '.join(said)})"


def _inner_first(name: str, given: Sequence[int], length: int) -> tuple[int, ...]:
    """Turn the array's axis order into the driver's."""
    try:
        values = tuple(int(value) for value in given if value == int(value))
    except (TypeError, ValueError):
        values = ()
    if len(values) != length or np.ndim(given) != 1 or len(given) != length:
        raise TensorMapError(name, f"{name}={given!r} (accepted: {length} integers, one per axis)")
    return values[::-1]


def _element(dtype: np.dtype[Any], element: str | None) -> str:
    name = "uint8" if dtype.itemsize == 1 else _OF_NUMPY.get(dtype.name, "")
    if element is None and name:
        return name
    same = [each for each, (_, size) in ELEMENT_TYPES.items() if size == dtype.itemsize]
    if element in same and dtype.kind not in "OSU":
        return str(element)
    given = element or dtype.name
    raise TensorMapError(
        "element", f"{given!r} of an array of {dtype} ({accepted(given, same or ELEMENT_TYPES)})"
    )
