"""gpu_check without a GPU: what it refuses, keeps, compares and infers, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_check import (
    CountersError,
    DeviceError,
    DiscoveryError,
    Measurements,
    NoGpuError,
    PhaseTable,
    RecordingError,
    campaign,
    compare,
    count_on_gpu,
    infer_phases,
    load,
    measure,
    packaged,
    simulated,
)
from gpu_check import counters as counters_module
from gpu_check.campaign import full_plan, quick_plan
from gpu_check.clocks import as_accesses
from gpu_check.device import Chip, open_chip
from gpu_check.gemm import GEMMS, run_gemm
from gpu_check.probe.ops import LOOPS, PROBE_OPS, probe_op, require_capability
from gpu_check.probe.patterns import PATTERNS, draw
from gpu_check.probe.probe import Probe
from gpu_check.recordings import save
from simulator import InstructionError, count
from simulator.cli import main
from simulator.cli.commands import cli
from simulator.law.instructions import INSTRUCTIONS, Instruction, instruction

LANES = np.arange(32)
CHIP = Chip(0, "Test chip", 80, 108, 166_912, "1.2", "12.0")


@pytest.fixture(autouse=True)
def no_kept_chip() -> None:
    open_chip.cache_clear()


def fake_cupy(monkeypatch: pytest.MonkeyPatch, devices: int | Exception) -> None:
    """A CuPy that finds so many devices, or fails to look."""

    class CUDARuntimeError(RuntimeError):
        pass

    def get_device_count() -> int:
        if isinstance(devices, Exception):
            raise CUDARuntimeError(str(devices))
        return devices

    runtime = types.SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError, getDeviceCount=get_device_count
    )
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))
    monkeypatch.setitem(sys.modules, "cupy", cupy)  # type: ignore[arg-type]


class TestNoGpu:
    def test_without_cupy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cupy", None)
        with pytest.raises(
            NoGpuError, match=r"CuPy cannot be imported.*bankwise\[gpu\].*--recorded"
        ):
            measure("LDS", [4 * LANES])

    def test_with_cupy_and_no_device(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake_cupy(monkeypatch, RuntimeError("cudaErrorNoDevice: no CUDA-capable device"))
        with pytest.raises(NoGpuError, match=r"no CUDA device: cudaErrorNoDevice.*nvidia-smi"):
            run_gemm("smem")

    def test_with_cupy_that_counts_no_device(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake_cupy(monkeypatch, 0)
        with pytest.raises(NoGpuError, match=r"no CUDA device: CuPy finds none.*--recorded"):
            open_chip()

    def test_with_cupy_of_another_cuda(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake_cupy(monkeypatch, RuntimeError("cudaErrorInsufficientDriver: CUDA driver version"))
        with pytest.raises(NoGpuError, match="install the CuPy of the driver's CUDA"):
            open_chip()

    def test_with_a_device_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake_cupy(monkeypatch, 2)
        with pytest.raises(DeviceError, match=r"no device 2 \(accepted: 0 to 1\)"):
            open_chip(2)

    def test_the_command_says_so_in_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(sys.modules, "cupy", None)
        assert main(["gpu-check"]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert "bankwise gpu-check --recorded" in said.err


def test_a_chip_too_old_for_an_instruction_is_refused() -> None:
    require_capability(CHIP, probe_op("cp.async.ca.16"))
    with pytest.raises(DeviceError, match=r"STSM.16.M88.4 needs sm_90, and device 0 \(Test chip\)"):
        require_capability(CHIP, probe_op("stmatrix.x4"))
    with pytest.raises(DeviceError, match=r"needs sm_75.*is sm_70"):
        require_capability(replace(CHIP, capability=70), probe_op("ldmatrix.x1"))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InstructionError, match="unknown instruction 'LDG'"):
        measure("LDG", [4 * LANES])
    with pytest.raises(DeviceError, match="unknown kernel 'smen': did you mean smem"):
        run_gemm("smen")
    with pytest.raises(DeviceError, match=r"add.f32 is a loop"):
        simulated(next(m for m in packaged("h200_loops").measurements if m.op == "add.f32"))


def test_importing_gpu_check_loads_nothing_heavy() -> None:
    code = "import gpu_check, sys; print(*{'cupy', 'numba', 'pandas', 'click'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split() == []


class TestCounters:
    def watched(self, monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
        """Put an `ncu` on the PATH that runs `script` with its log file as $log."""
        ncu = folder / "ncu"
        find = 'while [ "$1" != "--log-file" ]; do shift; done; log="$2"'
        ncu.write_text(f"#!/bin/sh\n{find}\n{script}\n", encoding="utf-8")
        ncu.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
        monkeypatch.setattr(counters_module, "open_chip", lambda device: CHIP)

    def test_without_ncu(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.watched(monkeypatch, tmp_path, "")
        monkeypatch.setenv("PATH", "")
        with pytest.raises(CountersError, match=r"ncu is not on the PATH.*--counters off"):
            count_on_gpu("LDS", [4 * LANES])

    def test_forbidden(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.watched(
            monkeypatch,
            tmp_path,
            'echo "==ERROR== ERR_NVGPUCTRPERM - no permission" > "$log"; exit 1',
        )
        with pytest.raises(CountersError, match="RestrictProfilingToAdminUsers=0"):
            count_on_gpu("LDS", [4 * LANES])

    def test_failing(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.watched(monkeypatch, tmp_path, "echo broken; exit 9")
        with pytest.raises(CountersError, match=r"exit code 9\): broken .next: try `ncu"):
            count_on_gpu("LDS", [4 * LANES])

    def table(self, counts: list[tuple[int, int]]) -> str:
        names = ",".join(f'"{name}"' for name in probe_op("LDS").metrics)
        rows = [f'"{i}","{w:,}","{c:,}"' for i, (w, c) in enumerate(counts)]
        units = '"","",""'
        return "\n".join(["==PROF== watched", f'"ID",{names}', units, *rows])

    def test_the_kernels_own_cost_is_taken_off(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        # The kernel costs 5 wavefronts itself; the accesses 100 and 32, with 99 and 0 conflicts.
        text = self.table([(805, 792), (1605, 1584), (1605, 1584), (517, 0)])
        self.watched(monkeypatch, tmp_path, f"cat > \"$log\" <<'EOF'\n{text}\nEOF")
        found = count_on_gpu("LDS", [4 * LANES, 128 * LANES])
        assert found.to_dict()["accesses"]["wavefronts"] == [100, 32]
        assert found.to_dict()["accesses"]["bank_conflicts"] == [99, 0]

    def test_a_count_that_is_no_multiple_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        text = self.table([(13, 0), (21, 0), (22, 0)])
        self.watched(monkeypatch, tmp_path, f"cat > \"$log\" <<'EOF'\n{text}\nEOF")
        with pytest.raises(CountersError, match="are no multiple of 16 executions"):
            count_on_gpu("LDS", [4 * LANES])

    def test_missing_launches_are_noticed(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        text = self.table([(13, 0), (21, 0)])
        self.watched(monkeypatch, tmp_path, f"cat > \"$log\" <<'EOF'\n{text}\nEOF")
        with pytest.raises(CountersError, match="ncu saw 2 launches, and 3 were made"):
            count_on_gpu("LDS", [4 * LANES])


class TestRecording:
    measured = Measurements(
        "LDS.64",
        np.stack([8 * LANES, 0 * LANES]).astype(np.uint32),
        np.array([0xFFFFFFFF, 1], dtype=np.uint32),
        cycles=np.array([2.01, 1.08]),
        spread=np.zeros(2),
        wavefronts=np.array([2, 1]),
        bank_conflicts=np.array([0, 0]),
    )

    def test_what_is_saved_is_loaded(self, tmp_path: Path) -> None:
        path = tmp_path / "kept.npz"
        timed = replace(self.measured, op="STS.64", wavefronts=None, bank_conflicts=None)
        save(path, [self.measured, timed], {"chip": "mine"})
        found = load(path)
        assert found.provenance == {"chip": "mine"}
        assert len(found) == 4
        first, second = found.measurements
        wanted, got = self.measured.to_dict(), first.to_dict()
        assert got["accesses"] == {
            name: pytest.approx(column) for name, column in wanted["accesses"].items()
        }
        assert np.array_equal(first.addresses, self.measured.addresses)
        assert second.op == "STS.64"
        assert second.wavefronts is None

    @pytest.mark.parametrize("keep", [0, 10, 400])
    def test_a_torn_file_is_refused(self, tmp_path: Path, keep: int) -> None:
        path = tmp_path / "torn.npz"
        save(path, [self.measured], {})
        path.write_bytes(path.read_bytes()[:keep])
        with pytest.raises(RecordingError, match=r"torn.npz is no whole recording.*record anew"):
            load(path)

    def test_a_changed_byte_is_noticed(self, tmp_path: Path) -> None:
        path = tmp_path / "bad.npz"
        save(path, [self.measured] * 50, {})
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
        with pytest.raises(RecordingError):
            load(path)

    @pytest.mark.parametrize(
        ("name", "value", "says"),
        [
            ("format", np.array(99), "has format 99 (accepted: 1"),
            ("mask", np.zeros(3, dtype=np.uint32), "does not fit together: mask"),
            ("names", np.array(["LDS.256"]), "does not fit together: LDS.256"),
            ("op", np.full(2, 7, dtype=np.uint8), "does not fit together: op"),
            ("provenance", np.array("{"), "is no whole recording"),
        ],
    )
    def test_what_does_not_fit_together_is_refused(
        self, tmp_path: Path, name: str, value: Any, says: str
    ) -> None:
        path = tmp_path / "odd.npz"
        save(path, [self.measured], {})
        with np.load(path) as arrays:
            columns = {**arrays, name: value}
        np.savez(path, **columns)
        with pytest.raises(RecordingError) as caught:
            load(path)
        assert says in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("op", np.array(0, dtype=np.uint8)),
            ("op", np.array([-1, 0])),
            ("op", np.zeros(2)),
            ("address", np.full((2, 32), 0.5)),
            ("address", np.full((2, 32), -8)),
            ("mask", np.array(["a", "b"])),
            ("wavefronts", np.array(["a", "b"])),
            ("cycles", np.array(["a", "b"])),
            ("cycles", np.array([np.inf, 1], dtype=np.float32)),
            ("cycles", np.array([1e300, 1])),
            ("names", np.array("LDS.64")),
            ("names", np.array([["LDS.64"]])),
            ("format", np.array([1, 1])),
            ("format", np.array(1.5)),
            ("provenance", np.array("[1]")),
        ],
    )
    def test_what_is_of_another_type_or_shape_is_refused(
        self, tmp_path: Path, name: str, value: Any
    ) -> None:
        path = tmp_path / "odd.npz"
        save(path, [self.measured], {})
        with np.load(path) as arrays:
            columns = {**arrays, name: value}
        np.savez(path, **columns)
        with pytest.raises(RecordingError, match=rf"does not fit together: {name}\b"):
            load(path)

    def test_one_bare_array_is_refused(self, tmp_path: Path) -> None:
        np.save(tmp_path / "bare.npy", np.arange(3))
        with pytest.raises(RecordingError, match=r"bare\.npy is no whole recording"):
            load(tmp_path / "bare.npy")

    def test_counted_rows_keep_their_counters_beside_timed_ones(self, tmp_path: Path) -> None:
        """As a full campaign has them: the first rows of an instruction counted, all timed."""
        path = tmp_path / "kept.npz"
        timed = replace(self.measured, wavefronts=None, bank_conflicts=None)
        save(path, [self.measured, timed], {})
        first, second = load(path).measurements
        assert (first.op, second.op) == ("LDS.64", "LDS.64")
        assert first.wavefronts is not None
        assert first.wavefronts.tolist() == [2, 1]
        assert second.wavefronts is None
        assert second.cycles is not None
        both = [compare(simulated(each), each) for each in (first, second)]
        assert [each.wavefronts_equal for each in both] == [2, None]

    @pytest.mark.parametrize("op", sorted(PROBE_OPS))
    def test_every_instruction_comes_back(self, tmp_path: Path, op: str) -> None:
        path = tmp_path / "kept.npz"
        # Beyond 64 KiB, as a block of an H200 can have it.
        addresses = (204_800 + 16 * LANES).astype(np.uint32)[None]
        save(path, [Measurements(op, addresses, np.array([5], dtype=np.uint32))], {})
        (found,) = load(path).measurements
        assert (found.op, found.masks.tolist()) == (op, [5])
        assert np.array_equal(found.addresses, addresses)
        assert (found.cycles, found.wavefronts) == (None, None)

    def test_an_alias_is_saved_by_its_name(self, tmp_path: Path) -> None:
        path = tmp_path / "kept.npz"
        save(path, [replace(self.measured, op="LDS.U.64")], {})
        assert load(path).measurements[0].op == "LDS.64"

    def test_nothing_cannot_be_saved(self, tmp_path: Path) -> None:
        with pytest.raises(RecordingError, match="no measurements to save"):
            save(tmp_path / "none.npz", [], {})

    def test_a_place_that_cannot_be_written_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(RecordingError, match="cannot be written"):
            save(tmp_path / "none" / "kept.npz", [self.measured], {})


class TestCompare:
    def test_equal_and_different_accesses(self) -> None:
        measured = TestRecording.measured
        assert compare(simulated(measured), measured).equal
        wrong = replace(measured, wavefronts=np.array([2, 3]))
        comparison = compare(simulated(wrong), wrong)
        assert comparison.differing == (1,)
        assert comparison.wavefronts_equal == 1
        assert "access 1, mask 0x00000001: the chip says" in comparison.worst[0]
        assert "LDS.64, silicon rule: 1 wavefront" in comparison.worst[0]

    def test_cycles_too_far_off_differ(self) -> None:
        late = replace(TestRecording.measured, cycles=np.array([2.01, 3.2]))
        assert compare(simulated(late), late).differing == (1,)

    def test_the_published_rule_differs_from_the_chip(self) -> None:
        loads = next(m for m in packaged("h200_accesses").measurements if m.op == "LDS.128")
        published = compare(simulated(loads, rule="documented"), loads)
        assert 0.6 < (published.wavefronts_equal or 0) / len(loads) < 0.95


def model_cost(known: Instruction, rule: str = "silicon", figure: str = "wavefronts") -> Any:
    def cost(op: str, addresses: Any, masks: Any) -> Any:
        bits = 0xFFFFFFFF if known.is_matrix else masks
        return getattr(count(known, addresses, bits, rule=rule), figure).astype(float)

    return cost


class TestInference:
    @pytest.mark.parametrize("op", [op for op in PROBE_OPS if op not in LOOPS])
    def test_a_models_law_is_found_again(self, op: str) -> None:
        found = infer_phases(op, cost=model_cost(instruction(op)))
        assert found.differences(PhaseTable.of(op)) == []

    @pytest.mark.parametrize("op", ["LDS.128", "STS.128", "LDSM.16.M88.2", "ATOMS.CAS"])
    def test_by_cycles_too(self, op: str) -> None:
        cost = model_cost(instruction(op), figure="cycles")
        assert infer_phases(op, cost=cost).differences(PhaseTable.of(op)) == []

    def test_another_law_is_found_and_told_apart(self) -> None:
        cost = model_cost(instruction("LDS.128"), rule="documented")
        found = infer_phases("LDS.128", cost=cost)
        assert found.phases == PhaseTable.of("LDS.128").phases
        assert (found.fused, found.partners) == ((), ())
        assert len(found.differences(PhaseTable.of("LDS.128"))) == 4

    @given(phases=st.sampled_from([1, 2, 4]), fuses=st.booleans(), passes=st.sampled_from([1, 2]))
    @settings(max_examples=12)
    def test_any_law_of_this_kind_is_found(self, phases: int, fuses: bool, passes: int) -> None:
        fuses = fuses and phases > 1
        known = replace(instruction("LDS.128"), phases=phases, fuses=fuses, passes=passes)
        found = infer_phases("LDS.128", cost=model_cost(known))
        expected = PhaseTable.of(known)
        assert found == replace(expected, fused=expected.fused if fuses else ())

    def test_strided_phases_are_found(self) -> None:
        """A chip that serves lanes 0, 4, 8, ... together: an order no instruction here has."""
        order = LANES.reshape(8, 4).T.reshape(32)
        plain = model_cost(instruction("STS.128"))

        def cost(op: str, addresses: Any, masks: Any) -> Any:
            assert (masks == 0xFFFFFFFF).all()
            return plain(op, addresses[:, order], masks)

        found = infer_phases("STS.128", cost=cost)
        assert found.phases == tuple(tuple(range(first, 32, 4)) for first in range(4))

    def test_half_a_cycle_is_no_answer(self) -> None:
        with pytest.raises(DiscoveryError, match="too far from a whole number"):
            infer_phases("LDS", cost=lambda op, addresses, masks: np.full(len(addresses), 1.5))

    def test_hidden_phases_are_no_answer(self) -> None:
        cost = model_cost(instruction("ATOMS.EXCH.64"), figure="cycles")
        with pytest.raises(DiscoveryError, match="clocks cannot tell its phases apart"):
            infer_phases("ATOMS.EXCH.64", cost=cost)

    def test_tables_are_kept_with_their_provenance(self) -> None:
        kept = json.loads(PhaseTable.of("LDS.64").to_json({"chip": "mine"}))
        assert kept["provenance"] == {"chip": "mine"}
        assert kept["table"]["partners"] == [1, 2]


@given(op=st.sampled_from([op for op in PROBE_OPS if op not in LOOPS]), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_drawn_accesses_are_accepted(op: str, seed: int) -> None:
    known = instruction(op)
    drawn = draw(known, 48, seed)
    counts = count(known, drawn.addresses, None if known.is_matrix else drawn.masks)
    assert counts.wavefronts.shape == (48,)
    assert set(drawn.patterns.tolist()) == set(PATTERNS)
    assert np.array_equal(drawn.addresses, draw(known, 48, seed).addresses)


def test_plans_have_the_promised_sizes() -> None:
    ops = [op for op in PROBE_OPS if op not in LOOPS]
    assert 1900 < sum(quick_plan(ops, counters=True).timed.values()) < 2200
    full = full_plan(ops, counters=True)
    assert sum(full.timed.values()) > 200_000
    assert sum(full.counted.values()) > 20_000


def test_every_struct_of_the_probe_is_a_form_and_the_reverse() -> None:
    import re
    from importlib.resources import files

    source = files("gpu_check").joinpath("cuda", "probe.cu").read_text(encoding="utf-8")
    structs = re.findall(r"^(?:LOAD|STORE|REDUCE|STRUCT|COPY)\((\w+)", source, re.MULTILINE)
    assert sorted(structs) == sorted(each.struct for each in PROBE_OPS.values())
    assert set(PROBE_OPS) == {*INSTRUCTIONS, *LOOPS}


def test_every_kernel_has_its_source_and_its_catalogue_entry() -> None:
    from gpu_check.device import source

    for gemm in GEMMS.values():
        assert f" {gemm.entry}(" in source(f"{gemm.file}.cu")
        assert gemm.replay(1024).totals()["all"]["wavefronts"] >= 0


class TestCommand:
    def test_recorded(self) -> None:
        result = CliRunner().invoke(cli, ["gpu-check", "--recorded", "--op", "LDS.64"])
        assert result.exception is None
        assert "LDS.64" in result.output

    def test_recorded_kernels_as_json(self) -> None:
        result = CliRunner().invoke(
            cli, ["gpu-check", "--recorded", "--kernels", "--format", "json"]
        )
        rows = json.loads(result.output)["rows"]
        assert [row["equal"] for row in rows] == [True] * len(GEMMS)

    def test_a_difference_is_exit_code_1(self, tmp_path: Path) -> None:
        path = tmp_path / "wrong.npz"
        save(path, [replace(TestRecording.measured, wavefronts=np.array([2, 3]))], {})
        assert main(["gpu-check", "--load", str(path)]) == 1

    def test_a_damaged_recording_is_exit_code_2(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "bad.npz"
        path.write_bytes(b"PK nothing")
        assert main(["gpu-check", "--load", str(path)]) == 2
        assert "is no whole recording" in capsys.readouterr().err

    def test_accesses_without_figures_are_exit_code_2(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "bare.npz"
        save(
            path,
            [
                replace(
                    TestRecording.measured,
                    cycles=None,
                    spread=None,
                    wavefronts=None,
                    bank_conflicts=None,
                )
            ],
            {},
        )
        assert main(["gpu-check", "--load", str(path)]) == 2
        assert "no measurements of any instruction" in capsys.readouterr().err

    def test_nothing_to_compare_is_exit_code_2(self, tmp_path: Path) -> None:
        path = tmp_path / "kept.npz"
        save(path, [TestRecording.measured], {})
        assert main(["gpu-check", "--load", str(path), "--op", "STS"]) == 2

    @pytest.mark.parametrize(
        ("mode", "odd"),
        [
            ("--recorded", ["--save", "x.npz"]),
            ("--recorded", ["--load", "x.npz"]),
            ("--recorded", ["--full"]),
            ("--recorded", ["--phases"]),
            ("--recorded", ["--counters", "off"]),
            ("--recorded", ["--device", "1"]),
            ("--recorded", ["--seed", "1"]),
            ("--recorded --kernels", ["--op", "LDS"]),
            ("--load x.npz", ["--kernels"]),
            ("--load x.npz", ["--save", "y.npz"]),
            ("--kernels", ["--op", "LDS"]),
            ("--kernels", ["--save", "x.npz"]),
            ("--kernels", ["--phases"]),
            ("--phases", ["--full"]),
            ("--phases", ["--save", "x.npz"]),
        ],
    )
    def test_an_option_that_would_be_ignored_is_refused(
        self, mode: str, odd: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["gpu-check", *mode.split(), *odd]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert f"{odd[0]}: " in said.err
        assert "would be ignored" in said.err

    def test_a_negative_seed_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["gpu-check", "--seed", "-1"]) == 2
        assert "--seed" in capsys.readouterr().err


def test_addresses_beyond_a_blocks_shared_memory_are_refused() -> None:
    probe = object.__new__(Probe)
    probe.op, probe.chip, probe._shared = probe_op("LDS"), CHIP, 1024
    addresses, masks = np.array([4 * LANES + 900]), np.array([0xFFFFFFFF], dtype=np.uint32)
    with pytest.raises(DeviceError, match=r"addresses reach byte 1040.*has 1024 .accepted: addr"):
        probe.load(addresses, masks, None)


class TestCampaign:
    """An interrupted campaign, with the model in the chip's place."""

    @pytest.fixture
    def measured(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Names of what was measured, in order."""
        done: list[str] = []

        def timed(op: str, addresses: Any, masks: Any, *, device: int) -> Measurements:
            if done.count(op) == 0 and len(done) == self.interrupt_after:
                raise KeyboardInterrupt
            done.append(op)
            bare = Measurements(op, *as_accesses(op, addresses, masks))
            cycles = simulated(bare).cycles.astype(float)
            return replace(bare, cycles=cycles, spread=np.zeros(len(cycles)))

        def counted(batches: Any, *, device: int, progress: Any) -> list[Measurements]:
            found = []
            for batch in batches:
                done.append(f"{batch.op} counts")
                bare = Measurements(batch.op, batch.addresses, batch.masks)
                counts = simulated(bare)
                found.append(
                    replace(
                        bare,
                        wavefronts=counts.wavefronts.astype(int),
                        bank_conflicts=counts.bank_conflicts.astype(int),
                    )
                )
            return found

        monkeypatch.setattr(campaign, "open_chip", lambda device: self.chip)
        monkeypatch.setattr(campaign, "Probe", lambda op, device: None)
        monkeypatch.setattr(campaign, "wrong_accesses", lambda probe, addresses, masks: self.wrong)
        monkeypatch.setattr(campaign, "measure", timed)
        monkeypatch.setattr(campaign, "count_batches", counted)
        return done

    interrupt_after = -1
    wrong: tuple[int, ...] = ()
    chip = CHIP
    plan = quick_plan(["LDS", "STS", "LDS.64"], counters=True)

    def test_it_goes_on_where_it_stopped(self, measured: list[str], tmp_path: Path) -> None:
        self.interrupt_after = 2
        with pytest.raises(KeyboardInterrupt):
            campaign.run(self.plan, folder=tmp_path)
        assert measured == ["LDS", "STS"]
        self.interrupt_after = -1
        kept = campaign.run(self.plan, folder=tmp_path)
        assert measured[2:] == ["LDS.64", "LDS counts", "LDS.64 counts", "STS counts"]
        assert all(compare(simulated(each), each).equal for each in kept)
        assert sum(map(len, kept)) == sum(self.plan.timed.values())
        assert campaign.run(self.plan, folder=tmp_path)[0].op == "LDS"
        assert len(measured) == 6  # nothing anew

    def test_a_damaged_part_is_measured_anew(self, measured: list[str], tmp_path: Path) -> None:
        campaign.run(self.plan, folder=tmp_path)
        part = next(tmp_path.glob("STS.clocks.*"))
        part.write_bytes(part.read_bytes()[:100])
        campaign.run(self.plan, folder=tmp_path)
        assert measured[6:] == ["STS"]

    def test_a_plan_of_other_size_is_measured_anew(
        self, measured: list[str], tmp_path: Path
    ) -> None:
        campaign.run(self.plan, folder=tmp_path)
        campaign.run(quick_plan(["LDS"], counters=False), folder=tmp_path)
        assert measured[6:] == ["LDS"]

    def test_another_chips_parts_are_measured_anew(
        self, measured: list[str], tmp_path: Path
    ) -> None:
        campaign.run(self.plan, folder=tmp_path)
        self.chip = replace(CHIP, index=1)
        campaign.run(self.plan, folder=tmp_path)
        assert measured[6:] == measured[:6]

    def test_parts_of_other_accesses_are_measured_anew(
        self, measured: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        campaign.run(self.plan, folder=tmp_path)
        # As a version that draws others would.
        monkeypatch.setattr(campaign, "draw", lambda known, n, seed: draw(known, n, seed + 1))
        kept = campaign.run(self.plan, folder=tmp_path)
        assert measured[6:] == measured[:6]
        wanted = draw(instruction("LDS"), self.plan.timed["LDS"], 2)
        addresses, _ = as_accesses("LDS", wanted.addresses, wanted.masks)
        assert np.array_equal(kept[0].addresses, addresses)

    def test_a_part_that_holds_nothing_is_measured_anew(
        self, measured: list[str], tmp_path: Path
    ) -> None:
        campaign.run(self.plan, folder=tmp_path)
        part = next(tmp_path.glob("STS.counts.*"))
        with np.load(part) as arrays:
            columns = {
                name: arrays[name] if arrays[name].ndim == 0 else arrays[name][:0]
                for name in arrays
            }
        np.savez(part, **columns)
        campaign.run(self.plan, folder=tmp_path)
        assert measured[6:] == ["STS counts"]

    def test_a_part_without_its_figures_is_measured_anew(
        self, measured: list[str], tmp_path: Path
    ) -> None:
        campaign.run(self.plan, folder=tmp_path)
        part = next(tmp_path.glob("STS.counts.*"))
        part.write_bytes(next(tmp_path.glob("STS.clocks.*")).read_bytes())
        campaign.run(self.plan, folder=tmp_path)
        assert measured[6:] == ["STS counts"]

    def test_parts_go_when_all_is_kept(self, measured: list[str], tmp_path: Path) -> None:
        folder = tmp_path / "mine.npz.parts"
        campaign.run(self.plan, folder=folder)
        (folder / "notes.txt").write_text("mine", encoding="utf-8")
        campaign.forget(self.plan, folder)
        assert [path.name for path in folder.iterdir()] == ["notes.txt"]
        campaign.run(self.plan, folder=folder)
        assert measured[6:] == measured[:6]
        (folder / "notes.txt").unlink()
        campaign.forget(self.plan, folder)
        assert not folder.exists()

    def test_the_command_keeps_parts_until_the_file_is_written(
        self, measured: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from gpu_check import device

        monkeypatch.setattr(device, "open_chip", lambda index: CHIP)
        place = tmp_path / "mine.parts"
        words = ["gpu-check", "--op", "LDS", "--op", "STS", "--counters", "off"]
        self.interrupt_after = 1
        assert main([*words, "--save", str(place)]) == 130
        assert len(list((tmp_path / "mine.parts.parts").iterdir())) == 1
        self.interrupt_after = -1
        assert main([*words, "--save", str(place)]) == 0
        assert measured == ["LDS", "STS"]
        assert [path.name for path in tmp_path.iterdir()] == ["mine.parts"]
        assert {each.op for each in load(place).measurements} == {"LDS", "STS"}
        assert main([*words, "--save", str(place)]) == 0
        assert measured == ["LDS", "STS", "LDS", "STS"]

    def test_wrong_bytes_end_it(self, measured: list[str]) -> None:
        self.wrong = (3,)
        with pytest.raises(DeviceError, match="LDS did not move the right bytes for 1 accesses"):
            campaign.run(self.plan)
        assert measured == []


def test_a_comparison_gives_its_points() -> None:
    """As viz.parity draws them, the bypassing copy's without clocks."""
    for measured in packaged("h200_accesses").measurements[:3]:
        comparison = compare(simulated(measured), measured)
        points = comparison.points()
        assert {len(column) for column in points.values()} == {len(measured)}
        assert points["wavefronts"] == points["measured_wavefronts"]
        off = np.array(points["measured_cycles"]) - np.array(points["cycles"])
        np.testing.assert_allclose(off, comparison.over)
