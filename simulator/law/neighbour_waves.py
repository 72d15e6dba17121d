"""How lanes of an access leave for another block's memory: one line of a tag bank at a time.

The SM looks a warp's lines of 128 bytes up in four tag banks, as copies' lines are
(`simulator.law.copies.tag_bank`). A *wave* takes one line of each tag bank: that of the bank's
first waiting lane, and the waiting lanes on it. A lane stays behind where an earlier waiting lane
of its tag bank has one of its shared-memory banks, whether that lane goes or not.

Source: accesses of an NVIDIA H100 (sm_90), gpu_check/data/h100_neighbour_atomics.npz. Those that
took longer than a law without the last rule were reduced to the fewest lanes that still did.
`red.async` obeys the rule in all of its 174 accesses there.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.law.copies import LINE, tag_bank
from simulator.law.specification import BANKS, WORD

__all__ = ["waves"]

_BLOCK = 1 << 24  # bytes between blocks of a cluster


def waves(places: Sequence[int], width: int) -> list[list[list[int]]]:
    """Return the waves of lanes' places in lane order: of each its lines, of each line its places.

    Places are bytes of the shared window, as `cvta.to.shared` or `mapa` gives them, and each lane
    moves `width` bytes from there.

    >>> waves([0, 640, 4], 4)  # lines 0 and 5 have one tag bank
    [[[0, 4]], [[640]]]
    >>> waves([0, 644, 4], 4)  # and 644 has the shared-memory bank of 4
    [[[0]], [[644]], [[4]]]
    """
    found, waiting = [], list(places)
    while waiting:
        first: dict[int, int] = {}
        claimed: set[tuple[int, int]] = set()
        taken: dict[int, list[int]] = {}
        later = []
        for place in waiting:
            line = place // LINE
            tag = tag_bank(line % (_BLOCK // LINE))
            banks = {(tag, (place // WORD + word) % BANKS) for word in range(width // WORD)}
            goes = first.setdefault(tag, line) == line and not banks & claimed
            claimed |= banks
            if goes:
                taken.setdefault(line, []).append(place)
            else:
                later.append(place)
        found.append(list(taken.values()))
        waiting = later
    return found
