"""What the built-in tasks require: proved of every policy that is shipped, and enforced in a search."""

from __future__ import annotations

from dataclasses import replace

import pytest
from effort import few
from locations import ROOT, recorded_run

from vulcan.anvil import check
from vulcan.anvil.proofs import refuted_required, verify
from vulcan.generator import OfflineEvolve
from vulcan.models.base import Parent, Request
from vulcan.portfolio.library_file import read_library
from vulcan.registry import find_task
from vulcan.searches.reply import parse_source
from vulcan.store.events import CandidateJudged
from vulcan.store.runs import open_store
from vulcan.task import Program

NAMES = sorted(folder.name for folder in (ROOT / "tasks").iterdir() if (folder / "task.py").is_file())
REQUIRING = [name for name in NAMES if not isinstance(find_task(name).signature, Program)]

BREAKING = {
    "active_queue_management": ("def drop_probability(queue):\n    return queue.delay_ms / 20\n", "a probability"),
    "cache_eviction": (
        "import math\ndef priority(now, obj, cache, ghost):\n    return math.exp(obj.count)\n", "finite and bounded"
    ),
    "congestion_control": (
        "def cwnd(state, window):\n    return min(state.cwnd_packets + 1, 65535)\n", "backs off at a loss"
    ),
    "load_balancing": (
        "def score(now, server, servers):\n    return (1 + server.age_ms) ** 40\n", "finite and bounded"
    ),
    "memory_tiering": (
        "def score(now, page, memory):\n    return (page.accesses + 1) ** 40\n", "finite and bounded"
    ),
    "prefix_cache": (
        "def priority(now, node, server):\n    return (1 + node.tokens) ** 40\n", "finite and bounded"
    ),
    "request_routing": (
        "def score(now, replica, router, request):\n    return (1 + replica.mine) ** 40\n", "finite and bounded"
    ),
    "request_scheduling": (
        "def score(now, request, engine):\n    return (1 + request.prompt) ** 40\n", "finite and bounded"
    ),
    "spot_single": ("def decide(job, spot, vm):\n    return 1 if job.slack_s > 9 else 2\n", "spot only where it is"),
}  # fmt: skip


def required(task):
    return [declared for declared in task.properties if declared.required]


@pytest.mark.parametrize("name", REQUIRING)
def test_every_shipped_policy_is_proved_to_keep_what_is_required(name):
    task = find_task(name)
    sources = task.seed_policies()
    for policy, source in sources.items():
        checked = check(source, task)
        for verdict in verify(checked, required(checked.task)):
            assert (verdict.outcome, verdict.method) == ("proved", "certificate"), (policy, verdict)


def test_every_member_of_the_shipped_library_is_proved_to_keep_what_its_task_requires():
    for member in read_library(find_task("cache_eviction").directory / "library").members:
        checked = check(member.source, find_task(member.task))
        for verdict in verify(checked, required(checked.task)):
            assert (verdict.outcome, verdict.method) == ("proved", "certificate"), (member.name, verdict)


@pytest.mark.parametrize("name", BREAKING)
def test_what_breaks_one_is_rejected_and_its_input_shown(name):
    source, broken = BREAKING[name]
    reading = parse_source(source, find_task(name))
    assert reading.policy is None and reading.rules == ("property",)
    assert reading.feedback.startswith(f"property {broken!r} is broken (") and " gives " in reading.feedback


def test_no_recorded_candidate_of_a_model_is_rejected():
    task = find_task("cache_eviction")
    store = open_store(recorded_run())
    sources = {e.source for e in store.events() if isinstance(e, CandidateJudged) and e.verdict == "scored"}
    store.close()
    assert len(sources) > 40
    assert [source for source in sources if refuted_required(check(source, task)) is not None] == []


@pytest.mark.parametrize(
    "name", few(["congestion_control", "active_queue_management", "spot_single", "cache_eviction"], 2)
)
def test_the_generator_guards_what_it_writes(name):
    """Without a required property it writes what breaks it, most of the time."""
    task = find_task(name)
    free = replace(task, properties=tuple(replace(p, required=False) for p in task.properties))
    parents = tuple(Parent(i, source, 0.0) for i, source in enumerate(task.seed_policies().values()))

    def refused(writer):
        texts = [OfflineEvolve(writer).propose(Request(k, 0, (), parents[:2], 1)).text for k in range(12)]
        sources = [text.split("```python\n")[1].split("```")[0] for text in texts]
        return sum(refuted_required(check(source, task)) is not None for source in sources)

    assert refused(task) <= 1
    assert refused(free) >= 5
