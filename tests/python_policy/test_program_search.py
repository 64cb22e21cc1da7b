"""A search whose model writes programs, from the prompt to the winner and its export."""

from contextlib import closing
from itertools import repeat
from pathlib import Path
from types import ModuleType

import pytest
from chat_server import Behaviour, ChatServer, Received, answer
from exported import imported
from program_parts import CACHE, SEEDS, Here, trace

from vulcan.export import Provenance
from vulcan.export.formats import export_policy
from vulcan.export.source import policy_source
from vulcan.models.budget import Budget
from vulcan.models.open import open_proposer
from vulcan.python_policy.check import check_program
from vulcan.scoring import evaluator_child
from vulcan.scoring.job import Setup
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.model_pool import ModelPool
from vulcan.searches.session import ExecutionConfig, RunDisplay, check_config, open_study
from vulcan.searches.tuning import tune
from vulcan.store import MemoryStore
from vulcan.store.events import CandidateJudged
from vulcan_cache.program import replay_program

TRACE = "zipf:alpha=0.9,requests=3000,objects=600,seed=3"
CONFIG = SearchConfig(
    task="cache_program",
    settings=complete_settings(CACHE, {"trace": [TRACE]}),
    objective="object",
    model=("toy",),
    strategy="best-of-n",
    rounds=1,
    samples=5,
    repairs=1,
    tune=0,
    advice_every=0,
    limit=120.0,
)

RANDOM = '''"""Evicts what was put in at random."""


class Policy:
    def __init__(self, capacity):
        self.kept = []

    def on_miss(self, request):
        self.kept.append(request.id)

    def evict(self, request):
        place = random.randrange(len(self.kept))
        self.kept[place], self.kept[-1] = self.kept[-1], self.kept[place]
        return self.kept.pop()
'''


def reply(source: str) -> str:
    return f"An idea.\n\n```python\n{source}```\n"


def test_a_search_with_a_model_that_writes_programs() -> None:
    renamed = SEEDS["lru"].replace("order", "by_age").replace("request", "asked")
    broken = RANDOM.replace("class Policy:", "import os\n\n\nclass Policy:")
    liar = SEEDS["fifo"].replace("self.queue.popleft()", "self.queue[0] if len(self.queue) > 4 else 10**9")
    first = iter([answer(reply(s)) for s in (RANDOM, broken, renamed, liar)] + [answer("I cannot.")])
    mended = RANDOM.replace("self.kept[-1], self.kept[place]", "self.kept[-1], self.kept[0]")

    def script(request: Received) -> Behaviour:
        messages = request.body["messages"]
        if len(messages) == 1:
            return next(first)
        if "I cannot" in messages[1]["content"]:
            assert "that defines Policy" in messages[2]["content"]
            return answer("No.")
        assert "line 4, column 1: [import] there is no module 'os'" in messages[2]["content"]
        return answer(reply(mended))

    store = MemoryStore()
    with ChatServer(script) as server, closing(open_proposer("toy", api_base=server.url)) as model:
        evidence = check_config(CACHE, CONFIG, models=False)
        with open_study(CACHE, CONFIG, store, evidence, ExecutionConfig("local", 1), RunDisplay()) as study:
            study.run(ModelPool(model, Budget()), parallel=1)
    judged = [event for event in store.events() if isinstance(event, CandidateJudged)]
    verdicts = [(j.proposal - len(SEEDS), j.turn, j.verdict) for j in judged if j.origin == "model"]
    assert verdicts[0] == (1, 0, "scored")
    assert verdicts[1][2] == "rejected"
    assert verdicts[2][:2] == (2, 1)
    assert verdicts[3:] == [(3, 0, "same-decisions"), (4, 0, "failed"), (5, 0, "rejected"), (5, 1, "rejected")]
    assert verdicts[2][2] in ("scored", "failed")
    seeds = {j.candidate: j for j in judged if j.origin == "seed"}
    assert len(seeds) == len(SEEDS)
    assert all(j.verdict == "scored" and j.operations is None and j.size for j in seeds.values())
    failed = next(j for j in judged if j.verdict == "failed" and j.proposal == len(SEEDS) + 4)
    assert "its evict returned" in failed.feedback


def test_a_program_that_computes_without_end_is_stopped_by_its_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator_child, "BACKSTOP", 600.0)  # whatever else this machine does
    source = RANDOM.replace("        self.kept.append(request.id)", "        while True:\n            pass")
    instances = check_config(CACHE, CONFIG, models=False).everything
    worker = evaluator_child.EvaluatorWorker(Setup("cache_program", instances))
    request = {"ticket": "", "source": source, "instances": [0], "probe": False, "explain": False, "limit": 1.0}
    with closing(worker._server):
        ended = worker.serve(request)
    message = f"{instances[0].name}: took more than 1 s of processor time"
    assert (ended["status"], ended["message"]) == ("timeout", message)


def test_constants_at_the_top_are_tuned() -> None:
    objects, sizes = trace(1500, 400)
    seen = []

    def evaluate(sources: list[str]) -> list[float | None]:
        seen.extend(sources)
        return [
            -replay_program(
                check_program(s, CACHE).hosted_by(Here), objects, sizes, 60, blocks=iter([500] * 9)
            ).miss_ratio
            for s in sources
        ]

    source = SEEDS["s3_fifo"].replace("SMALL_SHARE = 0.1", "SMALL_SHARE = 0.6")
    done = tune(source, CACHE, evaluate, evaluations=16, seed=1)
    found = done.best
    assert found is not None
    assert found.score > found.before
    assert set(done.constants) == {"SMALL_SHARE", "GHOST_SHARE", "PROMOTED_FROM", "MAX_COUNTED"}
    assert found.source.split("class Policy")[1] == source.split("class Policy")[1]
    assert len(seen) <= 16


def exported(source: str, place: Path) -> ModuleType:
    """The module that a policy is exported as, imported."""
    files = export_policy(check_program(source, CACHE), "python", Provenance("cache_program", "x.py", "", "", ""))
    ((name, text),) = files.items()
    assert name == "cache_program.py"
    assert policy_source(text) == source
    (place / name).write_text(text)
    return imported(place / name)


ALIASES = '''"""Imports in every way."""
from __future__ import annotations

import heapq as hq, math
from collections import deque as dq, OrderedDict
from random import randrange
from typing import Any


class Policy:
    """A class."""

    def __init__(self, capacity: NotThere) -> Any:
        import bisect
        self.kept = dq()
        hq.heapify([math.floor(bisect.bisect([1], 2)), OrderedDict() is None])

    def on_miss(self, request):
        self.kept.append(request.id)

    def evict(self, request):
        self.kept.rotate(randrange(3) + random.randrange(2))
        return self.kept.popleft()
'''


@pytest.mark.parametrize("source", [*SEEDS.values(), RANDOM, ALIASES], ids=[*SEEDS, "random", "aliases"])
def test_an_export_misses_as_the_search_says_and_can_be_read_back(source: str, tmp_path: Path) -> None:
    objects, sizes = trace(4000, 900, largest=9)
    cache = exported(source, tmp_path).Cache(500)
    misses = sum(not cache.request(int(obj), int(size)) for obj, size in zip(objects, sizes, strict=True))
    result = replay_program(check_program(source, CACHE).hosted_by(Here), objects, sizes, 500, blocks=repeat(1))
    assert misses == result.misses
    assert cache.used == sum(cache.sizes.values()) <= 500
