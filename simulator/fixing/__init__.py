"""From a compiled kernel's conflicts to a layout that does not conflict: applied and re-run.

report = replay_compiled(…)
for fix in report.fixes():
    print(fix)
report.fixed(report.fixes())    # the replay with all of them
"""

from simulator.fixing.costs import Cost
from simulator.fixing.finding import find_fixes
from simulator.fixing.fix import Fix
from simulator.fixing.rerunning import rerun_with

__all__ = ["Cost", "Fix", "find_fixes", "rerun_with"]
