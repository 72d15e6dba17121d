"""Serving a warpgroup's matrix products: four warps together, each product by the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.errors import UnsupportedError
from simulator.sass.lift.requests import GroupWait, Product, Reply
from simulator.sass.run import wgmma
from simulator.sass.run.standing import Call, Wait

if TYPE_CHECKING:
    from simulator.sass.lift.gmma_form import Gmma
    from simulator.sass.run.units import Units
    from simulator.sass.run.watch import Watch

__all__ = ["serve", "serve_wait"]

_WARPS = 4
"""Of a warpgroup."""


def serve(units: Units, call: Call, request: Product) -> int:
    """Multiply once the warpgroup's last warp has come; the others wait for it."""
    if call.mask != 0xFFFFFFFF or call.taken != call.mask:
        raise UnsupportedError(
            "some lanes are inactive at an instruction of a whole warpgroup (accepted: all 128"
            " threads active)"
        )
    place = call.warp % _WARPS
    first = call.warp - place
    if first + _WARPS > len(units.warps.memory):
        raise UnsupportedError(
            f"warp {call.warp} does not belong to a whole warpgroup:"
            f" the block has {len(units.warps.memory)}"
            " warps (accepted: multiples of 4)"
        )
    wavefronts = request.form.wavefronts
    # Each warp's share, so that they add up.
    units.note(call, 0, wavefronts * (place + 1) // _WARPS - wavefronts * place // _WARPS)
    waits = [
        wait
        for wait in units.waits
        if wait.call.number == call.number and first <= wait.call.warp < first + _WARPS
    ]
    if len(waits) < _WARPS - 1:
        return units.wait(Wait(call, "warpgroup"))
    _multiply(units, slice(first, first + _WARPS), call, request)
    if units.watch:
        _watch(units, units.watch, call, request.form)
    site = units.cluster.site_of(call.number)
    wavefronts, cycles = request.form.wavefronts, request.form.cycles
    units.count(site, requests=_WARPS, wavefronts=wavefronts, ideal=wavefronts, cycles=cycles)
    units.wake(waits)
    return Reply.GO_ON


def _multiply(units: Units, warps: slice, call: Call, request: Product) -> None:
    form, state = request.form, units.warps
    a, b = (state.uniform_pair(call.warp, form.descriptors + 2 * i) for i in range(2))
    for word in (a, b) if form.a_register is None else (b,):
        units.sees(call.number, "matrix", wgmma.Descriptor.of(word).start, 16)
    left = a if form.a_register is None else state.group(warps, form.a_register, 4)
    sums = None
    if form.source is not None and _is_added(units, call.warp, form.scale_d):
        sums = state.group(warps, form.source, form.registers)
    found = wgmma.multiply(form, units.shared, left, b, sums)
    state.group(warps, form.destination, form.registers)[:] = found


def _watch(units: Units, watch: Watch, call: Call, form: Gmma) -> None:
    """Look at what a product reads, and note that it does."""
    group = call.warp // _WARPS
    operands = [
        wgmma.pieces(
            units.shared.size, units.warps.uniform_pair(call.warp, form.descriptors + 2 * i), rows,
            transposed, name,
        )
        for i, (rows, transposed, name) in enumerate(
            ((64, form.transpose_a, "A"), (form.n, form.transpose_b, "B"))
        )
        if i or form.a_register is None
    ]  # fmt: skip
    for pieces in operands:
        watch.read(pieces, range(_WARPS * group, _WARPS * group + _WARPS), call.number)
    watch.multiply(group, call.number, operands, ends=form.group is not None)


def serve_wait(units: Units, call: Call, request: GroupWait) -> int:
    """Take note that a warp of a warpgroup waited for its products."""
    if units.watch:
        units.watch.wait_groups(call.warp // _WARPS, request.left)
    return Reply.GO_ON


def _is_added(units: Units, warp: int, scale: str) -> bool:
    """Whether the accumulator is added: `UP0`, `!UP0`, `UPT` or `!UPT`."""
    name = scale.lstrip("!")
    holds = name == "UPT" or bool(units.warps.predicate(warp, 8 + int(name[-1])))
    return holds != scale.startswith("!")
