"""Cost of isolation per candidate: `python -m benchmarks.sandbox`.

Anvil: a job's way to the persistent jailed evaluator and back, less what checking and evaluating take when they are
called directly in this process. Free Python: a forked child from its opening to its end, which only has to answer
twice. Interleaved; medians. Without Ray where that does not come up.
"""

from __future__ import annotations

import statistics
import sys
import time
from contextlib import ExitStack

from benchmarks.harness import Goal, arguments, finish
from vulcan.anvil import check
from vulcan.doctor.attacks.in_evaluator import HONEST, MIN, TASK
from vulcan.doctor.attacks.in_program import RUNNER
from vulcan.doctor.attacks.target.evaluator import TargetEvaluator
from vulcan.registry import find_task
from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.scoring.job import Job, Limits, Setup
from vulcan.scoring.program_server_client import ForkServer
from vulcan.scoring.ray_executor import RayExecutor
from vulcan.scoring.ray_runtime import RayRuntime, RayUnavailable

ANVIL_GOAL, FORK_GOAL = 1.0, 30.0
"""Milliseconds."""


def main() -> None:
    options = arguments(__doc__ or "")
    turns = 100 if options.quick else 400
    setup = Setup(TASK, (HONEST,), Limits(memory_bytes=1 << 30))
    task, evaluator = find_task(TASK), TargetEvaluator()
    job = Job(1, MIN, (HONEST,), 10.0)
    jailed = JailedEvaluator(setup)
    jailed.start()
    seconds: dict[str, list[float]] = {name: [] for name in ("directly", "jailed", "ray", "fork", "ask")}

    def timed(name: str, began: float) -> None:
        seconds[name].append((time.perf_counter() - began) * 1e3)

    with ExitStack() as open_until_done:
        ray = _ray(setup, open_until_done)
        server = open_until_done.enter_context(ForkServer(RUNNER))
        for _ in range(turns):
            began = time.perf_counter()
            evaluator.evaluate(check(MIN, task), HONEST)
            timed("directly", began)
            began = time.perf_counter()
            assert jailed.run(job).status == "scored"
            timed("jailed", began)
            if ray is not None:
                began = time.perf_counter()
                assert ray.submit(job).result().status == "scored"
                timed("ray", began)
            began = time.perf_counter()
            with server.open(10.0) as child:
                child.ask(b"{}")
                asked = time.perf_counter()
                child.ask(b"{}")
                timed("ask", asked)
            timed("fork", began)
    jailed.close()
    pairs = zip(seconds["jailed"], seconds["directly"], strict=True)
    anvil = statistics.median(inside - alone for inside, alone in pairs)
    medians = {name: statistics.median(values) for name, values in seconds.items() if values}
    rows = {
        "Anvil: jail and way there and back": anvil,
        "free Python: fork, lock down, answer, kill": medians["fork"],
        "a question to a forked child": medians["ask"],
    }
    if seconds["ray"]:
        pairs = zip(seconds["ray"], seconds["jailed"], strict=True)
        rows["the same job through Ray, over and above"] = statistics.median(a - b for a, b in pairs)
    table = ["| per candidate | milliseconds, median |", "|---|---|", *(f"| {k} | {v:.2f} |" for k, v in rows.items())]
    goals = (
        Goal("isolation of an Anvil candidate, ms", anvil, ANVIL_GOAL, at_least=False),
        Goal("isolation of a free Python candidate, ms", medians["fork"], FORK_GOAL, at_least=False),
    )
    finish(options, {"turns": turns, "milliseconds": rows}, table, goals)


def _ray(setup: Setup, until_done: ExitStack) -> RayExecutor | None:
    runtime = until_done.enter_context(RayRuntime(workers=1))
    try:
        return until_done.enter_context(RayExecutor(setup, 1, runtime))
    except RayUnavailable as error:
        print(f"without Ray: {error}", file=sys.stderr)
        return None


if __name__ == "__main__":
    main()
