"""The playground: check and score a hand-written policy.

The checker is the search's own. Policies are scored in a sandboxed child, as in a search, never in this process.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor

from vulcan.anvil import Policy, Rejected
from vulcan.anvil.diagnostics import Located, excerpt, findings_document
from vulcan.documents.dashboard import (
    ComparedPolicy,
    ExcerptDocument,
    InstanceChoice,
    OperationsDocument,
    PlaygroundCheck,
    PlaygroundScore,
)
from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import Instance
from vulcan.python_policy.check import AnyPolicy, check_policy
from vulcan.registry import recorded_task
from vulcan.scoring import Job, Limits, Outcome, Setup, WorkerLost
from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.searches.evidence import find_objective, make_scorer
from vulcan.searches.reply import parse_source
from vulcan.searches.scorer import Scorer
from vulcan.store import RunRecord
from vulcan.store.events import InstanceMetrics
from vulcan.task import Task

SECONDS = 30.0
"""Time limit in seconds to score a policy on an instance; a search's own limit applies if it is lower."""

SETUP_SECONDS = 120.0
"""Time limit in seconds to load the instance."""

MAX_SOURCE = 64 << 10
"""Maximum characters of a program that is checked; the checker itself accepts fewer."""


class Busy(UserError):
    """The error of a request to score a policy while another one is being scored."""


class Playground:
    """A checker and scorer that scores one policy at a time. Thread-safe."""

    def __init__(self) -> None:
        self._checking = threading.Lock()
        self._scoring = threading.Lock()
        # a child dies with the thread that started it: keep one thread
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vulcan-playground")
        self._evaluator: JailedEvaluator | None = None

    def check(self, record: RunRecord, source: str) -> PlaygroundCheck:
        """Check whether a policy is in the language; return its operation bounds and warnings. Raises UserError."""
        _refuse_large(source)
        task = recorded_task(record.config["task"])
        with self._checking:
            try:
                policy = check_policy(source, task)
            except Rejected as rejected:
                return _verdict("rejected", [_finding(source, violation) for violation in rejected.violations])
            reading = parse_source(source, task, record.config.get("target"))
        rejected_late = reading.policy is None
        return {
            "verdict": "rejected" if rejected_late else "accepted",
            "violations": [],
            "message": reading.feedback if rejected_late else "",
            "warnings": [_finding(source, w) for w in (*policy.warnings, *policy.ranking_warnings)]
            if isinstance(policy, Policy)
            else [],
            "operations": _operations(policy, task),
            "parameters": dict(policy.parameters),
            "size": policy.size,
            "limit": task.operations,
        }

    def score(self, record: RunRecord, source: str, instance: str) -> PlaygroundScore:
        """Score a policy on one of the run's training instances, and compare it with known policies there.

        A policy that the checker rejects is not scored, as in a search. Raises UserError, and Busy where another policy
        is being scored.
        """
        chosen = instance_of(record, instance)
        checked = self.check(record, source)
        task = recorded_task(record.config["task"])
        scorer = make_scorer(find_objective(task, record.config["objective"]), record)
        limit = min(float(record.config["limit"]), SECONDS)
        if checked["verdict"] == "rejected":
            outcome = Outcome(0, "rejected", (), "the checker says why", 0.0)
        else:
            setup = Setup(record.config["task"], (chosen,), Limits(setup_seconds=SETUP_SECONDS))
            outcome = self._alone(setup, Job(0, source, (chosen,), limit))
        metrics = dict(outcome.metrics).get(chosen.name)
        return {
            "status": outcome.status,
            "message": outcome.message,
            "seconds": outcome.seconds,
            "instance": chosen.name,
            "score": None if metrics is None else scorer.on_instance("train", chosen.name, metrics),
            "metrics": None if metrics is None else dict(metrics),
            "comparison": _comparison(record, scorer, chosen.name),
        }

    def _alone(self, setup: Setup, job: Job) -> Outcome:
        if not self._scoring.acquire(blocking=False):
            raise Busy("another policy is being scored: one at a time")
        try:
            return self._thread.submit(self._scored, setup, job).result()
        except (CancelledError, RuntimeError) as error:  # the pool is closed
            raise UserError("the page's process is ending") from error
        finally:
            self._scoring.release()

    def _scored(self, setup: Setup, job: Job) -> Outcome:
        if self._evaluator is None or self._evaluator.setup != setup:
            if self._evaluator is not None:
                self._evaluator.close()
            self._evaluator = JailedEvaluator(setup)
        try:
            return self._evaluator.run(job)
        except WorkerLost as error:
            raise UserError(f"scoring failed by no fault of the policy: {error}; try again") from error

    def close(self) -> None:
        """Interrupt the evaluation in progress, and accept no more."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._evaluator is not None:
            self._evaluator.interrupt()
        self._thread.shutdown(wait=True)
        if self._evaluator is not None:
            self._evaluator.close()


def instances_for(record: RunRecord) -> list[InstanceChoice]:
    """List the instances to try a policy on: the cheaper versions first, then train; no held-out ones."""
    cheaper: list[InstanceChoice] = [
        {"name": i.name, "description": f"cheaper version {rung.name}"} for rung in record.rungs for i in rung.instances
    ]
    full: list[InstanceChoice] = [
        {"name": i.name, "description": "training instance"} for i in record.instances if i.split == "train"
    ]
    known = {line["name"]: line for line in (*cheaper, *full)}  # a rung may contain the instance itself
    return list(known.values())


def instance_of(record: RunRecord, name: str) -> Instance:
    """Return one of these instances by name. Raises UserError."""
    known = {i.name: i for rung in record.rungs for i in rung.instances}
    known |= {i.name: i for i in record.instances if i.split == "train"}
    if name not in known:
        raise UserError(f"no training instance {name[:80]!r}{did_you_mean(name, known)}")
    return known[name]


def seed_of(record: RunRecord, candidate: int | None) -> str:
    """Return the editor's initial source: the candidate's, else the best one's, else the task's first policy."""
    if candidate is not None and candidate in record.candidates:
        return record.candidates[candidate].source
    ranked = record.ranked()
    if ranked:
        return ranked[0].source
    return next(iter(recorded_task(record.config["task"]).seed_policies().values()), "")


def _comparison(record: RunRecord, scorer: Scorer, instance: str) -> list[ComparedPolicy]:
    """Return the scores of known policies and the best candidate on an instance, highest first."""
    measured: list[tuple[str, str, InstanceMetrics]] = [
        (b.policy, b.kind, b.metrics) for (_, split), b in record.baselines.items() if split == "train"
    ]
    measured += [(r.policy, "baseline", r.metrics) for r in record.references.values()]
    measured += [(f"candidate {c.candidate}", "best so far", c.metrics) for c in record.ranked()[:1]]
    lines: list[ComparedPolicy] = []
    for policy, kind, metrics in measured:
        if (own := dict(metrics).get(instance)) is not None:
            score = scorer.on_instance("train", instance, own)
            lines.append({"policy": policy, "kind": kind, "score": score})
    return sorted(lines, key=lambda line: -line["score"])


def _operations(policy: AnyPolicy, task: Task) -> list[OperationsDocument]:
    """Return the operation bound of each function; empty for free Python, which has no static bound."""
    if not isinstance(policy, Policy):
        return []
    return [
        {"function": declared.function, "operations": policy.function(declared.function).plan.operations}
        for declared in policy.task.functions
    ]


def _verdict(verdict: str, violations: Sequence[ExcerptDocument]) -> PlaygroundCheck:
    return {
        "verdict": verdict,
        "violations": list(violations),
        "message": "",
        "warnings": [],
        "operations": [],
        "parameters": {},
        "size": None,
        "limit": None,
    }


def _finding(source: str, finding: Located) -> ExcerptDocument:
    """Return a violation or warning with its source line."""
    text, _ = excerpt(source, finding.line, finding.column)
    (plain,) = findings_document([finding])
    return {**plain, "excerpt": text.strip()}


def _refuse_large(source: str) -> None:
    if len(source) > MAX_SOURCE:
        raise UserError(f"a program of {len(source):,} characters: at most {MAX_SOURCE:,} are looked at")
