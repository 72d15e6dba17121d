"""What was learnt of a chip, as a file that `Chip.from_json` and `--chip` read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gpu_check.device import Gpu
from gpu_check.discovery import PhaseTable
from simulator.law.capabilities import capability_text
from simulator.law.chip_files import plain_name

__all__ = ["chip_json"]


def chip_json(
    chip: Gpu,
    tables: Sequence[PhaseTable],
    provenance: Mapping[str, Any],
    limits: Mapping[str, int | float] | None = None,
) -> str:
    """Return a chip file: the device that was opened, its `limits` and the learnt tables.

    `limits` are by their names in `simulator.Chip`, as the driver says them.
    """
    date = provenance.get("date", "an unknown day")
    source = f"provenance, below: driver {chip.driver}, {date}"
    known = {
        **(limits or {}),
        "multiprocessors": chip.multiprocessors,
        "shared_bytes": chip.shared_bytes,
    }
    return json.dumps(
        {
            "name": plain_name(chip.name),
            "compute_capability": capability_text(chip.capability),
            "law": "measured",
            "evidence": f"bankwise gpu-check --phases: {len(tables)} instructions, {date}",
            "facts": {name: {"value": value, "source": source} for name, value in known.items()},
            "instructions": [asdict(table) for table in tables],
            "provenance": dict(provenance),
        },
        indent=1,
    )
