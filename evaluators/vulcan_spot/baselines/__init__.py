"""Known policies, and the least cost there is: one file each."""

from vulcan_spot.baselines.numbers import GREEDY, ON_DEMAND_ONLY, POLICY, SPOT_ONLY, UNIFORM_PROGRESS

__all__ = ["GREEDY", "ON_DEMAND_ONLY", "POLICY", "SPOT_ONLY", "UNIFORM_PROGRESS"]
