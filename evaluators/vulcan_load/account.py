"""The latency of each request, divided into work, a busy cluster and the balancer's choice; in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, SmallTable, Statement
from vulcan_load.simulate import LoadResult
from vulcan_load.workload import ServiceWorkload

Numbers = NDArray[np.float64]

Classes = tuple[str, NDArray[np.int64], list[str]]
"""What requests are divided by, the class of each, and the classes' names."""

_CAUSES = (
    "to a slower server with as few requests",
    "to a server with as few requests, but longer ones, which no report says",
    "to a longer queue where one of the two servers had never reported",
    "to a longer queue although its own count said so",
    "to a longer queue as requests of other balancers had come there since its report (herding)",
    "to a longer queue as the better server had emptied since its report (stale)",
)
"""Of `kernels.attribution`, from its second on."""

_SLOW = 0.9
_SIZES, _LOADS = (0.5, 1.0, 2.0, 5.0), (0.5, 0.75, 1.0, 1.5)


@dataclass(frozen=True, slots=True)
class Reference:
    """A policy to compare with, by its name: latencies of the measured requests, ms."""

    name: str
    latency: Numbers


@dataclass(frozen=True, slots=True)
class Account:
    """Of each measured request, arrays of shape (requests,), ms: `latency` = `alone` + `busy` + `choice`.

    `alone` is the time on the fastest of empty servers. `busy` is what is lost as the server that would be done first
    is not empty, or not the fastest; `choice` what is lost by another choice than that one. `causes` are those of
    `kernels.attribution`, as are `waited`, `speed`, `in_flight` and `idle_cores`.
    """

    latency: Numbers
    alone: Numbers
    busy: Numbers
    choice: Numbers
    causes: NDArray[np.int64]
    waited: Numbers
    speed: Numbers
    in_flight: Numbers
    idle_cores: Numbers

    def choice_by_cause(self) -> Numbers:
        """Return what choices lost on average, ms a request, by cause."""
        from vulcan_load.kernels.attribution import CAUSES

        return np.bincount(self.causes, self.choice, CAUSES).astype(np.float64) / len(self.choice)


def account(workload: ServiceWorkload, result: LoadResult) -> Account:
    """Return the account of a run on servers with queues."""
    from vulcan_load.kernels import attribution as k

    cluster = workload.cluster
    numbers = np.zeros((k.NUMBERS, cluster.requests))
    causes = np.zeros(cluster.requests, np.int64)
    k.attribute(
        workload.arrivals, workload.work, workload.balancer, workload.probed, workload.changes, workload.speeds,
        cluster.cores, cluster.balancers, cluster.delay_ms, result.chosen, numbers, causes,
    )  # fmt: skip
    measured = cluster.measured
    numbers, latency = numbers[:, measured], result.latencies[measured]
    return Account(
        latency=latency,
        alone=numbers[k.ALONE],
        busy=numbers[k.BEST] - numbers[k.ALONE],
        choice=latency - numbers[k.BEST],
        causes=causes[measured],
        waited=numbers[k.WAITED],
        speed=numbers[k.SPEED],
        in_flight=numbers[k.IN_FLIGHT],
        idle_cores=numbers[k.IDLE_CORES],
    )


def describe_cluster(workload: ServiceWorkload) -> list[EvaluatorFinding]:
    """Return the findings on a cluster and its requests."""
    c = workload.cluster
    seconds = float(workload.arrivals[-1]) / 1e3
    rate = c.requests / seconds / 1e3
    heard = c.servers / (c.probes * rate / c.balancers)
    machines = {
        "even": "all of one speed",
        "mixed": "every other one with a third of the others' speed",
        "noisy": "each slowed down to three tenths now and then",
    }[c.machines]
    low, middle, high = np.quantile(workload.work, [0.1, 0.5, 0.99])
    manner = "queue for its cores" if c.discipline == "queue" else "share its cores"
    bursts = f" In bursts {c.bursts:g} times the mean rate arrives." if c.bursts > 1 else ""
    again = f"up to {c.retries} times where it has no answer after {c.timeout_ms:g} ms"
    retries = f" A request is sent again, {again}, and all attempts are served." if c.retries else ""
    return [
        Statement(
            f"{c.servers} servers of {c.cores} cores, {machines}; a server's requests {manner}. Load {c.load:.0%}: "
            f"{rate:.3g} requests a ms, by {c.balancers} balancers that know nothing of each other.{bursts}{retries} "
            f"Work ({c.service}): mean {workload.work.mean():.3g} ms, 10 % below {low:.3g}, half below {middle:.3g}, "
            f"1 % above {high:.3g}, most {workload.work.max():.4g}. A balancer hears of a server every {heard:.3g} "
            f"ms on average, and {heard * rate / c.servers:.2g} requests come to it then; a "
            f"report takes {c.delay_ms:g} ms.",
            10.0,
        )
    ]


def findings_of(
    found: Account, workload: ServiceWorkload, oracle: Reference, best: Reference
) -> list[EvaluatorFinding]:
    """Return the findings on a balancer where servers have queues."""
    causes = found.choice_by_cause()
    lost = float(causes.sum())
    over = found.latency.mean() - oracle.latency.mean()
    made: list[EvaluatorFinding] = [
        Statement(
            f"Latency: {_means(found.latency)}. The best baseline by p99, {best.name}: {_means(best.latency)}; the "
            f"oracle {oracle.name}, which knows everything: {_means(oracle.latency)}. Of the mean, "
            f"{found.alone.mean():.2f} ms are work on the fastest empty server (work), {found.busy.mean():.2f} ms more "
            f"would have been needed by the best server as it was (busy), and {lost:.2f} ms are lost by the choice of "
            "another one (choice).",
            10.0,
        )
    ]
    if lost > 0:
        parts = [f"{100 * share / lost:.0f} % {text}" for share, text in zip(causes[1:], _CAUSES, strict=True) if share]
        made.append(
            Statement(
                f"What choices lost ({(found.choice > 0).mean():.1%} of them lost something): {'; '.join(parts)}.", 9.0
            )
        )
    made.append(
        Statement(
            f"Against the oracle it loses {over:.2f} ms a request: {lost:.2f} ms by the request's own choice and "
            f"{over - lost:.2f} ms in busy servers ({found.busy.mean():.2f} ms against the oracle's "
            f"{found.busy.mean() - over + lost:.2f} ms, which chance and bursts cost even it; below 0 where uneven "
            "queues leave one server emptier than even ones would).",
            7.0,
        )
    )
    slowest = found.latency >= _p99(found.latency)
    tail = [float(part[slowest].mean()) for part in (found.latency, found.alone, found.busy, found.choice)]
    made.append(
        Statement(
            f"The slowest 1 % take {tail[0]:.1f} ms on average: {tail[1]:.1f} ms work, {tail[2]:.1f} ms busy, "
            f"{tail[3]:.1f} ms choice.",
            8.5,
        )
    )
    waits = found.waited > 0
    beside = waits & (found.idle_cores > 0)
    made.append(
        Statement(
            f"{waits.mean():.1%} of the requests waited for a core; {beside.mean():.1%} did so while a core was idle "
            f"on another server, {found.idle_cores[beside].mean() if beside.any() else 0:.1f} cores on average.",
            6.0,
        )
    )
    divided = (found.latency, found.alone, found.busy, found.choice, oracle.latency)
    for by, classes, names in (*_of_choice(found, workload), *_of_requests(workload)):
        counts = np.bincount(classes, minlength=len(names))
        shown = np.flatnonzero(counts)
        if len(shown) < 2:
            continue
        sums = np.array([np.bincount(classes, part, len(names)) for part in divided])[:, shown]
        choices = 100 * sums[3] / max(float(found.choice.sum()), 1e-12)
        columns_of = [100 * counts[shown] / len(classes), *(sums / counts[shown])]
        digits = [1, 2, 2, 2, 2, 2, 1]
        numbers = [np.round(of, n).tolist() for of, n in zip([*columns_of, choices], digits, strict=True)]
        rows: list[tuple[str | float, ...]] = list(zip([names[n] for n in shown], *numbers, strict=True))
        columns = (by, "requests %", "latency ms", "work", "busy", "choice", "oracle ms", "choice %")
        shares = np.array([[row[1], row[7]] for row in rows], dtype=float)
        weight = 1.0 + 4.0 * float(np.abs(shares[:, 0] - shares[:, 1]).sum()) / 200
        made.append(SmallTable(f"Mean latency and its parts by {by}", columns, tuple(rows), weight))
    return made


def shared_findings(
    latency: Numbers, workload: ServiceWorkload, oracle: Reference, best: Reference
) -> list[EvaluatorFinding]:
    """Return the findings where requests share cores: when a request is done depends on those that come later."""
    made: list[EvaluatorFinding] = [
        Statement(
            f"Latency: {_means(latency)}. The best baseline by p99, {best.name}: {_means(best.latency)}; "
            f"{oracle.name}, which knows the numbers in flight at every moment: {_means(oracle.latency)}.",
            10.0,
        )
    ]
    return [*made, *_pairs(Reference("latency", latency), oracle, workload)]


def differences(first: Numbers, second: Numbers, workload: ServiceWorkload) -> list[EvaluatorFinding]:
    """Return where two balancers differ on the same requests."""
    gain = second - first
    sooner, later = gain > 0, gain < 0
    made: list[EvaluatorFinding] = [
        Statement(
            f"The first: {_means(first)}. The second: {_means(second)}. {sooner.mean():.1%} of the requests are done "
            f"sooner by the first ({gain[sooner].sum() / len(gain):.2f} ms a request over all), and {later.mean():.1%} "
            f"by the second ({-gain[later].sum() / len(gain):.2f} ms).",
            10.0,
        )
    ]
    return [*made, *_pairs(Reference("first", first), Reference("second", second), workload)]


def _pairs(one: Reference, other: Reference, workload: ServiceWorkload) -> list[EvaluatorFinding]:
    made: list[EvaluatorFinding] = []
    for by, classes, names in _of_requests(workload):
        rows: list[tuple[str | float, ...]] = []
        for n, name in enumerate(names):
            here = classes == n
            if here.any():
                pair = [(float(x.latency[here].mean()), _p99(x.latency[here])) for x in (one, other)]
                values = [pair[0][0], pair[1][0], pair[0][1], pair[1][1]]
                rows.append((name, round(100 * float(here.mean()), 1), *(round(value, 2) for value in values)))
        titles = [f"{x.name} {what}" for what in ("mean ms", "p99 ms") for x in (one, other)]
        if len(rows) > 1:
            made.append(SmallTable(f"Latency by {by}", (by, "requests %", *titles), tuple(rows), 3.0))
    return made


def _means(latency: Numbers) -> str:
    return f"mean {latency.mean():.2f} ms, p99 {_p99(latency):.1f} ms"


def _p99(latency: Numbers) -> float:
    return float(np.quantile(latency, 0.99, method="inverted_cdf"))


def _binned(values: Numbers, limits: Sequence[float], unit: str) -> tuple[NDArray[np.int64], list[str]]:
    names = [f"up to {limit:g} {unit}".strip() for limit in limits]
    return np.searchsorted(limits, values), [*names, f"over {limits[-1]:g} {unit}".strip()]


def _of_requests(workload: ServiceWorkload) -> list[Classes]:
    """Return what requests can be divided by whatever the policy does: their work, and when they come."""
    limits = [share * float(workload.work.mean()) for share in _SIZES]
    sizes = _binned(workload.work[workload.cluster.measured], limits, "ms")
    arrivals = workload.arrivals[workload.cluster.measured]
    span = max(float(arrivals[-1] - arrivals[0]), 1e-9)
    quarters = np.minimum((4 * (arrivals - arrivals[0]) / span).astype(np.int64), 3)
    edges = [(arrivals[0] + span * q / 4) / 1e3 for q in range(5)]
    names = [f"{edges[q]:.3g}-{edges[q + 1]:.3g} s" for q in range(4)]
    return [("work of the request", *sizes), ("time", quarters, names)]


def _of_choice(found: Account, workload: ServiceWorkload) -> list[Classes]:
    """Return what requests are divided by that depends on the policy: the server chosen, and the load found."""
    slow = (found.speed < _SLOW).astype(np.int64)
    cores = workload.cluster.servers * workload.cluster.cores
    loads = _binned(found.in_flight / cores, _LOADS, "")
    return [("server chosen", slow, ["fast", "slow at that time"]), ("requests in flight, of all cores", *loads)]
