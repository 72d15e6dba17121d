"""The command `bankwise`. Only this package knows all the others.

A module of commands is imported when one of them is asked for (`commands.LATER`); what a command
needs, it imports when it runs.
"""

from simulator.cli.commands import main

__all__ = ["main"]
