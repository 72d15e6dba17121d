"""Fuzzes a reader of texts, led by its coverage: `python -m tests.fuzz.guided TARGET --count N`.

Atheris (`pip install '.[trust]'`, Linux, Python 3.11 to 3.13) keeps inputs that reach new code and
changes them further. It begins with inputs of `tests.fuzz`. An exception that is not one of
bankwise, a crash or a hang ends the run; its input is printed. `--count` is the number of inputs.

It fits readers in Python. Cubins and PTX go through other programs and through code that Numba
compiles, and Numba cannot compile what Atheris instruments.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import tempfile
import warnings
from pathlib import Path

_SEEDS = 500
_ASKED = 50
_UNFIT = {"cubin", "ptx", "archive"}


def _bytes(given: str | bytes) -> bytes:
    return given.encode(errors="replace") if isinstance(given, str) else given


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("target", help="one of those of tests.fuzz")
    parser.add_argument("--count", type=int, default=10**6, help="inputs")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    try:
        import atheris
    except ImportError:
        parser.error("atheris is missing (next: pip install '.[trust]')")
    warnings.simplefilter("ignore")
    # What is imported in here counts as coverage: readers are imported when they are first asked.
    with atheris.instrument_imports(include=["simulator", "layouts", "gpu_check"]):
        from simulator.errors import BankwiseError
        from tests.fuzz.targets import TARGETS

        fit = [name for name in TARGETS if name not in _UNFIT]
        if given.target not in fit:
            parser.error(f"{given.target} is not a target (accepted: {', '.join(fit)})")
        target = TARGETS[given.target]
        rng = random.Random(given.seed)  # noqa: S311
        first = [target.make(rng) for _ in range(_SEEDS)]
        is_text = isinstance(first[0], str)

        def ask(data: bytes) -> None:
            with contextlib.suppress(BankwiseError):
                target.ask(data.decode(errors="replace") if is_text else data)

        with tempfile.TemporaryDirectory(prefix="fuzz-") as empty, contextlib.chdir(empty):
            for each in first[:_ASKED]:
                ask(_bytes(each))

    with tempfile.TemporaryDirectory(prefix="fuzz-") as corpus:
        for number, each in enumerate(first):
            Path(corpus, str(number)).write_bytes(_bytes(each))
        empty = Path(corpus, "empty")
        empty.mkdir()
        os.chdir(empty)
        flags = [
            f"-runs={given.count}", f"-seed={given.seed}", f"-max_len={max(map(len, first))}",
            f"-timeout={target.seconds:.0f}", "-rss_limit_mb=6144", "-print_final_stats=1",
            "-verbosity=1", corpus,
        ]  # fmt: skip
        atheris.Setup([sys.argv[0], *flags], ask, internal_libfuzzer=True)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
