"""`wanted_launches`: which launches of a source a name asks for."""

from __future__ import annotations

import pytest

from simulator.sass.code.launches import find_launches
from simulator.sass.found import wanted_launches

SOURCE = """
namespace my {
template <typename T, int N, bool B = false> __global__ void turn(T *a) { a[0] = N; }
}
__global__ void plain(float *a) { a[0] = 1; }
int main() {
    float *a; double *b;
    cudaMalloc(&a, 128); cudaMalloc(&b, 256);
    my::turn<float, 4><<<1, 32>>>(a);
    my::turn<double, 8><<<1, 32>>>(b);
    my::turn<float, 16, true><<<1, 32>>>(a);
    plain<<<1, 32>>>(a);
}
"""
FIRST, SECOND, THIRD = "my::turn<float, 4>", "my::turn<double, 8>", "my::turn<float, 16, true>"


@pytest.mark.parametrize(
    ("asked", "launched"),
    [
        (None, [FIRST, SECOND, THIRD, "plain"]),
        ("turn", [FIRST, SECOND, THIRD]),
        ("my::turn", [FIRST, SECOND, THIRD]),
        ("turn<float, 4>", [FIRST]),
        ("my::turn <float,4u>", [FIRST]),
        ("turn<double, 8>", [SECOND]),
        ("turn<float, 16>", [THIRD]),  # with an argument more, which has a default
        ("turn<float, 1>", []),
        ("turn<float, 5>", []),
        ("plain", ["plain"]),
        ("plain<4>", []),
    ],
)
def test_template_arguments_choose_among_launches(asked: str | None, launched: list[str]) -> None:
    wanted, idle = wanted_launches(find_launches(SOURCE), "k.cu", asked)
    assert [each.kernel for each in wanted] == launched
    assert idle == ([] if launched else [asked])
