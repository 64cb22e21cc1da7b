"""Scoring on this machine: a pool of jailed evaluators, up in a second."""

from __future__ import annotations

from vulcan.scoring.jailed import JailedEvaluator
from vulcan.scoring.pool import Pool
from vulcan.scoring.setup import Setup


class LocalExecutor(Pool):
    """An `Executor` whose workers are children of this process.

    Raises UserError where the task, its evaluator or an instance cannot be set up.
    """

    def __init__(self, setup: Setup, workers: int) -> None:
        super().__init__("local", setup, [JailedEvaluator(setup) for _ in range(workers)])
