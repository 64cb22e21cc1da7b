"""Serving requests by replicas of a language-model server."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.simulator import PolicyCalls
from vulcan_serving import layout
from vulcan_serving.layout import ROUTING, SCHEDULING
from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import Counts, Numbers, ServingWorkload
from vulcan_traces.prompts import PromptTrace

_OF_SCHEDULER = (
    "score", "preempt", "reserve", "enter", "update", "leave", "on_arrival", "on_admit", "on_first_token", "on_preempt",
    "on_finish",
)  # fmt: skip
_OF_ROUTER = (
    "score", "enter", "update", "arrival", "completion", "on_dispatch", "on_report", "on_first_token", "on_finish",
)  # fmt: skip


@dataclass(frozen=True)
class ServingRun:
    """What became of each request (requests,): when it was admitted first, had its first token and its last, s; tokens
    found in memory then; tokens computed in all, of its prompt and anew; how often it was preempted; its replica.

    `decisions` is a hash of all admissions, preemptions and routes. `steps` (rows, 5) are the replica, its step, the
    request, tokens given (-1: it made room) and tokens found (-1: it ran before), as many as were to be recorded.
    `seen` (requests, layout.REPLICA_RECORD) is the replica as its router saw it, if that was to be recorded.
    """

    workload: ServingWorkload
    measured_part: slice
    admitted: Numbers
    first: Numbers
    last: Numbers
    found: Counts
    computed: Counts
    preempted: Counts
    replica: Counts
    decisions: int
    steps: NDArray[np.int64]
    seen: Numbers

    @cached_property
    def ttft(self) -> Numbers:
        """Times to the first token of the measured requests, s."""
        waits: Numbers = (self.first - self.workload.arrivals)[self.measured_part]
        return waits

    @cached_property
    def tpot(self) -> Numbers:
        """Mean times of a further token of the measured requests, s; 0 for those with one."""
        paces: Numbers = ((self.last - self.first) / np.maximum(self.workload.outputs - 1, 1))[self.measured_part]
        return paces

    @property
    def late(self) -> NDArray[np.bool_]:
        """Of the measured requests, whether they miss one of their objectives."""
        goals = self.workload.goals[self.measured_part]
        missed: NDArray[np.bool_] = (self.ttft > goals[:, 0]) | (self.tpot > goals[:, 1])
        return missed

    def metrics(self) -> dict[str, float]:
        """Return the metrics of both tasks, over the measured requests.

        `missed` is by weight; `worst_missed` is that of the kind with the most, of kinds that are a hundredth of the
        requests or more; `recomputed` is what was computed beyond each token once, as a share of that.
        """
        part = self.measured_part
        weight = self.workload.goals[part, 2]
        several = self.tpot[self.workload.outputs[part] > 1]
        paces = several if len(several) else self.tpot
        prompts = self.workload.trace.prompt_tokens[part]
        once = prompts + self.workload.outputs[part] - 1 - self.found[part]
        latency = (self.last - self.workload.arrivals)[part]
        return {
            "ttft_s": _mean(self.ttft),
            "p99_ttft_s": _percentile(self.ttft, 0.99),
            "tpot_ms": 1e3 * _mean(paces),
            "p99_tpot_ms": 1e3 * _percentile(paces, 0.99),
            "latency_s": _mean(latency),
            "missed": float((weight * self.late).sum() / weight.sum()),
            "worst_missed": self._worst_missed(),
            "longest_wait_s": float((self.admitted - self.workload.arrivals)[part].max()),
            "hit_share": float(self.found[part].sum() / prompts.sum()),
            "preemptions": float(self.preempted[part].mean()),
            "recomputed": float(self.computed[part].sum() / once.sum() - 1),
        }

    def _worst_missed(self) -> float:
        kinds = self.workload.trace.kinds[self.measured_part]
        counts = np.bincount(kinds)
        late = np.bincount(kinds, self.late, len(counts))
        several = counts >= 0.01 * len(kinds)
        return float((late[several] / counts[several]).max())


def _mean(values: Numbers) -> float:
    return max(math.fsum(values) / len(values), 1e-9)


def _percentile(values: Numbers, share: float) -> float:
    return max(float(np.sort(values)[max(math.ceil(share * len(values)) - 1, 0)]), 1e-9)


def simulate(
    spec: ServingSpec,
    workload: ServingWorkload,
    scheduler: Policy | None = None,
    router: Policy | None = None,
    *,
    record: int = 0,
    sees: bool = False,
) -> ServingRun:
    """Serve the requests with a policy of `request_scheduling`, one of `request_routing`, both or none.

    `kernels.engine` has the rules, and what decides where there is no policy. The same arguments give the same result,
    bit for bit. `record` is how many rows of `ServingRun.steps` are kept, `sees` whether a router's `seen` is.
    """
    from vulcan_serving.kernels.engine import serve

    trace, count = workload.trace, workload.trace.requests
    known: Numbers = np.stack(
        [
            trace.prompt_tokens, workload.predicted, trace.priorities, trace.kinds, trace.sessions, trace.turns,
            workload.goals[:, 0], workload.goals[:, 1],
        ],
        axis=1,
    ).astype(np.float64)  # fmt: skip
    records = np.zeros((count, layout.RECORD))
    records[:, : layout.KNOWN_FEATURES] = known
    records[:, layout.ID], records[:, layout.ARRIVED] = np.arange(count), workload.arrivals
    table = np.zeros((count, layout.COLUMNS), np.int64)
    table[:, layout.PROMPT], table[:, layout.OUTPUT] = trace.prompt_tokens, workload.outputs
    table[:, layout.FIRST_BLOCK], table[:, layout.SESSION] = trace.starts[:-1], trace.sessions
    table[:, layout.VIA] = workload.via
    integers = np.zeros(layout.INTEGERS, np.int64)
    integers[layout.BLOCK_TOKENS] = trace.block_tokens
    integers[layout.CAPACITY_BLOCKS] = spec.memory // trace.block_tokens
    integers[layout.STEP_BUDGET], integers[layout.MOST_RUNNING] = spec.budget, spec.max_running
    integers[layout.IS_CHUNKED] = spec.prefill == "chunked"
    numbers = np.array(
        [
            1e-3 * spec.base_ms, 1e-6 * spec.prefill_us, 1e-9 * spec.pair_ns, 1e-6 * spec.decode_us,
            1e-9 * spec.context_ns, spec.patience_s, 1e-3 * spec.delay_ms,
        ]
    )  # fmt: skip
    replicas, routers = (range(spec.seed, spec.seed + several) for several in (spec.replicas, spec.routers))
    scheduling = PolicyCalls.of(scheduler, SCHEDULING, _OF_SCHEDULER, replicas, count)
    routing = PolicyCalls.of(router, ROUTING, _OF_ROUTER, routers, spec.routers * spec.replicas)
    times = np.zeros((count, layout.TIMES))
    steps = np.zeros((record, layout.STEP_COLUMNS), np.int64)
    seen = np.zeros((count if sees else 0, layout.REPLICA_RECORD))
    decisions = serve(
        scheduling.addresses, routing.addresses, workload.arrivals, trace.blocks, trace.block_count,
        int(trace.sessions.max()) + 1, integers, numbers, scheduling.shown, records.reshape(-1), scheduling.statistics,
        scheduling.slots, routing.shown, np.zeros(spec.routers * spec.replicas * layout.REPLICA_RECORD),
        routing.statistics, routing.slots, workload.drawn, workload.chances, table, times, steps, seen,
    )  # fmt: skip
    return ServingRun(
        workload,
        slice(spec.measure_from, min(spec.measure_to, count)),
        times[:, layout.ADMITTED],
        times[:, layout.FIRST],
        times[:, layout.LAST],
        table[:, layout.FOUND],
        table[:, layout.SPENT],
        table[:, layout.TIMES_PREEMPTED],
        table[:, layout.AT],
        int(decisions),
        steps[steps[:, 3] != 0],
        seen,
    )


def without_waiting(spec: ServingSpec, workload: ServingWorkload) -> ServingRun:
    """Return a bound: every request alone on a replica, which has in memory whatever another request begins with too.

    No policy has a lower time to the first token, of a further token, or to the last one, of any request.
    """
    trace, size = workload.trace, workload.trace.block_tokens
    counts = np.diff(trace.starts)
    request = np.repeat(np.arange(trace.requests), counts)
    place = np.arange(len(trace.blocks)) - np.repeat(trace.starts[:-1], counts)
    is_other = np.bincount(trace.blocks, minlength=1)[trace.blocks] > 1
    first_own = np.full(trace.requests, np.iinfo(np.int64).max)
    np.minimum.at(first_own, request[~is_other], place[~is_other])
    found = np.minimum(np.minimum(first_own, counts), (trace.prompt_tokens - 1) // size) * size
    new = trace.prompt_tokens - found
    took = 1e-3 * spec.base_ms + 1e-6 * spec.prefill_us * new + 1e-9 * spec.pair_ns * new * (found + new / 2)
    token = 1e-3 * spec.base_ms + 1e-6 * min(spec.decode_us, spec.prefill_us)
    first = workload.arrivals + took
    nothing = np.zeros(trace.requests, np.int64)
    return ServingRun(
        workload, slice(spec.measure_from, spec.measure_to), workload.arrivals, first,
        first + (workload.outputs - 1) * token, found, new + workload.outputs - 1, nothing, nothing, 1,
        np.zeros((0, layout.STEP_COLUMNS), np.int64), np.zeros((0, layout.REPLICA_RECORD)),
    )  # fmt: skip


def pace(spec: ServingSpec, trace: PromptTrace) -> float:
    """Return how many times as long as the recorded arrivals the replicas need for the trace: the load as recorded.

    That is until they are done with all of the requests, if all are there at once, and nothing else is decided than the
    kernel decides without a policy.
    """
    spec = replace(spec, lengths="unknown", routers=1)
    lasting = max(float(trace.arrivals[-1]), 1e-9)
    return float(simulate(spec, ServingWorkload.of(spec, trace, 0.0)).last.max()) / lasting
