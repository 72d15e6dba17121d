"""Lambdas in host code: what a kernel is given, and what launches."""

from __future__ import annotations

from simulator.sass.code.launches import find_launches


def test_a_lambda_held_by_a_variable_is_asked_for_with_the_way_out() -> None:
    text = """
template <typename F> __global__ void k(F f, int n) { f(n); }
int main() { float *a; auto f = [=] __device__ (int i) { a[i] = 1; }; k<<<1, 32>>>(f, 5); }
"""
    (launch,) = find_launches(text).launches
    assert launch.kernel == "k<F>"
    assert "--compiler nvcc" in launch.unknown[0]
    assert launch.arguments[1] == "i32=5"


def test_a_launch_in_a_macros_lambda_is_found_and_its_type_asked_for() -> None:
    text = """
template <typename scalar_t> __global__ void k(const scalar_t *a, int n) {}
void run(Tensor x) {
    const int threads = 256, n = 1024;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "run", ([&] {
        k<scalar_t><<<(n + threads - 1) / threads, threads>>>(x.data_ptr<scalar_t>(), n);
    }));
}
"""
    (launch,) = find_launches(text).launches
    assert (launch.kernel, launch.grid, launch.block) == ("k<scalar_t>", "4", "256")
    assert "scalar_t" in launch.unknown
    assert launch.arguments[1] == "i32=1024"
    held = text.replace('AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "run", ([&]', "auto go = ([&]")
    (launch,) = find_launches(held.replace("}));", "}); go();")).launches
    assert launch.grid == "4"
