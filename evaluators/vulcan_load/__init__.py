"""A simulator of load balancing: requests, servers with queues, and balancers that know of them what was reported.

`from vulcan_load import Cluster, simulate` runs a known policy, or one of the task `load_balancing`.
"""

from vulcan_load.simulate import BASELINES, ORACLES, LoadResult, simulate
from vulcan_load.spec import Cluster

__all__ = ["BASELINES", "ORACLES", "Cluster", "LoadResult", "simulate"]
