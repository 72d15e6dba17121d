"""Campaigns: their size, and going on where one was interrupted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_check import (
    DeviceError,
    Measurements,
    campaign,
    compare,
    load,
    simulated,
)
from gpu_check.campaign import full_plan, quick_plan
from gpu_check.clocks import as_accesses
from gpu_check.probe.ops import LOOPS, PROBE_OPS
from gpu_check.probe.patterns import draw
from simulator.cli import main
from simulator.law.instructions import instruction
from tests.gpu_samples import CHIP


def test_plans_have_the_promised_sizes() -> None:
    ops = [op for op in PROBE_OPS if op not in LOOPS]
    assert 1900 < sum(quick_plan(ops, counters=True).timed.values()) < 2200
    full = full_plan(ops, counters=True)
    assert sum(full.timed.values()) > 200_000
    assert sum(full.counted.values()) > 20_000


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

        monkeypatch.setattr(campaign, "open_gpu", lambda device: self.chip)
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

        monkeypatch.setattr(device, "open_gpu", lambda index: CHIP)
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
