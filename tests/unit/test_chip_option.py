"""`chip=` and `--chip`, wherever something is counted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_check import PhaseTable
from gpu_check.device import Gpu as Gpu
from simulator import (
    CHIPS,
    INSTRUCTIONS,
    Access,
    Chip,
    ChipError,
    GridError,
    KernelError,
    LaunchError,
    LayoutError,
    SearchError,
    count,
    count_stream,
    explain,
    optimize,
    replay,
    replay_compiled,
    simulate,
    sweep,
)
from simulator.cli import main
from simulator.testing.asserts import assert_conflict_free, assert_wavefronts
from tests.unit.law.test_chips import NARROW, WIDE, content, other_law

ROW = [16 * lane for lane in range(32)]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(content()), encoding="utf-8")
    return path


class TestPython:
    def test_streams(self, other: Path) -> None:
        (counts,) = count_stream("LDS.128", [[ROW]], chip=other)
        assert counts.phases.tolist() == [2]

    def test_simulate(self, other: Path) -> None:
        # By the H200's law neighbours fuse; here they never do, and phases are other lanes.
        ours, theirs = simulate("4x8"), simulate("4x8", chip=other)
        assert theirs.chip == Chip.of(other)
        for fragment in theirs.fragments:
            addresses = [access.addresses for access in fragment.accesses]
            again = count(fragment.op, addresses, chip=other, engine="python")
            np.testing.assert_array_equal(fragment.counts.figures, again.figures)
            assert [each.wavefronts for each in fragment.explain()] == again.wavefronts.tolist()
        assert ours.wavefronts != theirs.wavefronts
        assert "on Other" in str(theirs)
        assert simulate("4x8", chip="H200").wavefronts == ours.wavefronts
        with pytest.raises(LayoutError, match=r"up to 65536, 64 KiB"):
            simulate(block_tile="128x128x128", chip="T4")

    def test_replay(self, other: Path) -> None:
        sizes = {"m": 256, "n": 256, "k": 256}
        ours, theirs = replay("leimao.v05", **sizes), replay("leimao.v05", **sizes, chip=other)
        assert (ours.chip, theirs.chip) == (None, "Other")
        assert ours.totals() != theirs.totals()
        assert "(compiled, Other)" in theirs.table().title
        assert replay("leimao.v05", **sizes, chip="H100").totals() == ours.totals()
        tiny = dict(content(), facts={"shared_bytes": {"value": 4096, "source": "made up"}})
        other.write_text(json.dumps(tiny))
        with pytest.raises(KernelError, match=r"bytes of shared memory .*up to 4096 on Other"):
            replay("leimao.v05", **sizes, chip=other)

    def test_pages_name_the_chip(self, other: Path, tmp_path: Path) -> None:
        pytest.importorskip("plotly")
        from viz import report

        for number, run in enumerate(
            (
                lambda **law: simulate("4x8", **law),
                lambda **law: explain("LDS.128", ROW, **law),
                lambda **law: optimize([Access("LDS.64", "lane*2 % 64")], **law),
                lambda **law: replay("leimao.v05", m=256, n=256, k=256, **law),
            )
        ):
            page = tmp_path / f"{number}.html"
            report(run(chip=other), run(), file=page)
            shown = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.DOTALL)
            assert "Other" in shown

    def test_asserts(self, other: Path) -> None:
        pairs = "lane/2*4"
        assert_wavefronts("LDS.128", pairs, at_most=2)
        assert_conflict_free("LDS.128", pairs)
        with pytest.raises(AssertionError, match=r"LDS\.128 on Other"):
            assert_conflict_free("LDS.128", "lane*4", chip=other)

    def test_optimize(self, other: Path) -> None:
        access = Access("LDS.64", "lane*2 % 64")
        ours, theirs = optimize([access]), optimize([access], chip="A100")
        assert theirs.summary()["chip"] == "A100"
        assert "chip" not in ours.summary()
        assert (theirs.cost, theirs.blocks_per_sm) == (ours.cost, 32)
        found = optimize(fragment={"block_tile": "64x64x8", "thread_tile": "4x4"}, chip=other)
        assert found.chip == Chip.of(other)
        with pytest.raises(SearchError, match="more than 65536 bytes"):
            optimize([Access("LDS", "lane*600")], tile="1x20000", chip="T4", space={"pad": [0]})

    def test_sweep(self, other: Path, tmp_path: Path) -> None:
        grid = {"warp_shape": ["4x8", "2x16"], "chip": [None, "H200", other]}
        found = sweep(simulate, grid, progress=False).columns()
        assert found["chip"] == [None, "H200", "Other"] * 2
        assert found["cycles"][0] == found["cycles"][1] == simulate("4x8").cycles
        assert found["cycles"][2] == simulate("4x8", chip=other).cycles
        whole = sweep(simulate, {"warp_shape": ["4x8"]}, chip=other, progress=False)
        assert whole.columns()["cycles"] == [found["cycles"][2]]
        with pytest.raises(GridError, match="given twice, as an argument and in the grid"):
            sweep(simulate, {"chip": ["T4"]}, chip="T4", progress=False)
        with pytest.raises(ChipError, match="unknown chip 'T5'"):
            sweep(simulate, {"chip": ["T5"]}, progress=False)

        def row(step: int) -> Any:
            return "LDS.128", [step * lane for lane in range(32)]

        by_chip = sweep(row, {"step": 16, "chip": ["T4", other]}, progress=False).columns()
        assert by_chip["bank_conflicts"] == [0, 2]

        def own(chip: int) -> Any:
            return "LDS", [chip * lane for lane in range(32)]

        assert sweep(own, {"chip": [4, 8]}, progress=False).columns()["wavefronts"] == [1, 2]
        with pytest.raises(GridError, match="chip of its own"):
            sweep(lambda chip=4, step=4: None, {"step": [4]}, chip="T4", progress=False)

    def test_a_store_is_of_one_law(self, other: Path, tmp_path: Path) -> None:
        def run() -> Any:
            place = tmp_path / "kept.sqlite"
            return sweep(simulate, {"pad": [0, 4]}, chip=other, store=place, progress=False)

        assert run() == run()
        other.write_text(json.dumps(content(instructions=other_law()[:1])))
        with pytest.raises(Exception, match="another"):
            run()


SOURCE = """
__global__ void turn(float4* a) {
  __shared__ float4 s[32];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x % 8 + threadIdx.x / 24 * 8];
}
"""
READ = [16 * (lane % 8 + lane // 24 * 8) for lane in range(32)]  # 4 wavefronts, or by Other 3


class TestCompiled:
    @pytest.fixture(autouse=True)
    def needs_a_compiler(self) -> None:
        pytest.importorskip("cuda.bindings.nvrtc")

    def run(self, **options: Any) -> Any:
        args = [np.zeros(128, np.float32)]
        return replay_compiled(SOURCE, grid=1, block=32, args=args, **options)

    def test_a_chip_gives_the_architecture_and_the_law(self, other: Path) -> None:
        assert (self.run().arch, self.run().chip) == ("sm_90", None)
        ada = self.run(chip="RTX 4090")
        assert (ada.arch, ada.chip) == ("sm_89", "RTX 4090")
        assert self.run(chip="RTX 4090", arch="sm_80").arch == "sm_80"
        ours, theirs = self.run(), self.run(chip=other)
        loads = [report.totals()["load"]["wavefronts"] for report in (ours, theirs)]
        assert loads == [4, 3] == [int(count("LDS.128", READ, chip=chip).wavefronts)
                                   for chip in (None, other)]  # fmt: skip
        assert "on Other" in theirs.table().title

    @pytest.mark.parametrize(
        ("chip", "arch", "match"),
        [("RTX 4090", "sm_90", "sm_90 does not run on RTX 4090"),
         ("Jetson Orin", "sm_80", "does not run on Jetson Orin"),
         ("V100", None, "V100 runs code for sm_70, which is not replayed .*sm_80, sm_86"),
         ("B200", "sm_90", "sm_90 does not run on B200"),
         ("V100", "sm_80", "sm_80 does not run on V100")],
    )  # fmt: skip
    def test_code_that_it_cannot_run_is_refused(
        self, chip: str, arch: str | None, match: str
    ) -> None:
        with pytest.raises(LaunchError, match=match):
            self.run(chip=chip, arch=arch)

    def test_shared_memory_is_the_chips(self, other: Path) -> None:
        with pytest.raises(LaunchError, match=r"shared_bytes=102400, .*accepted for RTX 3080"):
            self.run(chip="RTX 3080", arch="sm_80", shared_bytes=100 * 1024)
        tiny = dict(content(), facts={"shared_bytes": {"value": 512, "source": "made up"}})
        other.write_text(json.dumps(tiny))
        with pytest.raises(LaunchError, match=r"shared_bytes=4, .*Other"):
            self.run(chip=other, shared_bytes=4)

    def test_chips_are_not_mixed_up_by_what_is_kept(self, other: Path) -> None:
        """Machine code is kept on disk and does not depend on the law; figures do."""

        def figures(chip: Any) -> Any:
            return self.run(chip=chip).totals()["load"]["wavefronts"]

        assert [*map(figures, [None, other, "H100", other, None])] == [4, 3, 4, 3, 4]

    def test_every_row_is_the_chips_count(self, other: Path) -> None:
        ours, theirs = self.run(), self.run(chip=other)
        for name in ("wavefronts", "ideal", "bank_conflicts"):
            at = theirs.instructions["opcode"].index("LDS.128")
            counts = count("LDS.128", READ, chip=other)
            assert theirs.instructions[name][at] == int(getattr(counts, name))
        for name in ("sectors", "ideal_sectors", "executed"):
            assert ours.instructions[name] == theirs.instructions[name]

    def test_matrices_are_counted_for_a_chip_that_has_them_alone(self) -> None:
        source = """
        __global__ void read(unsigned* a) {
          __shared__ __align__(16) unsigned s[128];
          s[threadIdx.x] = a[threadIdx.x];
          __syncwarp();
          unsigned at = (unsigned)__cvta_generic_to_shared(s) + threadIdx.x % 8 * 16, got;
          asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                       : "=r"(got) : "r"(at));
          a[threadIdx.x] = got;
        }
        """
        asked: dict[str, Any] = {"grid": 1, "block": 32, "args": [np.zeros(32, np.uint32)]}
        report = replay_compiled(source, chip="A100", **asked)
        assert report.instructions["wavefronts"][2] == 1
        assert report.instructions["opcode"][2].startswith("LDSM")
        with pytest.raises(LaunchError, match="V100 runs code for sm_70"):
            replay_compiled(source, chip="V100", **asked)
        with pytest.raises(LaunchError, match="sm_80 does not run on V100"):
            replay_compiled(source, chip="V100", arch="sm_80", **asked)


class TestCommand:
    def run(self, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
        code = main([*words, "--format", "json"])
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else said.err

    def test_chips(self, capsys: pytest.CaptureFixture[str]) -> None:
        _, found = self.run(capsys, "chips")
        rows = {row["chip"]: row for row in found["rows"]}
        assert [*rows] == [*CHIPS]
        measured = [name for name, row in rows.items() if row["law"] == "measured"]
        assert found["totals"] == {"chips": len(CHIPS), "measured": len(measured)}
        assert (
            rows["H100"]["measured"] == rows["H100"]["instructions"] > rows["V100"]["measured"] == 0
        )
        assert "https://" in rows["RTX 5090"]["sources"]["l2_bytes"]
        assert rows["B200"]["clock_mhz"] is None
        assert main(["chips"]) == 0
        table = capsys.readouterr().out.splitlines()
        (b200,) = [line for line in table if line.startswith("B200")]
        assert "10.0" in b200
        assert "not known" in b200

    def test_ops(self, capsys: pytest.CaptureFixture[str], other: Path) -> None:
        def listed(*words: str) -> dict[str, dict[str, Any]]:
            return {row["op"]: row for row in self.run(capsys, "ops", *words)[1]["rows"]}

        assert listed() == listed("--chip", "H200")
        assert set(listed()) - set(listed("--chip", "A100")) == {
            op for op in INSTRUCTIONS if op.startswith("STSM")
        }
        theirs = listed("--chip", str(other))
        assert (theirs["LDS.64"]["partners"], theirs["LDS.128"]["fuses"]) == ("i^4", False)

    @pytest.mark.parametrize(
        "words",
        [
            ["count", "--op", "LDS.128", "lane*4"],
            ["explain", "--op", "LDS.128", "lane*4"],
            ["simulate"],
            ["replay", "leimao.v05", "--m", "256"],
        ],
    )
    def test_counting_commands(
        self, capsys: pytest.CaptureFixture[str], other: Path, words: list[str]
    ) -> None:
        _, ours = self.run(capsys, *words)
        _, same = self.run(capsys, *words, "--chip", "h200")
        _, theirs = self.run(capsys, *words, "--chip", str(other))
        assert ours["totals"] == same["totals"] != theirs["totals"]
        assert {row["chip"] for row in theirs["rows"]} == {"Other"}
        assert all("chip" not in row for row in ours["rows"])
        code, said = self.run(capsys, *words, "--chip", "H300")
        assert (code, "unknown chip 'H300'" in said) == (2, True)

    def test_search_and_sweep(self, capsys: pytest.CaptureFixture[str], other: Path) -> None:
        words = ["optimize", "--tile", "32x32", "--access", "LDS.128: lane, 0"]
        _, found = self.run(capsys, *words, "--chip", str(other))
        assert found["totals"]
        _, swept = self.run(capsys, "sweep", "simulate", "--chip", "all", "--lds", "128")
        assert swept["totals"]["combinations"] == len(CHIPS)

    def test_compiled(
        self, capsys: pytest.CaptureFixture[str], other: Path, tmp_path: Path
    ) -> None:
        pytest.importorskip("cuda.bindings.nvrtc")
        source = tmp_path / "turn.cu"
        source.write_text(SOURCE)
        words = ["sass", str(source), "--arg", "zeros:f32[128]"]
        _, found = self.run(capsys, *words, "--chip", str(other))
        assert {row["chip"] for row in found["rows"]} == {"Other"}
        source.write_text(
            SOURCE + "int main() { float4* a; cudaMalloc(&a, 512); turn<<<1, 32>>>(a); }"
        )
        _, launched = self.run(capsys, "sass", str(source), "--chip", str(other))
        assert [row["chip"] for row in launched["rows"]] == [row["chip"] for row in found["rows"]]
        assert [row["wavefronts"] for row in launched["rows"]] == [
            row["wavefronts"] for row in found["rows"]
        ]
        code, said = self.run(capsys, *words, "--chip", "T4", "--arch", "sm_80")
        assert (code, "does not run on T4" in said) == (2, True)


def test_what_gpu_check_learns_is_a_chip(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Another law, from the command that learns it to the figures of every engine."""
    tables = {table["op"]: PhaseTable(**table) for table in other_law()}
    device = Gpu(0, "Somebody's GPU", 86, 28, 101376, "580.0", "13.0")
    monkeypatch.setattr("gpu_check.device.open_gpu", lambda index=0: device)
    monkeypatch.setattr("gpu_check.campaign.open_gpu", lambda index=0: device)
    monkeypatch.setattr("gpu_check.device.limits", lambda index=0: {"l2_bytes": 1 << 20})
    monkeypatch.setattr(
        "gpu_check.discovery.infer_phases",
        lambda op, **_: tables.get(op) or PhaseTable.of(op),
    )
    place = tmp_path / "learnt.json"
    words = ["gpu-check", "--phases", "--counters", "off", "--save", str(place)]
    for op in ("LDS.64", "LDS.128", "LDS"):
        words += ["--op", op]
    assert main(words) == 1  # two differ from the built-in law
    said = capsys.readouterr().out
    assert "i^4" in said
    assert "0-7, 24-31 | 8-23" in said
    chip = Chip.of(str(place))
    assert (chip.name, chip.multiprocessors, chip.l2_bytes) == ("Somebody-s GPU", 28, 1 << 20)
    assert chip.measured == ("LDS", "LDS.64", "LDS.128")
    for engine in ("python", "numpy", "numba"):
        wide = count("LDS.128", READ, chip=place, engine=engine)
        assert (int(wide.phases), int(wide.wavefronts), int(wide.bank_conflicts)) == (2, 3, 1)
        phases = [
            int(
                count("LDS.64", [8 * (i & ~p) for i in range(32)], chip=place, engine=engine).phases
            )
            for p in (1, 2, 4)
        ]
        assert phases == [2, 2, 1]
    told = explain("LDS.128", READ, chip=place)
    assert [tuple(phase.lanes) for phase in told.phases] == [WIDE, NARROW]
    assert told.wavefronts == 3
    pytest.importorskip("plotly")
    from viz import bank_heatmap

    drawn = bank_heatmap(told)
    assert next(iter(drawn.select_yaxes())).ticktext == ("phase 0 · 0", "1", "phase 1 · 0")
    _, row = TestCommand().run(capsys, "count", "--op", "LDS.128", "--chip", str(place),
                               "(lane%8 + lane/24*8)*4")  # fmt: skip
    assert row["totals"]["wavefronts"] == 3
