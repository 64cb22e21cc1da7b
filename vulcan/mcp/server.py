"""The server: tools over standard input and output, and mistakes told in one line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from vulcan import __version__
from vulcan.errors import UserError, did_you_mean
from vulcan.mcp.tools import Tools

INSTRUCTIONS = (
    "Vulcan searches for policies (heuristics of computer systems, written as small Python functions) and measures "
    "each on simulators. You are the model that writes them: list_tasks, describe_task, open_study, then ask and tell "
    "in turns until ask says `over`, then finish and export."
)
_READS = ("list_tasks", "describe_task", "inspect", "export")
_WRITES = ("open_study", "ask", "tell", "finish")


class _Server(MCPServer[Any]):
    """Its tools fail with one line that the agent can act on: a UserError's, or what is wrong with an argument."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        self._check_names(name, arguments)
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            match error.__cause__:
                case UserError() as mistake:
                    raise ToolError(" ".join(str(mistake).split())) from mistake
                case ValidationError() as invalid:
                    raise ToolError(_first_fault(name, invalid)) from None
            raise

    def _check_names(self, name: str, arguments: Mapping[str, Any]) -> None:
        """An argument that a tool does not have would be left out of account without a word."""
        schema = self._tool_input_schema(name)
        known = schema.get("properties", {}) if schema is not None else arguments
        for given in arguments:
            if given not in known:
                there = ", ".join(known) or "none"
                raise ToolError(f"{name} has no argument {given!r}{did_you_mean(given, known)} (there are: {there})")


def _first_fault(tool: str, invalid: ValidationError) -> str:
    fault = invalid.errors(include_url=False, include_input=False)[0]
    argument = ".".join(str(part) for part in fault["loc"])
    return f"{tool}: {argument}: {fault['msg']}"


def make_server(runs: Path, *, allow_unsandboxed: bool = False) -> MCPServer[Any]:
    """The server over the runs in a directory; see `vulcan.mcp.tools.Tools`."""
    server = _Server("vulcan", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    tools = Tools(runs, allow_unsandboxed=allow_unsandboxed)
    for name in (*_READS, *_WRITES):
        server.add_tool(
            getattr(tools, name),
            annotations=ToolAnnotations(read_only_hint=name in _READS, destructive_hint=False, open_world_hint=False),
        )
    return server


def serve(runs: Path, *, allow_unsandboxed: bool = False) -> None:
    """Answer one client on standard input and output until it hangs up; nothing else is written there."""
    make_server(runs, allow_unsandboxed=allow_unsandboxed).run("stdio")
