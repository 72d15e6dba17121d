"""What a test of one's own says of shared memory: asserts and a pytest fixture.

    from simulator.testing import assert_conflict_free

`simulator.testing.strategies` draws accesses and layouts for Hypothesis.
"""

from simulator.testing.asserts import (
    AssertConflictFree,
    AssertWavefronts,
    assert_conflict_free,
    assert_wavefronts,
)

__all__ = ["AssertConflictFree", "AssertWavefronts", "assert_conflict_free", "assert_wavefronts"]
