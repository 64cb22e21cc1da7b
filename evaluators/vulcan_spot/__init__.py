"""A simulator of jobs with deadlines on spot VMs.

    from vulcan_spot import Job, Windows, simulate

runs a policy of the task `spot_single`, or a known one, over windows of availability.
"""

from vulcan_spot.job import Prices, SpotJob
from vulcan_spot.runs import JobRuns
from vulcan_spot.simulate import simulate
from vulcan_spot.windows import Windows

__all__ = ["JobRuns", "Prices", "SpotJob", "Windows", "simulate"]
