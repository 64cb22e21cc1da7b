"""An executor that remembers outcomes in a file, for searches whose processes come and go."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import Future
from pathlib import Path
from threading import Lock
from typing import Any

from vulcan.closing import Closing
from vulcan.errors import UserError
from vulcan.files import report_uncached
from vulcan.scoring.job import Executor, Job, JobRequest, Outcome
from vulcan.scoring.wire import MalformedMessage, decode, outcome_of


class RememberingExecutor(Closing):
    """Runs each job once: its outcome is appended to a file of JSON lines, which a later process reads.

    Outcomes that another try may change (a timeout, a process that died) are not kept, and a damaged line is as none.
    A file may be shared by executors of several tasks, which then name theirs. Raises UserError where the file is a
    symbolic link.
    """

    def __init__(self, executor: Executor, path: Path, task: str = "") -> None:
        self._executor, self.name, self.workers = executor, executor.name, executor.workers
        self._path, self._task = path, task
        self._lock = Lock()
        self._known: dict[str, dict[str, Any]] = {}
        if path.is_symlink():  # of a run that somebody else made: what it points to would be written to
            raise UserError(f"{path} is a link, and would be written to: remove it")
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                known = decode(line)
                self._known[known["key"]] = known["outcome"]
            except (MalformedMessage, KeyError, TypeError):
                continue

    def submit(self, job: Job) -> Future[Outcome]:
        instances = [instance.to_json() for instance in job.instances]
        asked = [self._task, job.source, instances, job.probe, job.explain, job.against]
        key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
        if (outcome := self._outcome(key, job)) is not None:
            future: Future[Outcome] = Future()
            future.set_result(outcome)
            return future
        future = self._executor.submit(job)
        future.add_done_callback(lambda done: self._remember(key, done))
        return future

    def _outcome(self, key: str, job: Job) -> Outcome | None:
        asked = JobRequest(job.id, job.source, (), job.limit, job.probe, job.explain, job.against)
        try:
            return outcome_of(self._known[key], "", asked, tuple(instance.name for instance in job.instances), 0.0)
        except (KeyError, AttributeError, MalformedMessage):
            return None

    def _remember(self, key: str, done: Future[Outcome]) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        outcome = done.result()
        if outcome.status in ("scored", "rejected", "failed"):
            reply = {
                "ticket": "",
                "status": outcome.status,
                "message": outcome.message,
                "metrics": [metrics for _, metrics in outcome.metrics],
                "signature": outcome.signature,
                "findings": [finding.to_json() for finding in outcome.findings],
            }
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._lock, self._path.open("a") as file:
                    file.write(json.dumps({"key": key, "outcome": reply}) + "\n")
            except OSError as error:
                report_uncached(self._path, error)

    def close(self) -> None:
        self._executor.close()
