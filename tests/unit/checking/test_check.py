"""Limits that hold or are broken, allowances, arrays, baselines: by small kernels and accesses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator.checking import CheckReport, check
from simulator.errors import CheckError
from tests.sass_kernels import needs_compiler, needs_tools
from tests.unit.checking.conftest import CONFLICT, FREE, Check, Write

KERNEL = """__global__ void turn(const float* in, float* out) {
  __shared__ float tile[32][32];
  __shared__ float other[64];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  other[threadIdx.x] = 1;
  __syncthreads();
  float both = tile[threadIdx.x][threadIdx.y];
  out[threadIdx.y * 32 + threadIdx.x] = both + other[threadIdx.y];
}
__global__ void idle(float* out) { out[0] = 1; }
int main() {
  float *a, *b;
  cudaMalloc(&a, 4096);
  cudaMalloc(&b, 4096);
  turn<<<1, dim3(32, 32)>>>(a, b);
}
"""
COLUMN = "  float both = tile[threadIdx.x][threadIdx.y];"


def findings(report: CheckReport) -> list[tuple[str, str, int]]:
    return [
        (each.scope, each.limit, each.place.line)
        for outcome in report.outcomes
        for each in outcome.findings
    ]


def messages(report: CheckReport) -> str:
    return "\n".join(
        each.message for outcome in report.outcomes for each in outcome.findings
    ) + "\n".join(outcome.error for outcome in report.outcomes)


class TestAccesses:
    def test_a_limit_holds_or_is_broken(self, checked: Check) -> None:
        report = checked(
            f"[limits]\nconflicts = 0\n[[access]]\n{CONFLICT}\n[[access]]\n{FREE}\n"
            f"[[access]]\nname='enough'\n{CONFLICT}\nconflicts = 992\n"
        )
        assert [each.status for each in report.outcomes] == ["broken", "holds", "holds"]
        assert findings(report) == [("entry", "conflicts", 3)]
        assert report.code == 1
        said = str(report)
        assert said.startswith("1 of 3 break a limit")
        assert "992 bank conflicts (accepted: 0). 32-way bank conflict" in said
        assert "Cure: pad to float s[32][33]" in said

    @pytest.mark.parametrize(
        ("limit", "code"),
        [("conflicts = 991", 1), ("conflicts = 992", 0), ("excessive = 991", 1),
         ("excessive = 992", 0), ("wavefronts = 1023", 1), ("wavefronts = 1024", 0),
         ("ways = 31", 1), ("ways = 32", 0)],
    )  # fmt: skip
    def test_every_figure_has_its_edge(self, checked: Check, limit: str, code: int) -> None:
        assert checked(f"[[access]]\n{CONFLICT}\n{limit}\n").code == code

    def test_a_conflict_free_vector_load_is_one_way(self, checked: Check) -> None:
        text = '[[access]]\nask = "float4 s[32]; s[lane]"\nways = 1\nconflicts = 0\n'
        assert checked(text).code == 0

    def test_options_of_a_question(self, checked: Check) -> None:
        text = "[[access]]\nask='lane*ld'\nop='LDS'\nnames={ld=32}\nactive='lane<2'\nconflicts=0\n"
        (outcome,) = checked(text).outcomes
        assert outcome.measured.figures.conflicts == 1

    def test_at_says_where_the_access_stands(self, checked: Check, write: Write) -> None:
        write("x\n", "k.cu")
        report = checked(f"[[access]]\n{CONFLICT}\nconflicts=0\nat='k.cu:7'\n")
        assert findings(report) == [("entry", "conflicts", 7)]
        (outcome,) = checked(f"[[access]]\n{FREE}\nconflicts=0\nat='none.cu:7'\n").outcomes
        assert "key at: there is no file 'none.cu' in" in outcome.error

    def test_a_layout_has_several_accesses(self, checked: Check) -> None:
        report = checked(
            "[[layout]]\nname='A'\nlayout='(64,64):(64,1)'\nelement=2\nconflicts=0\n"
            "accesses=['ldmatrix.x4: lane%16, lane/16*8', 'STS.128: lane/8, lane%8*8', 'lane, 0',"
            " 'LDX: lane, 0']\n"
        )
        assert [each.status for each in report.outcomes] == ["broken", "holds", "error", "error"]
        assert report.outcomes[0].measured.name == "A: ldmatrix.x4: lane%16, lane/16*8"
        assert report.outcomes[2].error.startswith("key accesses: 'lane, 0' (accepted: OP: ROW")
        assert "LDX" in report.outcomes[3].error
        assert report.code == 2

    def test_what_has_no_limit_cannot_hold(self, checked: Check) -> None:
        report = checked(f"[[access]]\n{FREE}\n")
        assert report.code == 2
        assert report.outcomes[0].error.startswith("it has no limit (accepted: conflicts = …")

    def test_one_bad_entry_does_not_hide_the_others(self, checked: Check) -> None:
        report = checked(f"limits.conflicts=0\n[[access]]\nask='s['\n[[access]]\n{CONFLICT}\n")
        assert [each.status for each in report.outcomes] == ["error", "broken"]
        assert report.code == 2
        assert "1 of 2 break a limit; 1 of 2 cannot be checked" in str(report)


class TestBaselines:
    def test_no_worse_than_recorded(self, checked: Check, tmp_path: Path) -> None:
        head = "baseline = 'base.json'\n[[access]]\nname = 'a'\n"
        with pytest.raises(CheckError, match=r"base.json is missing \(bankwise check --update"):
            checked(f"{head}{CONFLICT}\n")
        assert checked(f"{head}{CONFLICT}\n", update=True).code == 0
        recorded = (tmp_path / "base.json").read_text()
        assert json.loads(recorded)["entries"]["a"]["conflicts"] == 992
        assert checked(f"{head}{CONFLICT}\n").code == 0
        better = checked(f"{head}{FREE}\n")
        assert better.code == 0
        assert "a: costs less than the baseline says (--update keeps that)" in str(better)
        assert checked(f"{head}{FREE}\n", update=True).code == 0
        worse = checked(f"{head}{CONFLICT}\n")
        assert worse.code == 1
        assert "992 bank conflicts instead of the baseline's 0" in messages(worse)
        checked(f"{head}{CONFLICT}\n", update=True)
        assert (tmp_path / "base.json").read_text() == recorded

    def test_an_entry_that_is_new(self, checked: Check) -> None:
        head = "baseline = 'base.json'\n"
        checked(f"{head}[[access]]\nname = 'a'\n{FREE}\n", update=True)
        report = checked(f"{head}[[access]]\nname = 'b'\n{FREE}\n")
        assert findings(report) == [("baseline", "baseline", 2)]
        assert report.stale == ("a",)
        assert "In the baseline alone (--update removes them): a" in str(report)
        assert checked(f"{head}[[access]]\nname = 'b'\n{FREE}\nconflicts=0\n").code == 0

    def test_an_update_does_not_hide_a_broken_limit(self, checked: Check) -> None:
        head = "baseline = 'base.json'\n"
        assert checked(f"{head}[[access]]\n{CONFLICT}\nconflicts=0\n", update=True).code == 1

    def test_an_update_is_whole_or_not_at_all(self, checked: Check, tmp_path: Path) -> None:
        head = "baseline = 'base.json'\n"
        checked(f"{head}[[access]]\n{FREE}\n", update=True)
        before = (tmp_path / "base.json").read_bytes()
        with pytest.raises(CheckError, match="stays as it is, because 's' could not be counted"):
            checked(f"{head}[[access]]\n{CONFLICT}\n[[access]]\nask='s'\n", update=True)
        assert (tmp_path / "base.json").read_bytes() == before
        assert sorted(each.name for each in tmp_path.iterdir()) == ["bankwise.toml", "base.json"]

    def test_an_update_needs_a_baseline(self, checked: Check, tmp_path: Path) -> None:
        with pytest.raises(CheckError, match="--update has no baseline to write"):
            checked(f"[[access]]\n{FREE}\n", update=True)
        checked(f"[[access]]\n{FREE}\n", update=True, baseline=tmp_path / "other.json")
        assert (tmp_path / "other.json").exists()

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("{", "it is not JSON"),
            ("[]", "is not a baseline of version 1"),
            ('{"version": 2, "entries": {}}', "is not a baseline of version 1"),
            ('{"version": 1}', "key entries: None (accepted: an object)"),
            ('{"version": 1, "entries": {"a": 3}}', "entry 'a': 3 (accepted: an object)"),
            ('{"version": 1, "entries": {"a": {"conflicts": -1}}}', "key conflicts: -1 (accepted"),
            ('{"version": 1, "entries": {"a": {"lines": {"x": 1}}}}', "entry 'a', key conflicts"),
        ],
    )
    def test_a_damaged_baseline(self, checked: Check, write: Write, text: str, said: str) -> None:
        path = write(text, "base.json")
        with pytest.raises(CheckError) as caught:
            checked(f"baseline = 'base.json'\n[[access]]\n{FREE}\n")
        assert str(path) in str(caught.value)
        assert said in str(caught.value)


@needs_tools
@needs_compiler
class TestKernels:
    @pytest.fixture(autouse=True)
    def _kernel(self, write: Write) -> None:
        write(KERNEL, "k.cu")

    def test_the_launches_of_a_file(self, checked: Check) -> None:
        report = checked("[[kernel]]\nfile = 'k.cu'\nconflicts = 0\n")
        (outcome,) = report.outcomes
        assert outcome.measured.name == "k.cu: turn"
        assert findings(report) == [("entry", "conflicts", 7)]
        assert messages(report) == "992 bank conflicts (accepted: 0) (LDS: 32-way)"
        assert outcome.measured.notes == ("idle is not checked: k.cu has no launch of it",)

    def test_what_would_mend_a_line(self, checked: Check) -> None:
        entry = "[[kernel]]\nfile = 'k.cu'\nconflicts = 0\n"
        assert messages(checked(entry, fix=True)) == (
            "992 bank conflicts (accepted: 0) (LDS: 32-way). Write tile[32][33]: 992 -> 0 bank"
            " conflicts, equal outputs."
        )

    def test_what_would_mend_a_line_harms_no_other_launch(
        self, checked: Check, write: Write
    ) -> None:
        text = KERNEL.replace("__global__ void turn", "template <int PAD> __global__ void turn")
        text = text.replace("tile[32][32]", "tile[32][32 + PAD]")
        twice = "turn<0><<<1, dim3(32, 32)>>>(a, b); turn<1><<<1, dim3(32, 32)>>>(a, b);"
        write(text.replace("turn<<<1, dim3(32, 32)>>>(a, b);", twice), "k.cu")
        report = checked("[[kernel]]\nfile = 'k.cu'\nconflicts = 0\n", fix=True)
        assert [each.status for each in report.outcomes] == ["broken", "holds"]
        assert messages(report).strip() == "992 bank conflicts (accepted: 0) (LDS: 32-way)"

    def test_a_launch_that_the_entry_gives(self, checked: Check) -> None:
        text = "[[kernel]]\nfile='k.cu'\nkernel='turn'\ngrid=1\nblock=[32,32]\nconflicts=0\n"
        args = "args=['random:f32[32,32]', 'zeros:f32[32,32]']\n"
        report = checked(text + args)
        assert findings(report) == [("entry", "conflicts", 7)]
        (missing,) = checked((text + args).replace("grid=1\n", "")).outcomes
        assert missing.error.startswith("the key grid is missing (accepted: 256, '32x8' or")
        (wrong,) = checked(text + "args = ['random:f32[32,32]']\n").outcomes
        assert "1 argument" in wrong.error
        (unknown,) = checked(text.replace("turn", "trun") + args).outcomes
        assert "turn" in unknown.error

    def test_an_argument_from_a_file_beside_the_entries(
        self, checked: Check, tmp_path: Path
    ) -> None:
        import numpy as np

        np.save(tmp_path / "in.npy", np.zeros((32, 32), np.float32))
        report = checked(
            "[[kernel]]\nfile='k.cu'\nkernel='turn'\ngrid=1\nblock='32x32'\nconflicts=992\n"
            "args=['in.npy', 'out']\nbuffers={out='zeros:f32[1024]'}\n"
        )
        assert report.code == 0, messages(report)

    def test_a_line_may_be_allowed_more(self, checked: Check, write: Write) -> None:
        entry = "[[kernel]]\nfile = 'k.cu'\nconflicts = 0\nways = 1\n"
        for comment, broken in [
            ("allow 32-way", False),
            ("allow 31-way, it runs once", True),
            ("allow 992 conflicts", False),
            ("allow 991 bank conflicts", True),
            ("allow 992 excessive", False),
            ("allow 1023 wavefronts", True),
            ("allow any", False),
        ]:
            write(KERNEL.replace(COLUMN, f"{COLUMN}  // bankwise: {comment}"), "k.cu")
            report = checked(entry)
            assert [scope for scope, _, _ in findings(report)] == ["allowance"] * broken, comment
            assert "k.cu:7: allowed" in str(report)
        write(KERNEL.replace(COLUMN, f"  // bankwise: allow 32-way\n{COLUMN}"), "k.cu")
        assert checked(entry).code == 0
        write(KERNEL.replace(COLUMN, f"{COLUMN}  // bankwise: alow 32-way"), "k.cu")
        report = checked(entry)
        assert report.code == 2
        assert "k.cu:7: '// bankwise: alow 32-way' (accepted: bankwise: allow 2-way" in str(report)

    def test_limits_per_line(self, checked: Check) -> None:
        entry = "[[kernel]]\nfile = 'k.cu'\n[kernel.per_line]\n"
        assert findings(checked(f"{entry}conflicts = 991\n")) == [("line", "conflicts", 7)]
        assert checked(f"{entry}conflicts = 992\n").code == 0

    def test_limits_per_array(self, checked: Check) -> None:
        entry = "[[kernel]]\nfile = 'k.cu'\n[kernel.arrays."
        assert findings(checked(f"{entry}tile]\nconflicts = 0\n")) == [("array", "conflicts", 7)]
        assert checked(f"{entry}other]\nconflicts = 0\n").code == 0
        report = checked(f"{entry}til]\nconflicts = 0\n")
        assert "'til' is not an array in shared memory: did you mean tile?" in str(report)

    def test_a_line_with_two_arrays_decides_nothing(self, checked: Check, write: Write) -> None:
        write(KERNEL.replace(COLUMN, "").replace("both", "tile[threadIdx.x][threadIdx.y]"), "k.cu")
        report = checked("[[kernel]]\nfile='k.cu'\nconflicts=0\narrays.tile.conflicts = 0\n")
        assert report.code == 2
        assert "conflicts lie between 0 and 992, and 0 is the limit: k.cu:8" in str(report)
        assert findings(report) == [("entry", "conflicts", 8)]
        assert checked("[[kernel]]\nfile='k.cu'\narrays.tile.conflicts = 992\n").code == 0

    def test_the_line_that_got_worse_is_named(self, checked: Check, write: Write) -> None:
        text = "baseline = 'base.json'\n[[kernel]]\nfile = 'k.cu'\n"
        checked(text, update=True)
        bad = "  other[32 * threadIdx.x % 64] = 1;"
        write("// new\n" + KERNEL.replace("  other[threadIdx.x] = 1;", bad), "k.cu")
        report = checked(text)
        assert {line for _, _, line in findings(report)} == {6}
        assert {scope for scope, _, _ in findings(report)} == {"baseline"}

    def test_launches_with_unknown_values(self, checked: Check, write: Write) -> None:
        write(KERNEL.replace("<<<1,", "<<<atoi(argv[1]),"), "k.cu")
        (outcome,) = checked("[[kernel]]\nfile='k.cu'\nconflicts=0\n").outcomes
        assert outcome.error.startswith("turn is launched with values that are not known: atoi(ar")
        assert outcome.measured.place.line == 15
        write("__global__ void k() {}", "k.cu")
        (outcome,) = checked("[[kernel]]\nfile='k.cu'\nconflicts=0\n").outcomes
        assert outcome.error.startswith("no launch is in k.cu (accepted: the keys grid, block")

    def test_values_that_the_host_code_does_not_tell(self, checked: Check, write: Write) -> None:
        asked = "int n = atoi(argv[1]); turn<<<n,"
        write(KERNEL.replace("turn<<<1,", asked), "k.cu")
        entry = "[[kernel]]\nfile='k.cu'\nconflicts=0\n"
        (outcome,) = checked(entry).outcomes
        assert "not known: n (accepted: the key let, such as let = {n = 1024};" in outcome.error
        assert findings(checked(f"{entry}let = {{n = 2}}\n")) == [("entry", "conflicts", 7)]
        assert checked(f"{entry}let = {{n = 2}}\n".replace("=0", "=1984")).code == 0
        report = checked(f"{entry}let = {{m = 2}}\n")
        assert report.code == 2
        assert "the key let m=2: m is not a variable of host code" in str(report)
        assert "leave out the key let)" in str(report)
        report = checked(f"{entry}let = {{n = 2}}\ngrid = 1\nblock = 32\n")
        assert "the key let has no effect here" in str(report)

    @pytest.mark.parametrize("value", ["2", "{n = '2'}", "{n = true}", "{p.n = 2}", "{n = inf}"])
    def test_let_takes_numbers(self, value: str, checked: Check) -> None:
        with pytest.raises(CheckError, match=r"let: .*a table of numbers, such as \{n = 1024"):
            checked(f"[[kernel]]\nfile='k.cu'\nlet = {value}\n")

    def test_two_launches_of_one_kernel_have_two_names(self, checked: Check, write: Write) -> None:
        launch = "turn<<<1, dim3(32, 32)>>>(a, b);"
        write(KERNEL.replace(launch, f"{launch} {launch.replace('<<<1', '<<<2')}"), "k.cu")
        report = checked("[[kernel]]\nfile='k.cu'\nconflicts=992\n")
        names = [each.measured.name for each in report.outcomes]
        assert names == ["k.cu: turn <<<1, 32x32>>>", "k.cu: turn <<<2, 32x32>>>"]

    def test_a_cubin(self, checked: Check, tmp_path: Path) -> None:
        from simulator.sass.code.images import load

        cubin, _ = load(tmp_path / "k.cu", "sm_90", "turn")
        (tmp_path / "k.cubin").write_bytes(cubin.image)
        text = "[[kernel]]\nfile='k.cubin'\nkernel='turn'\nconflicts=0\n"
        (outcome,) = checked(text).outcomes
        assert outcome.error.endswith("a compiled file does not say how it is launched)")
        launch = "grid=1\nblock='32x32'\nargs=['zeros:f32[1024]', 'zeros:f32[1024]']\n"
        assert findings(checked(text + launch)) == [("entry", "conflicts", 7)]

    def test_what_does_not_compile_is_an_error_of_its_entry(
        self, checked: Check, write: Write
    ) -> None:
        write(KERNEL.replace("both =", "both"), "k.cu")
        report = checked(f"limits.conflicts=0\n[[access]]\n{FREE}\n[[kernel]]\nfile='k.cu'\n")
        assert [each.status for each in report.outcomes] == ["holds", "error"]
        (outcome,) = checked("[[kernel]]\nfile='none.cu'\nconflicts=0\n").outcomes
        assert outcome.error.startswith("there is no file 'none.cu' in ")

    def test_a_report_is_a_result(self, checked: Check) -> None:
        report = checked("[[kernel]]\nfile = 'k.cu'\nconflicts = 0\n")
        (row,) = report.rows()
        assert (row["status"], row["conflicts"], row["ways"]) == ("broken", 992, 32.0)
        assert report.to_dict()["totals"] == {"holds": 0, "broken": 1, "error": 0, "code": 1}
        assert check(report.config) == report


TRITON = """
import triton, triton.language as tl

@triton.jit
def transpose(src, dst, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    tl.store(dst + cols * n + rows, tl.load(src + rows * n + cols) * 2)
"""


@needs_tools
def test_a_triton_kernel(checked: Check, write: Write) -> None:
    pytest.importorskip("triton")
    write(TRITON, "kernels.py")
    entry = (
        "[[triton]]\nkernel='kernels.py:transpose'\nsignature='*fp32,*fp32,i32,64'\narch='sm_80'\n"
        "grid=1\nargs=['random:f32[64,64]', 'zeros:f32[64,64]', 'i32=64']\n"
    )
    report = checked(f"{entry}wavefronts = 0\n")
    assert report.code == 1, messages(report)
    assert {line for _, _, line in findings(report)} <= {6, 7, 8}
    (outcome,) = report.outcomes
    assert outcome.measured.place.file.endswith("kernels.py")
    assert outcome.measured.figures.wavefronts >= 2 * 64 * 64 * 4 // 128
    store = "    tl.store("
    write(TRITON.replace(store, f"    # bankwise: allow any\n{store}"), "kernels.py")
    assert checked(f"{entry}wavefronts = 0\n").outcomes[0].measured.held.wavefronts == 0
    (outcome,) = checked(f"{entry}conflicts=0\n".replace("grid=1\n", "")).outcomes
    assert outcome.error.startswith("the key grid is missing")
    (outcome,) = checked(f"{entry}conflicts=0\n".replace(":transpose", ":none")).outcomes
    assert "has no Triton kernel 'none'" in outcome.error
    write(TRITON.replace("def", "dfe"), "kernels.py")
    (outcome,) = checked(f"{entry}conflicts=0\n").outcomes
    assert "kernels.py" in outcome.error
