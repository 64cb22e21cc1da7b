"""A reader at a shell: a fresh directory, the commands of a page, and what the page says is there before."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

from chat_server import Behaviour, ChatServer, Received, answer
from console import Console
from docs_pages import ROOT, Block
from effort import ALL
from locations import few_starts

SERVER = "http://localhost:8000/v1"
"""The address that the pages give for a server of the reader's own."""
WORD = re.compile(r"[A-Za-z][A-Za-z-]{2,}")
SHELLS_OWN = re.compile(r"[|<>;&$*~`\n]")
PATIENCE = 900  # seconds for a command


@dataclass
class Shell:
    """Runs commands in `directory`, each by itself."""

    directory: Path
    server: str = SERVER

    def __post_init__(self) -> None:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        place = str(Path(sys.executable).parent)
        home = self.directory / ".home"  # what a command installs for the user stays here; compiled kernels are shared
        home.mkdir()
        cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        self.environment = {
            **kept, "PATH": os.pathsep.join((place, os.environ["PATH"])), "COLUMNS": "150",
            "NO_COLOR": "1", "OPENAI_API_KEY": "a-key-of-nobody", "HOME": str(home), "XDG_CACHE_HOME": cache,
        }  # fmt: skip
        (self.directory / ".venv").symlink_to(Path(place).parent)

    def follow(self, block: Block, page: str) -> None:
        """Do what the block says; what it shows of the output is compared word by word."""
        if not block.is_commands:
            self._write(block, page)
            return
        commands = block.commands()
        for number, (command, shown) in enumerate(commands, 1):
            done = self.run(self.meant(command, block.added))
            where = f"{page}, line {block.line}: {done.args}"
            expected = block.exit_code if number == len(commands) else 0
            assert done.returncode == expected, f"{where}\n{done.stdout}\n{done.stderr}"
            assert "Traceback" not in done.stderr, f"{where}\n{done.stderr}"
            missing = words(shown) - words([done.stdout, done.stderr])
            assert not missing, f"{where}\nsays nothing of {sorted(missing)}:\n{done.stdout}\n{done.stderr}"

    def _write(self, block: Block, page: str) -> None:
        if block.file is not None:
            target = self.directory / block.file
            assert target.parent.is_dir(), f"{page}, line {block.line}: no directory for {block.file}"
            target.write_text(block.text, encoding="utf-8")
            return
        (self.directory / "page.py").write_text(quick(block.text), encoding="utf-8")
        done = self.run(f"{sys.executable} page.py")
        assert done.returncode == 0, f"{page}, line {block.line}:\n{block.text}\n{done.stderr}"

    def meant(self, command: str, added: str) -> str:
        """RUN is the newest run; a server of the reader's own is that of the test."""
        if re.search(r"\bRUN\b", command):
            command = re.sub(r"\bRUN\b", newest_run(self.directory / "runs").name, command)
        command = quick(command.replace(SERVER, self.server).split("  #")[0])
        return f"{command} {added}" if re.match(r"(\S*/)?vulcan (search|library build)\b", command) else command

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """In a shell; a plain command of Vulcan's in this process, unless all tests are run."""
        if command.startswith("vulcan ") and not (ALL or SHELLS_OWN.search(command)):
            named = ("OPENAI_API_KEY", "NO_COLOR", "COLUMNS")
            console = Console(self.directory)
            return console(*shlex.split(command)[1:], **{name: self.environment[name] for name in named})
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command], cwd=self.directory, env=self.environment, text=True,
            capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=PATIENCE,
        )  # fmt: skip


def quick(text: str) -> str:
    """Searches for caches are short and begin with few policies, unless all tests are run: so do their proposals."""
    text = text if ALL else text.replace("--proposal 23", "--proposal 5")
    if ALL or not re.search(r"vulcan(\.| )search\b", text):
        return text
    few = few_starts("cache_eviction", ("fifo", "lfu", "lru", "w_tinylfu"))  # what is best here can be exported
    text = text.replace("budget_candidates=20", "budget_candidates=4, tune=0, simplify=0")
    return text.replace("--task cache_eviction", f"--task {few}").replace('"cache_eviction"', f'"{few}"')


def words(lines: list[str]) -> set[str]:
    """Words, but for those with figures in them."""
    return set(WORD.findall(" ".join(lines)))


def newest_run(runs: Path) -> Path:
    """By the time in its name."""
    found = [(match[0], place) for place in runs.iterdir() if (match := re.search(r"\d{8}-\d{6}", place.name))]
    assert found, f"the page has made no run in {runs}"
    return max(found)[1]


def prepare(shell: Shell, needs: list[str], finished_run: Iterator[Path], stack: ExitStack) -> None:
    """Put there what a page says is there."""
    for need in needs:
        match need:
            case "my-trace.csv" | "my-link.trace" | "accesses.txt" | "spot.json":
                RECORDINGS[need](shell.directory / need)
            case "a finished run":
                made = next(finished_run)
                shutil.copytree(made, shell.directory / "runs" / made.name)
            case "the checkout":
                (shell.directory / "tasks").mkdir()  # of its own, for pages add tasks; nothing else of it is needed
                for task in (ROOT / "tasks").iterdir():
                    (shell.directory / "tasks" / task.name).symlink_to(task)
            case "a model server":
                shell.server = stack.enter_context(ChatServer(propose)).url
            case "slow":
                pass  # it is run by `make test-slow` only
            case _:
                raise AssertionError(f"no page can begin with {need!r}")


def write_trace(path: Path, requests: int = 4_000) -> None:
    """Skewed requests for objects of several sizes: time, id, size."""
    random = Random(5)
    drawn = [int(random.paretovariate(0.9)) % 700 for _ in range(requests)]
    path.write_text("".join(f"{t},{n},{100 + n * 7919 % 4000}\n" for t, n in enumerate(drawn)), encoding="utf-8")


def write_link(path: Path, milliseconds: int = 4_000) -> None:
    """Mahimahi's format, a line an opportunity to send a packet: 12 Mbit/s, and half of it after a while."""
    path.write_text("".join(f"{t}\n" for t in range(milliseconds) if t < milliseconds / 2 or t % 2), encoding="utf-8")


def write_accesses(path: Path) -> None:
    """Text of `perf script`, a thousand accesses a second: most of them are to twenty pages, which change."""
    pages = (n % 400 if n % 5 == 0 else n // 5000 * 97 + n % 20 for n in range(20_000))
    lines = (f"{n / 1000:.6f}: cpu/mem-loads/P: {0x7F0000000000 + 4096 * page:x}\n" for n, page in enumerate(pages))
    path.write_text("".join(lines), encoding="utf-8")


def write_spot(path: Path) -> None:
    """SkyPilot's format, a tick each ten minutes."""
    there = [int(n % 37 > 9) for n in range(1_400)]
    path.write_text(json.dumps({"metadata": {"gap_seconds": 600}, "data": there}), encoding="utf-8")


RECORDINGS = {
    "my-trace.csv": write_trace, "my-link.trace": write_link, "accesses.txt": write_accesses, "spot.json": write_spot,
}  # fmt: skip


def propose(request: Received) -> Behaviour:
    """A model's reply: each time another policy for cache eviction."""
    weight = 1 + request.number / 10
    return answer(
        "Fewer bytes and more requests.\n\n```python\ndef priority(now, obj, cache, ghost):\n"
        f"    return cache.evicted_priority + {weight} * obj.count / obj.size\n```\n"
    )
