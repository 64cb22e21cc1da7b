"""Where the dollars of runs go: the dollars of a policy by cause, against a plan that knows availability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Series, SmallTable, Statement
from vulcan_spot.job import SECONDS, Prices, SpotJob
from vulcan_spot.runs import JobRuns, Tally
from vulcan_spot.workload import AVAILABLE, money, row

Dollars = NDArray[np.float64]

CAUSES = (
    "the work itself, at the price of spot",
    "on demand, forced by the deadline",
    "on demand, though spot was available",
    "on demand, spot out, before the deadline forced it",
    "start-up of the first VM",
    "restart after a preemption",
    "restart by change of VM",
    "restart after the policy stopped the VM",
    "restart after a move",
    "paid after the job was done",
    "missed deadline",
    "spot, for its price in the region above the task's (below: negative)",
)
"""Where dollars go. Work on demand counts with the difference of the prices, all else with what is paid."""

_MAX_ZONES = 15
_CENT = 0.01
"""Runs whose costs differ by less cost the same."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Dollars of runs: by cause, of shape (windows, causes), and paid for VMs by phase and by region, sums over runs.

    The causes of a run add up to its cost; phases and regions to all costs but those of missed deadlines. `by_cause`
    and `hours` (by use, `kernels.engine`) are means over runs.
    """

    runs: JobRuns
    tally: Tally
    causes: Dollars
    phases: Dollars
    zones: Dollars
    by_cause: Dollars
    hours: Dollars

    @property
    def cost(self) -> float:
        return float(self.runs.cost.mean())


def spending_of(runs: JobRuns, tally: Tally, gap: int, job: SpotJob, prices: Prices) -> Spending:
    """Divide the dollars of runs by cause, phase and region."""
    from vulcan_spot.kernels import engine as k

    used = tally.seconds / SECONDS
    causes = np.zeros((len(used), len(CAUSES)))
    causes[:, 0] = job.duration / SECONDS * prices.spot
    for cause, use in enumerate((k.WORK_FORCED, k.WORK_WITH_SPOT, k.WORK_EARLY), start=1):
        causes[:, cause] = used[:, use] * (prices.on_demand - prices.spot)
    for reason in range(k.REASONS):
        causes[:, 4 + reason] = (
            used[:, k.START + reason] * prices.spot + used[:, k.START + k.REASONS + reason] * prices.on_demand
        )
    causes[:, 9] = used[:, k.REST_SPOT] * prices.spot + used[:, k.REST_ON_DEMAND] * prices.on_demand
    causes[:, 10] = prices.missed * (runs.finished > job.deadline)
    per_tick = np.array([0.0, prices.spot if tally.shares is None else 0.0, prices.on_demand, 0.0]) * gap / SECONDS
    phases, zones = tally.phases @ per_tick, tally.zones @ per_tick
    if tally.shares is not None:
        causes[:, 11] = runs.cost - causes.sum(axis=1)
        on_spot = tally.shares * prices.on_demand * gap / SECONDS
        phases, zones = phases + on_spot[: k.PHASES], zones + on_spot[k.PHASES :]
    return Spending(runs, tally, causes, phases, zones, causes.mean(axis=0), used.mean(axis=0))


@dataclass(frozen=True, slots=True)
class References:
    """What a policy is compared with: the best baseline, and a plan of the least cost if it could be traced."""

    baseline: str
    best: Spending
    plan: Spending | None
    classes: NDArray[np.int64]
    """The class of each run in `AVAILABLE`."""


def findings_of(own: Spending, references: References, gap: int, job: SpotJob) -> list[EvaluatorFinding]:
    plan, runs = references.plan, len(own.runs.cost)
    against = plan or references.best
    reference = f"the best baseline {references.baseline}" if plan is None else "the least-cost plan"
    words = f"The best baseline, {references.baseline}, pays {money(references.best.cost)}"
    if plan is not None:
        words += f", the least-cost plan, which knows availability in advance, {money(plan.cost)}"
    made: list[EvaluatorFinding] = [
        Statement(
            f"A run costs {money(own.cost)} on average over {runs:,} runs. {words}; the work alone, all on spot, "
            f"would be {money(float(own.causes[0, 0]))}. The regret, against {reference}, is "
            f"{money(own.cost - against.cost)} a run.",
            10.0,
        )
    ]
    by_cause = own.by_cause - against.by_cause
    order = [int(cause) for cause in np.argsort(-by_cause, kind="stable") if abs(by_cause[cause]) >= _CENT]
    more = [f"{money(float(by_cause[n]))} {CAUSES[n]}" for n in order[:3] if by_cause[n] > 0]
    less = [f"{money(-float(by_cause[n]))} {CAUSES[n]}" for n in order[:-4:-1] if by_cause[n] < 0]
    if more or less:
        parts = [f"{word}: {'; '.join(causes)}" for word, causes in (("more for", more), ("less for", less)) if causes]
        made.append(Statement(f"Compared with {reference} a run pays {'. It pays '.join(parts)}.", 9.0))
    made += [
        Statement(_time(own, against, reference, job), 8.0),
        Statement(_slack(own, job), 7.0),
        _cause_table(own, references),
        _availability_table(own, against, references.classes),
        _phase_table(own, references),
    ]
    if len(own.zones) > 1:
        made.append(_zone_table(own, against, gap))
    behind = np.cumsum(own.phases - against.phases) / runs
    points = tuple(((n + 1) / len(behind), float(value)) for n, value in enumerate(behind))
    title = f"dollars paid so far in excess of {reference}"
    made.append(Series(title, "part of the time until the deadline", "dollars a run", points, 0.0))
    return made


def _time(own: Spending, against: Spending, reference: str, job: SpotJob) -> str:
    from vulcan_spot.kernels import engine as k

    def hours(use: int) -> str:
        return f"{own.hours[use]:.2f} h ({against.hours[use]:.2f})"

    left = [float((job.deadline - one.runs.finished).mean()) / SECONDS for one in (own, against)]
    counts = [(float(one.runs.starts.mean()), float(one.runs.preemptions.mean())) for one in (own, against)]
    moving = f", moves for {hours(k.MOVING)}" if own.hours[k.MOVING] else ""
    return (
        f"A run, with {reference} in brackets: waits for {hours(k.WAITED)} while spot is out and for "
        f"{hours(k.WAITED_WITH_SPOT)} while it is available{moving}; works for {hours(k.WORK_SPOT)} on spot, and on "
        f"demand for {hours(k.WORK_FORCED)} forced by the deadline, {hours(k.WORK_WITH_SPOT)} though spot was "
        f"available and {hours(k.WORK_EARLY)} before the deadline forced it; starts {counts[0][0]:.1f} "
        f"({counts[1][0]:.1f}) VMs, of which {counts[0][1]:.1f} ({counts[1][1]:.1f}) are preempted; is done "
        f"{left[0]:.2f} h ({left[1]:.2f}) before the deadline."
    )


def _slack(own: Spending, job: SpotJob) -> str:
    from vulcan_spot.kernels import engine as k

    early = own.tally.seconds[:, k.WORK_EARLY]
    unused = np.minimum(early, np.maximum(job.deadline - own.runs.finished, 0))
    share = float(own.causes[:, 3].sum()) / max(1.0, float(early.sum()))
    return (
        f"Unused slack: {int((unused > 0).sum()):,} of {len(unused):,} runs worked on demand while spot was out, "
        "before the deadline forced it, and were done early. Of that work, as much as there was time left at the end "
        f"could have waited: {float(unused.mean()) / SECONDS:.2f} h a run, {money(float(unused.mean()) * share)} "
        "at the difference of the prices."
    )


def _cause_table(own: Spending, references: References) -> SmallTable:
    shown = [own, references.best] + ([references.plan] if references.plan else [])
    means = np.array([one.by_cause for one in shown])
    rows = [
        row(CAUSES[cause], *means[:, cause], means[0, cause] - means[-1, cause])
        for cause in range(len(CAUSES))
        if means[:, cause].any()
    ]
    columns = ("class", "policy", references.baseline, *(["least cost"] if references.plan else []), "regret")
    return SmallTable("Dollars a run by cause", columns, tuple(rows), 6.0)


def _availability_table(own: Spending, against: Spending, classes: NDArray[np.int64]) -> SmallTable:
    costs = own.runs.cost, against.runs.cost
    rows = [
        row(
            f"up to {limit:.0%}",
            int(here.sum()),
            *(cost[here].mean() for cost in costs),
            (costs[0] - costs[1])[here].sum() / len(classes),
        )
        for number, limit in enumerate(AVAILABLE)
        if (here := np.asarray(classes == number)).any()
    ]
    columns = ("class", "runs", "dollars a run", "reference", "part of the regret")
    return SmallTable("Regret by the share of the time in which spot is available", columns, tuple(rows), 5.0)


def _phase_table(own: Spending, references: References) -> SmallTable:
    runs, parts = len(own.runs.cost), len(own.phases)
    shown = [own, references.best] + ([references.plan] if references.plan else [])
    rows = [
        row(f"{n + 1}/{parts}", *(one.phases[n] / runs for one in shown), (own.phases[n] - shown[-1].phases[n]) / runs)
        for n in range(parts)
    ]
    columns = ("class", "policy", references.baseline, *(["least cost"] if references.plan else []), "regret")
    return SmallTable("Dollars a run paid for VMs by part of the time until the deadline", columns, tuple(rows), 4.0)


def _zone_table(own: Spending, against: Spending, gap: int) -> SmallTable:
    from vulcan_spot.kernels import engine as k

    runs = len(own.runs.cost)
    per_run = gap / SECONDS / runs
    groups = [(str(zone), [zone]) for zone in range(len(own.zones))]
    if len(groups) > _MAX_ZONES:
        groups = [*groups[:_MAX_ZONES], ("others", list(range(_MAX_ZONES, len(own.zones))))]
    rows = []
    for name, zones in groups:
        ticks, theirs = (one.tally.zones[zones].sum(axis=0) for one in (own, against))
        present = int(ticks[[k.IDLE, k.ON_SPOT, k.ON_REQUEST]].sum())
        dollars, reference = (float(one.zones[zones].sum()) / runs for one in (own, against))
        rows.append(
            row(
                name,
                100 * float(ticks[k.SEEN_AVAILABLE]) / max(1, present),
                *(float(ticks[what]) * per_run for what in (k.ON_SPOT, k.ON_REQUEST, k.IDLE)),
                float(theirs[k.ON_SPOT]) * per_run,
                dollars,
                dollars - reference,
            )
        )
    columns = (
        "region", "available % while there", "h on spot", "h on demand", "h without VM", "reference: h on spot",
        "dollars", "regret",
    )  # fmt: skip
    return SmallTable("Hours and dollars a run by region", columns, tuple(rows), 4.5)


def differences(first: Spending, second: Spending, classes: NDArray[np.int64]) -> list[EvaluatorFinding]:
    costs = first.runs.cost, second.runs.cost
    gain = costs[1] - costs[0]
    runs = len(gain)
    cheaper, dearer = int((gain > _CENT).sum()), int((gain < -_CENT).sum())
    made: list[EvaluatorFinding] = [
        Statement(
            f"A run of the first costs {money(first.cost)}, of the second {money(second.cost)}. Of {runs:,} runs the "
            f"first is cheaper in {cheaper:,} and the second in {dearer:,}; the other {runs - cheaper - dearer:,} cost "
            "the same.",
            10.0,
        )
    ]
    means = first.by_cause, second.by_cause
    columns = ("class", "first", "second", "saved by the first")
    rows = [row(name, a, b, b - a) for name, a, b in zip(CAUSES, *means, strict=True) if a or b]
    made.append(SmallTable("Dollars a run by cause", columns, tuple(rows), 9.0))
    parts = len(first.phases)
    rows = [
        row(f"{n + 1}/{parts}", a / runs, b / runs, (b - a) / runs)
        for n, (a, b) in enumerate(zip(first.phases, second.phases, strict=True))
    ]
    title = "Dollars a run paid for VMs by part of the time until the deadline"
    made.append(SmallTable(title, columns, tuple(rows), 8.0))
    rows = [
        row(
            f"up to {limit:.0%}",
            *(int(chosen.sum()) for chosen in (here, here & (gain > _CENT), here & (gain < -_CENT))),
            gain[here].sum() / runs,
        )
        for number, limit in enumerate(AVAILABLE)
        if (here := np.asarray(classes == number)).any()
    ]
    columns_here = ("class", "runs", "first cheaper", "second cheaper", "saved by the first")
    title = "Differences by the share of the time in which spot is available"
    made.append(SmallTable(title, columns_here, tuple(rows), 7.0))
    return made
