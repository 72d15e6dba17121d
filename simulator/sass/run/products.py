"""Serving a warpgroup's matrix products: four warps together, each product by the library.

Its fences and waits are noted, since all four warps have to execute them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.errors import UnsupportedError
from simulator.sass.lift.requests import GroupOrder, Product, Reply
from simulator.sass.run import wgmma
from simulator.sass.run.standing import Call, Wait
from simulator.sass.run.warpgroups import WARPS, left_out

if TYPE_CHECKING:
    from simulator.sass.lift.gmma_form import Gmma
    from simulator.sass.run.units import Units
    from simulator.sass.run.watch import Watch

__all__ = ["meet", "serve", "serve_order"]


def serve(units: Units, call: Call, request: Product) -> int:
    """Multiply once the warpgroup's last warp has come; the others wait for it."""
    if call.mask != 0xFFFFFFFF or call.taken != call.mask:
        raise UnsupportedError(
            "some lanes are inactive at an instruction of a whole warpgroup (accepted: all 128"
            " threads active)"
        )
    place = call.warp % WARPS
    first = call.warp - place
    if first + WARPS > len(units.warps.memory):
        raise UnsupportedError(
            f"warp {call.warp} does not belong to a whole warpgroup:"
            f" the block has {len(units.warps.memory)}"
            " warps (accepted: multiples of 4)"
        )
    wavefronts = request.form.wavefronts
    # Each warp's share, so that they add up.
    units.note(call, 0, wavefronts * (place + 1) // WARPS - wavefronts * place // WARPS)
    waits = [
        wait
        for wait in units.waits
        if wait.call.number == call.number and first <= wait.call.warp < first + WARPS
    ]
    if len(waits) < WARPS - 1:
        return units.wait(Wait(call, "warpgroup"))
    meet(units, call.warp // WARPS)
    _multiply(units, slice(first, first + WARPS), call, request.form)
    if units.watch:
        _watch(units, units.watch, call, request.form)
    site = units.cluster.site_of(call.number)
    wavefronts, cycles = request.form.wavefronts, request.form.cycles
    units.count(site, requests=WARPS, wavefronts=wavefronts, ideal=wavefronts, cycles=cycles)
    units.wake(waits)
    return Reply.GO_ON


def _multiply(units: Units, warps: slice, call: Call, form: Gmma) -> None:
    state = units.warps
    if form.destination is None:
        return
    a, b = _descriptors(units, call.warp, form)
    for word in (a, b) if form.a_register is None else (b,):
        units.sees(call.number, "matrix", wgmma.Descriptor.of(word).start, 16)
    left = a if form.a_register is None else state.group(warps, form.a_register, 4)
    sums = None
    if form.source is not None and _is_added(units, call.warp, form.scale_d):
        sums = state.group(warps, form.source, form.registers)
    found = wgmma.multiply(form, units.shared, left, b, sums)
    state.group(warps, form.destination, form.registers)[:] = found


def _descriptors(units: Units, warp: int, form: Gmma) -> list[int]:
    """Return the descriptors of A and of B; none where nothing is multiplied."""
    first = form.descriptors
    if first is None:
        return []
    return [units.warps.uniform_pair(warp, first + 2 * i) for i in range(2)]


def _watch(units: Units, watch: Watch, call: Call, form: Gmma) -> None:
    """Look at what a product reads, and note that it does."""
    group = call.warp // WARPS
    sides = ((64, form.transpose_a, "A"), (form.n, form.transpose_b, "B"))
    words = _descriptors(units, call.warp, form)
    operands = [
        wgmma.pieces(units.shared.size, word, *side)
        for word, side in zip(words, sides[: len(words)], strict=True)
        if side[2] == "B" or form.a_register is None
    ]
    for pieces in operands:
        watch.read(pieces, range(WARPS * group, WARPS * group + WARPS), call.number)
    watch.multiply(group, call.number, operands, ends=form.group is not None)


def serve_order(units: Units, call: Call, request: GroupOrder) -> int:
    """Take note of a fence or a wait of a warp."""
    units.warpgroups.note(call.warp, call.number)
    if units.watch and request.left is not None:
        units.watch.wait_groups(call.warp // WARPS, request.left, call.warp)
    return Reply.GO_ON


def meet(units: Units, group: int) -> None:
    """Compare the fences and waits of a warpgroup's four warps since its last product.

    Raises ExecutionError where a warp left one out.
    """
    requests = units.cluster.requests

    def kind(number: int) -> int | None:
        request = requests[number]
        return request.left if isinstance(request, GroupOrder) else None

    found = units.warpgroups.meet(group, kind)
    if found is None:
        return
    if found.other is None:
        units.blamed = found.number, found.more[0]
        raise left_out(found, waits=kind(found.number) is not None)
    if units.watch:
        units.watch.differ(found.number, found.other)


def _is_added(units: Units, warp: int, scale: str) -> bool:
    """Whether the accumulator is added: `UP0`, `!UP0`, `UPT` or `!UPT`."""
    name = scale.lstrip("!")
    holds = name == "UPT" or bool(units.warps.predicate(warp, 8 + int(name[-1])))
    return holds != scale.startswith("!")
