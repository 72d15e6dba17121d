"""Hold what a chip left in memory to NumPy: `python -m tests.silicon.sass.outputs FILE [KEPT]`.

FILE is the `…_outputs.json.gz` that measure.py leaves. KEPT becomes the file that the tests compare
replays with: a SHA-256 for each array, or all its bytes in Base64 where a sum is rounded otherwise.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from simulator import TensorMap
from simulator.sass.arguments import argument
from tests.silicon.test_hopper import CASES, ROUNDED, WANTED


def main() -> None:
    with gzip.open(sys.argv[1], "rt") as file:
        recorded = json.load(file)
    wrong = 0
    kept: dict[str, dict[str, str]] = {}
    for name, outputs in recorded.items():
        given = [argument(text, place) for place, text in enumerate(CASES[name]["args"])]
        args = [each.array if isinstance(each, TensorMap) else each for each in given]
        for place, exact in WANTED[name](args).items():
            data = base64.b64decode(outputs[str(place)])
            found = np.frombuffer(data, args[place].dtype).reshape(args[place].shape)
            away = float(np.abs(found.astype(np.float64) - exact).max())
            fine = away <= 1e-4 * max(1.0, float(np.abs(exact).max()))
            wrong += not fine
            print(f"{name}, argument {place}: {away:.3g} away{'' if fine else ', WRONG'}")
            kept.setdefault(name, {})[str(place)] = (
                outputs[str(place)] if name in ROUNDED else hashlib.sha256(data).hexdigest()
            )
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    raise SystemExit(wrong)


if __name__ == "__main__":
    main()
