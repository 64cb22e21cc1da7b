"""`vulcan ask`, `vulcan tell` and `vulcan finish`: somebody else is the model, and each command is its own process."""

from __future__ import annotations

import signal
from contextlib import closing
from typing import Any

import pytest
from console import MOOD_TASK, Console, Result, one_line
from locations import recorded_run

from vulcan.store.events import CandidateJudged
from vulcan.store.runs import open_store

SEEDS = 2
PLAN = ("--strategy", "policysmith", "--rounds", "2", "--samples", "3", "--tune", "0", "--simplify", "0")


def program(share: float) -> str:
    """A reply whose score grows with the share."""
    return f"An idea.\n\n```python\ndef decide(load, room):\n    return min(load, room) * {share}\n```\n"


def score(share: float) -> float:
    """What the program of that share scores: the evaluator takes what is decided, but never more than the room."""
    grid = [(load, room) for load in range(5) for room in range(5)]
    taken = sum(min(share * min(load, room), room) for load, room in grid)
    return taken / sum(min(load, room) / 2 for load, room in grid) - 1


class Asking:
    """One run, and the commands on it."""

    def __init__(self, vulcan: Console, *options: str) -> None:
        self.vulcan = vulcan
        self.run = vulcan.document("search", "--task", MOOD_TASK, "--model", "ask", *PLAN, *options)["run"]

    def ask(self, *options: str) -> Any:
        return self.vulcan.document("ask", self.run, *options)

    def tell(self, proposal: str, reply: str, *options: str) -> Any:
        (self.vulcan.directory / "reply.md").write_text(reply)
        return self.vulcan.document("tell", self.run, "--proposal", proposal, "--file", "reply.md", *options)

    def refused(self, *command: str) -> Result:
        (self.vulcan.directory / "reply.md").write_text(program(1.1))
        return self.vulcan(*command)

    def events(self) -> list[Any]:
        with closing(open_store(self.vulcan.directory / self.run)) as store:
            return list(store.events())


@pytest.fixture
def asking(vulcan: Console) -> Asking:
    return Asking(vulcan)


def test_a_run_is_opened_with_its_baselines_and_the_tasks_own_policies_measured(vulcan: Console) -> None:
    summary = vulcan.document("search", "--task", MOOD_TASK, "--model", "ask", *PLAN)
    assert (summary["state"], summary["best"], summary["proposals"]) == ("open", None, 0)
    assert summary["candidates"]["scored"] == SEEDS
    assert summary["train"]["baselines"] == {"none": -1.0, "half": 0.0}
    exported = vulcan.good("export", summary["run"], "-o", "best.py")
    assert exported.stderr.startswith("Not finished: candidate ")
    measured = [line for line in (vulcan.directory / "best.py").read_text().splitlines() if line.startswith("Measured")]
    assert measured
    assert all(line.endswith(", train") for line in measured)
    text = vulcan.good("search", "--task", MOOD_TASK, "--model", "ask", *PLAN).stdout
    assert "`vulcan ask runs/mood_task-" in text
    assert "`vulcan tell runs/mood_task-" in text


def test_a_run_that_is_finished_is_shown_as_it_is_without_its_trace(vulcan: Console) -> None:
    again = vulcan.good("finish", recorded_run())
    assert again.stderr.startswith(f"{recorded_run()} was finished before\n")
    assert vulcan.document("finish", recorded_run()) == vulcan.document("show", recorded_run())


def test_a_prompt_is_answered_and_the_verdict_told(asking: Asking) -> None:
    asked = asking.ask()
    assert (asked["proposal"], asked["kind"], asked["form"]) == (str(SEEDS + 1), "policy", "full")
    assert (asked["open"], asked["completed"], asked["total"], asked["done"]) == ([asked["proposal"]], 0, 6, False)
    (message,) = asked["messages"]
    assert message["role"] == "user"
    assert "def decide(load, room)" in message["content"]
    told = asking.tell(asked["proposal"], program(1.1), "--model", "me")
    assert told == {
        "run": asking.run, "proposal": asked["proposal"], "verdict": "scored", "score": told["score"], "feedback": "",
        "warnings": [], "candidate": SEEDS + 1, "repair": False, "pending": False,
        "best": {"candidate": SEEDS + 1, "proposal": asked["proposal"], "score": told["score"]},
    }  # fmt: skip
    assert told["score"] == pytest.approx(score(1.1))
    shown = asking.vulcan.document("show", asking.run, str(told["candidate"]))
    assert (shown["model"], shown["origin"], shown["scores"]["train"]) == ("me", "model", told["score"])


def test_what_is_not_open_is_refused_in_one_line_and_changes_nothing(asking: Asking) -> None:
    proposal = asking.ask()["proposal"]
    asking.tell(proposal, program(1.1))
    before = asking.events()
    says = f"proposal {proposal} has its reply already; open are: none"
    assert says in one_line(asking.refused("tell", asking.run, "--proposal", proposal, "--file", "reply.md"))
    assert says in one_line(asking.refused("ask", asking.run, "--proposal", proposal))
    missing = asking.refused("tell", asking.run, "--proposal", "3", "--file", "none.md")
    assert one_line(missing) == (
        "vulcan: cannot read the reply none.md: No such file or directory; give its path, or - for standard input"
    )
    (asking.vulcan.directory / "latin.md").write_bytes(b"\xe9")
    assert "is not UTF-8 text" in one_line(asking.refused("tell", asking.run, "--proposal", "3", "--file", "latin.md"))
    assert asking.events() == before


def test_a_process_that_is_killed_between_ask_and_tell_loses_nothing(asking: Asking) -> None:
    proposal = asking.ask()["proposal"]
    process = asking.vulcan.start("ask", asking.run, "--json")
    process.stdout.read(1)  # its question is out
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert asking.ask("--proposal", "4")["proposal"] == "4"
    assert asking.tell("4", program(1.2))["verdict"] == "scored"
    assert asking.tell(proposal, program(1.1))["pending"] is False


def test_two_who_tell_at_once_wait_for_each_other(asking: Asking) -> None:
    names = [asking.ask()["proposal"] for _ in range(3)]
    for share, name in zip((1.1, 1.15, 1.2), names, strict=True):
        (asking.vulcan.directory / f"{name}.md").write_text(program(share))
    running = [
        asking.vulcan.start("tell", asking.run, "--proposal", name, "--file", f"{name}.md", "--json") for name in names
    ]
    results = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], results
    judged = [e for e in asking.events() if isinstance(e, CandidateJudged)][SEEDS:]
    assert [e.score for e in judged] == pytest.approx([score(1.1), score(1.15), score(1.2)])


def test_options_that_only_models_have_are_refused(vulcan: Console) -> None:
    line = one_line(vulcan("search", "--task", MOOD_TASK, "--model", "ask", *PLAN, "--temperature", "0.5"))
    assert "--temperature has no effect with --model ask" in line
    assert not (vulcan.directory / "runs").exists()
