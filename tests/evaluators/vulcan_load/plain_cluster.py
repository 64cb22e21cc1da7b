"""The same cluster by other means: plain Python, an event at a time, with lists instead of arrays."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping

from vulcan_load.workload import ServiceWorkload

Shown = Mapping[str, float]
Decide = Callable[[int, list[Shown], list[int]], int]
"""From the request's number, what is shown of each server, and the servers drawn for it: the server."""

Watch = Callable[[str, int, int, float, Shown, float], None]
"""Told of an event: its name, the balancer, the server, the time, what is shown of the server, and a latency."""


def run(workload: ServiceWorkload, decide: Decide, watch: Watch | None = None) -> tuple[list[float], list[int]]:
    """Latencies and servers of all requests."""
    cluster = workload.cluster
    waiting: list[list[float]] = [[0.0] * cluster.cores for _ in range(cluster.servers)]  # when cores are free
    inside: list[set[int]] = [set() for _ in range(cluster.servers)]
    found: dict[int, int] = {}
    answered: list[list[int]] = [[] for _ in range(cluster.servers)]
    known = [dict.fromkeys(range(cluster.servers), (0.0, 0, 0.0, 0)) for _ in range(cluster.balancers)]
    sent: list[list[int]] = [[] for _ in range(cluster.balancers)]
    latencies: list[float] = []
    chosen: list[int] = []
    ends: list[tuple[float, int]] = []
    sharers = [Sharer(workload, s) for s in range(cluster.servers)]
    reports: list[tuple[float, int, int, tuple[float, int, float, int]]] = []

    def shows(b: int, s: int, now: float) -> Shown:
        taken, flying, latency, before = known[b][s]
        return {
            "in_flight": flying, "latency_ms": latency, "age_ms": now - taken, "sent": sent[b].count(s) - before,
            "mine": sum(int(workload.balancer[r]) == b for r in inside[s]), "true": len(inside[s]),
            "unanswered": sum(int(workload.balancer[r]) == b for there in inside for r in there),
        }  # fmt: skip

    arrivals = workload.arrivals.tolist()
    for i, now in enumerate(arrivals):
        while True:
            if cluster.discipline == "sharing":
                first = min(sharers, key=lambda sharer: sharer.next_end()[0])
                end, r = first.next_end()
                if end > now:
                    break
                first.leave(end, r)
                latencies[r] = end - arrivals[r]
            elif ends and ends[0][0] <= now:
                end, r = heapq.heappop(ends)
            else:
                break
            inside[chosen[r]].discard(r)
            answered[chosen[r]].append(r)
            if watch is not None:
                owner = int(workload.balancer[r])
                alone = finish(workload, chosen[r], end, float(workload.work[r])) - end
                shown = {**shows(owner, chosen[r], end), "alone": alone}
                watch("on_complete", owner, chosen[r], end, shown, latencies[r])
        b = int(workload.balancer[i])
        drawn = workload.probed[i].tolist()
        for s in drawn:
            levels = {min(found[r], 63) for r in answered[s]}
            level = min(levels, key=lambda k: (abs(k - len(inside[s])), k), default=0)
            usual = [latencies[r] for r in answered[s] if found[r] == level][-8:]
            latency = sum(usual) / len(usual) if usual else 0.0
            reports.append((now + cluster.delay_ms, b, s, (now, len(inside[s]), latency, sent[b].count(s))))
        while reports and reports[0][0] <= now:
            _, to, s, report = reports.pop(0)
            known[to][s] = report
            if watch is not None:
                watch("on_report", to, s, now, shows(to, s, now), 0.0)
        shown = [shows(b, s, now) for s in range(cluster.servers)]
        s = decide(i, shown, drawn)
        if watch is not None:
            watch("on_dispatch", b, s, now, shown[s], 0.0)
        core = min(range(cluster.cores), key=lambda c: waiting[s][c])
        if cluster.discipline == "sharing":
            sharers[s].join(now, i, float(workload.work[i]))
            latencies.append(float("nan"))
        else:
            waiting[s][core] = finish(workload, s, max(now, waiting[s][core]), float(workload.work[i]))
            latencies.append(waiting[s][core] - now)
        chosen.append(s)
        found[i] = len(inside[s])
        inside[s].add(i)
        sent[b].append(s)
        heapq.heappush(ends, (waiting[s][core], i))
    for sharer in sharers:
        while sharer.left:
            end, r = sharer.next_end()
            sharer.leave(end, r)
            latencies[r] = end - arrivals[r]
    return latencies, chosen


class Sharer:
    """A server whose requests share its cores: what is left of each goes down by its share, spell by spell."""

    def __init__(self, workload: ServiceWorkload, s: int) -> None:
        self.workload, self.s = workload, s
        self.left: dict[int, float] = {}
        self.now = 0.0

    def share(self) -> float:
        return min(1.0, self.workload.cluster.cores / len(self.left))

    def advance(self, to: float) -> None:
        changes, speeds = self.workload.changes[self.s].tolist(), self.workload.speeds[self.s].tolist()
        for k, speed in enumerate(speeds if self.left else []):
            begin, end = changes[k], changes[k + 1] if k + 1 < len(changes) else float("inf")
            spell = max(0.0, min(end, to) - max(begin, self.now))
            for r in self.left:
                self.left[r] -= spell * speed * self.share()
        self.now = to

    def next_end(self) -> tuple[float, int]:
        if not self.left:
            return float("inf"), -1
        r = min(self.left, key=lambda r: self.left[r])
        return finish(self.workload, self.s, self.now, max(self.left[r], 0.0) / self.share()), r

    def join(self, now: float, r: int, work: float) -> None:
        self.advance(now)
        self.left[r] = work

    def leave(self, now: float, r: int) -> None:
        self.advance(now)
        del self.left[r]


def finish(workload: ServiceWorkload, s: int, begin: float, work: float) -> float:
    """When it is done, spell by spell."""
    changes, speeds = workload.changes[s].tolist(), workload.speeds[s].tolist()
    at = begin
    for k, speed in enumerate(speeds):
        end = changes[k + 1] if k + 1 < len(changes) else float("inf")
        if end <= at:
            continue
        if (end - at) * speed >= work:
            return at + work / speed
        work -= (end - at) * speed
        at = end
    raise AssertionError("the last spell has no end")


def around(values: list[float], start: int) -> int:
    """The first of the least, from a start on."""
    order = [(start + j) % len(values) for j in range(len(values))]
    return min(order, key=lambda s: values[s])
