"""The command line in this process, between streams of its own: a process takes half a second."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from simulator.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


def command(
    *words: str,
    stdin: bytes = b"",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run `bankwise` as a process without a terminal would, in a folder, with more variables."""
    given, out, err = (io.TextIOWrapper(io.BytesIO(part), "utf-8") for part in (stdin, b"", b""))
    streams = patch.multiple(sys, stdin=given, stdout=out, stderr=err)
    with streams, patch.dict(os.environ, environment or {}), chdir(folder or "."):
        code = main(words)
    for stream in (out, err):
        stream.flush()
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return Done(code, *said)
