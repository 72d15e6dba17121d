"""The command `mcp`: bankwise for agents and editors, by the Model Context Protocol."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.commands import cli

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["mcp", "server"]

INSTRUCTIONS = """\
bankwise counts bank conflicts of NVIDIA shared memory by a law measured on silicon, without a GPU.
Ask `explain` in C about one access: whether it conflicts, why, and which padding or swizzle
does not. Give `optimize` all loads and stores of an array. `sass` executes a compiled kernel and
names the lines that conflict; explain or optimize those. `compare` shows a change before and
after. "Conflict" means bank_conflicts > 0: a conflict-free LDS.128 takes 4 wavefronts, which
Nsight calls 4-way.
"""

TOOLS = ("explain", "count", "optimize", "compare", "sass")


@cli.command()
@click.option(
    "--root",
    default=".",
    show_default=True,
    type=click.Path(exists=True, file_okay=False),
    help="Folder whose files the server may read.",
)
def mcp(*, root: str) -> int:
    """Serve explain, count, optimize, sass and compare to agents and editors.

    Speaks the Model Context Protocol on standard input and output, until the input ends.
    docs/how-to/agents.md says how to set it up, and which files it reads.
    """
    server(Path(root)).run("stdio")
    return 0


def server(root: Path) -> MCPServer[Any]:
    """Return the server, whose tools read files in `root` alone.

    Raises MissingPackageError.
    """
    from simulator.errors import MissingPackageError, install

    try:
        from mcp.server import MCPServer
        from mcp_types import ToolAnnotations
    except ImportError as error:
        raise MissingPackageError(
            f"bankwise mcp needs the package mcp, which is not installed ({install('mcp')})"
        ) from error
    from importlib.metadata import version

    from simulator.cli.tools import Tools

    made = MCPServer("bankwise", instructions=INSTRUCTIONS, version=version("bankwise"),
                     log_level="ERROR")  # fmt: skip
    tools = Tools(root)
    for name in TOOLS:
        made.add_tool(
            _served(getattr(tools, name)),
            description=inspect.getdoc(getattr(Tools, name)),
            annotations=ToolAnnotations(
                read_only_hint=True, idempotent_hint=True, open_world_hint=False
            ),
            structured_output=False,
        )
    return made


def _served(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose answer and refusals are the protocol's."""
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import CallToolResult, ContentBlock, TextContent

    from simulator.errors import BankwiseError

    @functools.wraps(function)
    def served(**given: Any) -> Any:
        try:
            text, data = function(**given)
        except BankwiseError as error:
            raise ToolError(str(error)) from None
        content: list[ContentBlock] = [TextContent(type="text", text=text)]
        return CallToolResult(content=content, structured_content=data)

    return served
