"""What stands in for the host's headers, so that NVRTC takes a whole .cu file.

NVRTC compiles device code alone and knows no standard library. The CUDA C++ library has most of
`std` for the device, a header a feature: what device code names of `std` is taken from there. A
header that is nowhere is empty: where only host code used it, nothing is missed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Mapping, Set
from functools import lru_cache
from pathlib import Path

from simulator.sass.code.preprocessor import Macro

__all__ = ["CONSTANTS", "PRELUDE", "block_primitives", "class_macros", "headers_folders",
           "is_standard", "small_features", "stand_in"]  # fmt: skip

PRELUDE = "bankwise_prelude.h"
"""Included before every source, as nvcc includes the CUDA runtime and with it these."""

# Types that nvcc's host headers bring along (sys/types.h, stdint.h); the widths are those of
# cuda/std/cstdint, which may follow.
_TYPES = """
typedef signed char int8_t; typedef signed short int16_t; typedef signed int int32_t;
typedef signed long long int64_t; typedef unsigned char uint8_t; typedef unsigned short uint16_t;
typedef unsigned int uint32_t; typedef unsigned long long uint64_t;
typedef int64_t intptr_t; typedef uint64_t uintptr_t; typedef int64_t ssize_t;
typedef int64_t intmax_t; typedef uint64_t uintmax_t;
typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong;
typedef unsigned char uchar; typedef uint32_t cuuint32_t; typedef uint64_t cuuint64_t;
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t; using ::size_t; using ::ptrdiff_t;
}
"""
_CONSTANTS = """
#ifndef assert
#define assert(condition) ((void)0)
#endif
#ifndef __extension__
#define __extension__
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF INFINITY
#endif
"""
# math.h, by its formulas' values; limits.h and float.h of the platform that CUDA has.
CONSTANTS = {
    "M_E": "2.7182818284590452354", "M_LOG2E": "1.4426950408889634074",
    "M_LOG10E": "0.43429448190325182765", "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402", "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923", "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154", "M_2_PI": "0.63661977236758134308",
    "M_2_SQRTPI": "1.12837916709551257390", "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
    "CHAR_BIT": "8", "INT_MAX": "2147483647", "INT_MIN": "(-2147483647 - 1)",
    "UINT_MAX": "4294967295U", "LLONG_MAX": "9223372036854775807LL",
    "LLONG_MIN": "(-9223372036854775807LL - 1)", "ULLONG_MAX": "18446744073709551615ULL",
    "LONG_MAX": "9223372036854775807L", "LONG_MIN": "(-9223372036854775807L - 1)",
    "ULONG_MAX": "18446744073709551615UL", "SHRT_MAX": "32767", "SHRT_MIN": "(-32768)",
    "USHRT_MAX": "65535", "SCHAR_MAX": "127", "SCHAR_MIN": "(-128)", "UCHAR_MAX": "255",
    "INT8_MAX": "127", "INT8_MIN": "(-128)", "UINT8_MAX": "255", "INT16_MAX": "32767",
    "INT16_MIN": "(-32768)", "UINT16_MAX": "65535", "INT32_MAX": "2147483647",
    "INT32_MIN": "(-2147483647 - 1)", "UINT32_MAX": "4294967295U",
    "INT64_MAX": "9223372036854775807LL", "INT64_MIN": "(-9223372036854775807LL - 1)",
    "UINT64_MAX": "18446744073709551615ULL", "SIZE_MAX": "18446744073709551615UL",
    "FLT_MAX": "3.402823466e+38F", "FLT_MIN": "1.175494351e-38F", "FLT_EPSILON": "1.192092896e-07F",
    "DBL_MAX": "1.7976931348623158e+308", "DBL_MIN": "2.2250738585072014e-308",
    "DBL_EPSILON": "2.2204460492503131e-16", "FLT_DIG": "6", "DBL_DIG": "15",
    "FP_NAN": "0", "FP_INFINITE": "1", "FP_ZERO": "2", "FP_SUBNORMAL": "3", "FP_NORMAL": "4",
    "FLT_MANT_DIG": "24", "DBL_MANT_DIG": "53", "RAND_MAX": "2147483647",
}  # fmt: skip


_C_HEADERS = {
    "assert", "complex", "ctype", "errno", "fenv", "float", "getopt", "inttypes", "limits",
    "locale", "malloc", "math", "memory", "omp", "pthread", "setjmp", "signal", "stdalign",
    "stdarg", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "strings", "tgmath",
    "time", "uchar", "unistd",
    "wchar", "fcntl", "dirent", "immintrin", "x86intrin", "arpa/inet", "netdb",
}  # fmt: skip
# Types of `std` that only host code uses, but which classes have as members: their bytes in the
# library of g++ (x86-64), so that what follows them lies where it does.
_HOST_TYPES = {
    "string": 32, "wstring": 32, "mutex": 40, "recursive_mutex": 40, "thread": 8,
    "condition_variable": 48,
}  # fmt: skip
_HOST_TEMPLATES = {
    "vector": 24, "list": 24, "deque": 80, "queue": 80, "stack": 80, "map": 48, "multimap": 48,
    "set": 48, "multiset": 48, "unordered_map": 56, "unordered_set": 56, "shared_ptr": 16,
    "weak_ptr": 16, "unique_ptr": 8, "function": 32,
}  # fmt: skip
# Types that libraries' headers include: cublas_v2.h, torch/extension.h, helper_cuda.h.
_BROUGHT = {
    "cuda_fp16.h": {"half", "__half", "half2", "__half2", "__half_raw"},
    "cuda_bf16.h": {"__nv_bfloat16", "nv_bfloat16", "__nv_bfloat162", "nv_bfloat162"},
    "cuda_fp8.h": {"__nv_fp8_e4m3", "__nv_fp8_e5m2", "__nv_fp8_storage_t"},
    "cuComplex.h": {"cuComplex", "cuDoubleComplex", "cuFloatComplex"},
}

_SMALL = tuple(f"cuda/std/__{part}/" for part in ("algorithm", "type_traits", "utility"))


_DEVICE_RUNTIME = {"cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion",
                   "cudaGraphSetConditional"}  # fmt: skip


_CUFFT = {
    "cufftReal": "float", "cufftDoubleReal": "double", "cufftComplex": "cuComplex",
    "cufftDoubleComplex": "cuDoubleComplex",
}  # fmt: skip
"""Types of cuFFT's that kernels take, by what cufft.h makes them of."""


@lru_cache(maxsize=1)
def headers_folders() -> tuple[Path, ...]:
    """Return where the CUDA headers lie: of the packages, or of a toolkit."""
    folders: list[Path] = []
    try:
        import nvidia
    except ImportError:
        pass
    else:
        for root in nvidia.__path__:
            folders += sorted(Path(root).glob("*/include"), reverse=True)
    if "CUDA_HOME" in os.environ:
        folders.append(Path(os.environ["CUDA_HOME"]) / "include")
    if nvcc := shutil.which("nvcc"):
        folders.append(Path(nvcc).resolve().parents[1] / "include")
    found = [folder for folder in folders if (folder / "cuda_fp16.h").is_file()][:1]
    found += [each / "cccl" for each in found if (each / "cccl").is_dir()]
    # A package of its own may hold one library's headers: curand.
    return (*found, *(each for each in folders if each not in found and each.is_dir()))


@lru_cache(maxsize=1)
def _library() -> dict[str, str]:
    """Return the header of each feature of the CUDA C++ library, by the feature's name."""
    found: dict[str, str] = {}
    for folder in headers_folders():
        root = folder / "cuda" / "std"
        for place in sorted(root.glob("__*/*.h")):
            if place.parent.name not in ("__fwd", "__internal", "__cccl", "__pstl"):
                found.setdefault(place.stem, f"cuda/std/{place.parent.name}/{place.name}")
        for place in sorted(root.glob("*")):
            if place.is_file() and place.suffix == "":
                found[place.name] = f"cuda/std/{place.name}"
    return found


@lru_cache(maxsize=256)
def _feature(name: str) -> str | None:
    """Return the header of the CUDA C++ library that has `std::name`; None where it has not."""
    if found := _library().get(name):
        return found
    declared = re.compile(
        rf"\b(?:struct|class|using|concept|enum class|enum)\s+(?:\w+\s+)*{name}\b\s*[;:{{=<]"
        rf"|\b(?:auto|bool|int|void|float|double|long|_Tp|_Up|\w+_t)\b[\w\s:<>,&*]*\b{name}\s*\("
        rf"|\b(?:constexpr|inline)\b[\w\s:<>]*\b{name}\s*(?:=|{{)"
    )
    for place, text in _texts():
        if declared.search(text):
            return place
    return None


def small_features(names: Iterable[str]) -> set[str]:
    """Return those of `std` whose headers define no macro and no function of C.

    A header that knows NVRTC brings what it needs of those, and forgets some of the others.
    """
    places = {name: _feature(name) or "" for name in names}
    return {name for name, place in places.items() if place.startswith(_SMALL)}


@lru_cache(maxsize=1)
def _texts() -> tuple[tuple[str, str], ...]:
    """Return the library's headers of features, with their text."""
    return tuple(
        (place, (folder / place).read_text(errors="replace"))
        for folder in headers_folders()[:2]
        for place in sorted(set(_library().values()))
        if "/__" in place and (folder / place).is_file()
    )


def class_macros(texts: Iterable[str]) -> set[str]:
    """Return what texts name of math.h's classes of numbers, unless they have an enum of them.

    >>> class_macros(["return FP_NAN;"]), class_macros(["enum { FP_NAN = 0 };", "return FP_NAN;"])
    ({'FP_NAN'}, set())
    """
    found: set[str] = set()
    own = False
    for text in texts:
        if "FP_" in text:
            found |= set(re.findall(r"\bFP_(?:NAN|INFINITE|ZERO|SUBNORMAL|NORMAL)\b", text))
            own = own or bool(re.search(r"\bFP_NAN\s*=[^=]", text))
    return set() if own else found


def is_standard(header: str) -> bool:
    """Whether a header is of C, of C++ or of POSIX: device code needs no file for it.

    >>> is_standard("vector"), is_standard("sys/time.h"), is_standard("cublas_v2.h")
    (True, True, False)
    """
    return bool(re.fullmatch(r"[a-z_]+|(?:sys/)?(?:\w{2,9})\.h", header)) and (
        "." not in header or Path(header).stem in _C_HEADERS or header.startswith("sys/")
    )


def block_primitives(named: Set[str]) -> str:
    """Return what stands in for <cub/cub.cuh>, which NVRTC refuses: what device code names of it.

    Its operators have been CUDA's own since CUB 3.
    """
    places = [
        place
        for folder in headers_folders()
        for part in ("block", "thread", "warp")  # the others launch kernels: the host's
        for place in sorted((folder / "cub" / part).glob("*.cuh"))
    ]
    lines = ["#pragma once", "#include <cuda/std/functional>", "#include <cuda/functional>"]
    lines += [
        f"#include <cub/{place.parent.name}/{place.name}>"
        for place in places
        if "".join(part.capitalize() for part in place.stem.split("_")) in named
    ]
    operators = {"Sum": "std::plus", "Max": "maximum", "Min": "minimum"}
    using = [f"using {name} = ::cuda::{now}<>;" for name, now in operators.items() if name in named]
    if using and not _has_operators():
        lines.append(f"namespace cub {{ {' '.join(using)} }}")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def _has_operators() -> bool:
    """Whether CUB has operators of its own."""
    places = [folder / "cub" / "thread" / "thread_operators.cuh" for folder in headers_folders()]
    return any(
        re.search(r"\b(?:struct|using)\s+Sum\b", place.read_text(errors="replace"))
        for place in places
        if place.is_file()
    )


def stand_in(
    missing: Collection[str],
    features: Collection[str],
    named: Set[str],
    macros: Mapping[str, Macro],
    namespaces: Iterable[str],
) -> dict[str, str]:
    """Return the headers that are made up, by name: missing ones (empty), and the prelude.

    `features`: what device code names of `std`. `named`: identifiers in device code. `macros`:
    macros that the source defines. `namespaces`: those that a `using namespace` asks for.
    """
    prelude = ["#pragma once", _TYPES, _CONSTANTS]
    prelude += [
        f"#ifndef {name}\n#define {name} {value}\n#endif"
        for name, value in CONSTANTS.items()
        if name in named and name not in macros
    ]
    for word in sorted(named):
        if word not in macros and re.fullmatch(r"[A-Z][A-Z0-9_]*HOST_?DEVICE[A-Z0-9_]*", word):
            inline = " inline" if "INLINE" in word else ""
            prelude.append(f"#ifndef {word}\n#define {word} __host__ __device__{inline}\n#endif")
    wanted: dict[str, None] = {}
    for feature in sorted(features):
        place = _feature(feature) or _feature(re.sub(r"_[vt]$", "", feature))
        if place is not None:
            wanted[place] = None
    prelude += [f"#include <{place}>" for place in wanted]
    # Of a vector the library has the name alone.
    prelude += [
        f"namespace std {{ {head}struct {name} {{ void *host[{size // 8}]; }}; }}"
        for head, types in (("", _HOST_TYPES), ("template <class...> ", _HOST_TEMPLATES))
        for name, size in types.items()
        if name in features and (name == "vector" or _feature(name) is None)
    ]
    if any(not is_standard(each) for each in missing):  # headers that would bring these along
        prelude += [f"#include <{header}>" for header, types in _BROUGHT.items() if named & types]
    if any(each.startswith("cufft") for each in missing) and named & _CUFFT.keys():
        prelude.append("#include <cuComplex.h>")
        prelude += [f"typedef {made} {name};" for name, made in _CUFFT.items()]
    if any(re.fullmatch(r"cuda[A-Z]\w+", word) for word in named):
        prelude.append("#include <cuda_runtime_api.h>")
    if named & _DEVICE_RUNTIME:  # which NVRTC has only in code that is linked later
        prelude.append("#include <cuda_device_runtime_api.h>")
    if wanted:
        prelude.append(
            "namespace cuda { namespace std {} } namespace std { using namespace cuda::std; }"
        )
    for each in namespaces:
        parts = [part for part in each.split("::") if part]
        prelude.append("".join(f"namespace {part} {{ " for part in parts) + "}" * len(parts))
    return {**dict.fromkeys(missing, "#pragma once\n"), PRELUDE: "\n".join(prelude) + "\n"}
