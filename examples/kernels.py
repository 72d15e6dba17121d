"""Three versions of one kernel side by side: where do their wavefronts go?

    python examples/kernels.py [FOLDER]

The kernels are those of the catalogue; docs/how-to/kernels.md says whose they are.
"""

import sys
from pathlib import Path

from bankwise import replay
from viz import kernel_bars

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
names = ("junstar92.2d", "junstar92.vectorized", "junstar92.warptiling")
reports = [replay(name, m=4096, n=4096, k=4096) for name in names]
for report in reports:
    print(report.kernel, report.totals()["all"])
kernel_bars(reports).write_html(folder / "kernels.html", div_id="kernels")
print(f"Wrote {folder / 'kernels.html'}")
