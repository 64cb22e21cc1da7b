"""The numbers by which a kernel is told who decides."""

POLICY, ON_DEMAND_ONLY, SPOT_ONLY, GREEDY, UNIFORM_PROGRESS = range(5)
