"""What lessons say of a block is what a look at each request says, and nothing comes from behind the training data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator
from vulcan.generator.fits import fitted_programs
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_prefix.lessons import lessons_of
from vulcan_traces.prompts import PromptTrace, load_prompts

TASK = find_task("prefix_cache")
CAPACITY = 20_000


def uses_of(trace: PromptTrace) -> dict[int, list[tuple[int, int, int]]]:
    """Each block's uses: the request, the place in it, and the block that follows, -1 for none."""
    uses: dict[int, list[tuple[int, int, int]]] = {}
    for r in range(trace.requests):
        blocks = [*trace.blocks[trace.starts[r] : trace.starts[r + 1]].tolist(), -1]
        for at, block in enumerate(blocks[:-1]):
            uses.setdefault(block, []).append((r, at, blocks[at + 1]))
    return uses


@pytest.mark.parametrize("kind", ["chat", "documents"])
def test_a_block_returns_when_a_later_request_has_it(kind: str) -> None:
    trace = load_prompts(f"{kind}:requests=120,seed=4")
    expected = set()
    for uses in uses_of(trace).values():
        is_end = len({following for *_, following in uses}) > 1
        for n, (r, at, _) in enumerate(uses):
            if is_end or at == trace.prompt_blocks[r] - 1:
                gap = trace.arrivals[r] - trace.arrivals[uses[n - 1][0]] if n else 0.0
                again = trace.arrivals[uses[n + 1][0]] - trace.arrivals[r] if n + 1 < len(uses) else np.inf
                fits = (n + 1, (at + 1) * trace.block_tokens, trace.turns[r], trace.ends[r], gap)
                expected.add((*(float(round(x, 6)) for x in fits), round(2.0 * float(again), 6)))
    found = set()
    for lesson in lessons_of(trace, 2.0, CAPACITY):
        for (idle, gap, _, hits, turn, depth, ended), gain, cost in zip(
            lesson.situations, lesson.gains, lesson.costs, strict=True
        ):
            of = (hits, depth, turn, ended, round(gap / 2, 6))
            waits = {again for *own, again in expected if tuple(own) == pytest.approx(of, abs=1e-5)}
            assert waits
            assert any((gain == 1) == (abs(idle + cost - again) < 1e-4) for again in waits)
            found.add(of)
    assert len(found) > 50


def test_what_follows_the_training_data_changes_nothing_and_fits_are_policies() -> None:
    evaluator: Any = load_evaluator(TASK)
    given = {"trace": ["agent:requests=6000,seed=1"], "cache_size": ["5%"]}
    train, *_ = evaluator.instances(complete_settings(TASK, given), Split(by="time"))
    spec, workload = evaluator.at(train)
    assert workload.requests == spec.measure_to < 6000
    learnt = evaluator.lessons(train, "computed_tokens")
    programs = fitted_programs(TASK, learnt)
    assert programs
    reference = evaluator.run("lru", spec, workload).metrics()["computed_tokens"]
    best = min(evaluator.run(check(p, TASK), spec, workload).metrics()["computed_tokens"] for p in programs)
    assert best < 0.95 * reference
