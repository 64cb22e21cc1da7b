"""`vulcan ask`, `vulcan tell` and `vulcan finish`: somebody else is the model, and each command is its own process."""

from __future__ import annotations

import signal
from contextlib import closing
from typing import Any

import pytest
from console import MOOD_TASK, Console, Result, one_line

from vulcan.store.events import CandidateJudged, RunStopped
from vulcan.store.runs import open_store

SEEDS = 2
PLAN = ("--strategy", "policysmith", "--rounds", "2", "--samples", "3", "--tune", "0", "--simplify", "0")
REFUSED = "I would rather not.\n"


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
    text = vulcan.good("search", "--task", MOOD_TASK, "--model", "ask", *PLAN).stdout
    assert "`vulcan ask runs/mood_task-" in text
    assert "`vulcan tell runs/mood_task-" in text


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


@pytest.mark.slow
def test_the_text_of_a_prompt_may_be_piped_on(asking: Asking) -> None:
    result = asking.vulcan.good("ask", asking.run)
    assert result.stdout.startswith("You design heuristics for computer systems.")
    assert result.stderr == (
        f"\nproposal {SEEDS + 1}: `vulcan tell {asking.run} --proposal {SEEDS + 1} --file reply.md`\n"
    )
    again = asking.ask("--proposal", str(SEEDS + 1))
    assert result.stdout.rstrip("\n") == again["messages"][0]["content"].rstrip("\n")
    (asking.vulcan.directory / "reply.md").write_text(program(1.1))
    text = asking.vulcan.good(
        "tell", asking.run, "--proposal", str(SEEDS + 1), "--file", "reply.md"
    ).stdout.splitlines()
    assert text == [f"candidate 3: scored, score {score(1.1):.4f}", f"best so far: candidate 3, score {score(1.1):.4f}"]


@pytest.mark.slow
def test_several_proposals_are_open_at_once_and_told_in_any_order(asking: Asking) -> None:
    first, second, third = [asking.ask()["proposal"] for _ in range(3)]
    result = asking.vulcan("ask", asking.run, "--json")
    assert result.returncode == 1  # the next round builds on the verdicts of this one
    assert '"proposal": null' in result.stdout
    waiting = asking.vulcan("ask", asking.run)
    assert waiting.stdout == (
        f"Nothing can be asked before one of the open proposals has its reply: {first}, {second}, {third}.\n"
    )
    late = asking.tell(third, program(1.2))
    assert (late["verdict"], late["score"], late["candidate"], late["pending"]) == (
        "scored", pytest.approx(score(1.2)), None, True,
    )  # fmt: skip
    # numbered once the two before it have their verdicts, but already the best
    assert late["best"] == {"candidate": None, "proposal": third, "score": pytest.approx(score(1.2))}
    equal = asking.tell(second, program(1.2))
    assert (equal["verdict"], equal["pending"]) == ("scored", True)
    told = asking.tell(first, program(1.1))
    assert told["pending"] is False
    judged = [e for e in asking.events() if isinstance(e, CandidateJudged)][SEEDS:]
    assert [(e.proposal, e.verdict, e.of) for e in judged] == [
        (3, "scored", None), (4, "scored", None), (5, "duplicate", 4),
    ]  # fmt: skip
    assert asking.ask()["proposal"] == "6"


@pytest.mark.slow
def test_a_program_that_is_rejected_comes_back_for_repair(asking: Asking) -> None:
    first, other = asking.ask(), asking.ask()
    told = asking.tell(first["proposal"], REFUSED)
    assert (told["verdict"], told["repair"], told["pending"]) == ("rejected", True, True)
    assert "no code block" in told["feedback"]
    repair = asking.ask()
    assert repair["proposal"] == f"{first['proposal']}.1"
    assert [m["role"] for m in repair["messages"]] == ["user", "assistant", "user"]
    assert repair["messages"][0] == first["messages"][0]
    assert repair["messages"][1]["content"] == REFUSED
    assert set(repair["open"]) == {f"{first['proposal']}.1", other["proposal"]}
    stale = one_line(asking.refused("tell", asking.run, "--proposal", first["proposal"], "--file", "reply.md"))
    assert f"proposal {first['proposal']} has its reply already" in stale
    fixed = asking.tell(f"{first['proposal']}.1", program(1.1))
    assert (fixed["verdict"], fixed["pending"]) == ("scored", False)
    judged = [e for e in asking.events() if isinstance(e, CandidateJudged)][SEEDS:]
    assert [(e.proposal, e.turn, e.verdict) for e in judged] == [(3, 0, "rejected"), (3, 1, "scored")]


@pytest.mark.slow
def test_a_repair_that_nobody_asked_for_yet_does_not_hide_the_open_proposals(asking: Asking) -> None:
    """The repair is due before the second proposal, which was given out earlier: another process finds both."""
    first, second = asking.ask()["proposal"], asking.ask()["proposal"]
    asking.tell(first, REFUSED)
    assert asking.tell(second, program(1.2))["score"] == pytest.approx(score(1.2))
    assert asking.ask()["proposal"] == f"{first}.1"


def test_what_is_not_open_is_refused_in_one_line_and_changes_nothing(asking: Asking) -> None:
    proposal = asking.ask()["proposal"]
    asking.tell(proposal, program(1.1))
    before = asking.events()
    for name, says in [
        (proposal, f"proposal {proposal} has its reply already; open are: none"),
        ("99", "no proposal '99' was given out; open are: none"),
        (f"{proposal}.1", f"no proposal '{proposal}.1' was given out"),
        ("first", "no proposal 'first' was given out"),
    ]:
        line = one_line(asking.refused("tell", asking.run, "--proposal", name, "--file", "reply.md"))
        assert says in line
        assert says in one_line(asking.refused("ask", asking.run, "--proposal", name))
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


@pytest.mark.slow
def test_a_reply_that_was_kept_but_not_scored_is_scored_by_the_next_process(asking: Asking) -> None:
    """As a kill in the middle of the scoring leaves it."""
    from vulcan.store.events import CallRecord

    asked = asking.ask()
    messages = tuple((m["role"], m["content"]) for m in asked["messages"])
    with closing(open_store(asking.vulcan.directory / asking.run)) as store:
        store.record(CallRecord(3, 0, messages, program(1.1), "me", "unknown", None, None, None, 0.0, ""))
    others = [asking.ask()["proposal"] for _ in range(2)]
    for other in others:
        asking.tell(other, program(1.2))
    judged = [e for e in asking.events() if isinstance(e, CandidateJudged)][SEEDS:]
    assert [(e.proposal, e.verdict) for e in judged] == [(3, "scored"), (4, "scored"), (5, "duplicate")]


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


@pytest.mark.slow
def test_finish_counts_what_was_told_behind_an_open_proposal(asking: Asking) -> None:
    _, second, _ = [asking.ask()["proposal"] for _ in range(3)]
    asking.tell(second, program(1.2))
    summary = asking.vulcan.document("finish", asking.run)
    assert summary["state"] == "finished"
    assert summary["best"]["candidate"] == 4
    assert summary["train"]["score"] == pytest.approx(score(1.2))
    assert summary["test"]["score"] is not None
    assert summary["proposals"] == 2  # the third was not answered, and nothing depends on it
    assert (summary["candidates"]["no-reply"], summary["candidates"]["scored"]) == (1, SEEDS + 1)
    assert asking.vulcan.document("finish", asking.run) == summary
    assert [e.reason for e in asking.events() if isinstance(e, RunStopped)] == ["finished"]
    for command in (("ask",), ("tell", "--proposal", "5", "--file", "reply.md")):
        line = one_line(asking.refused(command[0], asking.run, *command[1:]))
        assert line == f"vulcan: {asking.run} is finished: `vulcan show {asking.run}` has the winner"


@pytest.mark.slow
def test_a_search_of_which_all_is_told_is_over(vulcan: Console) -> None:
    asking = Asking(vulcan, "--budget-candidates", "2")
    for share in (1.1, 1.2):
        asking.tell(asking.ask()["proposal"], program(share))
    asked = asking.ask()
    assert (asked["proposal"], asked["done"], asked["completed"], asked["total"]) == (None, True, 2, 2)
    assert f"`vulcan finish {asking.run}`" in vulcan.good("ask", asking.run).stdout
    exported = vulcan.document("export", asking.run, "-o", "best.py")
    assert exported["candidate"] == 4  # the best so far, where none has won yet


@pytest.mark.slow
def test_advice_is_asked_for_in_words(vulcan: Console) -> None:
    asking = Asking(
        vulcan, "--strategy", "evolve", "--advice-every", "2", "--in-flight", "1", "--budget-candidates", "8"
    )
    for share in range(8):
        asked = asking.ask()
        if asked["kind"] == "advice":
            break
        asking.tell(asked["proposal"], program(1 + share / 50))
    assert asked["operator"] == "advice"
    told = asking.tell(asked["proposal"], "Take more.\n")
    assert (told["verdict"], told["feedback"], told["repair"]) == (None, "the advice is kept", False)
    for _ in range(4):
        asked = asking.ask()
        if "Take more." in asked["messages"][0]["content"]:
            return
        asking.tell(asked["proposal"], program(1.2))
    pytest.fail("no later prompt has the advice")


@pytest.mark.slow
def test_a_finished_run_is_neither_asked_nor_told(vulcan: Console) -> None:
    run = vulcan.search("--budget-candidates", "1")["run"]
    (vulcan.directory / "reply.md").write_text(program(1.1))
    for command in (("ask",), ("tell", "--proposal", "3", "--file", "reply.md")):
        line = one_line(vulcan(command[0], run, *command[1:]))
        assert f"{run} is finished" in line
    asking = Asking(vulcan)
    assert "waits for replies: `vulcan ask" in one_line(vulcan("resume", asking.run))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--budget-dollars", "1"), "--budget-dollars has no effect with --model ask"),
        (("--control",), "--control has no effect with --model ask"),
        (("--temperature", "0.5"), "--temperature has no effect with --model ask"),
        (("--model", "offline/evolve"), "the model 'ask' answers alone"),
    ],
)
def test_options_that_only_models_have_are_refused(vulcan: Console, options: tuple[str, ...], says: str) -> None:
    line = one_line(vulcan("search", "--task", MOOD_TASK, "--model", "ask", *PLAN, *options))
    assert says in line
    assert not (vulcan.directory / "runs").exists()
