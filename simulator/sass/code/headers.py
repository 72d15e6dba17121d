"""What stands in for the host's headers and the host's code, so that NVRTC takes a whole .cu file.

NVRTC compiles device code alone and knows no standard library. The headers that kernels'
files include most are answered with a few lines; host functions (no __global__, no __device__)
are blanked out, line by line, before it sees them.
"""

from __future__ import annotations

import re

__all__ = ["HEADERS", "PRELUDE", "hide_host_code"]

_INTEGERS = """#pragma once
#include <cuda/std/cstdint>
namespace std { using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::uintptr_t; }
"""
_ASSERT = "#pragma once\n#ifndef assert\n#define assert(condition) ((void)0)\n#endif\n"
_LIMITS = """#pragma once
#include <cuda/std/climits>
#include <cuda/std/cfloat>
"""
_CONSTANTS = """#pragma once
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
"""
_MATH = (
    _CONSTANTS
    + """namespace std { using ::fabs; using ::sqrt; using ::exp; using ::log; using ::pow;
using ::floor; using ::ceil; using ::sin; using ::cos; using ::tanh; }
"""
)
_TYPES = """#pragma once
#include <cuda/std/type_traits>
namespace std { using namespace cuda::std; }
"""
_LIBRARY_LIMITS = """#pragma once
#include <cuda/std/limits>
namespace std { using cuda::std::numeric_limits; }
"""
_NOTHING = "#pragma once\n"

PRELUDE = "bankwise_prelude.h"
"""Included before every source, as nvcc includes the CUDA runtime and with it these."""

HEADERS: dict[str, str] = {
    PRELUDE: _CONSTANTS + _ASSERT.replace("#pragma once\n", ""),
    **dict.fromkeys(("cstdint", "stdint.h", "inttypes.h", "cinttypes"), _INTEGERS),
    **dict.fromkeys(("cassert", "assert.h"), _ASSERT),
    **dict.fromkeys(("climits", "limits.h", "cfloat", "float.h"), _LIMITS),
    **dict.fromkeys(("cmath", "math.h"), _MATH),
    "type_traits": _TYPES,
    "limits": _LIBRARY_LIMITS,
    **dict.fromkeys(
        (
            "algorithm", "array", "cctype", "chrono", "cstddef", "cstdio", "cstdlib", "cstring",
            "ctime", "fstream", "functional", "iomanip", "iostream", "map", "memory", "numeric",
            "random", "sstream", "stdexcept", "stddef.h", "stdio.h", "stdlib.h", "string",
            "string.h", "sys/time.h", "time.h", "tuple", "unistd.h", "utility", "vector",
            "cublas_v2.h", "cublas.h", "curand.h", "cuda_profiler_api.h",
            "device_launch_parameters.h",
        ),
        _NOTHING,
    ),
}  # fmt: skip
"""Stand-ins by the name that is included."""

_DEVICE = re.compile(r"__global__|__device__|__constant__|\bconstexpr\b|\b__host__ __device__\b")
_NOT_A_FUNCTION = re.compile(r"^\s*(namespace|struct|class|union|enum|extern\s*\"C\"\s*$)|=\s*$")


def hide_host_code(source: str) -> str:
    r"""Blank out host functions at file or namespace level; every line keeps its number.

    >>> print(hide_host_code("__global__ void f() {}\nint main() {\n  f<<<1, 1>>>();\n}"))
    __global__ void f() {}
    <BLANKLINE>
    <BLANKLINE>
    <BLANKLINE>
    """
    bare = _without_comments(source)
    kept = list(source)
    start = 0  # of the declaration that is being read
    depth = 0
    inside: list[str] = []  # what each open brace belongs to
    begin = 0
    for place, character in enumerate(bare):
        if character == "{":
            if all(kind == "scope" for kind in inside):
                head = bare[start:place]
                kind = _kind(head)
                if kind == "host":
                    begin = start
                inside.append(kind)
            else:
                inside.append("inner")
            depth += 1
            if inside[-1] == "scope":
                start = place + 1
        elif character == "}" and inside:
            kind = inside.pop()
            depth -= 1
            if kind == "host":
                for index in range(begin, place + 1):
                    if kept[index] != "\n":
                        kept[index] = " "
            if all(kind == "scope" for kind in inside):
                start = place + 1
        elif character == ";" and all(kind == "scope" for kind in inside):
            start = place + 1
    return "\n".join(line.rstrip() for line in "".join(kept).split("\n"))


def _kind(head: str) -> str:
    """Say what a brace after this text opens: a scope to look into, a host function, or other."""
    text = " ".join(line for line in head.split("\n") if not line.lstrip().startswith("#")).strip()
    if re.match(r'(inline\s+)?namespace\b|extern\s*"[^"]*"\s*$|extern\s*$', text):
        return "scope"
    function = re.search(r"\)\s*(const\s*|noexcept\s*|->\s*[\w:<>\s*&]+)*$", text)
    if function and not _DEVICE.search(text) and not re.match(r"(struct|class|union|enum)\b", text):
        return "host"
    return "other"


def _without_comments(source: str) -> str:
    """Comments, strings and preprocessor lines as spaces: braces in them open nothing."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    return re.sub(
        r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
        blank, source, flags=re.DOTALL | re.MULTILINE,
    )  # fmt: skip
