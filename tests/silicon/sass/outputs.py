"""Hold what a chip left in memory to NumPy: `python -m tests.silicon.sass.outputs FILE`.

FILE is the `…_hopper_outputs.json.gz` that measure.py leaves.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys

import numpy as np

from simulator import TensorMap
from simulator.sass.arguments import argument
from tests.silicon.test_hopper import CASES, WANTED


def main() -> None:
    with gzip.open(sys.argv[1], "rt") as file:
        recorded = json.load(file)
    wrong = 0
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
    raise SystemExit(wrong)


if __name__ == "__main__":
    main()
