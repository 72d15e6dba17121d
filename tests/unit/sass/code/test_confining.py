"""No source makes the compiler open a file outside its folders, however it spells the name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulator.errors import CompileError
from simulator.sass.code.translation import translate

pytest.importorskip("tree_sitter_cuda")

KERNEL = "\n__global__ void k(int *a) { a[0] = SECRET; }\n"
# {} is a header outside: what a translation keeps of it, the compiler would not open.
SPELLED = {
    "absolute": '#include "{}"',
    "in angles": "#include <{}>",
    "macro": '#define F "{}"\n#include F',
    "macro in angles": "#define F <{}>\n#include F",
    "macro of a macro": '#define G "{}"\n#define F G\n#include F',
    "string of a macro": "#define S(x) #x\n#define F(x) S(x)\n#include F({})",
    "macro defined again": '#define F "a.h"\n#include F\n#undef F\n#define F "{}"\n#include F',
    "macro across lines": '#define F "{}"\n#include \\\n F',
    "next": '#include_next "{}"',
}
REFUSED = {
    "across lines": '#inc\\\nlude "{}"',
    "digraph": '%:include "{}"',
    "trigraph": '??=include "{}"',
    "comments": '/* */ # /* */ include /* */ "{}"',
    "import": '#import "{}"',
    "embed": '__device__ const char c[] = {{\n#embed "{}"\n}};',
    "asked for": '#if __has_include("{}")\n#endif',
    "asked for by a macro": '#define F "{}"\n#if __has_include(F)\n#endif',
    "asked for within a macro": '#define HAS(x) __has_include(x)\n#if HAS("{}")\n#endif',
    "asked for as a string": "#define S(x) #x\n#define H(x) __has_include(S(x))\n#if H({})\n#endif",
    "asked for by a piece": "#define UP ..\n#define H(x) __has_include(x)\n#if H(<UP/{}>)\n#endif",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.h").write_text("#define SECRET 42")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.h").symlink_to(tmp_path / "secret.h")
    (inside / "a.h").write_text("#define A 1")
    return inside


@pytest.mark.parametrize("how", SPELLED)
def test_a_header_outside_is_empty(folder: Path, how: str) -> None:
    for outside in (str(folder.parent / "secret.h"), "../secret.h", "link.h"):
        made = translate(SPELLED[how].replace("{}", outside) + KERNEL, folder)
        assert "SECRET 42" not in "".join(made.headers.values())
        opened = re.findall(r"(?m)^ *#include(?:_next)? +[\"<](.*)[\">]", made.source)
        assert opened
        assert set(opened) <= made.headers.keys()


@pytest.mark.parametrize("how", REFUSED)
def test_an_include_that_the_compiler_would_find_itself_is_refused(folder: Path, how: str) -> None:
    line = REFUSED[how].format(folder.parent / "secret.h")
    text = KERNEL.replace("{", f"{{\n{line}\n")  # where the device's code stays as it is
    with pytest.raises(CompileError, match=r"accepted: (?:a header|the name of a header)"):
        translate(text, folder)


def test_a_macro_may_ask_for_a_header_by_its_name(folder: Path) -> None:
    text = (
        "#define CEIL(a, b) (((a) + (b) - 1) / (b))\n#define HAS(x, ...) __has_include(x)\n"
        '#if HAS(<cuda_fp16.h>) && HAS("a.h")\n#endif\n'
    )
    assert "HAS(<cuda_fp16.h>)" in translate(text + KERNEL, folder).source


def test_headers_that_macros_name_are_found(folder: Path) -> None:
    text = (
        "#ifdef THERE\n#define STD(x) <x>\n#else\n#define STD(x) <cuda/std/x>\n#endif\n"
        '#define OWN "a.h"\n#include STD(array)\n#include OWN\n'
    )
    made = translate(text + "__global__ void k(int *a) { a[0] = A; }", folder)
    assert "#include <cuda/std/array>" in made.source
    assert f'#include "{folder.resolve() / "a.h"}"' in made.source
    assert made.missing == ()


def test_a_name_that_no_macro_tells_is_a_header_that_is_missing(folder: Path) -> None:
    assert translate("#include CONFIG_HEADER" + KERNEL, folder).missing == ("CONFIG_HEADER",)


def test_text_that_only_looks_like_an_include_is_let_be(folder: Path) -> None:
    text = (
        '/*\n#include "/none.h"\n*/\n// \\\n#include "/none.h"\n'
        '__device__ const char *s = R"x(\n#include "/none.h"\n)x";\n'
    )
    translate(text + "__global__ void k(char *a) { a[0] = s[0]; }", folder)
