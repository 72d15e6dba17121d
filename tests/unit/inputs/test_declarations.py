"""C as people write it: macros, types of their own, pointers, members, atomics; counted by hand."""

from __future__ import annotations

import pytest

from simulator import ExpressionError, OptionError, explain
from simulator.inputs.asked import read

# The worst warp's wavefronts were counted by hand.
ASKED = [
    # Macros and names of types
    ("#define N 32\nfloat s[N][N]; s[threadIdx.x][0]", "LDS", 32),
    ("#define AT(r, c) ((r) * 33 + (c))\nfloat s[33 * 32]; s[AT(tx, ty)]", "LDS", 1),
    ("#define OFFSET(n) ((n) >> 5)\nint t[64]; int a = 2 * lane; t[a + OFFSET(a)]", "LDS", 1),
    ("#define F4(p) (reinterpret_cast<float4*>(&(p))[0])\nfloat s[128]; F4(s[4*lane]) = F4(g[i]);",
     "STS.128", 4),
    ("__shared__ float s[32][32];\n#pragma unroll\ns[threadIdx.x][0] = 0;", "STS", 32),
    ("typedef float real; __shared__ real s[32][32]; s[tx][ty]", "LDS", 32),
    ("using T = double; T s[32][32]; s[tx][ty]", "LDS.64", 32),
    # Members
    ("float4 s[32]; float v = s[lane].w;", "LDS", 4),
    ("half2 h[64]; h[lane].x", "LDS.U16", 1),
    ("struct P { float x, y, z; }; __shared__ P p[64]; float v = p[threadIdx.x].y;", "LDS", 1),
    ("struct P { float x, y, z, w; }; __shared__ P p[64]; p[tid].z = 1.0f;", "STS", 4),
    ("struct P { float x, y; }; __shared__ P p[32]; P v = p[lane];", "LDS.64", 2),
    ("struct P { float x, y; }; __shared__ P p[32]; P* q = &p[lane]; q->y", "LDS", 2),
    ("struct Q { half2 v[4]; int n; }; __shared__ Q q[32]; q[lane].v[2]", "LDS", 1),
    ("struct __align__(16) V { float a; char c; }; __shared__ V v[64]; v[tid].c", "LDS.S8", 4),
    ("typedef struct { double re, im; } cplx; cplx c[64]; c[lane].im", "LDS.64", 4),
    ("struct S { float a[32][32]; half b[64][72]; }; __shared__ S s; s.a[lane][0]", "LDS", 32),
    ("union { float f[32][32]; int i[1024]; } u; u.f[lane][0]", "LDS", 32),
    ("struct In { int a; union { float f; int i; }; }; In x[32]; x[lane].f", "LDS", 2),
    # Pointers and references
    ("float m[2048]; float* a = m; float* b = m + 1024; b[lane * 2]", "LDS", 2),
    ("extern __shared__ char m[]; half* b = (half*)(m + 4096); b[2*lane]", "LDS.U16", 1),
    ("extern __shared__ char m[]; float* a = (float*)(void*)m; a[lane*8] = 0", "STS", 8),
    ("float s[1024]; float4 *v = (float4*)s; v[threadIdx.x]", "LDS.128", 4),
    ("float s[32][32]; float& x = s[threadIdx.x][threadIdx.y]; x = 1.0f;", "STS", 32),
    ("float s[32][32]; float (&row)[32] = s[threadIdx.y]; row[threadIdx.x]", "LDS", 1),
    ("float s[32][32]; *(*(s + threadIdx.x) + threadIdx.y)", "LDS", 32),
    # Statements around the access
    ("int x = threadIdx.x, y = threadIdx.y; float s[32][32]; s[x][y]", "LDS", 32),
    ("float t[32][33]; out[(y + 1) * w + x] = t[threadIdx.x][threadIdx.y];", "LDS", 1),
    ("float a[16][32]; sum += a[lane / 2][0] * alpha;", "LDS", 16),
    ("float s[64]; float v = fmaxf(m, s[lane * 2]);", "LDS", 2),
    ("float s[64]; s[min(lane + 1, 31) * 2]", "LDS", 2),
    ("float s[32 * sizeof(int)]; s[lane * 4]", "LDS", 4),
    # Atomics
    ("__shared__ int h[256]; atomicAdd(&h[lane % 8], 1);", "ATOMS.POPC.INC.32", 1),
    ("__shared__ int h[256]; int old = atomicAdd(&h[lane % 4], 1);", "ATOMS.ADD", 8),
    ("__shared__ int n; atomicAdd(&n, 2)", "ATOMS.ADD", 32),
    ("__shared__ unsigned n[32]; atomicMax(n + lane, v)", "ATOMS.MAX", 1),
    # Unsigned numbers wrap around, casts cut
    ("float s[64]; s[(threadIdx.x - 1) % 32 * 2]", "LDS", 2),
    ("float s[64]; unsigned t = threadIdx.x; s[(t - 1) % 32]", "LDS", 1),
    ("float s[64]; auto t = threadIdx.x; s[(t - 1) % 32]", "LDS", 1),
    ("float s[64]; s[((lane < 9 ? threadIdx.x : 9u) - 1) % 32]", "LDS", 1),
    ("float s[64]; s[threadIdx.x - 16 < 16 ? lane : 0]", "LDS", 1),
    ("float s[64]; s[(uint8_t)(lane + 256) * 2]", "LDS", 2),
    ("float s[64]; s[static_cast<uint64_t>(lane) & 0b111]", "LDS", 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "op", "wavefronts"), ASKED)
def test_c_as_people_write_it(text: str, op: str, wavefronts: int) -> None:
    answer = explain(text)
    assert (answer.op, answer.wavefronts) == (op, wavefronts)


def test_float_atomics_are_loops() -> None:
    assert explain("__shared__ float a[32]; atomicAdd(&a[lane % 4], v)").op == "add.f32"
    with pytest.raises(OptionError, match="atomicAdd of double compiles to is not known"):
        read("__shared__ double a[32]; atomicAdd(&a[lane], v)")


def test_what_is_assumed_of_a_count_is_said() -> None:
    asked = read("__shared__ int h[32]; atomicAdd(&h[lane], 1)")
    assert "the old value is not used" in asked.assumed


@pytest.mark.parametrize(
    ("text", "problem", "column"),
    [
        (
            "Sw<3,3,3> o 0 o (64,64):(64,1)",
            "a layout alone does not say which elements the lanes access",
            0,
        ),
        ("(64,64):(64,1)", "a layout alone does not say which elements the lanes access", 0),
        (
            "Sw<3,3,3> o 0 o (128,64):(64,1)",
            "a layout alone does not say which elements the lanes access",
            0,
        ),
        (
            "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
            "a layout alone does not say which elements the lanes access",
            0,
        ),
        ("float4 s[32]; s[lane].q", "float4 has no member q (accepted: x, y, z, w)", 21),
        ("float4 s[32]; s[lane]->x", "-> needs an address (accepted: .x)", 21),
        ("float s[64]; s[tid]++", "a load and a store at once", 19),
        ("float a[9], b[9]; c += a[0] * b[0]", "this is a second access", 30),
        (
            "int r = tid; r += 32; float s[64]; s[r]",
            "+= is not accepted here (accepted: = alone",
            15,
        ),
        ("struct Q { int v[4]; }; Q q[32]; q[lane].v[4]", "4 is outside of [4]", 42),
        ("struct Q { T v; }; Q q[32]; q[lane].v", "the type of this member is not known", 11),
        ("float s[8]; s[sizeof(T)]", "the bytes of T are not known here", 14),
        ("float s[8]; s[sizeof(s[0][0])]", "the bytes of s[0][0] are not known here", 14),
        ("#define F(a, b) a\nfloat s[8]; s[F(1)]", "F has 2 parameters, and 1 arguments", 32),
    ],
)
def test_what_cannot_be_is_refused_at_its_column(text: str, problem: str, column: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        read(text)
    message, _, caret = str(caught.value).split("\n")
    assert message.startswith(problem)
    assert caret == f"  {' ' * column}^"


def test_macros_do_not_grow_without_end() -> None:
    lines = "".join(f"#define A{n} A{n + 1} A{n + 1}\n" for n in range(30))
    with pytest.raises(ExpressionError, match=r"makes the text longer|unexpected"):
        read(f"{lines}float s[32]; s[A0]")
