"""Reading a column of a 32×32 float tile, without and with one float of padding.

python examples/transpose.py [FOLDER]
"""

import sys
from pathlib import Path

from bankwise import explain
from viz import compare, report

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
plain, padded = (explain("LDS", [4 * pitch * lane for lane in range(32)]) for pitch in (32, 33))
print(plain)
print(padded)
compare(plain, padded).write_html(folder / "transpose.html", div_id="compare")  # a figure alone
report(plain, padded, file=folder / "transpose_report.html", force=True)  # and all about both
print(f"Wrote {folder / 'transpose.html'} and {folder / 'transpose_report.html'}")
