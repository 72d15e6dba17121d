"""`bankwise check`: limits on what a project's accesses and kernels cost, kept by CI.

`config` reads bankwise.toml, `measuring` counts what its entries name. `allowing` reads comments
that allow a line more, `baseline` what was recorded. `judging` compares, `report` has the outcome.
`github`, `markdown`, `junit` and `sarif` write it for those who read it next.
"""

from simulator.checking.check import check
from simulator.checking.report import CheckReport

__all__ = ["CheckReport", "check"]
