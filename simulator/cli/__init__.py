"""The command `bankwise`. Only this package knows all the others.

Importing a module of commands registers them; what a command needs, it imports when it runs.
"""

from simulator.cli import catalogue, explore, gpu, optimize, reports, sass, sweep
from simulator.cli.commands import main

__all__ = ["catalogue", "explore", "gpu", "main", "optimize", "reports", "sass", "sweep"]
