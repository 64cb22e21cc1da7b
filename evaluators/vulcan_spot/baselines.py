"""The policies that are known by name, as the kernels number them."""

from vulcan_spot.layout import GREEDY, ON_DEMAND_ONLY, SPOT_ONLY, UNIFORM_PROGRESS

BASELINES = {
    "on_demand": ON_DEMAND_ONLY,
    "greedy": GREEDY,
    "spot_only": SPOT_ONLY,
    "uniform_progress": UNIFORM_PROGRESS,
}

REGION_BASELINES = {
    "on_demand": (ON_DEMAND_ONLY, False),
    "greedy": (GREEDY, False),
    "greedy_round_robin": (GREEDY, True),
    "uniform_progress": (UNIFORM_PROGRESS, False),
    "uniform_progress_round_robin": (UNIFORM_PROGRESS, True),
}
"""Number of each baseline, and whether it migrates."""

BOUND = "least_cost"
"""The oracle (`vulcan_spot.least_cost`)."""
