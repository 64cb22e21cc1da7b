"""On a host that cannot hold free Python, `--allow-unsandboxed` runs it, command by command; nothing else does."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from console import COMMAND, Console, Result, one_line
from mcp import Client, StdioServerParameters
from program_parts import SEEDS

HERE = Path(__file__).resolve().parent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the host is made weaker by Linux's means")

WEAK = (sys.executable, str(HERE / "weak_host.py"))
TRACE = "zipf:requests=600,objects=150,alpha=0.9,seed=3"
PLAN = {
    "strategy": "policysmith", "rounds": 2, "samples": 2, "tune": 0, "simplify": 0, "split": "none",
    "feedback": "scores",  # findings of the best program need a run of it
}  # fmt: skip
REFUSED = "free Python is not run here, for this host lacks: seccomp (`vulcan doctor` says more); --allow-unsandboxed"
PROGRAM = SEEDS["lru"].replace("popitem(last=False)", "popitem(last=request.id % 3 == 0)")
REPLY = f"An idea.\n\n```python\n{PROGRAM}```\n"


class WeakConsole(Console):
    """A shell on a host without seccomp, where each command is a process: this one is on a better host."""

    def __call__(self, *arguments: str | Path, **environment: str) -> Result:
        return self.process(*arguments, **environment)

    def start(self, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*WEAK, COMMAND, *map(str, arguments)], cwd=self.directory, env=self.environment(**environment), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0,
        )  # fmt: skip


@pytest.mark.slow
def test_each_command_on_a_run_is_told_by_itself(tmp_path: Path) -> None:
    weak = WeakConsole(tmp_path)
    plan = [word for name, value in PLAN.items() for word in (f"--{name}", str(value))]
    opened = weak.document(
        "search", "--task", "cache_program", "--model", "ask", "--trace", TRACE, *plan, "--allow-unsandboxed"
    )
    run = opened["run"]
    assert opened["candidates"]["scored"] == len(SEEDS)
    proposal = weak.document("ask", run)["proposal"]
    (tmp_path / "reply.md").write_text(REPLY)
    line = one_line(weak("tell", run, "--proposal", proposal, "--file", "reply.md"))
    assert line.startswith(f"vulcan: the reply is kept, and scored by the next command that can: {REFUSED}")
    following = weak.document("ask", run, "--allow-unsandboxed")
    assert following["open"] == [str(int(proposal) + 1)]
    finished = weak.document("finish", run, "--allow-unsandboxed")
    assert (finished["state"], finished["candidates"]["scored"]) == ("finished", len(SEEDS) + 1)


def played(directory: Path, *options: str) -> list[tuple[bool, Any]]:
    """What an agent comes to that opens a study, is asked, and tells; it grants itself what it can."""
    kept = {name: value for name, value in os.environ.items() if name in ("VULCAN_CACHE_DIR", "XDG_CACHE_HOME")}
    server = StdioServerParameters(command=WEAK[0], args=[*WEAK[1:], COMMAND, "mcp", *options], cwd=directory, env=kept)
    study = {"task": "cache_program", "settings": {"trace": [TRACE]}, "options": PLAN}
    said: list[tuple[bool, Any]] = []

    async def session() -> None:
        async with Client(server) as client:

            async def call(tool: str, **arguments: Any) -> Any:
                result = await client.call_tool(tool, arguments)
                (content,) = result.content
                said.append((result.is_error, content.text if result.is_error else result.structured_content))
                return said[-1][1]

            await call("open_study", **study, allow_unsandboxed=True)
            await call("open_study", **{**study, "options": {**PLAN, "allow_unsandboxed": True}})
            opened = await call("open_study", **study)
            if not said[-1][0]:
                asked = await call("ask", run=opened["run"])
                await call("tell", run=opened["run"], proposal=asked["proposal"], reply=REPLY)

    asyncio.run(asyncio.wait_for(session(), 240))
    return said


@pytest.mark.slow
def test_an_agent_cannot_grant_it_and_whoever_starts_its_server_can(tmp_path: Path) -> None:
    by_argument, by_option, refused = played(tmp_path)
    assert by_argument[0] and "open_study has no argument 'allow_unsandboxed'" in by_argument[1]
    assert by_option[0] and "options: no option 'allow_unsandboxed'" in by_option[1]
    assert refused[0] and REFUSED in refused[1]
    *_, opened, asked, told = played(tmp_path, "--allow-unsandboxed")
    assert not opened[0] and opened[1]["candidates"]["scored"] == len(SEEDS)
    assert not asked[0]
    assert not told[0] and told[1]["verdict"] == "scored"
