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
from simulator.testing.kernels import AssertKernelConflictFree, assert_kernel_conflict_free

__all__ = [
    "AssertConflictFree",
    "AssertKernelConflictFree",
    "AssertWavefronts",
    "assert_conflict_free",
    "assert_kernel_conflict_free",
    "assert_wavefronts",
]
