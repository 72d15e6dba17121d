"""`bankwise explore`: one offline page that counts bank conflicts as one types.

    from viz.explore import write
    write("explore.html", "float s[32][32]; s[threadIdx.x][threadIdx.y]")

The page's law is JavaScript, as a file cannot bring Python along. It is `law.js`, a port of
`simulator.law.specification` with the same functions; its instructions are emitted from
`INSTRUCTIONS` when the page is written. tests/browser/test_explore.py replays every recorded access
in a browser, and holds the rest equal to the specification on drawn accesses.
"""

from viz.explore.serve import server
from viz.explore.write import page, write

__all__ = ["page", "server", "write"]
