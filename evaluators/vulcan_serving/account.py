"""Where the time to the first token goes: in the queue, in one's own prompt, and in what others compute beside it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Statement
from vulcan.simulator.account import Account, Grouping, in_order
from vulcan_serving.simulate import ServingRun
from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import ServingWorkload

LENGTHS = (512, 2_048, 8_192, 32_768)
_MAX_KINDS = 12


def account(name: str, spec: ServingSpec, run: ServingRun) -> Account:
    """Return the account of the measured requests, in seconds to the first token."""
    part, workload = run.measured_part, run.workload
    trace = workload.trace
    found = run.found[part].astype(float)
    new = trace.prompt_tokens[part] - found
    steps = np.ceil(new / spec.budget)
    alone = 1e-3 * spec.base_ms * steps + 1e-6 * spec.prefill_us * new + 1e-9 * spec.pair_ns * new * (found + new / 2)
    waited = (run.admitted - workload.arrivals)[part]
    alone = np.minimum(alone, run.ttft - waited)
    parts = {"in the queue": waited, "its own prompt": alone, "others in its steps": run.ttft - waited - alone}
    lengths = [f"up to {limit:,}" for limit in LENGTHS] + [f"over {LENGTHS[-1]:,}"]
    groups = [
        in_order("part of the time", len(waited)),
        Grouping("tokens of the prompt", np.searchsorted(LENGTHS, trace.prompt_tokens[part]), lengths),
        Grouping("turn", np.clip(trace.turns[part], 1, 4) - 1, ["1", "2", "3", "4 and later"]),
        Grouping("objectives", run.late.astype(np.int64), ["met", "missed"]),
    ]
    if 1 < len(trace.kind_names) <= _MAX_KINDS:
        groups.append(Grouping("kind", trace.kinds[part], [name or "not recorded" for name in trace.kind_names]))
    if 1 < spec.replicas <= _MAX_KINDS:
        groups.append(Grouping("replica", run.replica[part], [f"{r}" for r in range(spec.replicas)]))
    return Account(name, "request", "seconds to the first token", parts, groups)


def describe(spec: ServingSpec, workload: ServingWorkload) -> list[EvaluatorFinding]:
    """Return what whoever designs a policy should know of the requests."""
    trace, span = workload.trace, max(float(workload.arrivals[-1]), 1e-9)

    def spread(values: NDArray[np.int64]) -> str:
        low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
        tenths = f"{low:,.0f} to {high:,.0f} but for a tenth at each end"
        return f"{values.mean():,.0f} on average, half below {middle:,.0f}, {tenths}"

    burst = np.histogram(workload.arrivals, bins=max(round(span / 10), 1))[0]
    kinds = {"all", *(trace.kind_names[kind] for kind in np.unique(trace.kinds))}
    goals = "; ".join(f"{kind} {ttft:g} s and {1e3 * tpot:g} ms" for kind, ttft, tpot, _ in spec.goals if kind in kinds)
    text = (
        f"{trace.requests:,} requests in {span:,.0f} s, {burst.mean():,.1f} on average in ten seconds and "
        f"{burst.max()} at most, for {spec.replicas} replicas with a memory of {spec.memory:,} tokens each. Tokens of "
        f"prompts: {spread(trace.prompt_tokens)}. Tokens of outputs: {spread(workload.outputs)}. "
        f"Objectives for the first token and for a further one: {goals}."
    )
    return [Statement(text, 10.0)]
