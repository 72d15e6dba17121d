"""Terminal and page read the same C: `inputs.asked.read` beside the page's own reader."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import BankwiseError, explain
from simulator.inputs.asked import read
from tests.browser.test_explore_law import asked

TEXTS = [
    "float s[32][32]; s[threadIdx.x][threadIdx.y]",
    "float s[32][33]; s[threadIdx.x][threadIdx.y] = v;",
    "float s[64][32]; *reinterpret_cast<const float4*>(&s[lane][0])",
    "float s[2048]; *(float4*)(s + 4*tid)",
    "float s[8][8][32+1]; s[tz % 4][ty][tx]",
    "int s[65]; s[lane ? 64/lane : 0]",
    "float a[32][32], b[32][33]; int r = threadIdx.x; float v = b[r][threadIdx.y];",
    "half2 t[128][33]; t[tid/4][tid%4]",
    "half t[128][33]; t[tid/4][tid%4] = x",
    "int8_t t[128][33]; t[tid/4][tid%4]",
    "unsigned char t[64]; t[tid]",
    "const unsigned long long t[64]; t[tid]",
    "extern __shared__ double s[]; s[tid]",
    "__shared__ __align__(16) float4 t[64]; float4 v = t[tid];",
    "float s[64][64]; *(float4*)&s[tid/16][tid%16*4]",
    "float s[64][64]; reinterpret_cast<float4&>(s[ty][0]) = v;",
    "float s[64][64]; reinterpret_cast<float2*>(s)[tid]",
    "float s[64][64]; *(&s[lane][8] - warp)",
    "float s[64][64]; ((float4*)s[lane])[warp]",
    "half t[64][64]; &t[lane%16][lane/16*8]",
    "float a[8][4][4], b[64]; b[tid];",
    "float a[8][4][4]; a[lane/4%8][lane%4][warp]",
    "float s[32][33]; lane, warp",
    "int row = tid/8; const int P = 1; float s[9][32+P]; s[row][tid%8]",
    "float s[64]; sum += s[tid]",
    "float s[64]; s[(int)threadIdx.x ^ (lane & 1 ? 0u : 0)] // a row",
    "float s[128]; s[tid << 1]",
    "float s[512]; s[threadIdx.z*64 + ty*8 + tx]",
    "float s[32]; s[0x1F - laneid /* from the end */]",
    "cutlass::half_t s[64]; s[static_cast<int>(tid)]",
    "int x = threadIdx.x, y = threadIdx.y; float s[32][33]; s[x][y]",
    "float4 s[32]; float v = s[lane].w;",
    "uchar4 s[32]; s[lane].y = 0",
    "float t[32][33]; out[(y + 1) * w + x] = t[threadIdx.x][threadIdx.y];",
    "float a[2][2][2][64]; a[1][0][1][lane]",
    "float s[64]; s[(threadIdx.x - 1) % 32 * 2]",
    "float s[64]; int t = threadIdx.x; s[(t - 1) % 32 + 31]",
    "float s[64]; unsigned t = threadIdx.x; s[(t - 1) % 32]",
    "float s[64]; s[(uint8_t)(lane + 256) * 2]",
    "float s[64]; s[min(lane + 1, 31) & 0b111111]",
    "float s[64]; float* p = s + 32; p[lane]",
    "float s[64]; float* p = s + 32; p[lane] = out[lane]",
    "float s[64]; float* p = s + 32; out[lane * w] = p[lane]",
    "float s[64]; s[min(threadIdx.x - 1, 40)]",
    "float s[64]; s[max(threadIdx.x - 1, 0) & 63]",
    "float s[256]; uint8_t i = lane * 16; s[i]",
    "float s[256]; char i = lane * 16; s[i + 128]",
    "float s[64]; bool b = lane & 4; s[b]",
]

REFUSED = [
    "int x = 3; float s[32]; s[++x]",
    "int x = 3; float s[32]; s[x - --x]",
    "mytype s[32]; s[lane]",
    "float s[32][32]; s[lane]",
    "float s[32]; s[lane].x",
    "s[lane][0]",
    "float s[32]; s[idx[lane]]",
    "float s[32]; s[lane",
    "float s[32]; s[f(lane)]",
    "for (;;) s[lane]",
    "float s[32]; s[1.5*lane]",
    "float s[32]; s[lane] += 1",
    "float s[n]; s[lane]",
    "float s[0]; s[lane]",
    "",
    "float s[32][8]",
    "float s[32]; s[blockIdx.x]",
    "float s[99999]; s[lane]",
    "float s[32]; s[lane]; s[lane]",
    "lane, 0",
    "float s[32]; s",
    "float s[32][32]; s + lane",
    "float s[32]; *s[lane]",
    "float s[32]; (float4*)s[lane]",
    "float s[32]; s[lane][0]",
    "float s[32]; s[lane + 1]",
    "float s[32]; s[64/lane]",
    "float3 s[32]; s[lane]",
    "float s[64]; ((float4*)s)[lane]",
    "float s[32]; *(float4*)&s[lane%4]",
    "float4 s[32]; s[lane].q",
]

BEYOND = [
    ("#define N 32\nfloat s[N]; s[lane]", "#"),
    ("struct P { float x, y; }; P p[32]; p[lane].y", "struct"),
    ("using T = float; T s[32]; s[lane]", "using"),
    ("int s[32]; atomicAdd(&s[lane], 1)", "atomicAdd"),
]
"""What the page refuses by name, for the command line reads it."""


@pytest.mark.parametrize("text", TEXTS)
def test_both_read_the_same_addresses(law: Any, text: str) -> None:
    page, here = asked(law, text), read(text)
    here.check()
    assert "problem" not in page, page
    assert page["op"] == here.instruction.name
    assert page["block"] == [here.block.x, here.block.y, here.block.z]
    assert page["addresses"] == here.addresses().tolist()
    assert page["wavefronts"] == int(explain(text).warps.wavefronts.sum())


@pytest.mark.parametrize("text", REFUSED)
def test_both_refuse_the_same(law: Any, text: str) -> None:
    assert "problem" in asked(law, text)
    with pytest.raises(BankwiseError):
        read(text).check()


@pytest.mark.parametrize(("text", "at"), BEYOND)
def test_the_page_says_what_the_command_line_reads(law: Any, text: str, at: str) -> None:
    found = asked(law, text)
    assert "by the command line alone" in found["problem"]
    assert found["at"] == at
    read(text).check()
