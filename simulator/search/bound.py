"""The loop of the linear search, compiled: the best of all swizzles.

`simulator.search.linear` explains the idea. A set of vectors over GF(2) is kept in echelon
form: `basis[b]` is the vector whose highest bit is b, or 0.
"""

from __future__ import annotations

import numpy as np

from simulator.jit import jit

__all__ = ["explore"]


@jit()
def _adds_to(basis, value):
    """Add a bank to an echelon form; say whether it was independent."""
    for bit in range(6, -1, -1):
        if value >> bit & 1:
            if basis[bit] == 0:
                basis[bit] = value
                return True
            value ^= basis[bit]
    return False


@jit()
def explore(start, deficits, low, coordinates, table, base, best, limits, prune):
    """Try every target mask (from bit `base` up) for every basis vector of the sources.

    What is known of an access only loses rank later, so its cost so far is a lower bound. Returns
    the least cost, the masks that reach it (empty if none is below `best`), and the nodes visited.

    Parameters
    ----------
    start, deficits
        Vectors without sources: shapes (accesses, 7) and (accesses,).
    low, coordinates
        The vector that becomes known at a depth, -1 for none: shape (depth, accesses).
    table
        What an access costs, by its lost ranks: shape (accesses, ranks).
    base
        The lowest bit of target masks.
    best
        The least cost that is known.
    limits
        A cost that is enough, and the most nodes.
    prune
        Whether branches that cannot undercut `best` are left out.
    """
    enough, most = limits
    depth, accesses = low.shape
    values = 1 << (7 - base)
    bases = np.zeros((depth + 1, accesses, 7), np.int64)
    lost = np.zeros((depth + 1, accesses), np.int64)
    # Numba compiles a loop in a tenth of the time of an assignment between arrays.
    for access in range(accesses):
        for bit in range(7):
            bases[0, access, bit] = start[access, bit]
        lost[0, access] = deficits[access]
    masks = np.zeros(depth, np.int64)
    found = np.zeros(0, np.int64)
    choice = np.full(depth + 1, -1, np.int64)
    nodes = 0
    at = 0
    while at >= 0:
        choice[at] += 1
        if choice[at] == values:
            choice[at] = -1
            at -= 1
            continue
        nodes += 1
        if nodes > most:
            break
        masks[at] = choice[at] << base
        bound = np.int64(0)
        for access in range(accesses):
            for bit in range(7):
                bases[at + 1, access, bit] = bases[at, access, bit]
            lost[at + 1, access] = lost[at, access]
            left = coordinates[at, access]
            if left >= 0:
                bank = low[at, access]
                source = 0
                while left:
                    if left & 1:
                        bank ^= masks[source]
                    left >>= 1
                    source += 1
                if not _adds_to(bases[at + 1, access], bank):
                    lost[at + 1, access] += 1
            bound += table[access, lost[at + 1, access]]
        if prune and bound >= best:
            continue
        if at == depth - 1:
            if bound < best:
                best = bound
                found = masks.copy()
                if best <= enough:
                    break
        else:
            at += 1
    return best, found, nodes
