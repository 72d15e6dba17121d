"""Libraries whose headers know NVRTC, as CUTLASS's do: they stay whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import CompileError, CubinError
from simulator.sass.code import compiling
from simulator.sass.code.compiling import Compiled, compile_source
from simulator.sass.code.cubin import read_cubin
from simulator.sass.code.options import CompilerOptions
from simulator.sass.code.translation import Translation, translate
from tests.sass_kernels import needs_compiler

pytest.importorskip("tree_sitter_cuda")

MACROS = """#if defined(__NVCC__)
#define HD __forceinline__ __device__ __host__
#elif defined(__CUDACC_RTC__)
#define HD __forceinline__ __device__
#else
#define HD inline
#endif
"""
SOURCE = """#include <lib/number.h>
#include <own/file.h>
using Wanted = Number;
__global__ void use(int *out) { out[0] = 1; }
int main() { return host(); }"""


# As in json.hpp: macros that stand for parts of declarations.
HOSTS = """#define EITHER template <class A, class B>
#define TRY try
#define CATCH(what) catch (what)
namespace of_host {
EITHER class basic;
class pointer {
    EITHER
    friend class basic;
  public:
    int at(const std::string &s) const {
        TRY { return std::stoi(s); }
        CATCH (std::out_of_range&)
        {
            return int(s.size());
        }
    }
  private:
    static const std::string &name(const std::map<int, std::string> &all, int n) {
        return all.find(n)->second;
    }
};
inline int value(pointer const &p) { return p.at("1"); }
}
"""


def _write(folder: Path) -> list[str]:
    """Write a library that knows NVRTC in one of its headers, and headers of a project beside."""
    texts = {
        "a/lib/macros.h": MACROS,
        "a/lib/leaf.h": "template <class T> using never = std::void_t<T>;\n",
        "a/lib/number.h": "#include <lib/macros.h>\n#include <lib/leaf.h>\n"
        "struct Number { Number(int); int lost() { return 3; } };\n",
        "b/own/file.h": "#include <lib/macros.h>\ninline int host() { return 2; }\n"
        "__device__ int kept() { return 4; }\n",
    }
    for name, text in texts.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return [str(folder / "a"), str(folder / "b")]


def _header(found: Translation, name: str) -> str:
    return next(text for full, text in found.headers.items() if full.endswith(name))


def test_a_library_that_knows_nvrtc_stays_whole_and_others_do_not(tmp_path: Path) -> None:
    found = translate(SOURCE, None, _write(tmp_path))
    assert "int lost()" in _header(found, "number.h")
    assert "never" in _header(found, "leaf.h")  # no header of a project names it
    assert "host" not in _header(found, "file.h")
    assert "kept" in _header(found, "file.h")
    assert {Path(each).name for each in found.whole} == {"macros.h", "leaf.h", "number.h"}
    prelude = found.headers["bankwise_prelude.h"]
    assert "void_t.h" in prelude
    assert "cmath" not in prelude
    stripped = translate(SOURCE, None, _write(tmp_path), keep_whole=False)
    assert not stripped.whole
    assert "lost" not in _header(stripped, "number.h")


def test_a_macro_is_the_devices_where_one_of_its_branches_says_so() -> None:
    text = MACROS + "struct half { HD half(int); };\n__global__ void f(half h) {}"
    assert "HD half(int)" in translate(text, None).source


def test_names_in_a_template_that_is_asked_for_stay(tmp_path: Path) -> None:
    folders = _write(tmp_path)
    assert "using Wanted" not in translate(SOURCE, None, folders).source
    assert "using Wanted" in translate(SOURCE, None, folders, asked=("use<Wanted>",)).source


def test_a_library_that_does_not_compile_whole_is_tried_without_its_host_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[frozenset[str]] = []
    can_compile, enough = True, 0

    def compiled(translation: Translation, *rest: Any) -> Compiled:
        tried.append(translation.whole)
        if len(translation.whole) > enough or not can_compile:
            place = next((each for each in translation.whole if "number" in each), "source.cu")
            error = CompileError(f"{place}(3): error: no")
            error.headers = frozenset({place}) & translation.headers.keys()
            raise error
        return Compiled(b"done")

    monkeypatch.setattr(compiling, "compile_translation", compiled)
    options = CompilerOptions(include=tuple(_write(tmp_path)))
    assert compile_source(SOURCE, "sm_90", "source.cu", options=options).cubin == b"done"
    names = [sorted(Path(each).name for each in whole) for whole in tried]
    # First without that of the header that it complains of, then without any.
    assert names == [["leaf.h", "macros.h", "number.h"], ["leaf.h", "macros.h"], []]
    tried.clear()
    enough = 2
    assert compile_source(SOURCE, "sm_90", "source.cu", options=options).cubin == b"done"
    assert [len(each) for each in tried] == [3, 2]
    can_compile = False  # the first error is the one that its author understands
    with pytest.raises(CompileError, match=r"number\.h\(3\)"):
        compile_source(SOURCE, "sm_90", "source.cu", options=options)


@needs_compiler
def test_a_library_of_the_hosts_that_the_parser_cannot_make_out_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "hosts.h").write_text(HOSTS)
    kernel = "__global__ void twice(float *value) { value[threadIdx.x] *= 2; }"
    source = '#include "hosts.h"\nint host(of_host::pointer &p) { return value(p); }\n' + kernel
    assert compile_source(source, "sm_90", "twice.cu", folder=tmp_path).cubin
    (tmp_path / "hosts.h").write_text(HOSTS + "__device__ int mine() { return 1; }")
    with pytest.raises(CompileError, match="expected a declaration"):
        compile_source(source, "sm_90", "twice.cu", folder=tmp_path)


@needs_compiler
def test_a_template_that_is_asked_for_by_an_alias_is_found_by_it() -> None:
    source = """template <class T> struct Pair { T a, b; };
using Two = Pair<float>;
template <class T> __global__ void fill(float *out) { out[threadIdx.x] = sizeof(T); }"""
    out = np.zeros(32, np.float32)
    report = replay_compiled(source, kernel="fill<Two>", grid=1, block=32, args=[out])
    assert (report.outputs[0] == 8).all()


@needs_compiler
def test_a_cubin_that_is_not_linked_says_what_it_names() -> None:
    source = """extern __device__ void __assertfail(int);
__global__ void check(int *a) { __assertfail(a[0]); }"""
    options = CompilerOptions(other=("--relocatable-device-code=true",))
    made = compile_source(source, "sm_90", "source.cu", options=options)
    with pytest.raises(CubinError, match=r"is not linked yet: it calls .*__assertfail"):
        read_cubin(made.cubin)


def test_a_class_may_have_members_that_only_host_code_uses() -> None:
    from simulator.sass.code.compiling import compile_source

    text = """
#include <map>
#include <string>
struct Named { std::string name; std::map<int, std::string> more; std::vector<int> v; int n; };
struct Plain { int n; };
__global__ void k(int *a, Named *named) {
    a[1] = FP_NAN + FP_NORMAL;
    a[0] = sizeof(Named) == 32 + 48 + 24 + 8 ? named->n : -1;
}
"""
    assert compile_source(text, "sm_90", "a.cu", (), None, None)
