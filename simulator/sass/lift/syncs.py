"""SYNCS and ARRIVES: what the text of an operation on an mbarrier says.

Each form comes from the PTX named (NVRTC 13.5, sm_90a; the tests compile them again):

    SYNCS.EXCH.64                         mbarrier.init
    SYNCS.CCTL.IV                         mbarrier.inval
    SYNCS.ARRIVE.TRANS64                  arrive.expect_tx: one arrival, bytes of a register
    SYNCS.ARRIVE.TRANS64.A1T0             arrive: one arrival
    SYNCS.ARRIVE.TRANS64.ART0             arrive with a count: a register of arrivals
    SYNCS.ARRIVE.TRANS64.RED.A0TR         expect_tx: bytes of a register
    SYNCS.ARRIVE.TRANS64.RED.A0TX         complete_tx: bytes of a register, taken off
    SYNCS.ARRIVE.TRANS64.RED.A0T1         cp.async.mbarrier.arrive: one byte, which
    ARRIVES.LDGSTSBAR.64.TRANSCNT           this takes off once the copies are done
    ARRIVES.LDGSTSBAR.64.ARVCNT           cp.async.mbarrier.arrive.noinc: an arrival then
    …RED…                                 .shared::cluster: no state is returned
    …OPTOUT…                              arrive_drop
    …TMASK…                               .noComplete: lanes arrive together, and the state's
                                            lower half is the mask of those at one mbarrier
    SYNCS.PHASECHK.TRANS64                test_wait: bit 31 of a register is the phase asked for
    SYNCS.PHASECHK.TRANS64.TRYWAIT        try_wait
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from layouts.errors import accepted
from simulator.errors import UnsupportedError

__all__ = ["Syncs", "parse_syncs"]

Amount = Literal["none", "one", "register", "minus register"]


@dataclass(frozen=True)
class Syncs:
    """What a form of SYNCS or ARRIVES does.

    An "arrive" adds `arrivals`, then `bytes`, to what a phase has; `drops` takes its arrivals off
    later phases too, `completes` is False where it must not end the phase.
    """

    action: Literal["init", "invalidate", "arrive", "wait", "after copies"]
    arrivals: Amount = "none"
    bytes: Amount = "none"
    drops: bool = False
    completes: bool = True
    remote: bool = False
    """The address is one of the cluster, and no state is returned."""
    blocks: bool = False
    """try_wait: it may suspend the thread until the phase ends."""


_AMOUNTS: dict[str, tuple[Amount, Amount]] = {
    "": ("one", "register"),
    "A1T0": ("one", "none"),
    "ART0": ("register", "none"),
    "A0TR": ("none", "register"),
    "A0TX": ("none", "minus register"),
    "A0T1": ("none", "one"),
}


@lru_cache
def parse_syncs(opcode: str) -> Syncs:
    """Return what an opcode such as SYNCS.ARRIVE.TRANS64.A1T0 does.

    Raises UnsupportedError for a form that no PTX of sm_90a makes.

    >>> parse_syncs("SYNCS.ARRIVE.TRANS64.RED.A0TR").bytes
    'register'
    """
    name, _, rest = opcode.partition(".")
    parts = rest.split(".")
    match name, parts:
        case "SYNCS", ["EXCH", "64"]:
            return Syncs("init")
        case "SYNCS", ["CCTL", "IV"]:
            return Syncs("invalidate")
        case "SYNCS", ["PHASECHK", "TRANS64", *last] if last in ([], ["TRYWAIT"]):
            return Syncs("wait", blocks=bool(last))
        case "ARRIVES", ["LDGSTSBAR", "64", "TRANSCNT"]:
            return Syncs("after copies", bytes="one")
        case "ARRIVES", ["LDGSTSBAR", "64", "ARVCNT"]:
            return Syncs("after copies", arrivals="one")
        case "SYNCS", ["ARRIVE", "TRANS64", *options]:
            flags = {"RED", "OPTOUT", "TMASK"} & set(options)
            left = [each for each in options if each not in flags]
            if len(left) < 2 and "".join(left) in _AMOUNTS and len(options) == len({*options}):
                arrivals, size = _AMOUNTS["".join(left)]
                return Syncs(
                    "arrive", arrivals, size, drops="OPTOUT" in flags,
                    completes="TMASK" not in flags, remote="RED" in flags,
                )  # fmt: skip
    raise UnsupportedError(
        f"{opcode} is not modelled"
        f" ({accepted(opcode, ('SYNCS.EXCH.64', 'SYNCS.CCTL.IV', 'SYNCS.ARRIVE.TRANS64'))}, …)"
    )
