"""Where the dollars of runs go: the dollars of each run by cause."""

from __future__ import annotations

import numpy as np

from vulcan.simulator.account import Account, Grouping
from vulcan_spot.job import SECONDS, Prices, SpotJob
from vulcan_spot.runs import Counts, JobRuns
from vulcan_spot.windows import Windows
from vulcan_spot.workload import AVAILABLE, classes_of

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

_MAX_REGIONS = 15


def account(name: str, runs: JobRuns, seconds: Counts, windows: Windows, job: SpotJob, prices: Prices) -> Account:
    """Return the account of runs; `seconds` by use, of shape (windows, USES), are those of `kernels.engine`."""
    from vulcan_spot.kernels import engine as k

    used = seconds / SECONDS
    causes = np.zeros((len(CAUSES), len(used)))
    causes[0] = job.duration / SECONDS * prices.spot
    for cause, use in enumerate((k.WORK_FORCED, k.WORK_WITH_SPOT, k.WORK_EARLY), start=1):
        causes[cause] = used[:, use] * (prices.on_demand - prices.spot)
    for reason in range(k.REASONS):
        on_spot, on_demand = used[:, k.START + reason], used[:, k.START + k.REASONS + reason]
        causes[4 + reason] = on_spot * prices.spot + on_demand * prices.on_demand
    causes[9] = used[:, k.REST_SPOT] * prices.spot + used[:, k.REST_ON_DEMAND] * prices.on_demand
    causes[10] = prices.missed * (runs.finished > job.deadline)
    if windows.prices is not None:
        causes[11] = runs.cost - causes.sum(axis=0)
    shares = [f"up to {limit:.0%}" for limit in AVAILABLE]
    groups = [Grouping("share of the time with spot", classes_of(windows, job), shares)]
    regions = len(np.atleast_2d(windows.available))
    if regions > 1 and runs.ended_in is not None:
        names = [str(n) for n in range(min(regions, _MAX_REGIONS))] + ["others"]
        groups.append(Grouping("region at the end", np.minimum(runs.ended_in, _MAX_REGIONS), names))
    return Account(name, "run", "dollars", dict(zip(CAUSES, causes, strict=True)), groups)
