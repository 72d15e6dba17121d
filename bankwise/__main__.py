"""The command `bankwise`; `python -m bankwise` is the same."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bankwise.hidden import hidden

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0, 1 for found conflicts, 2 for bad input)."""
    if message := hidden("layouts", "simulator"):  # every command needs these
        return _refuse(message)
    from simulator.cli import main as run

    try:
        return run(args)
    except ImportError:
        if message := hidden("viz", "gpu_check"):  # what this command needed
            return _refuse(message)
        raise


def _refuse(message: str) -> int:
    print(f"bankwise: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
