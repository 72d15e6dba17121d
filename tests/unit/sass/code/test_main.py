"""What is said of a main that asks for the arguments of its program."""

from __future__ import annotations

import pytest

from simulator.sass.code.launches import find_launches

pytest.importorskip("tree_sitter_cuda")

KERNEL = "__global__ void k(float *a, int n) { a[n] = 1; }\n"


@pytest.mark.parametrize(
    ("body", "assumed", "asks"),
    [
        ("int n = argc > 1 ? atoi(argv[1]) : 9; k<<<n, 32>>>(a, n);", {}, True),
        ("int n = argc > 1 ? atoi(argv[1]) : 9; k<<<n, 32>>>(a, n);", {"argc": 2}, False),
        ("if (argc > 2) return 1; k<<<9, 32>>>(a, 9);", {}, False),
        ("if (argc > 2) { puts(argv[0]); exit(1); } k<<<9, 32>>>(a, 9);", {}, False),
        ("int n = 9; if (argc > 1) { if (atoi(argv[1]) < 1) return 1; n = atoi(argv[1]); }"
         " k<<<n, 32>>>(a, n);", {}, True),
        ("int n = argv[1] ? atoi(argv[1]) : 9; k<<<n, 32>>>(a, n);", {}, True),
        ("int n = argc > 1 ? atoi(argv[1]) : 9; k<<<n, 32>>>(a, n);", {"n": 4}, False),
        ("initialize(argc, argv); int n = 9; k<<<n, 32>>>(a, n);", {}, False),
    ],
)  # fmt: skip
def test_it_is_said_that_main_asks_for_arguments(
    body: str, assumed: dict[str, int], asks: bool
) -> None:
    source = f"{KERNEL}int main(int argc, char **argv) {{ {body} }}"
    assert find_launches(source, assumed=assumed).asks_arguments is asks
