"""Every warp shape, lane order and padding: a sweep by hand, and its picture.

    python examples/padding_sweep.py [FOLDER]

Any mapping of equal-length columns can be drawn; a data frame is one.
"""

import itertools
import sys
from pathlib import Path

from bankwise import simulate
from layouts import LANE_ORDERS
from viz import sweep_heatmap

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
shapes = ("1x32", "2x16", "4x8", "8x4", "16x2", "32x1")
names = ("warp_shape", "pad", "lane_order", "fragment")
configurations = list(
    itertools.product(shapes, range(0, 33, 4), LANE_ORDERS, ("contiguous", "split"))
)
reports = [simulate(s, pad=p, lane_order=o, fragment=f) for s, p, o, f in configurations]
columns = {name: [each[place] for each in configurations] for place, name in enumerate(names)}
columns["wavefronts"] = [report.wavefronts for report in reports]
columns["bank_conflicts"] = [report.bank_conflicts for report in reports]

figure = sweep_heatmap(columns, x="pad", y="warp_shape")
figure.write_html(folder / "padding_sweep.html", div_id="sweep")
print(figure.layout.meta["bankwise"]["title"])
print(f"Wrote {folder / 'padding_sweep.html'}")
