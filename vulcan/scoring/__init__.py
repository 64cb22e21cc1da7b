"""Scoring of candidates: sandboxed evaluator processes and the executors that feed them jobs.

`LocalExecutor` and, in `vulcan.scoring.ray_executor`, `RayExecutor` satisfy `Executor`.
"""

from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.scoring.job import Executor, Job, Limits, Outcome, Setup, WorkerLost
from vulcan.scoring.local_pool import LocalExecutor
from vulcan.scoring.sandbox.lockdown import Defences

__all__ = [
    "Defences",
    "Executor",
    "JailedEvaluator",
    "Job",
    "Limits",
    "LocalExecutor",
    "Outcome",
    "Setup",
    "WorkerLost",
]
