"""A constant that device code has is not replaced for host code alone."""

from __future__ import annotations

import pytest

from simulator.errors import LaunchError
from simulator.sass.code.launches import find_launches

pytest.importorskip("tree_sitter_cuda")


@pytest.mark.parametrize(
    ("before", "device"),
    [
        ("constexpr int N = 64;", "a[N] = 1;"),
        ("enum { N = 64 };", "a[N] = 1;"),
        ("const int N = 64;\n#define HALF (N / 2)", "a[HALF] = 1;"),
        ("const int N = 64; const int TWICE = 2 * N;", "a[TWICE] = 1;"),
        ("const int N = 64; constexpr int size() { return N; }", "a[size()] = 1;"),
    ],
)
def test_a_constant_that_device_code_has_is_not_replaced_for_the_host_alone(
    before: str, device: str
) -> None:
    host = "int main() { float *p; cudaMalloc(&p, 4 * N); k<<<N / 32, 32>>>(p, N); }"
    text = f"{before}\n__global__ void k(float *a, int n) {{ {device} }}\n{host}"
    with pytest.raises(LaunchError, match="N is a constant of the whole file, and device code"):
        find_launches(text, assumed={"N": 128})
    (found,) = find_launches(text.replace(device, "a[n] = 1;"), assumed={"N": 128}).launches
    assert (found.grid, found.arguments) == ("4", ("random:f32[128]", "i32=128"))
