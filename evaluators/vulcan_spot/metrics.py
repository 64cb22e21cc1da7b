"""What is measured on an instance, which is many runs of one job in one environment."""

from __future__ import annotations

import numpy as np

from vulcan_spot.job import SECONDS, Job, Prices
from vulcan_spot.runs import Runs


def metrics_of(runs: Runs, gap: int, job: Job, prices: Prices) -> dict[str, float]:
    """Means over all runs, of which none is left out.

    Costs are in dollars; `std_cost` is the standard deviation over runs. `missed` is the share of runs that missed the
    deadline, `latest_h` by how many hours the worst did. `public_score` is that of the public leaderboard, from 0 (the
    work done on demand) to 100 (all of it on spot, without a single start-up): clip((OD - cost) / (OD - SPOT)) * 100.
    """
    hours = gap / SECONDS
    mean = float(runs.cost.mean())
    late = np.maximum(runs.finished - job.deadline, 0)
    return {
        "mean_cost": mean,
        "std_cost": float(runs.cost.std()),
        "worst_cost": float(runs.cost.max()),
        "public_score": public_score(mean, job, prices),
        "missed": float((late > 0).mean()),
        "latest_h": float(late.max()) / SECONDS,
        "runs": float(len(runs.cost)),
        "finished_h": float(runs.finished.mean()) / SECONDS,
        "spot_h": float(runs.spot_ticks.mean()) * hours,
        "on_demand_h": float(runs.on_demand_ticks.mean()) * hours,
        "starts": float(runs.starts.mean()),
        "preemptions": float(runs.preemptions.mean()),
        "overruled": float(runs.overruled.mean()),
    }


def public_score(cost: float, job: Job, prices: Prices) -> float:
    """From 0 to 100; 0 where on-demand and spot cost the same."""
    on_demand, spot = (price * job.duration / SECONDS for price in (prices.on_demand, prices.spot))
    return 100 * min(1.0, max(0.0, (on_demand - cost) / (on_demand - spot))) if on_demand > spot else 0.0
