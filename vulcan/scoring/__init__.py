"""Scoring: jailed children that evaluate candidates, and the executors that feed them.

`LocalExecutor` and, in `vulcan.scoring.ray_executor`, `RayExecutor` satisfy `Executor`.
"""

from vulcan.scoring.deferred import DeferredExecutor
from vulcan.scoring.executor import Executor, WorkerLost
from vulcan.scoring.jailed import JailedEvaluator
from vulcan.scoring.job import Job, Outcome
from vulcan.scoring.local import LocalExecutor
from vulcan.scoring.sandbox import Defences
from vulcan.scoring.setup import Limits, Setup

__all__ = [
    "Defences",
    "DeferredExecutor",
    "Executor",
    "JailedEvaluator",
    "Job",
    "Limits",
    "LocalExecutor",
    "Outcome",
    "Setup",
    "WorkerLost",
]
