"""What is asked of each reader: an answer, or an error of bankwise."""

from __future__ import annotations

import io
import random
import re
import struct
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from simulator.errors import BankwiseError
from tests.fuzz.damage import damaged_bytes, damaged_text, soup

__all__ = ["TARGETS", "Target"]

HERE = Path(__file__).parents[1]
SASS = HERE / "silicon" / "sass"


@dataclass(frozen=True)
class Target:
    """How an input is made, and what reads it."""

    make: Callable[[random.Random], str | bytes]
    ask: Callable[[str | bytes], object]
    seconds: float = 10
    """An input that takes longer hangs."""
    goal: int = 10**6
    """Inputs of a long run."""
    needs: str = ""
    """A package without which it is left out."""


EXPRESSIONS = [
    "lane*4", "(lane/8)*132 + (lane%8)*4", "lane ^ (lane>>3 & 7)", "tid<16 ? tid : ~tid",
    "(lane < 8 || !N)*N - -3", "0x1F & lane << 2", "((lane%4)*33 + lane/4)",
]  # fmt: skip
DECLARATIONS = [
    "float s[32][32]; s[threadIdx.x][threadIdx.y]",
    "float s[64][128]; *(float4*)&s[threadIdx.y][4*tx]",
    "__shared__ half2 a[16][33]; a[lane/2][lane%2] = x",
    "double t[8][9]; int r = lane/4; t[r][lane%4]",
    "int4 s[128]; /* a comment */ s[lane*4+3]",
    "unsigned char s[4][64]; int i = 3; s[i%4][lane] = x",
    "half s[4][4][64]; s[1][lane%4][lane]",
]
TOKENS = ["lane", "tid", "warp", "threadIdx.x", "threadIdx.y", "s", "[", "]", "(", ")", "*", "/",
          "%", "+", "-", "^", "&", "|", "<<", ">>", "?", ":", ";", "=", "float", "float4", "half",
          "unsigned char", "0x1F", "32", "1", "//", "/*", "*/", "\n", "reinterpret_cast<int2*>",
          "for (int i = 0; i < 4; i++)", "if (lane < 8)", "static_cast<int>", "const", "<", ">",
          "__shared__", "#define N 4", "struct", "sizeof", ",", "!", "~", "min", "max"]  # fmt: skip
LAYOUTS = [
    "(32,32):(33,1)", "Sw<5,0,5> o 0 o (32,32):(32,1)",
    "Sw<3,4,3> o smem_ptr[16b](unset) o (8,8):(8,1)", "((4,8),(2,2)):((1,16),(8,4))",
    "row*33 + col", "row*32 + (col ^ row%32)",
    "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>",
    "#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [32, 32]}>", "32:1",
]  # fmt: skip
LAYOUT_TOKENS = ["(", ")", ",", ":", "<", ">", "Sw", "o", "0", "1", "32", "_8", "row", "col", "^",
                 "+", "%", "#ttg.swizzled_shared", "{", "}", "=", "vec", "order", "[", "]", "true",
                 "smem_ptr", "16b", "unset", "on", "-1", "999999999999"]  # fmt: skip
ARGUMENTS = [
    "random:f32[1024,1024]", "zeros:f16[8]", "ones:bf16[2,3]", "arange:i32[64]", "i32=1024",
    "null", "{random:f32[8], i32=8, {f32=1, f32=2}}", "f8e4m3=1.5", "tma:a:box=128x64:swizzle=128",
    "tma:zeros:f16[64,64]:box=64x64:fill=nan:strides=1x2", "bool=1", "u64=-1", "x.npy",
]  # fmt: skip
ARGUMENT_TOKENS = ["random", "zeros", ":", "f32", "[", "]", ",", "=", "{", "}", "i32", "null", "x",
                   "tma", "box", "swizzle", "128", "nan", "1e400", "-", "0", "fill"]  # fmt: skip
TOML = [
    '[[access]]\nname = "a"\nask = "float s[32][33]; s[lane][0]"\nconflicts = 0\nblock = [32, 1]\n',
    '[[kernel]]\nfile = "k.cu"\nways = 2\ngrid = 4\nargs = ["random:f32[8]", "i32=8"]\n'
    '[kernel.arrays.tile]\nconflicts = 0\n',
    '[[layout]]\nlayout = "(32,32):(33,1)"\nelement = 4\naccesses = ["LDS: lane, 0"]\n',
    'baseline = "b.json"\n[[triton]]\nkernel = "t.py:k"\ngrid = [1, 1]\nargs = ["i32=1"]\n',
]  # fmt: skip
TOML_TOKENS = ["[[access]]", "[limits]", "=", '"', "'", "[", "]", "{", "}", "\n", "name", "true",
               "1979-05-27", "nan", "conflicts", "0x", "#", ".", "1_000", '"""']  # fmt: skip
COMMANDS = [
    "simulate --warp-shape 4x8 --lds 128", "count --op LDS lane*4", "ops --format md",
    "explain --op LDS.128 --mask 0xFF lane*16", "compare (32,32):(33,1) --op LDS --index lane,0",
    "count --op LDS --layout (32,32):(33,1) lane,0", "estimate --help", "chips --format json",
    "sweep simulate --pad 0..4 --limit 3", "schema count", "kernels", "help count",
    "simulate --pad A=0,B=4 --format csv", "float@s[32][32];@s[lane][0]",
]  # fmt: skip
COMMAND_TOKENS = ["--op", "LDS", "--mask", "--format", "json", "--rule", "documented", "--chip",
                  "V100", "--element", "--block", "32x8", "--layout", "--lds", "--pad", "0..4",
                  "--compare", "--fail-on-conflict", "-1", "999999", "--names", "N=4"]  # fmt: skip
SOURCES = [
    "__global__ void k(float *a, int n) { __shared__ float s[32][32];"
    " s[threadIdx.y][threadIdx.x] = a[n]; __syncthreads(); }\n"
    "int main() { const int N = 4; float *d; cudaMalloc(&d, N * 4); k<<<N, dim3(32, 8)>>>(d, N); }",
    "#define B 32\n#if B > 16\ntemplate <int T, class U> __global__ void t(U *p) { p[T] = 0; }\n"
    "#endif\nnamespace a { void run(float *x) { for (int i = 0; i < 3; ++i)"
    " t<B, float><<<i + 1, {B, 2}, 4 * B>>>(x); } }",
    "struct P { float *x; int n; }; __constant__ int c[4];\n"
    'extern "C" __global__ __launch_bounds__(64) void s(P p) { p.x[p.n] = c[1]; }\n'
    "std::vector<float> v(16); // bankwise: allow 2-way\nvoid f() { s<<<1, 64>>>(P{nullptr, 3}); }",
]
SOURCE_TOKENS = ["{", "}", "(", ")", ";", "<<<", ">>>", "__global__", "#if", "#endif", "#define",
                 "template <class T>", "/*", "*/", "//", '"', "'", 'R"(', "::", "\\\n", "namespace",
                 "int", "dim3", "for (;;)", "return", "#include <x>", "??="]  # fmt: skip


def of_text(seeds: list[str], tokens: list[str]) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        return soup(rng, tokens) if rng.random() < 0.3 else damaged_text(rng, seeds, tokens)

    return make


def tried(parse: Callable[[str], object], text: str) -> object:
    """Return what a reader makes of a text, or its refusal."""
    try:
        return parse(text)
    except BankwiseError as error:
        return error


def either(found: list[object]) -> list[object]:
    """Return what several readers made of one text; raise the refusal where all refused."""
    refusals = [each for each in found if isinstance(each, BankwiseError)]
    if len(refusals) == len(found):
        raise refusals[0]
    return found


def _expression(text: str | bytes) -> object:
    from layouts.expression import Expression

    return Expression(str(text))({"lane": 5, "tid": 37, "warp": 1, "N": 3})


def _declaration(text: str | bytes) -> object:
    from simulator.inputs.asked import read

    return read(str(text)).check()


def _layout(text: str | bytes) -> object:
    from layouts import Layout
    from layouts.tile import Tile

    readers = (Layout.parse, Tile.parse, lambda text: Tile.parse(text, (32, 32)))
    return either([tried(each, str(text)) for each in readers])


def _argument(text: str | bytes) -> object:
    from simulator.inputs.values import read_list
    from simulator.sass.arguments import argument

    readers = (_small(argument), read_list)
    return either([tried(each, str(text)) for each in readers])


def _small(argument: Callable[[str], object]) -> Callable[[str], object]:
    """Leave out arrays of more than a few megabytes: they are what was asked for."""

    def parse(text: str) -> object:
        sizes = [re.findall("[0-9]+", shape) for shape in re.findall(r"\[([^]]*)", text)]
        many = [np.prod([float(number) for number in size]) for size in sizes]
        return None if any(1e6 < each < 1e11 for each in many) else argument(text)

    return parse


def _toml(text: str | bytes) -> object:
    from simulator.checking.config import read_config

    path = Path("bankwise.toml")
    path.write_text(str(text), encoding="utf-8", errors="surrogatepass")
    try:
        return read_config(path)
    finally:
        path.unlink()


def _command(text: str | bytes) -> object:
    from simulator.cli import main

    words = [word.replace("@", " ") for word in str(text).split(" ")]  # a blank of a question is @
    if words[0] in ("gpu-check", "mcp", "sass", "check", "report", "explore") or "\0" in text:
        return None
    options = ("--html", "--svg", "--csv", "--parquet", "--store", "--write", "--save")
    if any(word.startswith(options) for word in words):
        return None
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = main(words)
    assert code in (0, 1, 2), code
    return code


def _source(text: str | bytes) -> object:
    """Read kernels and launches from the syntax tree; nothing is compiled."""
    from simulator.checking.allowing import allowances
    from simulator.sass.code.launches import find_launches
    from simulator.sass.code.translation import translate

    text = str(text)
    readers: tuple[Callable[[str], object], ...] = (
        lambda text: translate(text, None),
        find_launches,
        lambda text: allowances("k.cu", text.splitlines()),
    )
    return either([tried(each, text) for each in readers])


# ---- Files. ------------------------------------------------------------------------------------
@cache
def arrays() -> list[bytes]:
    rng, found = np.random.default_rng(0), []
    byte = rng.integers(0, 100, (3, 32)) * 4
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, address=byte, mask=np.array([1, 2, 3], np.uint32), op=np.array(["LDS"] * 3))
        found.append(file.getvalue())
    file = io.BytesIO()
    np.save(file, byte.astype(">i4"))
    found.append(file.getvalue())
    rows = "\n".join(",".join(map(str, row)) for row in byte.tolist())
    found.append((",".join(f"lane{lane}" for lane in range(32)) + "\n" + rows).encode())
    return found


def _array(data: str | bytes) -> object:
    from simulator.inputs.files import from_data

    assert isinstance(data, bytes)
    op = "LDS" if len(data) % 2 else None
    return from_data(data, "x", op, None if op is None else 0xFF).by_op()


@cache
def stores() -> list[bytes]:
    from simulator import simulate, sweep

    store = Path("made.store")
    store.unlink(missing_ok=True)
    sweep(simulate, {"pad": range(6)}, store=store)
    data = store.read_bytes()
    store.unlink()
    return [data]


@cache
def swept() -> object:
    from simulator import simulate, sweep

    return sweep(simulate, {"pad": range(6)}).to_dict()


def _store(data: str | bytes) -> object:
    from simulator import simulate, sweep

    assert isinstance(data, bytes)
    store = Path("x.store")
    store.write_bytes(data)
    try:
        found = sweep(simulate, {"pad": range(6)}, store=store).to_dict()
        assert found == swept(), "figures that nobody counted"
        return found
    finally:
        for path in (store, Path("x.store-journal")):
            path.unlink(missing_ok=True)


@cache
def recordings() -> list[bytes]:
    from importlib.resources import files

    from gpu_check.recordings import load, save

    path = Path("made.npz")
    with (files("gpu_check") / "data" / "h200_loops.npz").open("rb") as packaged:
        path.write_bytes(packaged.read())
    few = list(load(path).measurements)[:1]
    path.unlink()
    save(path, few, {})
    data = path.read_bytes()
    path.unlink()
    return [data]


def _recording(data: str | bytes) -> object:
    from gpu_check.recordings import load

    assert isinstance(data, bytes)
    path = Path("x.npz")
    path.write_bytes(data)
    try:
        return len(load(path))
    finally:
        path.unlink()


@cache
def chips() -> list[str]:
    folder = HERE.parent / "simulator" / "law" / "data"
    return [(folder / f"{name}.json").read_text() for name in ("v100", "t4")]


def _chip(text: str | bytes) -> object:
    from simulator.law.chips import Chip

    path = Path("x.json")
    path.write_text(str(text), encoding="utf-8", errors="surrogatepass")
    try:
        return Chip.from_json(path)
    finally:
        path.unlink()


def _baseline(text: str | bytes) -> object:
    from simulator.checking.baseline import read_baseline

    path = Path("b.json")
    path.write_text(str(text), encoding="utf-8", errors="surrogatepass")
    try:
        return read_baseline(path)
    finally:
        path.unlink()


BASELINES = [
    '{"version": 1, "entries": {"a": {"conflicts": 1, "excessive": 0, "wavefronts": 2,'
    ' "ways": 2.0, "lines": {"k.cu:3": {"conflicts": 1, "ways": 2.0}}}}}',
]  # fmt: skip


@cache
def cubins() -> list[bytes]:
    names = ("scan", "transpose", "histogram", "tensor_gemm")
    return [(SASS / "cubins" / f"{name}.cubin").read_bytes() for name in names]


def _cubin(data: str | bytes) -> object:
    """Read a cubin, and run its first kernel for a while."""
    from simulator import replay_compiled
    from simulator.sass.code.cubin import read_cubin

    assert isinstance(data, bytes)
    kernels = read_cubin(data).kernels
    name = next(iter(kernels), None)
    parameters = kernels[name].parameters if name is not None else ()
    args = [
        np.arange(256, dtype=np.int32) if each.size == 8 else np.int32(16) for each in parameters
    ]
    return replay_compiled(
        data, kernel=name, grid=1, block=64, args=args[:64], max_instructions=20_000
    )


PTX = [
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
    ".reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n.shared .align 4 .b8 s[128];\n"
    "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nst.shared.u32 [s], %r1;\n"
    "st.global.u32 [%rd1], %r1;\nret;\n}\n",
]
PTX_TOKENS = [".reg", ".b32", "%r1", "{", "}", ";", "ld.shared", "[", "]", ".entry", "@p", "bra",
              ".version 99.9", ".target sm_20", "ret"]  # fmt: skip


def _ptx(text: str | bytes) -> object:
    from simulator.sass.code.images import load
    from tests.fuzz.forked import as_ptx, in_forks

    with in_forks():
        return load(as_ptx(str(text)), "sm_80", None)


@cache
def archives() -> list[bytes]:
    """Make a fatbinary, and a host object and an archive of it."""
    body = (SASS / "cubins" / "scan.cubin").read_bytes()
    body += bytes(-len(body) % 8)
    entry = struct.pack("<HHIQIIIIIIQQ", 2, 0x101, 64, len(body), 0, 0, 0, 90, 0, 0, 0x11, 0)
    entry = entry.ljust(64, b"\0") + body
    fat = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry
    names = b"\0.nv_fatbin\0.shstrtab\0"
    at = 64 + len(fat) + len(names)
    elf = struct.pack("<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 1, 62, 1, 0, 0, at, 0, 64,
                      0, 0, 64, 3, 2)  # fmt: skip
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, 64, len(fat), 0, 0, 8, 0)
    sections += struct.pack("<IIQQQQIIQQ", 12, 3, 0, 0, 64 + len(fat), len(names), 0, 0, 1, 0)
    thing = elf + fat + names + sections
    head = b"k.o/".ljust(16) + b"0".ljust(12) + b"0".ljust(6) + b"0".ljust(6) + b"644".ljust(8)
    member = head + str(len(thing)).encode().ljust(10) + b"`\n" + thing
    return [fat, thing, b"!<arch>\n" + member]


def _archive(data: str | bytes) -> object:
    from simulator.sass.code.images import load

    path = Path("x.a")
    assert isinstance(data, bytes)
    path.write_bytes(data)
    try:
        return load(path, "sm_90", None)
    finally:
        path.unlink()


def of_bytes(seeds: Callable[[], list[bytes]]) -> Callable[[random.Random], bytes]:
    return lambda rng: damaged_bytes(rng, seeds())


TARGETS: dict[str, Target] = {
    "expression": Target(of_text(EXPRESSIONS, TOKENS), _expression),
    "declaration": Target(of_text(DECLARATIONS, TOKENS), _declaration),
    "layout": Target(of_text(LAYOUTS, LAYOUT_TOKENS), _layout),
    "argument": Target(of_text(ARGUMENTS, ARGUMENT_TOKENS), _argument),
    "command": Target(of_text(COMMANDS, COMMAND_TOKENS), _command, seconds=30, goal=10**4),
    "toml": Target(of_text(TOML, TOML_TOKENS), _toml),
    "baseline": Target(of_text(BASELINES, TOML_TOKENS), _baseline),
    "chip": Target(lambda rng: damaged_text(rng, chips(), TOML_TOKENS), _chip),
    "array": Target(of_bytes(arrays), _array),
    "store": Target(of_bytes(stores), _store),
    "recording": Target(of_bytes(recordings), _recording),
    "source": Target(of_text(SOURCES, SOURCE_TOKENS), _source, goal=10**4, needs="tree_sitter"),
    "cubin": Target(of_bytes(cubins), _cubin, seconds=60, goal=10**4, needs="elftools"),
    "ptx": Target(of_text(PTX, PTX_TOKENS), _ptx, seconds=60, goal=10**4, needs="cuda"),
    "archive": Target(of_bytes(archives), _archive, seconds=60, goal=10**4, needs="elftools"),
}
