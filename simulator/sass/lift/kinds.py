"""LLVM's types: one number, or one for each of a warp's 32 lanes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

__all__ = [
    "F16", "F32", "F64", "FLOAT_BITS", "I1", "I8", "I16", "I32", "I64", "LANES", "POINTER",
    "element_of", "like", "size_of", "suffix", "vector",
]  # fmt: skip

LANES = 32

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()
POINTER = ir.PointerType()
FLOAT_BITS = {F16: 16, F32: 32, F64: 64}


def vector(element: Any) -> Any:
    """Return the type of one element for each lane."""
    return ir.VectorType(element, LANES)


def element_of(kind: Any) -> Any:
    """Return the type of an element; of a scalar its own."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def like(kind: Any, element: Any) -> Any:
    """Return `element`, for each lane where `kind` is for each lane."""
    return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element


def suffix(kind: Any) -> str:
    """Name a type as LLVM's intrinsic functions do.

    >>> suffix(vector(I32)), suffix(F64)
    ('v32i32', 'f64')
    """
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{suffix(kind.element)}"
    return f"i{kind.width}" if isinstance(kind, ir.IntType) else f"f{FLOAT_BITS[kind]}"


def size_of(kind: Any) -> int:
    """Return the bytes of a type, which are its natural alignment too."""
    if isinstance(kind, ir.VectorType):
        return int(kind.count) * size_of(kind.element)
    if isinstance(kind, ir.PointerType):
        return 8
    if isinstance(kind, ir.IntType):
        return max(1, int(kind.width) // 8)
    return FLOAT_BITS[kind] // 8
