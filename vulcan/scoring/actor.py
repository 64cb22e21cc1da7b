"""What runs inside a Ray worker: one jailed evaluator."""

from __future__ import annotations

import os
from collections.abc import Sequence

from vulcan.errors import UserError
from vulcan.scoring.jailed import JailedEvaluator
from vulcan.scoring.job import Outcome
from vulcan.scoring.sandbox import Defences
from vulcan.scoring.setup import Request, Setup


class ScoringActor:
    """A Ray actor. A user's error is returned as its text: raised, it would come in Ray's wrapping."""

    def __init__(self, setup: str) -> None:
        self._evaluator = JailedEvaluator(Setup.from_json(setup))

    def start(self) -> Defences | str:
        try:
            return self._evaluator.start()
        except UserError as error:
            return str(error)

    def serve(self, request: Request) -> Outcome | str:
        try:
            return self._evaluator.serve(request)
        except UserError as error:
            return str(error)

    def serve_all(self, requests: Sequence[Request]) -> list[Outcome] | str:
        """All outcomes, in order. An error of the user ends it, and is all there is then."""
        outcomes = []
        for request in requests:
            outcome = self.serve(request)
            if isinstance(outcome, str):
                return outcome
            outcomes.append(outcome)
        return outcomes

    def processes(self) -> tuple[int, int | None]:
        """The process ids of the Ray worker and of its child."""
        return os.getpid(), self._evaluator.pid
