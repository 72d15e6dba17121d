"""`bankwise sass my.cu`: the file's own launches, lists, options of the compiler, outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from simulator.cli import main
from simulator.cli.sources import COMPILER, assumed, run_launches
from simulator.errors import CompileError, SassError
from simulator.sass.code.launches import find_launches
from tests.sass_kernels import HERE, needs_compiler, needs_tools

pytestmark = [needs_tools, needs_compiler]

SOURCE = """#include <vector>
#define TILE 32
template <int N> __global__ void turn(const float *in, float *out, int n) {
    __shared__ float tile[N][N];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void fill(float *out) { out[threadIdx.x] = FACTOR * threadIdx.x; }
__global__ void idle(int *p, float s) { p[0] = s; }
int main(int argc, char **argv) {
    int n = 32;
    float *a, *b;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    turn<TILE><<<1, dim3(TILE, TILE)>>>(a, b, n);
    fill<<<1, n>>>(b);
    fill<<<1, atoi(argv[1])>>>(b);
}
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "my.cu"
    path.write_text(SOURCE)
    return str(path)


def test_launches_of_one_kernel_are_told_apart(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, line = Path(source).read_text(), "turn<TILE><<<1, dim3(TILE, TILE)>>>(a, b, n);"
    Path(source).write_text(text.replace(line, f"{line} {line.replace('<<<1', '<<<2')}"))
    main(["sass", source, "-DFACTOR=2"])
    lines = capsys.readouterr().out.partition("Most bank conflicts:\n")[2].splitlines()
    assert [each.split("  32-way")[0].split(maxsplit=2)[2] for each in lines[:2]] == [
        "turn<32> <<<2, 32x32>>>", "turn<32> <<<1, 32x32>>>",
    ]  # fmt: skip


def test_every_launch_of_the_file_is_replayed(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sass", source, "-DFACTOR=2"]) == 2
    said = capsys.readouterr()
    assert "turn<32> (sm_90), grid 1x1x1, block 32x32x1" in said.out
    assert "fill (sm_90)" in said.out
    why = "32-way LDS: lanes 0-31 read 32 different words of bank 0"
    assert f"Most bank conflicts:\n           992  my.cu:7  turn<32>  {why}" in said.out
    assert "fill is launched with values that are not known: atoi(argv[1])" in said.err
    assert "idle: my.cu has no launch of it" in said.err
    assert f"bankwise sass {source} --kernel idle --grid '<grid>' --block '<block>'" in said.err
    assert said.err.splitlines()[-2].endswith(" -DFACTOR=2")  # else the command would not compile


def test_one_kernel_can_be_chosen_and_json_has_all_rows(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["sass", source, "-D", "FACTOR=2", "--kernel", "turn", "--format", "json"]
    assert main(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {row["kernel"] for row in answer["rows"]} == {"turn<32>"}
    assert [row["space"] for row in answer["rows"]].count("shared") == 2
    assert answer["totals"] == {"bank_conflicts": 992, "notes": []}
    assert main([*arguments, "--fail-on-conflict"]) == 1


def test_a_kernel_that_nothing_launches_gives_a_command(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sass", source, "-DFACTOR=2", "--kernel", "idle"]) == 2
    assert "--arg 'random:i32[<elements of p>]' --arg 'f32=<s>'" in capsys.readouterr().err


def test_an_instance_that_nothing_launches_gives_a_command_and_those_that_are_launched(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sass", source, "-DFACTOR=2", "--kernel", "turn<16>"]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert f"bankwise sass {source} --kernel 'turn<16>' --grid '<grid>'" in said.err
    assert "the file launches turn<32>" in said.err


def test_two_instances_of_one_template_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.cu"
    path.write_text(SOURCE.replace("fill<<<1, n>>>(b)", "turn<16><<<1, dim3(16, 16)>>>(a, b, n)"))
    asked = [f"sass {path} -DFACTOR=2 --kernel 'turn<{size}>'" for size in (32, 16)]
    assert main(["compare", *asked, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["bank_conflicts"] for row in rows] == [992, 56]


def test_a_kernel_that_is_not_in_the_file_is_refused_with_those_that_are(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sass", source, "-DFACTOR=2", "--kernel", "fil"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("bankwise: my.cu has no kernel 'fil': did you mean fill?")
    assert "(accepted: turn, fill, idle)" in said


def test_an_architecture_is_refused_once_and_not_at_each_launch(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sass", source, "-DFACTOR=2", "--arch", "sm_70"]) == 2
    said = capsys.readouterr().err
    assert said.count("sm_70") == 1
    assert said.startswith("bankwise: unknown architecture 'sm_70'")


def test_a_command_to_copy_stands_on_a_line_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ask.cu"
    path.write_text(
        "__global__ void k(float *a) { a[0] = 1; }\n"
        "int main(int argc, char **argv) {\n"
        "    int n = atoi(argv[1]);\n    float *a;\n    cudaMalloc(&a, n * 4);\n"
        "    k<<<n / 256, 256>>>(a);\n}\n"
    )
    assert main(["sass", str(path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("bankwise: ask.cu:6: k is launched with values that are not known")
    assert lines[1].startswith(f"  bankwise sass {path} --kernel k --grid ")
    assert "random:f32[<elements_of_a>]" in lines[1]


def test_a_launch_of_no_thread_is_not_a_command_to_copy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "few.cu"
    path.write_text(
        "__global__ void k(float *a) { a[0] = 1; }\n"
        "int main() {\n    int n = 1024;\n    float *a;\n    cudaMalloc(&a, n / 256 * 4);\n"
        "    k<<<n / 256, 256>>>(a);\n}\n"
    )
    assert main(["sass", str(path), "--let", "n=64"]) == 2
    said = capsys.readouterr().err
    assert "few.cu:6: k is launched with grid 0, block 256, so no thread runs (accepted" in said
    assert "next: give the host code other values, --let NAME=NUMBER" in said
    assert "--grid 0" not in said


@pytest.mark.parametrize("name", ["empty.cu", "text.cubin"])
@pytest.mark.parametrize("more", [[], ["--kernel", "k"]])
def test_a_file_without_a_kernel_says_what_would_be_one(
    name: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text("hello world\n" * (name != "empty.cu"))
    assert main(["sass", str(path), *more]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert f"{path} holds no kernel: as text it has no function that is __global__" in said
    assert "(accepted: CUDA source, PTX, a cubin" in said


@pytest.mark.parametrize(
    ("flags", "kept", "said"),
    [
        (0x340534, None, "is code for sm_52 (accepted: code for sm_75, sm_80"),
        (0x6003204, None, "is code for sm_50 (accepted"),
        (None, 3000, "is not a readable cubin: ELFParseError"),
    ],
)
def test_a_cubin_that_is_not_read_is_named(
    flags: int | None, kept: int | None, said: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    image = bytearray((HERE / "cubins" / "transpose.cubin").read_bytes())
    if flags is not None:
        image[48:52] = flags.to_bytes(4, "little")
    path = tmp_path / "old.cubin"
    path.write_bytes(image[:kept])
    assert main(["sass", str(path)]) == 2
    error = capsys.readouterr().err
    assert f"{path} {said}" in error
    assert "; next: comp" in error


def test_of_several_kernels_one_is_chosen_to_be_compared(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", f"sass {source} -DFACTOR=2", "4x8"]) == 2
    said = capsys.readouterr().err
    assert "has 2 results (accepted: one; add --kernel and one of these: turn<32>, fill)" in said
    Path(source).write_text(SOURCE.replace("atoi(argv[1])", "16"))
    assert main(["compare", f"sass {source} -DFACTOR=2 --kernel fill", "4x8"]) == 2
    said = capsys.readouterr().err
    assert "(accepted: one; give one launch of fill by --kernel, --grid, --block and --arg)" in said


def test_the_compilers_error_comes_before_a_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "typo.cu"
    path.write_text(
        "__global__ void k(float *o) {\n    o[0] = 1 }\n"
        "int main() { float *o; cudaMalloc(&o, 128); k<<<1, 32>>>(o); }\n"
    )
    assert main(["sass", str(path)]) == 2
    said = capsys.readouterr().err
    assert 'typo.cu(2): error: expected a ";"' in said
    assert "values that are not known" not in said


def test_conflicts_of_a_part_of_the_grid_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "part.cu"
    path.write_text(
        "__global__ void k(unsigned *a) {\n"
        "    __shared__ unsigned s[2048];\n"
        "    s[threadIdx.x * (1 + blockIdx.x)] = a[threadIdx.x];\n"
        "    __syncthreads();\n    a[threadIdx.x] = s[threadIdx.x];\n}\n"
        "int main() { unsigned *a; cudaMalloc(&a, 128); k<<<8, 32>>>(a); }\n"
    )
    assert main(["sass", str(path)]) == 0
    said = capsys.readouterr().out
    assert "--blocks all / blocks='all' runs every block" in said
    assert "part.cu:3  k  (3 of 8 blocks)  8-way STS: lanes 0, 4, 8, 12, " in said.splitlines()[-1]
    assert main(["sass", str(path), "--blocks", "all"]) == 0
    assert "part.cu:3  k  8-way STS" in capsys.readouterr().out.splitlines()[-1]


def test_a_list_has_templates_and_commands_even_of_what_does_not_compile(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sass", source, "--list", "-DFACTOR=2"]) == 0
    said = capsys.readouterr().out
    assert "turn<int N>(float* in, float* out, int n)" in said
    assert "--kernel 'turn<32>' --grid 1 --block 32x32" in said
    assert main(["sass", source, "--list"]) == 2
    said_too = capsys.readouterr()
    assert "turn<int N>" in said_too.out
    assert "pass -D FACTOR=VALUE" in said_too.err


def test_options_after_two_dashes_go_to_the_compiler(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--kernel", "fill", "--block", "32", "--arg", "zeros:f32[32]"]
    assert main(["sass", source, *chosen, "--", "-DFACTOR=3", "--use_fast_math"]) == 0
    assert main(["sass", source, *chosen, "-DFACTOR=3", "--", "--nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err
    assert main(["sass", source, "-I"]) == 2


def test_a_program_is_read_as_without_arguments(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said, size = "main asks for its arguments, and is read as if it got none", "int n = 32;"
    main(["sass", source, "-DFACTOR=2"])
    assert said not in capsys.readouterr().err
    text = Path(source).read_text()
    Path(source).write_text(text.replace(size, "int n = argc > 1 ? atoi(argv[1]) : 32;"))
    main(["sass", source, "-DFACTOR=2"])
    assert said in capsys.readouterr().err


def test_outputs_are_saved_and_checked(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted, folder = tmp_path / "wanted.npy", tmp_path / "out"
    np.save(wanted, np.arange(32, dtype=np.float32) * 2)
    base = ["sass", source, "-DFACTOR=2", "--kernel", "fill", "--arg", "zeros:f32[32]"]
    assert main([*base, "--save-outputs", str(folder), "--check", f"0={wanted}:1e-6"]) == 0
    assert "argument 0 equals" in capsys.readouterr().out
    assert (np.load(folder / "argument_0.npy") == np.load(wanted)).all()
    np.save(wanted, np.arange(32, dtype=np.float32))
    assert main([*base, "--check", f"0={wanted}:1e-6"]) == 2
    assert "31 of 32 elements differ, the first at 1: 2.0 instead of 1.0" in capsys.readouterr().err
    two = ["sass", source, "-DFACTOR=2", "--let", "argc=1", "--save-outputs", str(tmp_path / "two")]
    assert main(two) == 2
    assert "with 3 launches, each of which would write over the last" in capsys.readouterr().err
    assert not (tmp_path / "two").exists()
    for check in ("9=x.npy", "nonsense", "0=gone.npy"):
        assert main([*base, "--check", check]) == 2


def test_variables_are_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "w.cu"
    path.write_text("__constant__ int w[2];\n__global__ void k(int *a) { a[0] = w[1]; }\n")
    base = ["sass", str(path), "--arg", "zeros:i32[1]"]
    assert main(base) == 0
    assert "w is read and was never set" in capsys.readouterr().out
    wanted = tmp_path / "one.npy"
    np.save(wanted, np.ones(1, dtype=np.int32))
    assert main([*base, "--set", "w=arange:i32[2]", "--check", f"0={wanted}"]) == 0
    assert main([*base, "--set", "w"]) == 2


@pytest.mark.parametrize("text", ["N", "=4", "N=", "N=four", "a b=3", "N=__import__('os')"])
def test_what_is_let_must_be_a_number_with_a_name(text: str) -> None:
    with pytest.raises(click.BadParameter, match="accepted: NAME=NUMBER"):
        assumed([text])


def test_what_is_let_is_read() -> None:
    given = ["N=1024", "p.x=2.5", "*=-3"]
    assert assumed(given) == {"N": 1024, "p.x": 2.5, "*": -3}


def _nothing(*_: object) -> Any:
    raise AssertionError


def test_a_kernel_of_another_file_is_not_asked_for_by_argument() -> None:
    found = find_launches("__global__ void k(float *);\nint main() { k<<<4, 64>>>(0); }")
    with pytest.raises(SassError, match="neither the file nor its headers define it"):
        run_launches(found, "k.cu", None, _nothing, _nothing, lambda: None)


def test_a_source_that_does_not_compile_says_so_before_it_asks_for_a_launch() -> None:
    kernel = "__global__ void k(float *a, int n) { a[n] = nn; }\n"
    text = f"{kernel}void f(float *a, int n) {{ k<<<n, 1>>>(a, n); }}"

    def compiles() -> None:
        raise CompileError("nn is undefined")

    found = find_launches(text)
    with click.Context(click.Command("sass")) as context:
        context.meta[COMPILER] = ()
        with pytest.raises(CompileError, match="nn is undefined"):
            run_launches(found, "k.cu", None, _nothing, _nothing, compiles)
        with pytest.raises(SassError, match="values that are not known: elements of a, n"):
            run_launches(found, "k.cu", None, _nothing, _nothing, lambda: None)
