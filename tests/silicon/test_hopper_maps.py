"""im2col copies and interleaved maps of ranks 3 to 5: an H100's, and its driver's bytes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from importlib.resources import as_file, files
from typing import Any, ClassVar

import numpy as np
import pytest

from gpu_check.hopper import im2col, slices, tiles
from gpu_check.hopper.cases import fill
from simulator.errors import MemoryAccessError
from simulator.sass.run.map_fields import MapFields, box_bytes
from simulator.sass.run.reductions import reduction
from simulator.sass.run.rows import ArrayMemory
from simulator.sass.run.tensor_map import decode, encode
from simulator.sass.run.tma import load_tile, store_tile

BASE = 0x7F00_0000_0000
TENSOR = fill().view(np.uint8)[: 2 * tiles.TENSOR_BYTES]


def _recorded(name: str) -> dict[str, Any]:
    with as_file(files("gpu_check").joinpath(f"data/h100_{name}.npz")) as path:
        return dict(np.load(path, allow_pickle=False))


def _fields(told: dict[str, Any]) -> MapFields:
    return MapFields(**{k: tuple(v) if isinstance(v, list) else v for k, v in told.items()})


class TestDrawnCopies:
    recorded: ClassVar = _recorded("im2col")
    told: ClassVar = [json.loads(each) for each in recorded["copy"].tolist()]
    happened: ClassVar = recorded["happened"].tolist()

    def test_they_are_the_copies_that_are_asked_for(self) -> None:
        assert self.told == [json.loads(json.dumps(asdict(x))) for x in im2col.drawn_copies()]
        provenance = json.loads(str(self.recorded["provenance"]))
        assert provenance["chip"]["capability"] == 90
        assert Counter(self.happened) == {
            "arrived": 294, "late": 53, "refused": 204, "not tried": 95,
        }  # fmt: skip
        assert not self.recorded["status"].any()

    def test_the_maps_are_the_drivers(self) -> None:
        """The map of a copy that the chip refused was not kept."""
        kinds = Counter[tuple[str, int]]()
        for told, image in zip(self.told, self.recorded["image"], strict=True):
            if image.any():
                fields = replace(_fields(told["fields"]), address=BASE)
                assert encode(fields) == image.tobytes()
                assert decode(image.tobytes()) == fields
                kinds[fields.kind, fields.rank] += 1
        assert kinds == {
            ("im2col", 3): 125, ("im2col", 4): 90, ("im2col", 5): 41,
            ("tiled", 3): 37, ("tiled", 4): 27, ("tiled", 5): 27,
        }  # fmt: skip

    def test_every_byte_is_the_chips(self) -> None:
        """An interleaved copy may bring more than its map says; the kernel looked too soon then."""
        found = Counter[tuple[str, bool]]()
        for told, happened, digest in zip(
            self.told, self.happened, self.recorded["digest"].tolist(), strict=True
        ):
            fields = _fields(told["fields"])
            if happened not in ("arrived", "late") or _looked_too_soon(told, happened):
                continue
            assert im2col.digest_of(_changed(fields, told)) == digest, told
            assert happened == "arrived" or fields.bytes != box_bytes(fields)
            found[told["way"], bool(fields.interleave)] += 1
        assert found == {
            ("load", False): 225, ("store", False): 10, ("add", False): 3,
            ("load", True): 60, ("store", True): 25,
        }  # fmt: skip

    def test_what_the_chip_refuses_is_refused(self) -> None:
        refused = [told for told, how in zip(self.told, self.happened, strict=True)
                   if how == "refused"]  # fmt: skip
        assert len(refused) == 204
        for told in refused:
            fields = _fields(told["fields"])
            with pytest.raises(MemoryAccessError):
                _changed(fields, told)


class TestDrawnSlices:
    """Loads through interleaved maps: boxes of up to 256 before the last axis, and pixels."""

    recorded: ClassVar = _recorded("slices")
    told: ClassVar = [json.loads(each) for each in recorded["copy"].tolist()]
    happened: ClassVar = recorded["happened"].tolist()

    def test_they_are_the_copies_that_are_asked_for(self) -> None:
        assert self.told == [json.loads(json.dumps(asdict(x))) for x in slices.drawn_slices()]
        assert json.loads(str(self.recorded["provenance"]))["chip"]["capability"] == 90
        assert Counter(self.happened) == {"late": 405, "arrived": 207, "refused": 12}
        assert not self.recorded["status"].any()

    def test_the_maps_are_the_drivers(self) -> None:
        """The map of a copy that the chip refused was not kept."""
        for told, image in zip(self.told, self.recorded["image"], strict=True):
            if image.any():
                fields = replace(_fields(told["fields"]), address=BASE)
                assert encode(fields) == image.tobytes()
                assert decode(image.tobytes()) == fields
        assert self.recorded["image"].any(axis=1).sum() == 612

    def test_every_byte_is_the_chips(self) -> None:
        found = Counter[tuple[str, int]]()
        for told, happened, digest in zip(
            self.told, self.happened, self.recorded["digest"].tolist(), strict=True
        ):
            fields = _fields(told["fields"])
            if happened == "refused" or _looked_too_soon(told, happened):
                continue
            assert im2col.digest_of(_changed(fields, told)) == digest, told
            found[fields.kind, fields.rank] += 1
        assert found == {
            ("im2col", 3): 76, ("im2col", 4): 108, ("im2col", 5): 52,
            ("tiled", 3): 63, ("tiled", 4): 216, ("tiled", 5): 36,
        }  # fmt: skip

    def test_what_the_chip_refuses_is_refused(self) -> None:
        for told, happened in zip(self.told, self.happened, strict=True):
            if happened == "refused":
                with pytest.raises(MemoryAccessError, match="bounding box"):
                    _changed(_fields(told["fields"]), told)


def _looked_too_soon(told: dict[str, Any], happened: str) -> bool:
    """Whether the kernel waited for fewer bytes than the load brings: those that the map says."""
    fields = _fields(told["fields"])
    more = bool(fields.interleave) and fields.bytes > box_bytes(fields)
    return told["way"] == "load" and happened == "arrived" and more


def _changed(fields: MapFields, told: dict[str, Any]) -> Any:
    """What the model changes: shared memory by a load, the tensor by others."""
    memory = ArrayMemory(BASE, TENSOR.copy())
    shared, placed = tiles.shared_before().copy(), replace(fields, address=BASE)
    if told["way"] == "load":
        load_tile(placed, told["at"], memory, [shared], told["place"], told["offsets"])
        return shared ^ tiles.shared_before()
    combine = reduction("add", fields.element) if told["way"] == "add" else None
    store_tile(placed, told["at"], memory, shared, told["place"], combine)
    return memory.data ^ TENSOR
