"""The kernels that measure Hopper's units, executed on the lifted machine; no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_check.errors import NoGpuError
from gpu_check.hopper import misc, neighbours, tiles, tma, wgmma
from gpu_check.hopper.cases import Trial, fill
from gpu_check.hopper.runner import Runner, compile_all, compiled
from simulator import replay_compiled
from tests.sass_kernels import needs_tools

pytestmark = needs_tools


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cubins")


def ran(case: Trial, folder: Path, turns: int) -> tuple[Any, Any, Any]:
    """The report of a launch of so many turns, and what it left in `out` and in the data."""
    data, given = fill(), np.frombuffer(case.given(DATA_AT), np.uint8).copy()
    args: list[Any] = [np.zeros(4, np.int64), np.zeros(64, np.uint32), given, data]
    report = replay_compiled(
        compiled(case.source, folder), kernel=case.function, grid=case.blocks, block=case.threads,
        args=[*args, *(np.int32(each) for each in (turns, *case.numbers))],
        shared_bytes=case.shared,
    )  # fmt: skip
    return report, report.outputs[1], report.outputs[3]


# Where the machine puts the fourth array: a tensor map holds it.
DATA_AT = 0x7F00_0030_0300


def some() -> Iterator[Trial]:
    forms = {form.name: form for form in wgmma.FORMS}
    for name in ("f16_f32_8_RS", "bf16_f32_16_SSAB", "e4m3_f16_8_SS"):
        yield wgmma.trial(forms[name], wgmma.LONG, 1, alone=True)
    for copy in tma.copies():
        if (copy.inner, copy.rows) in ((64, 8), (4096, 1)):
            yield tma.trial(copy)
    for name in ("ld.32", "st.128", "red.add.32", "st.async.32"):
        for way in ("neighbour", "home"):
            yield neighbours.trial(name, 88, way, neighbours.drawn(name, 160))


@pytest.mark.parametrize("case", list(some()), ids=lambda case: case.label)
def test_a_kernel_leaves_what_it_should(case: Trial, kept: Path) -> None:
    turns = max(case.turns[0], 2) if case.function.startswith(("case_load", "case_store")) else 2
    _, out, data = ran(case, kept, turns)
    assert case.is_right(out, data, turns)
    assert not (out.any() and case.is_right(out + np.uint32(1), data + np.uint32(1), turns))


def test_products_of_a_turn_are_counted(kept: Path) -> None:
    form = next(each for each in wgmma.FORMS if each.name == "f16_f32_16_SS")
    launch = wgmma.trial(form, wgmma.LONG, 1, alone=True)
    report, *_ = ran(launch, kept, 3)
    assert report.totals()["gmma"]["executed"] == 3 * 4 * launch.each
    assert report.totals()["gmma"]["wavefronts"] == 3 * launch.each * (16 + 16 // 4)


def test_a_tile_is_dumped_as_the_model_copies_it(kept: Path) -> None:
    tile = next(each for each in tiles.tiles() if each.fields.swizzle == 128)
    _, out, data = ran(tiles.trial(tile), kept, 1)
    assert out[0] == 1
    shared = data.view(np.uint8)[tiles.DUMP :][: tiles.SHARED_BYTES]
    assert 0 < (shared != tiles.shared_before()).sum() <= tile.fields.bytes


def test_every_table_names_each_case_once_and_few_are_the_first() -> None:
    for table in (wgmma, tma, misc):
        cases = table.timed()
        labels = [each.label for each in cases]
        assert len(set(labels)) == len(labels)
        few = [each.label for each in table.timed(2)]
        assert few == labels[: len(few)]
        assert {each.function for each in table.counted()} <= {each.function for each in cases}
    assert len(wgmma.FORMS) == len(set(wgmma.FORMS)) == 388
    assert len(neighbours.drawn("ld.128", 160)[0]) == 160


def test_sources_are_compiled_once(kept: Path) -> None:
    cases = tma.timed(3)
    compile_all(cases, kept)
    before = sorted(kept.iterdir())
    compile_all(cases, kept)
    assert sorted(kept.iterdir()) == before
    assert compiled(cases[0].source, kept)[:4] == b"\x7fELF"


def test_without_a_gpu_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(NoGpuError, match="CuPy cannot be imported"):
        Runner(tmp_path)
