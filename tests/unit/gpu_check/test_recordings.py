"""Measurements in files: what is kept, and which files are refused."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_check import (
    Measurements,
    RecordingError,
    compare,
    load,
    packaged,
    simulated,
)
from gpu_check.probe.ops import PROBE_OPS
from gpu_check.recordings import PackagedRecording, PackagedTable, packaged_table, save
from tests.examples import examples
from tests.gpu_samples import LANES, MEASURED


class TestRecording:
    def test_what_is_saved_is_loaded(self, tmp_path: Path) -> None:
        path = tmp_path / "kept.npz"
        timed = replace(MEASURED, op="STS.64", wavefronts=None, bank_conflicts=None)
        save(path, [MEASURED, timed], {"chip": "mine"})
        found = load(path)
        assert found.provenance == {"chip": "mine"}
        assert len(found) == 4
        first, second = found.measurements
        wanted, got = MEASURED.to_dict(), first.to_dict()
        assert got["accesses"] == {
            name: pytest.approx(column) for name, column in wanted["accesses"].items()
        }
        assert np.array_equal(first.addresses, MEASURED.addresses)
        assert second.op == "STS.64"
        assert second.wavefronts is None

    @pytest.mark.parametrize("keep", [0, 10, 400])
    def test_a_torn_file_is_refused(self, tmp_path: Path, keep: int) -> None:
        path = tmp_path / "torn.npz"
        save(path, [MEASURED], {})
        path.write_bytes(path.read_bytes()[:keep])
        with pytest.raises(RecordingError, match=r"torn.npz is not a whole recording.*record anew"):
            load(path)

    def test_a_changed_byte_is_noticed(self, tmp_path: Path) -> None:
        path = tmp_path / "bad.npz"
        save(path, [MEASURED] * 50, {})
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
        with pytest.raises(RecordingError):
            load(path)

    @given(data=st.data())
    @settings(
        max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    def test_any_damage_is_refused_in_a_line_or_changes_nothing(
        self, tmp_path: Path, data: st.DataObject
    ) -> None:
        path = tmp_path / "bad.npz"
        save(path, [MEASURED], {})
        kept = [each.to_dict() for each in load(path).measurements]
        damaged = bytearray(path.read_bytes())
        places = st.integers(0, len(damaged) - 1)
        changes = data.draw(st.dictionaries(places, st.integers(0, 255), min_size=1, max_size=8))
        for place, byte in changes.items():
            damaged[place] = byte
        path.write_bytes(damaged)
        said = ""
        try:
            found = [each.to_dict() for each in load(path).measurements]
        except RecordingError as error:
            found, said = kept, str(error)
        assert found == kept
        assert len(said) < 400 + len(str(path))

    @pytest.mark.parametrize("name", ["format", "op", "cycles"])
    def test_a_member_that_is_not_an_array_is_refused(self, tmp_path: Path, name: str) -> None:
        """NumPy gives what does not begin as an array does as bytes."""
        path, odd = tmp_path / "good.npz", tmp_path / "odd.npz"
        save(path, [MEASURED], {})
        with zipfile.ZipFile(path) as good, zipfile.ZipFile(odd, "w") as bad:
            for each in good.namelist():
                bad.writestr(each, b"x" if each == f"{name}.npy" else good.read(each))
        with pytest.raises(RecordingError, match=f"'{name} is not an array"):
            load(odd)

    @pytest.mark.parametrize(
        ("offset", "value"),
        [
            (4, 255),  # a version of ZIP that nobody knows: NotImplementedError
            (6, 1),  # encrypted: RuntimeError
            (8, 99),  # a compression that nobody knows: NotImplementedError
            (8, 14),  # LZMA, which the data is not
        ],
    )
    def test_what_another_zip_would_hold_is_refused(
        self, tmp_path: Path, offset: int, value: int
    ) -> None:
        path = tmp_path / "bad.npz"
        save(path, [MEASURED], {})
        damaged = bytearray(path.read_bytes())
        for signature, shift in ((b"PK\1\2", 2), (b"PK\3\4", 0)):  # the directory, each file
            at = damaged.find(signature)
            while at >= 0:
                damaged[at + shift + offset] = value
                at = damaged.find(signature, at + 4)
        path.write_bytes(damaged)
        with pytest.raises(RecordingError, match=r"bad.npz is not a whole recording.*record anew"):
            load(path)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("provenance", np.array("[" * 100_000)),  # RecursionError
            ("provenance", np.array("x" * 100_000)),
            ("names", np.array(["x" * 100_000])),
            ("names", np.array([f"LDS.{number}" for number in range(50_000)])),
        ],
    )
    def test_long_nonsense_is_refused_in_a_line(
        self, tmp_path: Path, name: str, value: Any
    ) -> None:
        path = tmp_path / "odd.npz"
        save(path, [MEASURED], {})
        with np.load(path) as arrays:
            columns = {**arrays, name: value}
        np.savez(path, **columns)
        with pytest.raises(RecordingError) as caught:
            load(path)
        assert len(str(caught.value)) < 600 + len(str(path))

    def test_an_array_too_large_for_memory_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: Any, **__: Any) -> None:
            raise MemoryError("Unable to allocate 64.0 TiB")

        path = tmp_path / "large.npz"
        save(path, [MEASURED], {})
        monkeypatch.setattr(np, "load", full)
        with pytest.raises(RecordingError, match=r"large.npz is not a whole.*allocate 64.0 TiB"):
            load(path)

    @pytest.mark.parametrize(
        ("name", "value", "says"),
        [
            ("format", np.array(99), "has format 99 (accepted: 1"),
            ("mask", np.zeros(3, dtype=np.uint32), "does not fit together: mask"),
            ("names", np.array(["LDS.256"]), "does not fit together: LDS.256"),
            ("op", np.full(2, 7, dtype=np.uint8), "does not fit together: op"),
            ("provenance", np.array("{"), "is not a whole recording"),
        ],
    )
    def test_what_does_not_fit_together_is_refused(
        self, tmp_path: Path, name: str, value: Any, says: str
    ) -> None:
        path = tmp_path / "odd.npz"
        save(path, [MEASURED], {})
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
        save(path, [MEASURED], {})
        with np.load(path) as arrays:
            columns = {**arrays, name: value}
        np.savez(path, **columns)
        with pytest.raises(RecordingError, match=rf"does not fit together: {name}\b"):
            load(path)

    def test_one_bare_array_is_refused(self, tmp_path: Path) -> None:
        np.save(tmp_path / "bare.npy", np.arange(3))
        with pytest.raises(RecordingError, match=r"bare\.npy is not a whole recording"):
            load(tmp_path / "bare.npy")

    def test_counted_rows_keep_their_counters_beside_timed_ones(self, tmp_path: Path) -> None:
        """As a full campaign has them: the first rows of an instruction counted, all timed."""
        path = tmp_path / "kept.npz"
        timed = replace(MEASURED, wavefronts=None, bank_conflicts=None)
        save(path, [MEASURED, timed], {})
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
        save(path, [replace(MEASURED, op="LDS.U.64")], {})
        assert load(path).measurements[0].op == "LDS.64"

    def test_sources_of_copies_come_back(self, tmp_path: Path) -> None:
        path = tmp_path / "kept.npz"
        row = np.tile(np.arange(0, 128, 4, dtype=np.uint32), (2, 1))
        cycles = np.array([2.0, 3.0])
        plain = Measurements("LDGSTS.E", row, np.array([1, 3], dtype=np.uint32), cycles=cycles)
        save(path, [plain, replace(plain, sources=row + np.uint32(128))], {})
        without, with_sources = load(path).measurements
        assert without.sources is None
        assert with_sources.sources is not None
        assert np.array_equal(with_sources.sources, row + 128)

    def test_nothing_cannot_be_saved(self, tmp_path: Path) -> None:
        with pytest.raises(RecordingError, match="no measurements to save"):
            save(tmp_path / "none.npz", [], {})

    def test_a_place_that_cannot_be_written_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(RecordingError, match="cannot be written"):
            save(tmp_path / "none" / "kept.npz", [MEASURED], {})


class TestPackaged:
    def test_the_names_are_those_of_the_files(self) -> None:
        data = files("gpu_check").joinpath("data")
        found = {Path(each.name) for each in data.iterdir()}
        # Copies have addresses in global memory too, and a format of their own.
        recordings = {path.stem for path in found if path.suffix == ".npz"}
        copies = {"h100_copies", "h100_copy_probes", "h100_tag_lines", "h200_copies"}
        copies |= {"h100_copies_again", "h200_copies_again", "h100_tiles", "h100_neighbours"}
        copies |= {"h100_neighbours_again", "h100_neighbour_probes", "h100_neighbour_atomics"}
        copies |= {"h100_im2col", "h100_slices"}
        assert recordings == {*get_args(PackagedRecording), *copies}
        assert {path.stem for path in found if path.suffix == ".csv"} == {*get_args(PackagedTable)}

    @pytest.mark.parametrize("name", get_args(PackagedRecording))
    def test_every_recording_is_whole(self, name: PackagedRecording) -> None:
        assert len(packaged(name)) > 100

    @pytest.mark.parametrize("name", get_args(PackagedTable))
    def test_every_table_has_rows(self, name: PackagedTable) -> None:
        assert packaged_table(name)

    def test_other_names_are_refused(self) -> None:
        with pytest.raises(
            RecordingError, match=r"no packaged data 'h200_acceses': did you mean h200"
        ):
            packaged("h200_acceses")  # type: ignore[arg-type]
        with pytest.raises(
            RecordingError, match=r"no packaged data '\.\./x': accepted: devices, h100_"
        ):
            packaged_table("../x")  # type: ignore[arg-type]
