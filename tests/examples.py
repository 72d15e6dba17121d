"""How many examples of each law Hypothesis tries; `BANKWISE_EXAMPLES=1000` asks for more."""

from __future__ import annotations

import os

__all__ = ["EXAMPLES", "examples"]

EXAMPLES = int(os.environ.get("BANKWISE_EXAMPLES", "25"))


def examples(many: int) -> int:
    """Return how many a law takes that has so many where others have 50."""
    return max(1, many * EXAMPLES // 50)
