"""Pictures of results: interactive Plotly figures, and a self-contained HTML report.

    from viz import bank_heatmap, report

Every function takes a result of `simulator` or `gpu_check` and returns a
`plotly.graph_objects.Figure`; none shows it, and none counts anything: each number drawn is
one that the result holds. Importing this package without plotly raises MissingPackageError.
"""

from viz.errors import DrawError, MissingPackageError, ReportError

try:
    from viz.agreement import parity
    from viz.banks import bank_heatmap
    from viz.bars import kernel_bars
    from viz.comparing import compare
    from viz.reporting import report
    from viz.sweeps import sweep_heatmap
    from viz.theme import THEMES
    from viz.timeline import timeline
    from viz.warps import warp_map
    from viz.words import word_map
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "plotly":
        raise
    raise MissingPackageError(
        "viz draws with plotly, which is not installed (accepted: pip install 'bankwise[viz]')"
    ) from error

__all__ = [
    "THEMES",
    "DrawError",
    "MissingPackageError",
    "ReportError",
    "bank_heatmap",
    "compare",
    "kernel_bars",
    "parity",
    "report",
    "sweep_heatmap",
    "timeline",
    "warp_map",
    "word_map",
]
