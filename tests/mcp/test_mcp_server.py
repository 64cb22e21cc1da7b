"""The server of `vulcan mcp` with a real client; test_mcp_messages.py has it as a process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pytest
from locations import TASKS
from mcp import Client

from vulcan.mcp.server import make_server
from vulcan.registry import find_task
from vulcan.searches.conversation import TOOLS
from vulcan.searches.options import OPTIONS
from vulcan.store.events import CandidateJudged
from vulcan.store.runs import open_store

MOOD_TASK = str(TASKS / "mood_task")
PLAN = {"strategy": "policysmith", "rounds": 2, "samples": 2, "tune": 0, "simplify": 0}
SEEDS = 2


def program(share: float) -> str:
    return f"An idea.\n\n```python\ndef decide(load, room):\n    return min(load, room) * {share}\n```\n"


class Agent:
    """What an agent sees of the tools: documents, or a line of what it did wrong."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert not result.is_error, content.text
        assert json.loads(content.text) == result.structured_content
        return result.structured_content

    async def wrong(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert result.is_error
        assert "\n" not in content.text
        return content.text


def play(directory: Path, plot: Callable[[Agent], Awaitable[Any]]) -> Any:
    """Let an agent act on a server over the runs in a directory; what comes of it."""
    find_task(MOOD_TASK)  # an agent may open a study of a pack that the user has named

    async def session() -> Any:
        async with Client(make_server(Path("runs"))) as client:
            return await plot(Agent(client))

    with chdir(directory):
        return asyncio.run(asyncio.wait_for(session(), 240))


def test_the_tools_say_what_they_take(tmp_path: Path) -> None:
    async def look(agent: Agent) -> Any:
        return (await agent.client.list_tools()).tools, agent.client.instructions

    tools, instructions = play(tmp_path, look)
    assert {tool.name for tool in tools} == {
        "list_tasks", "describe_task", "open_study", "ask", "tell", "inspect", "finish", "export", *TOOLS,
    }  # fmt: skip
    assert "You are the model" in instructions
    for tool in tools:
        assert len(tool.description) > 40
        for name, schema in tool.input_schema["properties"].items():
            assert "description" in json.dumps(schema), (tool.name, name)
        assert "\n  " not in tool.description
    schemas = {tool.name: tool.input_schema for tool in tools}
    assert schemas["tell"]["required"] == ["run", "proposal", "reply"]
    assert schemas["list_tasks"]["properties"] == {}
    (options, _) = schemas["open_study"]["properties"]["options"]["anyOf"]
    assert options["properties"]["rounds"] == {
        "type": "integer", "description": OPTIONS["rounds"].help, "default": 20, "minimum": 1,
    }  # fmt: skip
    assert options["properties"]["strategy"]["enum"] == ["evolve", "policysmith", "best-of-n", "engineer"]
    assert (options["properties"]["limit"]["exclusiveMinimum"], options["properties"]["limit"]["maximum"]) == (0, 3600)
    assert options["properties"]["racing"]["type"] == "boolean"
    assert "default" not in options["properties"]["budget_candidates"]
    assert not {"model", "api_base", "budget_dollars"} & set(options["properties"])
    assert {tool.name for tool in tools if tool.annotations.read_only_hint} == {
        "list_tasks", "describe_task", "inspect", "export",
    }  # fmt: skip


def test_an_agent_plays_a_whole_search(tmp_path: Path) -> None:
    async def search(agent: Agent) -> None:
        tasks = (await agent("list_tasks"))["tasks"]
        assert "cache_eviction" in [task["name"] for task in tasks]
        described = await agent("describe_task", task=MOOD_TASK)
        assert described["function"] == "decide"
        assert "weight" in [setting["name"] for setting in described["settings"]]
        assert "`return a`" in described["interface"]

        opened = await agent("open_study", task=MOOD_TASK, settings={"weight": 3}, options=PLAN)
        run = opened["run"]
        assert (opened["state"], opened["train"]["baselines"]) == ("open", {"none": -1.0, "half": 0.0})

        first, second = await agent("ask", run=run), await agent("ask", run=run)
        assert (first["proposal"], second["proposal"]) == ("3", "4")
        assert second["open"] == ["3", "4"]
        assert first["total"] == 4
        assert "def decide(load, room)" in first["messages"][0]["content"]
        waiting = await agent("ask", run=run)
        assert (waiting["proposal"], waiting["done"], waiting["messages"]) == (None, False, [])

        late = await agent("tell", run=run, proposal="4", reply=program(0.75), model="an agent")
        assert (late["verdict"], late["score"], late["pending"]) == ("scored", 0.5, True)
        bad = await agent("tell", run=run, proposal="3", reply="```python\nwhile True: pass\n```")
        assert (bad["verdict"], bad["repair"]) == ("rejected", True)
        assert "while" in bad["feedback"]
        repair = await agent("ask", run=run)
        assert (repair["proposal"], repair["messages"][1]["role"]) == ("3.1", "assistant")
        fixed = await agent("tell", run=run, proposal="3.1", reply=program(1.5))
        assert (fixed["verdict"], fixed["pending"], fixed["best"]["candidate"]) == ("scored", False, fixed["candidate"])

        third = await agent("ask", run=run)
        assert "return min(load, room) * 1.5" in third["messages"][0]["content"]
        await agent("tell", run=run, proposal=third["proposal"], reply=program(2.0))
        fourth = await agent("ask", run=run)
        await agent("tell", run=run, proposal=fourth["proposal"], reply=program(1.5))
        assert (await agent("ask", run=run))["done"] is True

        summary = await agent("inspect", run=run, most=2)
        assert [row["score"] for row in summary["ranking"]] == sorted(
            (row["score"] for row in summary["ranking"]), reverse=True
        )
        assert summary["ranking"][0]["parents"] != []
        assert (summary["candidates"]["scored"], summary["candidates"]["duplicate"]) == (SEEDS + 3, 1)
        best = summary["ranking"][0]["candidate"]
        shown = await agent("inspect", run=run, candidate=best)
        assert (shown["source"], shown["model"]) == (
            "def decide(load, room):\n    return min(load, room) * 2.0\n", "ask",
        )  # fmt: skip
        assert {row["metrics"]["weight"] for row in shown["metrics"] if row["instance"] == "heavy"} == {3.0}

        finished = await agent("finish", run=run)
        assert (finished["state"], finished["best"]["candidate"]) == ("finished", best)
        assert finished["test"]["score"] == pytest.approx(finished["train"]["score"])
        recommended = await agent("export", run=run)
        assert recommended["candidate"] == 1
        exported = await agent("export", run=run, candidate=best)
        assert exported["candidate"] == best
        ((name, text),) = exported["files"].items()
        assert name == "mood_task.py"
        namespace: dict[str, Any] = {}
        exec(text, namespace)
        assert namespace["decide"](2.0, 3.0) == 4.0
        assert (await agent.wrong("ask", run=run)).startswith(f"{run} is finished")

    play(tmp_path, search)
    (run,) = (tmp_path / "runs").iterdir()
    with closing(open_store(run)) as store:
        judged = [e for e in store.events() if isinstance(e, CandidateJudged)]
        models = [call.model for call in store.calls()]
    assert [(e.proposal, e.turn, e.verdict) for e in judged[SEEDS:]] == [
        (3, 0, "rejected"), (3, 1, "scored"), (4, 0, "scored"), (5, 0, "scored"), (6, 0, "duplicate"),
    ]  # fmt: skip
    assert models == ["ask", "ask", "an agent", "ask", "ask"]


def test_a_mistake_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    async def err(agent: Agent) -> list[str]:
        wrong = agent.wrong
        run = (await agent("open_study", task=MOOD_TASK, options=PLAN))["run"]
        proposal = (await agent("ask", run=run))["proposal"]
        await agent("tell", run=run, proposal=proposal, reply=program(1.0))
        return [
            await wrong("describe_task", task="cache_evicton"),
            await wrong("open_study", task=MOOD_TASK, options={"rouds": 3}),
            await wrong("open_study", task=MOOD_TASK, options={"rounds": "three"}),
            await wrong("open_study", task=MOOD_TASK, options={"model": "gpt"}),
            await wrong("open_study", task=MOOD_TASK, settings={"wieght": 3}),
            await wrong("open_study", task=MOOD_TASK, settings={"rounds": 3}),
            await wrong("open_study", task=MOOD_TASK, option={}),
            await wrong("ask", run="nosuchrun"),
            await wrong("ask"),
            await wrong("ask", run=5),
            await wrong("tell", run=run, proposal=proposal, reply=program(1.0)),
            await wrong("inspect", run=run, candidate=99),
            await wrong("export", run=run, format="pyhton"),
        ]

    lines = play(tmp_path, err)
    for line, says in zip(
        lines,
        [
            "no task is called 'cache_evicton'; did you mean 'cache_eviction'?",
            "options: no option 'rouds'; did you mean 'rounds'?",
            "options: rounds is 'three', which is no whole number",
            "options: 'model' is no option of a study",
            "settings: no option 'wieght'; did you mean 'weight'?",
            "settings: 'rounds' is no setting of the task: put it into options",
            "open_study has no argument 'option'; did you mean 'options'? (there are: task, settings, options)",
            "no run 'nosuchrun' in runs",
            "ask: run: Field required",
            "ask: run: Input should be a valid string",
            "proposal 3 has its reply already; open are: none",
            "has no candidate 99: they go from 1 to 3",
            "no export format is called 'pyhton'; did you mean 'python'?",
        ],
        strict=True,
    ):
        assert says in line
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_an_agent_holds_a_conversation_with_the_tools_of_the_strategy_engineer(tmp_path: Path) -> None:
    async def engineer(agent: Agent) -> None:
        options = {"strategy": "engineer", "budget_candidates": 2, "drafts": 2, "turns": 4, "tune": 0, "simplify": 0}
        run = (await agent("open_study", task=MOOD_TASK, options=options))["run"]
        name = (await agent("ask", run=run))["proposal"]
        measured = await agent("measure", run=run, proposal=name, program=source(program(0.75)))
        assert measured["result"].startswith("draft 1: score 0.5000 on train")
        assert measured["proposal"] == f"{name}.1"
        noted = await agent("notes", run=run, proposal=name, note="three quarters fit")  # whichever turn is open
        assert noted["result"].startswith("- three quarters fit")
        curves = await agent("curve", run=run, proposal=name)
        assert "there is no tool 'curve'" in curves["result"]
        assert "no reply left but the last" in await agent.wrong("library", run=run, proposal=name)
        told = await agent("tell", run=run, proposal=f"{name}.3", reply=program(0.75))
        assert (told["verdict"], told["candidate"]) == ("duplicate", SEEDS + 2)
        assert (await agent("inspect", run=run))["notebook"] == [f"- (proposal {name}) three quarters fit"]

        other = (await agent("open_study", task=MOOD_TASK, options=PLAN))["run"]
        first = (await agent("ask", run=other))["proposal"]
        assert "strategy engineer" in await agent.wrong("measure", run=other, proposal=first, program="x")

    play(tmp_path, engineer)


def source(reply: str) -> str:
    return reply.split("```python\n")[1].split("```", maxsplit=1)[0]
