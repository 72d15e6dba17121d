"""`distinct`: what `numpy.unique` returns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from simulator.timing.distinct import distinct


@given(arrays.arrays(st.sampled_from([np.int32, np.int64]), arrays.array_shapes(min_dims=0)))
def test_it_is_what_numpy_returns(numbers: np.ndarray) -> None:
    found = distinct(numbers)
    assert found.dtype == numbers.dtype
    assert np.array_equal(found, np.unique(numbers))
