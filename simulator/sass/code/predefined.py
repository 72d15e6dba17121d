"""Macros that a compiler defines itself, as host code sees them: nvcc with g++, Linux on x86-64.

Host code is compiled apart from device code: there `__CUDA_ARCH__` is not defined.
"""

from __future__ import annotations

import re
from functools import lru_cache

from simulator.inputs.macros import Macro
from simulator.sass.code.headers import headers_folders

__all__ = ["is_never_defined", "language", "predefined"]

_ONES = ("__CUDACC__", "__NVCC__", "__CUDACC_EXTENDED_LAMBDA__", "__linux__", "__linux",
         "__gnu_linux__", "__unix__", "__unix", "__x86_64__", "__x86_64", "__amd64__", "__amd64",
         "__LP64__", "_LP64", "_GNU_SOURCE", "__STDC__", "__STDC_HOSTED__", "__GXX_RTTI",
         "__EXCEPTIONS", "__ELF__")  # fmt: skip
_VALUES = {"__GNUC__": "13", "__GNUG__": "13", "__CHAR_BIT__": "8", "__SIZEOF_POINTER__": "8",
           "__SIZEOF_INT__": "4", "__SIZEOF_LONG__": "8", "__SIZEOF_INT128__": "16"}  # fmt: skip
_CPLUSPLUS = {"03": "199711L", "11": "201103L", "14": "201402L", "17": "201703L", "20": "202002L",
              "23": "202302L"}  # fmt: skip
_DEFAULT = "17"
_NEVER = re.compile(
    r"_*(?:WIN(?:32|64|NT)|_?MSC\w*|M_\w+|HIP\w*|APPLE\w*|MACH|MINGW\w*|CYGWIN\w*|INTEL_\w+|ICC"
    r"|CUDACC_RTC|CUDACC_RDC|CUDACC_DEBUG|CUDA_ARCH|CUDA_ARCH_(?:FEAT|SPECIFIC|FAMILY)_\w+|CUDA"
    r"|clang\w*|PGI\w*|NVCOMPILER\w*|MUSA\w*|SYCL\w*|ANDROID|FreeBSD|EMSCRIPTEN|BORLANDC|QNX\w*"
    r"|aarch64|arm\w*|ARM_\w+|powerpc\w*|PPC\w*|ILP32|DEBUG)(?:__)?|NDEBUG"
)


def is_never_defined(name: str) -> bool:
    """Whether a macro is another compiler's or system's, or the device's alone.

    >>> is_never_defined("_WIN32"), is_never_defined("__CUDA_ARCH__"), is_never_defined("__GNUC__")
    (True, True, False)
    """
    return name[:1] in "_N" and bool(_NEVER.fullmatch(name))


@lru_cache(maxsize=1)
def predefined() -> dict[str, Macro]:
    """Return what nvcc and its host compiler define, with the version of CUDA's own headers."""
    values = {**dict.fromkeys(_ONES, "1"), **_VALUES, **_version()}
    values["__cplusplus"] = _CPLUSPLUS[_DEFAULT]
    return {name: Macro(name, None, value) for name, value in values.items()}


def language(options: tuple[str, ...]) -> dict[str, Macro]:
    """Return `__cplusplus` as the compiler's options ask for it, where they do.

    >>> language(("--use_fast_math", "--std=c++20"))["__cplusplus"].body
    '202002L'
    """
    for option in reversed(options):
        asked = re.fullmatch(r"--?std=(?:c|gnu)\+\+(\w\w)", option)
        if asked and asked[1] in _CPLUSPLUS:
            return {"__cplusplus": Macro("__cplusplus", None, _CPLUSPLUS[asked[1]])}
    return {}


def _version() -> dict[str, str]:
    for folder in headers_folders():
        place = folder / "cuda_runtime_api.h"
        told = (
            re.search(r"#define\s+CUDART_VERSION\s+(\d+)", place.read_text(errors="replace"))
            if place.is_file()
            else None
        )
        if told:
            number = int(told[1])
            major, minor = str(number // 1000), str(number % 1000 // 10)
            return {"CUDART_VERSION": told[1], "__CUDART_API_VERSION": told[1],
                    "CUDA_VERSION": told[1], "__CUDA_API_VERSION": told[1],
                    "__CUDACC_VER_MAJOR__": major, "__CUDACC_VER_MINOR__": minor}  # fmt: skip
    return {}
