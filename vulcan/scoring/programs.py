"""Where the programs of a PROGRAM task run: each in a process of its own, forked by a server that knows no evidence."""

from __future__ import annotations

import time
from collections.abc import Callable

from vulcan.program.interface import AnyPolicy
from vulcan.program.policy import ProgramPolicy
from vulcan.scoring.forked import ForkedChild, ForkServer
from vulcan.scoring.setup import Setup
from vulcan.task import Program, Task

RUNNER = "vulcan.program.runner:run"

SHARE_OF_TIME = 0.95
"""What a candidate may use of its time: the rest is left for saying so, and for the next one to find all ready."""


class Programs:
    """The fork server of a jailed evaluator; none where the task's policies are not programs."""

    def __init__(self, task: Task, setup: Setup) -> None:
        """To be made before the evaluator loads any evidence, and before the process is locked down.

        Raises UserError where this host cannot hold free Python, unless the set-up allows that.
        """
        self._server: ForkServer | None = None
        if isinstance(task.signature, Program):
            self._server = ForkServer(RUNNER, setup.limits, allow_unsandboxed=setup.allow_unsandboxed)
            self._server.start()

    def placed(self, policy: AnyPolicy, seconds: float) -> AnyPolicy:
        """The policy, to be run within so many seconds of wall clock from now if it is a program."""
        if not isinstance(policy, ProgramPolicy):
            return policy
        return policy.within(self._opener(time.monotonic() + SHARE_OF_TIME * seconds))

    def _opener(self, deadline: float) -> Callable[[], ForkedChild]:
        server = self._server
        assert server is not None
        return lambda: server.open(max(deadline - time.monotonic(), 1e-3))
