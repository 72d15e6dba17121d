"""Serving mbarriers, and the barrier of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.sass.lift.requests import ClusterBarrier, Mbarrier, Operand, Reply
from simulator.sass.lift.syncs import Amount
from simulator.sass.run import mbarrier
from simulator.sass.run.gates import ARRIVE, WAIT
from simulator.sass.run.standing import Asked, Call, Wait
from simulator.sass.run.warps import lanes_of

if TYPE_CHECKING:
    from simulator.sass.run.units import Units

__all__ = ["complete", "expire", "reach", "serve", "serve_cluster"]


# ---- mbarriers. --------------------------------------------------------------------------------
def serve(units: Units, call: Call, request: Mbarrier) -> int:
    """Do what SYNCS or ARRIVES asks for, lane by lane."""
    form, warps = request.form, units.warps
    if form.action == "wait":
        return _wait(units, call, request)
    addresses = warps.addresses(call.warp, request.where)
    data = warps.words(call.warp, request.data)
    if form.action == "init":
        above = Operand(request.data.number + 1, request.data.uniform)
        high = warps.words(call.warp, above) if request.data.number >= 0 else data
        words = {addresses[lane]: data[lane] | high[lane] << 32 for lane in lanes_of(call.taken)}
        for address, word in words.items():
            owner, place = units.block_at(address)
            owner.sees(call.number, "mbarrier", place, 8)
            mbarrier.initialise(owner.shared, place, word)
            owner.turns_to(place, 0, is_new=True)
            if owner.phases:
                owner.phases.initialised(place)
            if owner.watch and owner is units:
                joins = units.cluster.arrivals.get((units.rank, call.warp), 0)
                owner.watch.made(call.warp, place, call.number, joins)
    elif form.action == "invalidate":
        for address in dict.fromkeys(addresses[lane] for lane in lanes_of(call.taken)):
            owner, place = units.block_at(address)
            mbarrier.invalidate(owner.shared, place)
    elif request.form.arrivals == "one" and form.bytes == "none" and request.target.number < 0:
        _arrive_often(units, call, request, addresses)
    elif not form.completes and form.bytes == "none" and request.target.number >= 0:
        _arrive_together(units, call, request, addresses, data)
    else:
        _arrive(units, call, request, addresses, data)
    return Reply.GO_ON


def _arrive_often(units: Units, call: Call, request: Mbarrier, addresses: list[int]) -> None:
    """Let each lane arrive once: those at one mbarrier at a time, where that is the same."""
    form = request.form
    counts: dict[int, int] = {}
    for lane in lanes_of(call.taken):
        counts[addresses[lane]] = counts.get(addresses[lane], 0) + 1
    _note_arrivals(units, call, list(counts))  # one instruction, however many mbarriers it is at
    for address, count in counts.items():
        owner, place = units.block_at(address)
        while count:
            some = 1 if form.drops else min(count, mbarrier.load(owner.shared, place).pending or 1)
            mbarrier.arrive(owner.shared, place, some, drop=form.drops, completes=form.completes)
            count -= some
            _changed(owner, place)


def _arrive(
    units: Units, call: Call, request: Mbarrier, addresses: list[int], data: list[int]
) -> None:
    form, target = request.form, request.target.number
    _note_arrivals(units, call, [addresses[lane] for lane in lanes_of(call.taken)])
    for lane in lanes_of(call.taken):
        owner, place = units.block_at(addresses[lane])
        count, size = (_amount(each, data[lane]) for each in (form.arrivals, form.bytes))
        if (not count and form.bytes == "minus register") or form.action == "after copies":
            before = 0
            if size:
                mbarrier.complete_tx(owner.shared, place, abs(size))
            if count:
                mbarrier.arrive(owner.shared, place, count)
        else:
            before = mbarrier.arrive(
                owner.shared, place, count, expect=size, drop=form.drops, completes=form.completes
            )
        if target >= 0:
            units.warps.row(call.warp, target)[lane] = before & 0xFFFFFFFF
            units.warps.row(call.warp, target + 1)[lane] = before >> 32
        _changed(owner, place)


def _arrive_together(
    units: Units, call: Call, request: Mbarrier, addresses: list[int], data: list[int]
) -> None:
    """Let the lanes at one mbarrier arrive by `.noComplete`, each as often as it says.

    Compiled code makes each lane's state: it adds the arrivals of the lanes below, which a mask in
    the lower half names, to the state before all. (NVRTC 13.5; the chip's was not recorded.)
    """
    form, target = request.form, request.target.number
    low, high = (units.warps.row(call.warp, target + half) for half in range(2))
    _note_arrivals(units, call, [addresses[lane] for lane in lanes_of(call.taken)])
    groups: dict[tuple[int, int], list[int]] = {}
    for lane in lanes_of(call.taken):
        groups.setdefault((addresses[lane], _amount(form.arrivals, data[lane])), []).append(lane)
    for (address, count), lanes in groups.items():
        owner, place = units.block_at(address)
        words = [
            mbarrier.arrive(owner.shared, place, count, drop=form.drops, completes=False)
            for _ in lanes
        ]
        low[lanes] = sum(1 << lane for lane in lanes)
        high[lanes] = words[0] >> 32
        _changed(owner, place)


def _amount(what: Amount, word: int) -> int:
    return {"none": 0, "one": 1, "register": word, "minus register": word}[what]


def reach(units: Units, call: Call, owner: Units, place: int) -> None:
    """Check that an mbarrier of another block was made before a warp of this one uses it."""
    if owner is not units and units.watch and owner.watch:
        units.watch.reached(call.number, owner.watch.made_behind(place, units.joined))


def complete(units: Units, address: int, size: int) -> None:
    """Tell the mbarrier at a cluster's address that bytes have come."""
    owner, place = units.block_at(address)
    if owner.watch:
        owner.watch.arrives(None, place)
    mbarrier.complete_tx(owner.shared, place, size)
    _changed(owner, place)


def _wait(units: Units, call: Call, request: Mbarrier) -> int:
    asked, predicate = _asked(units, call, request), request.predicate
    passed = _passed(units, asked)
    if not passed:
        return units.wait(Wait(call, "mbarrier", asked, predicate))
    _note_waits(units, call, asked)
    if predicate is not None:
        units.warps.write_predicate(call.warp, predicate, call.taken, passed)
    return Reply.GO_ON


def _note_waits(units: Units, call: Call, asked: tuple[Asked, ...]) -> None:
    """Note for what a warp has waited."""
    if units.order:
        for each in asked:
            owner, place = units.block_at(each.address)
            if mbarrier.passed(owner.shared, place, each.phase << 31):
                where = owner.rank << 32 | place
                units.order(WAIT, call.warp, call.number, where, owner.turned(place))
    own = [place for owner, place in (units.block_at(each.address) for each in asked)
           if owner is units]  # fmt: skip
    if units.watch:
        for place in own:
            units.watch.used(call.warp, place, call.number)
            units.watch.waited(call.warp, place)
        if len(own) < len(asked):
            units.watch.waited_elsewhere(call.warp)
    if units.phases:
        units.phases.add(call.warp, call.number, [units.phases.ended(place) for place in own])


def _note_arrivals(units: Units, call: Call, addresses: list[int]) -> None:
    """Note at which phases a warp arrives."""
    if units.watch:
        for address in dict.fromkeys(addresses):
            owner, place = units.block_at(address)
            if owner is units:
                units.watch.used(call.warp, place, call.number)
            reach(units, call, owner, place)
            if owner.watch:
                owner.watch.arrives(call.warp if owner is units else None, place)
    if units.order:
        for address in dict.fromkeys(addresses):
            owner, place = units.block_at(address)
            units.order(ARRIVE, call.warp, call.number, owner.rank << 32 | place)
    if units.phases:
        places = [units.block_at(address) for address in dict.fromkeys(addresses)]
        # Other blocks of a cluster are taken to go in step: they do here what this one does there.
        phases = [units.phases.alike(place, owner.phases) for owner, place in places]
        units.phases.add(call.warp, call.number, phases)


def _asked(units: Units, call: Call, request: Mbarrier) -> tuple[Asked, ...]:
    """Return the phases that lanes ask for, each once: mostly it is one."""
    warps = units.warps
    word = warps.common(call.warp, request.data, call.taken)
    register = warps.common(call.warp, request.where.register, call.taken)
    if word is not None and register is not None:
        address = register + warps.words(call.warp, request.where.uniform)[0]
        return (Asked(address + request.where.offset & 0xFFFFFFFF, word >> 31, call.taken),)
    addresses = warps.addresses(call.warp, request.where)
    words = warps.words(call.warp, request.data)
    lanes: dict[tuple[int, int], int] = {}
    for lane in lanes_of(call.taken):
        key = addresses[lane], words[lane] >> 31
        lanes[key] = lanes.get(key, 0) | 1 << lane
    return tuple(Asked(*key, mask) for key, mask in lanes.items())


def _passed(units: Units, asked: tuple[Asked, ...]) -> int:
    """Return the lanes whose phase is over."""
    passed = 0
    for each in asked:
        owner, place = units.block_at(each.address)
        if mbarrier.passed(owner.shared, place, each.phase << 31):
            passed |= each.lanes
    return passed


def _changed(owner: Units, place: int) -> None:
    """Let those go on whose phase is over now, after something happened at an mbarrier."""
    owner.cluster.quiet = 0
    owner.turns_to(place, int(owner.shared[place + 7]) >> 7)
    if owner.phases:
        owner.phases.changed(place, int(owner.shared[place + 7]) >> 7)
    if owner.watch:
        owner.watch.turned(place, int(owner.shared[place + 7]) >> 7)
    ready = []
    for wait in owner.waits:
        if wait.what == "mbarrier":
            passed = _passed(owner, wait.asked)
            if passed:
                _answer(owner, wait, passed)
                _note_waits(owner, wait.call, wait.asked)
                ready.append(wait)
    owner.wake(ready)


def expire(units: Units) -> None:
    """Let those that wait for mbarriers go on without: a try of the chip's takes some time only."""
    ready = [wait for wait in units.waits if wait.what == "mbarrier"]
    for wait in ready:
        _answer(units, wait, 0)
    units.wake(ready)


def _answer(units: Units, wait: Wait, passed: int) -> None:
    if wait.predicate is not None:
        units.warps.write_predicate(wait.call.warp, wait.predicate, wait.call.taken, passed)


# ---- The barrier of a cluster. -----------------------------------------------------------------
def serve_cluster(units: Units, call: Call, request: ClusterBarrier) -> int:
    """Arrive at the barrier of the cluster, or wait for all warps of it to arrive."""
    cluster, key = units.cluster, (units.rank, call.warp)
    if not request.waits:
        cluster.arrivals[key] = cluster.arrivals.get(key, 0) + 1
        cluster.open_barrier()
        return Reply.GO_ON
    arrivals = cluster.arrivals.get(key, 0)
    if cluster.passed() >= arrivals:
        if units.watch:
            units.watch.opened()
        units.joined = max(units.joined, arrivals)
        return Reply.GO_ON
    return units.wait(Wait(call, "cluster", arrivals=arrivals))
