"""Loops of host code: what they launch, and what they leave."""

from __future__ import annotations

import pytest

from simulator.sass.code.launches import find_launches

pytest.importorskip("tree_sitter_cuda")


@pytest.mark.parametrize(
    ("body", "value"),
    [("int i = 0; do { i += 3; } while (i < 10);", 12), ("while (i > 7) i /= 2;", 6),
     ("i = 0; for (int j = 0; j < 5; j++) i += j * j;", 30), ("i = 'a' + 1;", 98),
     ("i = 0x1p+3;", 8), ("i = INT_MAX - 1;", 2147483646), ("i = RAW(3 + 1);", 7),
     ("int k = 3; for (int j = 0; j < 2; j++) { k = 4; } i = k;", 4),
     ("i = 0; for (int j = 0; j < n; j++) i += j;", None), ("do i += 1; while (n > 3);", None),
     ("i = 0; while (true) { if (i > 3) break; i = i + 0; }", None),
     ("i = 0; for (int j = 0; j < 100000; j++) i += 0;", None)],
)  # fmt: skip
def test_what_loops_leave_is_known_where_they_end(body: str, value: int | None) -> None:
    text = (
        "#define RAW(x) x * x\n__global__ void k(int i) {}\nvoid f(int n) { int i = 100; "
        f"{body} k<<<1, 32>>>(i); }}"
    )
    (found,) = find_launches(text).launches
    assert found.arguments == (f"i32={'<i>' if value is None else value}",)


def test_each_pass_of_a_loop_that_launches_counts() -> None:
    text = "__global__ void k(int i) {}\nint main() { int n = 64; "
    text += "while (n > 8) { k<<<n / 8, 32>>>(n); n /= 2; } k<<<1, 32>>>(n); }"
    found = find_launches(text).launches
    assert [(each.grid, each.arguments[0]) for each in found] == [
        ("8", "i32=64"), ("4", "i32=32"), ("2", "i32=16"), ("1", "i32=8"),
    ]  # fmt: skip


def test_a_loop_that_launches_is_read_after_long_loops() -> None:
    text = "__global__ void k(int i) {}\nvoid gold(int n, float* out) { for (int y = 0; y < n; y++)"
    text += " for (int x = 0; x < n; x++) out[x] = x; }\nint main() { float* h; gold(512, h);"
    text += " for (int i = 0; i < 8; i++) k<<<1, 32>>>(i); }"
    found = find_launches(text).launches
    assert [each.arguments[0] for each in found] == [f"i32={i}" for i in range(8)]
