"""Pictures of results: interactive Plotly figures, and a self-contained HTML report.

    from viz import bank_heatmap, report

Every function takes a result of `simulator` or `gpu_check` and returns a
`plotly.graph_objects.Figure`; none shows it, and none counts anything: each number drawn is
one that the result holds. Importing this package without plotly raises MissingPackageError.
"""

from simulator.errors import install
from viz.errors import DrawError, MissingPackageError, ReportError

try:
    from viz.bank_heatmap import bank_heatmap
    from viz.compare import compare
    from viz.kernel_bars import kernel_bars
    from viz.page.markdown import markdown
    from viz.page.report import report
    from viz.page.svg import svg
    from viz.parity import parity
    from viz.sweep_heatmap import sweep_heatmap
    from viz.theme import THEMES
    from viz.time_parity import time_parity
    from viz.timeline import timeline
    from viz.warp_map import warp_map
    from viz.word_map import word_map
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "plotly":
        raise
    raise MissingPackageError(
        f"viz draws with plotly, which is not installed ({install('viz')})"
    ) from error

__all__ = [
    "THEMES",
    "DrawError",
    "MissingPackageError",
    "ReportError",
    "bank_heatmap",
    "compare",
    "kernel_bars",
    "markdown",
    "parity",
    "report",
    "svg",
    "sweep_heatmap",
    "time_parity",
    "timeline",
    "warp_map",
    "word_map",
]
