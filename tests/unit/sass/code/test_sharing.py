"""Pointers of a launch that lead to one allocation: one array, passed several times."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.errors import LaunchError
from simulator.sass.arguments import argument, named_arrays
from simulator.sass.code.launches import FoundLaunch, find_launches
from simulator.sass.found import launch_of
from simulator.sass.parameters import Pointer

KERNELS = """
struct Pair { float *x, *y; };
__global__ void k(float *a, float *b) { *a = *b; }
__global__ void s(Pair p, float *b) {}
__global__ void t(float **p, float **q) {}
"""


def launches(body: str) -> list[FoundLaunch]:
    text = f"{KERNELS}int main() {{ float *p; cudaMalloc(&p, 4096); {body} }}"
    return list(find_launches(text).launches)


@pytest.mark.parametrize(
    ("body", "arguments"),
    [("k<<<1, 1>>>(p, p);", "a a"), ("k<<<1, 1>>>(p, p + 512);", "a a+512"),
     ("k<<<1, 1>>>(p, 512 + p);", "a a+512"), ("k<<<1, 1>>>(p, &p[3]);", "a a+3"),
     ("k<<<1, 1>>>(p + 4, p + 8);", "a+4 a+8"), ("k<<<1, 1>>>(p + 4, nullptr);", "a+4 null"),
     ("k<<<1, 1>>>(p, p + 1024);", "a a+1024"),
     ("float *q = p; q += 3; k<<<1, 1>>>(p, q);", "a a+3"),
     ("float *q = p; q++; k<<<1, 1>>>(q, p);", "a+1 a"),
     ("k<<<1, 1>>>(p, (float *)((char *)p + 16));", "a a+4"),
     ("k<<<1, 1>>>(p, p + 8 - 5);", "a a+3")],
)  # fmt: skip
def test_an_allocation_passed_twice_is_one_array(body: str, arguments: str) -> None:
    (launch,) = launches(body)
    assert launch.arrays == (("a", "random:f32[1024]"),)
    assert " ".join(launch.arguments) == arguments
    assert not launch.unknown
    given = [each for each in launch_of(launch)["args"] if each is not None]
    whole = [each.array if isinstance(each, Pointer) else each for each in given]
    assert all(each is whole[0] for each in whole)


@pytest.mark.parametrize(
    "second", ["p + off", "p - 1", "(float *)((char *)p + 2)", "&p[off]", "off ? p : p + 1"]
)
def test_an_offset_that_is_not_known_is_asked_for(second: str) -> None:
    (launch,) = launches(f"k<<<1, 1>>>(p, {second});")
    if "?" in second:
        assert launch.unknown
        return
    assert launch.arguments[1] == "a+<elements_from_a_to_b>"
    assert launch.unknown == ("off" if "off" in second else "elements from a to b",)


@pytest.mark.parametrize(
    ("first", "moved"),
    [("p + off", 4), ("p - 3 + off", 1), ("&p[2 * off]", 8), ("p + off / 4 + 1", 2)],
)
def test_the_variable_that_moves_a_pointer_is_asked_for(first: str, moved: int) -> None:
    (launch,) = launches(f"int off = atoi(argv[1]); k<<<1, 1>>>({first}, 0);")
    assert launch.unknown == ("off",)  # its beginning would have other sectors
    host = f"int main() {{ float *p; cudaMalloc(&p, 64); int off; k<<<1, 1>>>({first}, 0); }}"
    (launch,) = find_launches(KERNELS + host, assumed={"off": 4}).launches
    assert not launch.unknown
    assert launch.arguments[0] == f"a+{moved}"


def test_a_pointer_that_has_another_name_in_host_code_is_asked_for_by_it() -> None:
    text = KERNELS + "void f(M *m, int n) { float *p = m->w + 4 * n; k<<<1, 1>>>(p, m->b); }"
    (launch,) = find_launches(text).launches
    assert launch.unknown == (
        "elements of a (p in host code)", "elements of b (m->b in host code)",
    )  # fmt: skip
    assert launch.arguments == (
        "random:f32[<elements_of_a>]", "random:f32[<elements_of_b>]",
    )  # fmt: skip
    (launch,) = find_launches(text, assumed={"p": 4, "m->b": 8}).launches
    assert launch.arguments == ("random:f32[4]", "random:f32[8]")


def test_a_pointer_that_moves_in_a_loop_is_not_known() -> None:
    (launch,) = launches("float *q = p; for (int i = 0; i < n; i++) q += 8; k<<<1, 1>>>(p, q);")
    assert launch.unknown == ("elements from a to b",)
    (launch,) = launches("float *q = p; for (int i = 0; i < 3; i++) q += 8; k<<<1, 1>>>(p, q);")
    assert launch.arguments == ("a", "a+24")  # all its passes are read


def test_other_allocations_are_other_arrays() -> None:
    (launch,) = launches("float *q; cudaMalloc(&q, 64); k<<<1, 1>>>(p, q);")
    assert launch.arrays == ()
    assert launch.arguments == ("random:f32[1024]", "random:f32[16]")
    (launch,) = launches(
        "thrust::device_vector<float> u(8), v(8); v = u; k<<<1, 1>>>(u.data(), v.data());"
    )
    assert launch.arguments == ("random:f32[8]", "random:f32[8]")


def test_structures_and_arrays_of_pointers_share_too() -> None:
    (launch,) = launches("Pair o; o.x = p; o.y = p + 1; s<<<1, 1>>>(o, p);")
    assert launch.arrays == (("x", "random:f32[1024]"),)
    assert launch.arguments == ("{x, x+1}", "x")
    one, two = launches(
        "float *h[2]; h[0] = p; h[1] = p; float **d; cudaMalloc(&d, 16);"
        " cudaMemcpy(d, h, 16, x); t<<<1, 1>>>(d, 0); t<<<2, 1>>>(d, d);"
    )
    assert one.arguments == ("[p_0, p_0]", "null")
    assert two.unknown == ("q: an array of pointers that is another argument, too",)


def test_pointers_that_nothing_allocates_are_one_by_their_name() -> None:
    text = """
void f(Params *s, Tensor t, float *x, float *y, int n) {
    k<<<1, 1>>>(x, x); k<<<2, 1>>>(x, y); k<<<3, 1>>>(s->x, s->x); k<<<4, 1>>>(s->x, s->y);
    k<<<5, 1>>>(t.data_ptr<float>(), t.data_ptr<float>()); k<<<6, 1>>>(make(), make());
    k<<<7, 1>>>(x, x + n);
}"""
    found = find_launches(KERNELS + text, assumed={"*": 8}).launches
    shares = [len(each.arrays) for each in found]
    assert shares == [1, 0, 1, 0, 1, 0, 1]
    assert found[0].arguments == ("a", "a")
    assert found[6].arguments == ("a", "a+<elements_from_a_to_b>")


def test_a_command_names_the_array_once() -> None:
    (launch,) = launches("k<<<1, 1>>>(p, p + 512);")
    assert launch.command("x.cu").endswith("--array 'a=random:f32[1024]' --arg a --arg a+512")


def test_a_pointer_into_a_named_array_begins_inside_of_it() -> None:
    arrays = named_arrays([("a", "zeros:f32[4]")])
    found = argument("a+3", 1, arrays)
    assert isinstance(found, Pointer)
    assert (found.array is arrays["a"], found.offset) == (True, 12)
    assert argument("a+0", 1, arrays) is arrays["a"]
    with pytest.raises(LaunchError, match=r"past the array \(accepted: up to \+4\)"):
        argument("a+5", 0, arrays)
    with pytest.raises(LaunchError, match="named arrays: a"):
        argument("b+5", 0, arrays)
    both = named_arrays([("a", "random:f32[4]"), ("b", "random:f32[4]")])
    assert not np.array_equal(both["a"], both["b"])
