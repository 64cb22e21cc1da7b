"""The MCP server: its tools over standard input and output, with one-line errors.

Tools raise UserError. Every call opens the run again, so that the command line, or another client, can work on the same
run between two calls.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import Field, ValidationError, WithJsonSchema

from vulcan import __version__
from vulcan.api.launch import RunSession, SearchRequest
from vulcan.errors import UserError, did_you_mean
from vulcan.mcp.stdio import serve_stdio
from vulcan.models.tool_calls import Tool, ToolCall
from vulcan.python_policy.check import describe_policy
from vulcan.registry import recorded_task
from vulcan.results.candidate import candidate_document, candidate_row
from vulcan.results.recommended import find_recommended
from vulcan.results.run import run_document
from vulcan.results.task import task_document, tasks_document
from vulcan.searches.config import make_config, sort_options
from vulcan.searches.conversation import TOOLS
from vulcan.searches.costs import Costs
from vulcan.searches.interactive import InteractiveSearch, ask_document, finish_run, open_interactive_search
from vulcan.searches.options import ASK, OPTIONS
from vulcan.searches.session import ExecutionConfig, RunDisplay
from vulcan.store import RunRecord
from vulcan.store.runs import find_run, open_store

STUDY_OPTIONS = tuple(name for name, option in OPTIONS.items() if name != "model" and not option.models_only)
"""Options of a search that apply where an agent answers its prompts."""


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: OPTIONS[name].schema() for name in STUDY_OPTIONS},
    "additionalProperties": False,
    "description": "Options of the search; each has a default.",
}

Run = Annotated[str, Field(description="The run, as open_study named it; or its directory.")]
ProposalId = Annotated[str, Field(description="A proposal's id, as ask gave it: 12, or 12.1 for its first repair.")]
Options = Annotated[dict[str, Any], WithJsonSchema(_SCHEMA)]
Settings = Annotated[
    dict[str, Any],
    Field(description="Settings of the task, by name, as describe_task lists them: such as what it is measured on."),
]


class Tools:
    """The tools over the runs in one directory.

    With `allow_unsandboxed`, free Python runs even where the host cannot sandbox it. Whoever starts the server decides
    that; it is not an argument of a tool, so that an agent cannot grant it to itself.
    """

    def __init__(self, runs: Path, *, allow_unsandboxed: bool = False) -> None:
        self._runs = runs
        self._machines = ExecutionConfig("local", allow_unsandboxed=allow_unsandboxed)

    def _conversation(self, path: Path) -> AbstractContextManager[InteractiveSearch]:
        return open_interactive_search(path, allow_unsandboxed=self._machines.allow_unsandboxed)

    def list_tasks(self) -> dict[str, Any]:
        """List the tasks that a policy can be searched for: {"tasks": [{"name", "path", "summary"}]}."""
        return dict(tasks_document())

    def describe_task(self, task: Annotated[str, Field(description="A task's name.")]) -> dict[str, Any]:
        """Describe a task: the function to write, the features it may read, the objectives, and the task's settings.

        `settings` are what open_study takes under that name; `interface` is the language that policies are written in.
        """
        declared = recorded_task(task)  # a tool that only reads must not execute a path that an agent names
        return {**task_document(declared), "interface": describe_policy(declared)}

    def open_study(
        self,
        task: Annotated[str, Field(description="A task's name, or the directory of one that the user has named.")],
        settings: Settings | None = None,
        options: Options | None = None,
    ) -> dict[str, Any]:
        """Open a search whose prompts you answer. Measures the known policies first, which may take a minute.

        Returns the run's summary; pass its `run` to the other tools. Then ask for a proposal, answer it with tell, and
        so on; finish when `done` is true, or earlier.
        """
        declared = recorded_task(task)
        chosen, wrong = sort_options(declared, options or {}, "options")
        searches, own = sort_options(declared, settings or {}, "settings")
        if misplaced := [*wrong, *(name for name in chosen if name not in STUDY_OPTIONS)]:
            close = did_you_mean(misplaced[0], STUDY_OPTIONS)
            raise UserError(f"options: {misplaced[0]!r} is no option of a study{close} ({', '.join(STUDY_OPTIONS)})")
        if searches:
            raise UserError(f"settings: {next(iter(searches))!r} is no setting of the task: put it into options")
        config = make_config(task, {**chosen, "model": [ASK]}, own)
        session = RunSession.start(SearchRequest(declared, config, self._machines), self._runs)
        return dict(run_document(session.path, *session.search(RunDisplay())))

    def ask(
        self,
        run: Run,
        proposal: Annotated[
            str | None, Field(description="Give this open proposal again, in place of a new one.")
        ] = None,
    ) -> dict[str, Any]:
        """Get the next proposal: `proposal` is its id, and `messages` the chat to answer as the assistant would.

        `kind` is "policy" (answer with a Python module in one code block, or with edits where `form` is "diff") or
        "advice" (answer in words). Several may be open at once: ask again before telling. `proposal` is null where
        none can be given before one of `open` has its reply, or where the search is `done`.
        """
        with self._conversation(find_run(run, self._runs)) as conversation:
            given = conversation.find(proposal) if proposal is not None else conversation.ask()
            return dict(ask_document(conversation, given))

    def tell(
        self,
        run: Run,
        proposal: ProposalId,
        reply: Annotated[str, Field(description="Your whole answer, with the program in a ```python code block.")],
        model: Annotated[str, Field(description="Who wrote it, for the record.")] = ASK,
    ) -> dict[str, Any]:
        """Give the reply to an open proposal, and get its `verdict`, `score` (higher is better) and `feedback`.

        Each proposal takes one reply. Where `repair` is true the program was rejected: the next ask gives the proposal
        back with what was wrong, as another turn. `pending` is true while an earlier proposal has no reply yet.
        `best` is the best candidate so far.
        """
        with self._conversation(find_run(run, self._runs)) as conversation:
            return dict(conversation.tell(proposal, reply, model))

    def function_of(self, tool: Tool) -> Callable[..., dict[str, Any]]:
        """Return a tool of a conversation as a function of a run, a proposal, and its own arguments."""

        def function(run: str, proposal: str, model: str = ASK, **arguments: str) -> dict[str, Any]:
            call = ToolCall(tool.name, {name: value for name, value in arguments.items() if value})
            with self._conversation(find_run(run, self._runs)) as conversation:
                return dict(conversation.use(proposal, call, model))

        function.__name__ = tool.name
        function.__doc__ = f"{tool.description} Of an open proposal of the strategy engineer."
        own: list[tuple[str, Any, bool]] = [("run", Run, True), ("proposal", ProposalId, True)]
        own += [(n, Annotated[str, Field(description=text)], needed) for n, (text, needed) in tool.parameters.items()]
        function.__annotations__ = {**{name: kind for name, kind, _ in own}, "return": dict[str, Any]}
        parameters = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=inspect.Parameter.empty if needed else ""
            )
            for name, kind, needed in own
        ]
        returned = dict[str, Any]
        function.__signature__ = inspect.Signature(parameters, return_annotation=returned)  # type: ignore[attr-defined]
        return function

    def inspect(
        self,
        run: Run,
        candidate: Annotated[int | None, Field(description="A candidate's number; else the whole run.")] = None,
        most: Annotated[int, Field(ge=0, description="How many of the best candidates to list.")] = 20,
    ) -> dict[str, Any]:
        """Look into a run: its summary with the best candidates, or all of one candidate.

        The summary has the scores of the baselines on each split, the winner as `best` (null until the search has
        finished; the first of `ranking` is the best so far), and how many candidates came to each verdict. A candidate
        has its source, feedback, warnings, lineage, and its score on each instance.
        """
        path = find_run(run, self._runs)
        with closing(open_store(path)) as store:
            record = RunRecord.of(store.events())
            if candidate is None:
                ranked = [candidate_row(record, judged) for judged in record.ranked()[:most]]
                return {**run_document(path, record, Costs.of(store.calls())), "ranking": ranked}
            judged = record.candidate(candidate, path)
            return dict(candidate_document(record, judged, store.call(judged.proposal, judged.turn)))

    def finish(self, run: Run) -> dict[str, Any]:
        """End a search: choose the winner from what is there, and measure it on the splits held out.

        Returns the run's summary. The best candidate is tuned and made simpler first. Open proposals have no reply;
        nothing can be asked or told afterwards.
        """
        path = find_run(run, self._runs)
        finish_run(path, allow_unsandboxed=self._machines.allow_unsandboxed)
        with closing(open_store(path)) as store:
            return dict(run_document(path, RunRecord.of(store.events()), Costs.of(store.calls())))

    def export(
        self,
        run: Run,
        candidate: Annotated[int | None, Field(description="Its number; else what the verdict recommends.")] = None,
        format: Annotated[
            str, Field(description="What to write: python, c, c-fixed, or another format of the task.")
        ] = "python",
    ) -> dict[str, Any]:
        """Get a candidate as a module that runs without Vulcan: `files` has the text of each file by its name."""
        found = find_recommended(find_run(run, self._runs), candidate)
        return {"candidate": found.number, "verdict": found.verdict, "format": format, "files": found.files(format)}


INSTRUCTIONS = (
    "Vulcan searches for policies (heuristics of computer systems, written as small Python functions) and measures "
    "each on simulators. You are the model that writes them: list_tasks, describe_task, open_study, then ask and tell "
    "in turns until ask says `done`, then finish and export. With the strategy engineer, use the tools of a "
    "conversation (measure, explain, hazards, notes and others) between ask and tell: each gives the proposal its next "
    "turn."
)
_READS = ("list_tasks", "describe_task", "inspect", "export")
_WRITES = ("open_study", "ask", "tell", "finish")


class _Server(MCPServer[Any]):
    """A server whose tools fail with one actionable line: a UserError's, or the error in an argument."""

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
        """Reject arguments that the tool does not have, which would otherwise be ignored silently."""
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
    """Make the server over the runs in a directory; see `vulcan.mcp.server.Tools`."""
    server = _Server("vulcan", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    tools = Tools(runs, allow_unsandboxed=allow_unsandboxed)
    for name in (*_READS, *_WRITES):
        server.add_tool(
            getattr(tools, name),
            description=inspect.getdoc(getattr(tools, name)),
            annotations=ToolAnnotations(read_only_hint=name in _READS, destructive_hint=False, open_world_hint=False),
        )
    for name, tool in TOOLS.items():
        hints = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
        server.add_tool(tools.function_of(tool), name=name, annotations=hints)
    return server


def serve(runs: Path, *, allow_unsandboxed: bool = False) -> None:
    """Serve one client on standard input and output until it disconnects; nothing else is written there."""
    try:
        asyncio.run(serve_stdio(make_server(runs, allow_unsandboxed=allow_unsandboxed)))
    except BaseExceptionGroup as group:  # of the library's tasks, one of which was interrupted
        if group.subgroup(KeyboardInterrupt) is None:
            raise
        raise KeyboardInterrupt from None
