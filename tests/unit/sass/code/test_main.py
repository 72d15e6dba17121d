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
        ("bool has = argc > 1; int n = has ? atoi(argv[1]) : 9; k<<<n, 32>>>(a, n);", {}, True),
        ("bool has; has = !(argc < 2); bool own{has and true}; int n = 9;"
         " if (own) n = atoi(argv[1]); k<<<n, 32>>>(a, n);", {}, True),
        ("bool few(argc < 2); if (few) return 1; k<<<9, 32>>>(a, 9);", {}, False),
        ("bool small = 9 < 16; int n = small ? 9 : 10; k<<<n, 32>>>(a, n);", {}, False),
        ("initialize(argc, argv); int n = 9; k<<<n, 32>>>(a, n);", {}, False),
    ],
)  # fmt: skip
def test_it_is_said_that_main_asks_for_arguments(
    body: str, assumed: dict[str, int], asks: bool
) -> None:
    source = f"{KERNEL}int main(int argc, char **argv) {{ {body} }}"
    assert find_launches(source, assumed=assumed).asks_arguments is asks


def test_main_may_call_its_arguments_as_it_likes() -> None:
    """They were asked for, as values that nothing tells."""
    body = "if (ac > 2) return 1; int n = ac > 1 ? atoi(av[1]) : 9; k<<<n, 32>>>(a, n);"
    found = find_launches(f"{KERNEL}int main(int ac, char **av) {{ float *a; {body} }}")
    assert [(each.grid, each.unknown) for each in found.launches] == [("9", ("elements of a",))]
    assert found.asks_arguments
    assert not find_launches(f"{KERNEL}int main() {{ k<<<9, 32>>>(nullptr, 9); }}").asks_arguments


def test_a_function_that_takes_the_programs_arguments_refuses_them_too() -> None:
    body = "if (argc != 2) return 1; k<<<9, 32>>>(nullptr, 9); return 0;"
    (launch,) = find_launches(f"{KERNEL}int run(int argc, char **argv) {{ {body} }}").launches
    assert (launch.grid, launch.unknown) == ("9", ())


@pytest.mark.parametrize(
    "body",
    [
        "bool bad = argc != 2; if (bad) return 1;",
        "const auto given = (argc == 2); if (!given) { puts(argv[0]); exit(1); }",
        "bool few; few = argc < 2; bool bad = few || argc > 3; if (bad) return 1;",
        "bool has{argc > 1}; if (not has) return 1;",
    ],
)
def test_arguments_that_a_variable_tells_of_are_refused_no_more(body: str) -> None:
    source = f"{KERNEL}int main(int argc, char **argv) {{ {body} k<<<9, 32>>>(nullptr, 9); }}"
    (launch,) = find_launches(source).launches
    assert (launch.grid, launch.unknown) == ("9", ())


def test_what_ends_main_by_its_own_values_ends_it() -> None:
    """A variable of another function with that name has nothing to do with it."""
    body = "bool bad = 9 > 8; if (bad) return 1; k<<<9, 32>>>(nullptr, 9);"
    other = "void other(int argc) { bool bad = argc != 2; if (bad) return; }\n"
    assert not find_launches(f"{KERNEL}{other}int main() {{ {body} }}").launches


@pytest.mark.parametrize(
    ("text", "grid"),
    [
        ("n not_eq 4 and not (n > 9) ? 5 : 6", "5"),
        ("(n bitand 6) xor compl (n bitor 8) bitand 3", "7"),
        ("n > 5 or n / 0 ? 5 : 6", "5"),
    ],
)
def test_operators_may_be_words(text: str, grid: str) -> None:
    body = f"int n = 6; k<<<{text}, 32>>>(nullptr, n);"
    (launch,) = find_launches(f"{KERNEL}int main() {{ {body} }}").launches
    assert launch.grid == grid


@pytest.mark.parametrize(
    "body",
    [
        "bool none = argc < 2; if (none) { k<<<3, 32>>>(nullptr, 3); return 0; }",
        "if (argc < 2) { k<<<3, 32>>>(nullptr, 3); return 0; }",
        "auto many = [](int argc) { bool own = argc > 1; return own; }; int own = 3;"
        " if (own == 3) { k<<<3, 32>>>(nullptr, 3); return 0; }",
        "int n = 3; if (n < 8) { bool n = argc > 1; } if (n == 3) { k<<<n, 32>>>(nullptr, n);"
        " return 0; }",
    ],
)
def test_what_launches_before_it_ends_main_refuses_nothing(body: str) -> None:
    """It was skipped, and what is launched with arguments was told instead."""
    source = f"{KERNEL}int main(int argc, char **argv) {{ {body} k<<<77, 32>>>(nullptr, 9); }}"
    first = find_launches(source).launches[0]
    assert first.grid == "3"
