"""The part of a page that says what to change in a compiled kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simulator import replay_compiled
from simulator.fixing.wording import Wording
from simulator.sass.report import CompiledReport
from tests.sass_kernels import HERE, needs_tools
from viz.page.fixes import fixes_markup
from viz.page.sections import section

pytestmark = needs_tools


def turned(kernel: str) -> CompiledReport:
    given = np.arange(1024, dtype=np.float32).reshape(32, 32)
    return replay_compiled(
        HERE / "cubins" / "transpose.cubin", kernel=kernel, grid=1, block=(32, 8),
        args=[given, np.zeros((32, 32), np.float32), np.int32(32)],
    )  # fmt: skip


def test_a_page_says_what_to_write_and_what_it_saves() -> None:
    part = section(turned("transpose_naive"))
    text = "".join(part.after)
    assert part.cure == "tile[index + index / 32]"  # the source is not there
    assert f"<code>{part.cure}</code>" in text
    assert "What to change" in text
    assert "992" in text
    assert "No layout of any kind has fewer." in text


def test_without_conflicts_or_a_launch_there_is_nothing_to_say() -> None:
    for report in (turned("transpose_padded"), replace(turned("transpose_naive"), rerun=None)):
        part = section(report)
        assert part.cure == ""
        assert "What to change" not in "".join(part.after)


def test_what_is_left_alone_is_said_with_its_reason() -> None:
    (fix,) = turned("transpose_naive").fixes()
    left = replace(fix, wording=Wording(), why="Left alone: <data>.", alternatives=())
    (said,) = fixes_markup([left])
    assert said == "<p><b>tile</b>: nothing to change. Left alone: &lt;data&gt;.</p>"
