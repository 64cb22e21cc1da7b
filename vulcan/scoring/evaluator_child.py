"""The sandboxed evaluator process, `python -m vulcan.scoring.evaluator_child DESCRIPTOR`.

Started by `vulcan.scoring.evaluator_process`, it receives a set-up, loads the evaluator, warms up everything that a job
uses, drops every privilege it can, and then serves jobs until its parent closes the socket. Programs of a PROGRAM task
run in a process each, forked by a server that was started before any evidence was loaded.
"""

from __future__ import annotations

import json
import math
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from numbers import Real
from typing import Any, cast

from vulcan.anvil import Policy, Rejected
from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import Evaluator, Instance, decisions_of, load_evaluator, located
from vulcan.findings import InstanceFinding
from vulcan.foreign_code import ForeignCall, one_line
from vulcan.python_policy.check import check_policy
from vulcan.python_policy.policy import ProgramFailed, ProgramPolicy
from vulcan.registry import load_task
from vulcan.scoring.job import BACKSTOP, Setup
from vulcan.scoring.program_server_client import ForkServer, ProgramEnded, ServerLost
from vulcan.scoring.sandbox.exit_causes import out_of_memory
from vulcan.scoring.sandbox.layers import Layer, Layers
from vulcan.scoring.sandbox.linux import adopt_orphans
from vulcan.scoring.sandbox.lockdown import die_with_parent, lock_down
from vulcan.scoring.sandbox.processes import guard_helpers
from vulcan.scoring.wire import MAX_REPLY, MAX_SIGNATURE, Channel, decode, encode
from vulcan.task import Program, Task

RUNNER = "vulcan.python_policy.runner:run"

KEPT_POLICIES = 128
"""Checked policies that are kept with their code, 0.25 MB each: candidates come in stages, and again as finalists."""

SHARE_OF_TIME = 0.95
"""Share of its wall clock that a program may use: the rest is for reporting a timeout and keeping this process."""


Reply = dict[str, Any]


class EvaluatorWorker:
    """A task and its evaluator, ready to score candidates."""

    def __init__(self, setup: Setup) -> None:
        """Load and warm up.

        Raises UserError if the task or its evaluator does not load or prepare, and if this host cannot sandbox free
        Python, unless the set-up allows that.
        """
        self.setup = setup
        self.task = load_task(setup.task)
        self.checked = lru_cache(KEPT_POLICIES)(lambda source: check_policy(source, self.task))
        self._server: ForkServer | None = None
        if isinstance(self.task.signature, Program):  # started before any evidence is loaded and rights are dropped
            self._server = ForkServer(RUNNER, setup.limits, allow_unsandboxed=setup.allow_unsandboxed)
            self._server.start()
        self.evaluator: Evaluator = load_evaluator(self.task)
        self._set_up(f"{self.task.evaluator!r} does not prepare", self._prepare)
        self._set_up("its warm-up run fails", self._warm_up)

    def _set_up(self, problem: str, step: Callable[[], None]) -> None:
        with (attempt := ForeignCall()):
            return step()
        raise attempt.user_error(f"task {self.task.name!r}: {problem}")

    def _prepare(self) -> None:
        self.evaluator.prepare(self.setup.instances)
        if self.setup.explains:
            training = [i for i in self.setup.instances if i.split == "train" and not i.block_of]
            self.evaluator.prepare_findings(training)

    def _warm_up(self) -> None:
        """Run through everything a job does once: lazy imports would fail without the file system."""
        for source in self.task.seed_policies().values():
            check_policy(source, self.task)
        limit = self.setup.limits.setup_seconds
        instance = self.evaluator.brief(self.setup.instances[0])
        if self.task.seed_policies() or not isinstance(self.task.signature, Program):
            reply = self._score(warm_up_policy(self.task), [instance], probe=True, limit=limit)
            if reply["status"] != "scored":
                raise UserError(f"task {self.task.name!r}: its warm-up run is {reply['status']}: {reply['message']}")
            if self.setup.explains:
                reply = self._explain(warm_up_policy(self.task), [instance], limit)
                if reply["status"] != "scored":
                    raise UserError(f"task {self.task.name!r}: its findings are {reply['status']}: {reply['message']}")
        self._score("import os", [instance], probe=False, limit=limit)
        did_you_mean("", [""])  # hints of the checker load difflib when the first is given

    def serve(self, request: Mapping[str, Any]) -> Reply:
        """Score a job and return the reply. Ends the process if the evaluator does, or if the fork server is lost."""
        instances = [self.setup.instances[number] for number in request["instances"]]
        if request["explain"]:
            scored = self._explain(request["source"], instances, request["limit"], request["against"])
        else:
            scored = self._score(request["source"], instances, request["probe"], request["limit"])
        reply = scored | {"ticket": request["ticket"]}
        if len(encode(reply)) <= MAX_REPLY:
            return reply
        return _bad("failed", f"its reply takes more than {MAX_REPLY} bytes") | {"ticket": request["ticket"]}

    def _placed(self, source: str, limit: float) -> Policy:
        """Check a policy; a program is to run on the server, within `limit` of processor time.

        The wall clock ends it too, long after a program that computes has used its processor time on any busy machine.
        """
        policy = self.checked(source)
        if isinstance(policy, ProgramPolicy):
            server, deadline = self._server, time.monotonic() + SHARE_OF_TIME * BACKSTOP * limit
            assert server is not None
            ends = server.used + limit
            policy = policy.hosted_by(
                lambda: server.open(max(deadline - time.monotonic(), 1e-3), ends - server.used, limit)
            )
        return cast(Policy, policy)  # an evaluator of programs takes programs, any other takes Anvil policies

    def _score(self, source: str, instances: Sequence[Instance], probe: bool, limit: float) -> Reply:
        attempt = ForeignCall()
        with attempt:
            policy = self._placed(source, limit)
        if attempt.error is not None:
            return self._ended_by(attempt, "the checker")
        signature, metrics = None, []
        probes = [None] if probe else []
        first = isinstance(policy, ProgramPolicy)  # which may fail; a policy is probed with the code made to score it
        for instance in (*probes, *instances) if first else (*instances, *probes):
            with attempt:
                if instance is None:
                    signature = plain_signature(decisions_of(self.evaluator, policy))
                else:
                    metrics.append(plain_metrics(self.evaluator.evaluate(policy, instance)))
            if attempt.error is not None:
                return self._ended_by(attempt, instance.name if instance is not None else "its decisions")
        return {"status": "scored", "metrics": metrics, "message": "", "signature": signature}

    def _explain(self, source: str, instances: Sequence[Instance], limit: float, against: str | None = None) -> Reply:
        """Return the evaluator's findings; none from one that offers none."""
        attempt = ForeignCall()
        with attempt:
            policies = [self._placed(one, limit) for one in (source, against) if one is not None]
        if attempt.error is not None:
            return self._ended_by(attempt, "the checker")
        findings: list[InstanceFinding] = []
        for instance in instances:
            with attempt:
                if against is not None:
                    findings += located(self.evaluator.compare(policies[0], policies[1], instance), instance)
                else:
                    findings += located(self.evaluator.findings(policies[0], instance), instance)
            if attempt.error is not None:
                return self._ended_by(attempt, instance.name)
        return {"status": "scored", "findings": [one.to_json() for one in findings], "message": ""}

    def _ended_by(self, attempt: ForeignCall, where: str) -> Reply:
        match attempt.error:
            case MemoryError():
                return _bad("memory", out_of_memory(self.setup.limits))
            case Rejected():
                return _bad("rejected", str(attempt.error))
            case ProgramFailed(status=status, message=message):
                return _bad(status, out_of_memory(self.setup.limits) if status == "memory" else f"{where}: {message}")
            case ProgramEnded(status=status, message=message):
                return _bad(status, message if status == "memory" else f"{where}: {message}")
            case ServerLost():
                signal.raise_signal(signal.SIGKILL)  # not the candidate's fault: it is rerun in a new process
                return _bad("crashed", f"{where}: {attempt.failure}")
            case _:
                return _bad("failed", f"{where}: {attempt.failure}")


def _bad(status: str, message: str) -> Reply:
    return {"status": status, "metrics": [], "message": message}


def warm_up_policy(task: Task) -> str:
    """Return the first of the task's seed policies, or else a policy whose functions return 0."""
    simplest = "".join(
        f"def {declared.function}({', '.join(a.name for a in declared.arguments)}):\n    return 0.0\n"
        for declared in task.functions
    )
    return next(iter(task.seed_policies().values()), simplest)


class BadResult(Exception):
    """An evaluator's result that is not what its method may return."""


def plain_signature(signature: object) -> str | None:
    """Return the digest. Raises BadResult unless it is None or a string of 1 to MAX_SIGNATURE characters."""
    if isinstance(signature, str):
        if not 0 < len(signature) <= MAX_SIGNATURE:
            raise BadResult(f"{len(signature)} characters, and from 1 to {MAX_SIGNATURE} are possible")
    elif signature is not None:
        raise BadResult(f"a {type(signature).__name__} is not a text")
    return signature


def plain_metrics(metrics: object) -> dict[str, float]:
    """Return the metrics as floats. Raises BadResult unless they map names to finite numbers."""
    if not isinstance(metrics, Mapping):
        raise BadResult(f"a {type(metrics).__name__} is not a mapping of metrics")
    for name in metrics:
        if not isinstance(name, str):
            raise BadResult(f"the name of a metric is a {type(name).__name__}, not a text")
    return {name: _number(name, value) for name, value in metrics.items()}


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise BadResult(f"{name} is a {type(value).__name__}, not a number")
    try:
        number = float(value)
    except OverflowError as error:
        raise BadResult(f"{name} is larger than a float can be") from error
    if not math.isfinite(number):
        raise BadResult(f"{name} is {number}")
    return number


def main(descriptor: int) -> None:
    channel = Channel(descriptor)
    message = channel.receive()
    if message is None:
        return
    setup, layers = Setup.from_json(message.decode()), Layers.from_json(json.loads(message)["layers"])
    parent_death_signal = Layer.PARENT_DEATH in layers and die_with_parent()
    if sys.platform == "linux":
        adopt_orphans()
    try:
        worker = EvaluatorWorker(setup)
    except UserError as error:
        channel.send({"error": one_line(str(error), 2000)})
        return
    guard_helpers()
    defences = lock_down(setup.limits, parent_death_signal=parent_death_signal, layers=layers)
    clock = BACKSTOP if isinstance(worker.task.signature, Program) else 1.0
    channel.send({"defences": asdict(defences), "clock": clock})
    while (request := channel.receive()) is not None:
        channel.send(worker.serve(decode(request)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
