"""What a search compares: the accesses that each choice of the free values makes.

A `Case` holds them, as places in a tile. There are three sources: a list of `Access`, the
shared-memory sites of a kernel of the catalogue, and the fragment reads of `simulate`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from layouts.shapes import parse_shape
from simulator.errors import SearchError
from simulator.gemm.occupancy import DEVICES, Device, fragment_registers, occupancy
from simulator.law.accesses import SHARED_BYTES
from simulator.law.chips import Chip, instruction_on
from simulator.law.instructions import Instruction, Rule
from simulator.law.masks import active_table
from simulator.law.specification import BANKS, WORD
from simulator.search.accesses import Access, Group, group

if TYPE_CHECKING:
    from simulator.kernels.replay import Form
    from simulator.kernels.sites import Kernel

__all__ = ["Case", "blocks_by_shared", "fragment_case", "kernel_case", "tile_case"]

_ROW = BANKS * WORD


@dataclass(frozen=True, eq=False)
class Case:
    """Accesses to a tile, for one choice of the free values."""

    values: Mapping[str, Any]
    groups: tuple[Group, ...]
    shape: tuple[int, int]
    element: int
    bytes: int | None = None
    """Shared memory; None: what the tile's layout takes."""
    occupancy: float | None = None
    """Share of the chip's warps, where the threads are known."""
    reach: int | None = None
    """Elements up to the last that is touched, where the tile is rounded up for swizzles."""

    @property
    def elements(self) -> int:
        """Count the elements of the tile that any lane touches."""
        touched = [
            (group.places[..., None] + np.arange(group.instruction.width // self.element))[
                group.active
            ]
            for group in self.groups
        ]
        return len(np.unique(np.concatenate([each.ravel() for each in touched])))


def blocks_by_shared(size: int, chip: Chip | None) -> int:
    """Count the blocks of an SM that so many bytes of shared memory leave room for."""
    device = _device(chip)
    by_shared = occupancy(32, 1, size, device).by_shared
    return device.blocks_per_sm if by_shared is None else min(by_shared, device.blocks_per_sm)


def _device(chip: Chip | None) -> Device:
    return DEVICES["H200"] if chip is None else Device.of(chip)


def tile_case(
    accesses: Sequence[Access],
    values: Mapping[str, Any],
    tile: tuple[int, int] | None,
    element: int,
    *,
    swizzled: bool,
    chip: Chip | None = None,
) -> Case:
    """Evaluate accesses; without a tile, one row holds all they reach.

    Parameters
    ----------
    accesses
        What touches the tile.
    values
        Values of the names that the accesses use.
    tile
        Rows and columns; None: one row holds all they reach.
    element
        Bytes of an element.
    swizzled
        Whether such a row is rounded up to 128 bytes, for a swizzle.
    chip
        That of `count`.
    """
    groups = tuple(group(access, values, tile, element, chip) for access in accesses)
    reach = None
    if tile is None:
        reach = max(int(each.places.max()) + each.instruction.width // element for each in groups)
        unit = _ROW // element if swizzled else 1
        tile = (1, -(-reach // unit) * unit)
    return Case(values, groups, tile, element, reach=reach)


def kernel_case(
    kernel: Kernel,
    values: Mapping[str, Any],
    sizes: tuple[int, int, int],
    form: Form,
    array: str | None = None,
    tile: tuple[int, int] | None = None,
    chip: Chip | None = None,
) -> Case:
    """Lower a kernel's shared-memory sites, or those whose source names `array`.

    Parameters
    ----------
    kernel, form
        Those of `replay`.
    values
        The kernel's tile sizes.
    sizes
        m, n and k.
    array
        The array whose sites are meant; None: all.
    tile
        Rows and columns of that array.
    chip
        That of `count`.
    """
    from simulator.kernels.global_memory import suffix
    from simulator.kernels.lowering import lower_shared
    from simulator.kernels.sites import SharedSite

    launch = kernel.launch(*sizes, **{**kernel.parameters, **values})
    most = SHARED_BYTES if chip is None else chip.shared_bytes
    if launch.shared_bytes > most:
        raise SearchError(f"more than {most} bytes of shared memory")
    groups, elements, named = [], set(), []
    for site in launch.sites:
        if not isinstance(site, SharedSite) or not site.runs or site.only not in (None, form):
            continue
        named.append(site.source)
        if array is not None and not re.search(rf"\b{re.escape(array)}\b", site.source):
            continue
        accesses = lower_shared(site, launch, form)
        if site.op is None:
            mnemonic = "LDS" if site.kind == "load" else "STS"
            known = instruction_on(chip, f"{mnemonic}{suffix(accesses.width)}")
        else:
            known = instruction_on(chip, site.op)
        masks = (accesses.active << np.arange(32)).sum(axis=-1).reshape(len(accesses.weights), -1)
        weights = np.array(accesses.weights, dtype=object)[:, None] * accesses.copies
        weights = np.broadcast_to(weights, masks.shape).ravel()
        element = 1 if array is None else site.element
        elements.add(element)
        groups.append(
            _alike(
                f"{known.name} {site.source}", known, accesses.addresses.reshape(-1, 32),
                masks.ravel(), weights, element, tile,
            )
        )  # fmt: skip
    if not groups:
        raise SearchError(
            f"{kernel.name} has no shared-memory access"
            + (f" to {array!r} (accepted: a name in {'; '.join(named)})" if array else "")
        )
    if len(elements) > 1:
        raise SearchError(f"{array} of {kernel.name} has elements of {sorted(elements)} bytes")
    (element,) = elements
    if array is not None and tile is not None:
        return Case(values, tuple(groups), tile, element)
    return Case(values, tuple(groups), (1, SHARED_BYTES), 1, launch.shared_bytes)


def _alike(
    name: str,
    instruction: Instruction,
    addresses: NDArray[np.int64],
    masks: NDArray[np.int64],
    weights: NDArray[Any],
    element: int,
    tile: tuple[int, int] | None,
) -> Group:
    active = active_table(masks)
    addresses = np.where(active, addresses, 0)
    if tile is None:
        # Whole rows of banks to and fro cost nothing: accesses that differ by them are equal.
        least = np.where(active, addresses, SHARED_BYTES).min(axis=1, keepdims=True)
        addresses = np.where(active, addresses - least // _ROW * _ROW, 0)
    elif int(addresses.max()) + instruction.width > tile[0] * tile[1] * element:
        raise SearchError(
            f"{name} reaches byte {int(addresses.max()) + instruction.width - 1} of a tile of"
            f" {tile[0]}x{tile[1]} elements of {element} bytes (accepted: a tile that holds it)"
        )
    rows, inverse = np.unique(np.column_stack([addresses, masks]), axis=0, return_inverse=True)
    totals = [0] * len(rows)
    for row, weight in zip(inverse.ravel().tolist(), weights.tolist(), strict=True):
        totals[row] += weight
    if sum(totals) >= 1 << 53:
        raise SearchError(f"{name} runs {sum(totals)} times (accepted: smaller sizes)")
    return Group(
        name, instruction, rows[:, :32] // element, rows[:, 32].astype(np.uint32), np.array(totals)
    )


def fragment_case(
    values: Mapping[str, Any], rule: Rule, *, per_block: bool, chip: Chip | None = None
) -> Case:
    """Take `simulate`'s reads: of one warp, or of all warps of the block tile."""
    from simulator.gemm.simulate import simulate

    report = simulate(**values, rule=rule, chip=chip)
    device = _device(chip)
    geometry = report.geometry
    (warp_m, warp_n) = parse_shape(geometry.warp_shape, "RC", "warp shape")
    (thread_m, thread_n) = parse_shape(geometry.thread_tile, "MN", "thread tile")
    block_m, block_n, _ = parse_shape(geometry.block_tile, "MNK", "block tile")
    rows, rest_m = divmod(block_m, warp_m * thread_m)
    cols, rest_n = divmod(block_n, warp_n * thread_n)
    if rest_m or rest_n or not rows * cols:
        raise SearchError("the warp tile does not divide the block tile")
    threads = 32 * rows * cols
    if threads > device.threads_per_block:
        raise SearchError(f"more than {device.threads_per_block} threads per block")
    groups = []
    for fragment in report.fragments:
        places = np.array([access.addresses for access in fragment.accesses], dtype=np.int64)
        weight = rows * cols if per_block else 1
        groups.append(
            Group(
                f"{fragment.op} {fragment.name}", instruction_on(chip, fragment.op), places,
                np.full(len(places), 0xFFFFFFFF, dtype=np.uint32), np.full(len(places), weight),
            )
        )  # fmt: skip
    size = geometry.element * sum(fragment.tile.elements for fragment in report.fragments)
    held = occupancy(threads, fragment_registers(thread_m, thread_n), size, device)
    return Case(values, tuple(groups), (1, SHARED_BYTES), 1, size, held.ratio)
