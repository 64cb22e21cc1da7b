"""What lessons say of a replica is what its router sees by other means, of training requests alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import plain_server
import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator
from vulcan.generator.fits import fitted_programs
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_serving.lessons import lesson_of
from vulcan_serving.simulate import pace, simulate
from vulcan_serving.workload import ServingWorkload
from vulcan_traces.prompts import load_prompts

TASK = find_task("request_routing")
ROUTER = TASK.seed_policies()["prefix_affinity"]


@pytest.mark.parametrize("routers", [1, 2])
def test_a_situation_is_what_the_router_sees_and_the_time_what_the_request_costs(
    routers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = load_prompts("agent:requests=150,seed=3")
    memory = 2 * int((trace.prompt_tokens + trace.output_tokens).max()) + 256
    of = {"replicas": 3, "routers": routers, "delay_ms": 15.0, "memory": memory, "budget": 700}
    spec = plain_server.spec_of(trace, "8b-h100", 1.0, **of)
    workload = ServingWorkload.of(spec, trace, pace(spec, trace))
    found = lesson_of(spec, simulate(spec, workload, None, check(ROUTER, TASK), sees=True))
    situations: list[tuple[float, ...]] = []

    def dispatched(now: float, replica: Any, router: Any, request: Any) -> None:
        new = request.prompt - replica.prefix
        busy = replica.mine * router.replicas / max(router.unfinished, 1)
        share = new / request.prompt
        situations.append((new, share, replica.prefill, replica.held, replica.mine, busy, replica.same))

    functions = plain_server.functions_of(ROUTER)
    monkeypatch.setattr(plain_server, "functions_of", lambda _: {**functions, "on_dispatch": dispatched})
    requests, _, _ = plain_server.serve(spec, workload, router=ROUTER)
    assert found.situations == pytest.approx(np.array(situations))
    assert {row[-1] for row in situations} == {0, 1}
    for request, known, time in zip(requests, situations, found.gains, strict=True):
        new, cached = known[0], request.prompt - known[0]
        computing = 1e-3 * spec.base_ms + 1e-6 * spec.prefill_us * new
        computing += 1e-9 * spec.pair_ns * new * (cached + new / 2)
        assert time == pytest.approx(request.first - request.arrived + computing * known[4])


def test_nothing_that_follows_the_training_data_is_served_and_fits_are_policies() -> None:
    evaluator: Any = load_evaluator(TASK)
    given: Any = {"trace": ["agent:requests=3000,seed=1"]}
    train, *_ = evaluator.instances(complete_settings(TASK, given), Split(by="time"))
    spec, workload = evaluator.at(train)
    assert len(workload.arrivals) == spec.requests < 3000
    [lesson] = evaluator.lessons(train, "ttft_s")
    assert len(lesson.gains) == spec.requests
    reference = evaluator.run("least_loaded", spec, workload).metrics()["ttft_s"]
    times = [
        evaluator.run(check(source, TASK), spec, workload).metrics()["ttft_s"]
        for source in fitted_programs(TASK, [lesson])
    ]
    assert min(times) < 0.7 * reference
