"""Kernels that differ in a few lines, compiled together: compiler and disassembler take a second
for the least kernel, and little more for twenty.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

from simulator import replay_compiled
from simulator.sass.code.images import load
from simulator.sass.code.options import make_options


class Variants:
    """Texts that each define a kernel of one name; `ran` replays one of them."""

    def __init__(
        self, kernel: str, texts: Iterable[str], *, before: str = "", include: Iterable[Path] = ()
    ) -> None:
        self.kernel = kernel
        self.texts = list(dict.fromkeys(texts))
        self.before = before
        self.include = list(include)

    @cached_property
    def image(self) -> bytes:
        """The machine code of all; an instruction's line is that in its own text."""
        first = 1 + self.before.count("\n")
        parts = [f"namespace {_space(text)} {{\n#line {first}\n{text}\n}}\n" for text in self.texts]
        options = make_options(self.include, {}, [])
        kernel = f"{_space(self.texts[0])}::{self.kernel}"
        return load(self.before + "".join(parts), "sm_90a", kernel, options)[0].image

    def ran(self, text: str, args: list[Any], **launch: Any) -> Any:
        """The report of one of the texts, of one block of 128 threads unless told otherwise."""
        kernel = f"{_space(text)}::{self.kernel}"
        return replay_compiled(
            self.image, kernel=kernel, args=args, **{"grid": 1, "block": 128, **launch}
        )


def _space(text: str) -> str:
    """Return a text's namespace, by which its recorded listing is found wherever it stands."""
    return f"v{crc32(text.encode()):08x}"
