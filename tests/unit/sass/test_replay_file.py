"""`replay_file`: what is refused before anything is compiled; its docstring replays a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bankwise import replay_file
from simulator.errors import LaunchError

KERNEL = "__global__ void twice(float* a, int n) { a[threadIdx.x] *= n; }\n"


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (KERNEL, {}, "no launch stands in k.cu"),
        (KERNEL, {"kernel": "twise"}, "has no kernel 'twise': did you mean twice"),
        (
            f"{KERNEL}void run(float* a, int n) {{ twice<<<n, 32>>>(a, 5); }}",
            {},
            r"k.cu:2: twice is launched with values that are not known: .*accepted: let=",
        ),
        ("\x7fELF\0\0", {}, "is compiled code, which has no launch"),
    ],
)
def test_what_cannot_be_replayed_is_refused_at_once(
    tmp_path: Path, text: str, options: dict[str, Any], said: str
) -> None:
    file = tmp_path / "k.cu"
    file.write_text(text)
    with pytest.raises(LaunchError, match=said):
        replay_file(file, **options)
