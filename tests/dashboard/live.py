"""What the tests of the page are made of: the server as a process, searches as processes, and stores made directly."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from console import COMMAND, MOOD_TASK
from edited_log import rewrite_log
from locations import recorded_run
from waiting import wait_until

from vulcan.store import RunRecord
from vulcan.store.events import (
    CallRecord,
    CandidateJudged,
    CandidateProposed,
    CandidateRefined,
    Event,
    FinalistScored,
    HeldOutMeasured,
    InstanceMetrics,
    RunStopped,
    WinnerChosen,
)
from vulcan.store.runs import create_store, open_store

MARKUP = "</script><img src=x onerror=\"document.title='broken'\"><b>&amp;"
"""What a model might write to have a page do its bidding."""

MANY = 5000
PATIENCE = 240.0  # seconds: machines may be busy


class Server:
    """`vulcan ui` as a process, over the runs in a directory."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.directory = directory
        self.process = subprocess.Popen(
            [COMMAND, "ui", "--no-browser", *arguments],
            cwd=directory,
            text=True,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else ""
        found = re.search(r"http://\S+", line)
        if found is None:
            self.process.kill()
            raise AssertionError(f"no address: {line!r} {self.process.communicate()[1]}")
        self.address = found[0]
        parts = urlsplit(self.address)
        self.home = f"http://{parts.netloc}"
        self.port = parts.port or 0
        self.token = parts.query.removeprefix("token=")

    def through(self, port: int) -> tuple[str, str]:
        """Its home and its address, as they are through another port of this machine."""
        return tuple(place.replace(f":{self.port}", f":{port}", 1) for place in (self.home, self.address))

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Somebody who was let in."""
        with httpx.Client(base_url=self.home, timeout=PATIENCE, trust_env=False) as client:
            assert client.get("/", params={"token": self.token}).status_code == 200
            yield client

    def close(self) -> str:
        """End it as Ctrl-C does; what it wrote to standard error."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=PATIENCE)[1]


def start_search(directory: Path, *arguments: str) -> subprocess.Popen[str]:
    """`vulcan search` on the task of moods by the offline generator, on one local worker; endless unless told."""
    plan = {"--rounds": "1000", "--samples": "1000", "--tune": "0", "--simplify": "0", "--workers": "1"}
    plan |= dict(zip(arguments[::2], arguments[1::2], strict=True))
    options = [part for pair in plan.items() for part in pair]
    return subprocess.Popen(
        [COMMAND, "search", "--task", MOOD_TASK, "--executor", "local", "--quiet", *options],
        cwd=directory,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str]) -> int:
    """The exit code of a process that is to end by itself."""
    process.communicate(timeout=PATIENCE)
    return process.returncode


def until(holds: Callable[[], Any], what: str) -> Any:
    """What `holds` gives once it is true."""
    found = wait_until(holds, PATIENCE)
    assert found, f"it did not come about that {what}"
    return found


def only_run(directory: Path) -> Path:
    """The one run in a directory of runs, once its file is there."""
    return until(lambda: next((f.parent for f in directory.glob("runs/*/run.db")), None), "a run begins")


def record_of(run: Path) -> RunRecord:
    with closing(open_store(run)) as store:
        return RunRecord.of(store.events())


def unfinished(run: Path) -> Path:
    """The recorded search without its end, in a directory of its own."""
    run.mkdir()
    (run / "run.db").write_bytes((recorded_run() / "run.db").read_bytes())
    end = FinalistScored | WinnerChosen | HeldOutMeasured | RunStopped | CandidateRefined
    rewrite_log(run / "run.db", lambda entry: None if isinstance(entry, end) else entry)
    return run


def beginning(of: Path | None = None) -> list[Event]:
    """The events of the recorded search before its first proposal."""
    with closing(open_store(of or recorded_run())) as store:
        events = list(store.events())
    first = next(n for n, event in enumerate(events) if isinstance(event, CandidateProposed))
    return events[:first]


def make_large(run: Path, candidates: int = MANY) -> None:
    """A run of many candidates, by the store's own calls: a tenth of them are rejected, the rest is scored."""
    run.mkdir(parents=True)
    recorded = record_of(recorded_run())
    model = next(c for c in recorded.candidates.values() if c.score is not None)
    made: list[Event] = []
    for number in range(1, candidates + 1):
        parents = (number // 2, number // 3) if number > 3 else ()
        made.append(
            CandidateProposed(number, 1 + number // 25, ("mutate", "crossover")[number % 2], parents, number, "toy")
        )
        score = 0.08 - 0.05 / (1 + number / 500) - (number * 7919 % 97) / 5000
        judged = replace(
            model, candidate=number, proposal=number, turn=0, source=f"{model.source}# {number}\n", derived_from=None,
            fingerprint=str(number), score=score, metrics=metrics_of(score, recorded), of=None, origin="model",
            size=50 + number % 90, operations=20 + number % 200,
        )  # fmt: skip
        if number % 10 == 0:
            rule = ("while", "unknown-name", "statement")[number // 10 % 3]
            judged = replace(
                judged, verdict="rejected", score=None, metrics=(), rules=(rule,), feedback=f"line 2: [{rule}]",
                fingerprint=None, operations=None, size=None,
            )  # fmt: skip
        made.append(judged)
    calls = [
        ("", CallRecord(n, 0, (("user", "Write one."),), f"reply {n}", "toy-1", "stop", 900, 200, 0.0004, 1.0))
        for n in range(1, candidates + 1)
    ]
    with closing(create_store(run)) as store:
        store.append(*beginning(), *made)
        store.restore(calls)


def metrics_of(score: float, record: RunRecord) -> InstanceMetrics:
    """Metrics that give this score on each instance: the task scores a policy by its misses beside FIFO's."""
    fifo = record.baselines["fifo", "train"]
    return tuple(
        (instance, {**metrics, "miss_ratio": metrics["miss_ratio"] * (1 - score)}) for instance, metrics in fifo.metrics
    )


def make_hostile(run: Path) -> None:
    """A run in which every text that a model can choose is markup."""
    run.mkdir(parents=True)
    with closing(create_store(run)) as store:
        store.append(
            *beginning(),
            CandidateProposed(1, 1, MARKUP, (), 1, MARKUP),
            CandidateJudged(
                1, 1, 0, f"# {MARKUP}\n", "f", "scored", MARKUP, (MARKUP,), 3, 4, None, 0.07,
                metrics_of(0.07, record_of(recorded_run())), warnings=(MARKUP,),
            ),
            CandidateProposed(2, 1, MARKUP, (1,), 1, MARKUP),
            CandidateJudged(
                2, 2, 0, f"# {MARKUP} 2\n", None, "rejected", MARKUP, (MARKUP,), None, None, None, None, ()
            ),
        )  # fmt: skip
        for number in (1, 2):
            store.record(CallRecord(number, 0, (("user", "x"),), MARKUP, MARKUP, "stop", 1, 1, 0.001, 0.1))


def messages(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """The messages of a stream of server-sent events."""
    message: dict[str, str] = {}
    for line in lines:
        if not line and message:
            yield message
            message = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            message[name] = value


def kill_group(process: subprocess.Popen[str]) -> None:
    """End a process with all that it started, if it is still there."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
