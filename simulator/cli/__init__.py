"""The command `bankwise`. Only this package knows all the others."""

from simulator.cli.commands import main

__all__ = ["main"]
