"""im2col copies and interleaved maps of ranks 3 to 5: an H100's, and its driver's bytes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from importlib.resources import as_file, files
from typing import Any, ClassVar

import numpy as np
import pytest

from gpu_check.hopper import im2col, tiles
from gpu_check.hopper.cases import fill
from simulator.errors import MemoryAccessError, UnsupportedError
from simulator.sass.run.map_fields import SLICE_BOX, MapFields, box_bytes
from simulator.sass.run.reductions import reduction
from simulator.sass.run.rows import ArrayMemory
from simulator.sass.run.tensor_map import decode, encode
from simulator.sass.run.tma import load_tile, store_tile

BASE = 0x7F00_0000_0000
TENSOR = fill().view(np.uint8)[: 2 * tiles.TENSOR_BYTES]


def _recorded() -> dict[str, Any]:
    with as_file(files("gpu_check").joinpath("data/h100_im2col.npz")) as path:
        return dict(np.load(path, allow_pickle=False))


def _fields(told: dict[str, Any]) -> MapFields:
    return MapFields(**{k: tuple(v) if isinstance(v, list) else v for k, v in told.items()})


class TestDrawnCopies:
    recorded: ClassVar = _recorded()
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
            sliced = bool(fields.interleave)
            if happened not in ("arrived", "late") or (sliced and fields.kind == "im2col"):
                continue
            early = sliced and happened == "arrived" and fields.bytes > box_bytes(fields)
            if early and told["way"] == "load":
                continue
            assert im2col.digest_of(self.changed(fields, told)) == digest, told
            assert happened == "arrived" or fields.bytes != box_bytes(fields)
            found[told["way"], sliced] += 1
        assert found == {
            ("load", False): 225, ("store", False): 10, ("add", False): 3,
            ("load", True): 45, ("store", True): 22,
        }  # fmt: skip

    def test_what_the_chip_refuses_is_refused(self) -> None:
        refused = [told for told, how in zip(self.told, self.happened, strict=True)
                   if how == "refused"]  # fmt: skip
        assert len(refused) == 204
        for told in refused:
            fields = _fields(told["fields"])
            unknown = fields.interleave and fields.kind == "im2col"
            with pytest.raises(
                (MemoryAccessError, UnsupportedError) if unknown else MemoryAccessError
            ):
                self.changed(fields, told)

    def test_what_was_not_recorded_is_refused_by_name(self) -> None:
        tiled = [told["fields"] for told in self.told if told["fields"]["box"]]
        assert max(fields["box"][-2] for fields in tiled if fields["interleave"]) == SLICE_BOX

    @staticmethod
    def changed(fields: MapFields, told: dict[str, Any]) -> Any:
        """What the model changes: shared memory by a load, the tensor by others."""
        memory = ArrayMemory(BASE, TENSOR.copy())
        shared, placed = tiles.shared_before().copy(), replace(fields, address=BASE)
        if told["way"] == "load":
            load_tile(placed, told["at"], memory, [shared], told["place"], told["offsets"])
            return shared ^ tiles.shared_before()
        combine = reduction("add", fields.element) if told["way"] == "add" else None
        store_tile(placed, told["at"], memory, shared, told["place"], combine)
        return memory.data ^ TENSOR
