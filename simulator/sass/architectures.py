"""What differs between the architectures that compiled code is replayed for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from layouts.errors import accepted
from simulator.errors import LaunchError
from simulator.law.capabilities import CAPABILITIES

__all__ = [
    "ARCHITECTURES", "LOCAL_WINDOW", "SHARED_WINDOW", "WITH_OWN_FEATURES", "Arch", "Architecture",
    "architecture",
]  # fmt: skip

Arch = Literal[
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a",
    "sm_103", "sm_103a", "sm_110", "sm_110a", "sm_120", "sm_120a", "sm_121", "sm_121a",
]  # fmt: skip
"""The architectures that compiled code is replayed for."""

SHARED_WINDOW, LOCAL_WINDOW = 0x7E01, 0x7E02
"""High words of generic addresses of shared and of local memory: made up, as the driver does."""


@dataclass(frozen=True)
class Architecture:
    """One compute capability.

    Sources: shared memory a block can have, `simulator.law.capabilities`; the rest as nvcc 13
    compiles and cuobjdump shows.
    """

    name: str
    shared_bytes: int
    """Shared memory that a block can have at most."""
    shared_start: int
    """First shared address that a kernel may use; what lies below is the system's."""
    reserved: int
    """Bytes of `.nv.shared.<kernel>` that belong to the system."""

    @property
    def capability(self) -> int:
        """The compute capability, times ten."""
        return int(self.name.removeprefix("sm_"))


WITH_OWN_FEATURES = ("sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
"""Architectures with features that are theirs alone: compiled for with an `a` behind the name."""

ARCHITECTURES = {
    capability: Architecture(
        f"sm_{capability}", CAPABILITIES[capability].shared_bytes, start, reserved
    )
    for capability, start, reserved in (
        *((old, 0, 0) for old in (75, 80, 86, 87, 88, 89)),
        *((new, 1024, 1024) for new in (90, 100, 103, 110, 120, 121)),
    )
}
"""By compute capability."""


def architecture(name: str) -> Architecture:
    """Look an architecture up by name.

    >>> architecture("sm_90").shared_bytes
    232448

    Raises LaunchError for one that is not known here.
    """
    for known in ARCHITECTURES.values():
        if name in (known.name, f"{known.name}a"):
            return known
    names = [each.name for each in ARCHITECTURES.values()]
    older = re.fullmatch(r"sm_[1-6]\d|sm_7[0-4]", name)
    old = " (older than Turing)" if older else ""
    choices = f"accepted: {', '.join(names)}" if older else accepted(name, names)
    raise LaunchError(f"unknown architecture {name!r}{old}: {choices}")
