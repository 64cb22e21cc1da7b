"""Actions on a run: stop it, resume it, and raise its budgets."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from vulcan.dashboard.lock_holder import lock_owner
from vulcan.dashboard.status import run_status
from vulcan.errors import UserError, did_you_mean
from vulcan.searches.config import SearchConfig
from vulcan.searches.options import EXECUTION_OPTIONS
from vulcan.searches.resumption import change_settings, with_settings
from vulcan.searches.strategies import make_strategy
from vulcan.store import RunRecord
from vulcan.store.runs import lock_run, no_links, open_store

LOG = "resume.log"
"""Output of a search resumed from the dashboard, in the run's directory."""

BUDGETS: Mapping[str, str] = {
    "budget_candidates": "proposals in all",
    "budget_dollars": "dollars for models",
    "budget_tokens": "tokens of models",
    "budget_minutes": "minutes of each session",
}
"""Budgets of a search, with their units."""

_MAX = sys.float_info.max

_RUN = "from vulcan.cli.main import run; run()"


class Resumed:
    """The searches resumed from this process, which they outlive."""

    def __init__(self) -> None:
        self._processes: dict[Path, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def start(self, run: Path, record: RunRecord, executor: str, workers: int) -> int:
        """Start `vulcan resume` in a new session and return its process id. Raises UserError."""
        EXECUTION_OPTIONS["executor"].check(executor)
        with self._lock:
            status = run_status(record, lock_owner(run))
            if not status.can_resume:
                raise UserError(f"{run.name} is {status.state}: only a stopped search can be resumed")
            begun = self._processes.get(run)
            if begun is not None and begun.poll() is None:  # started, but has not locked the run yet
                raise UserError(f"{run.name} is already being resumed by process {begun.pid}")
            options = ["--executor", executor, "--workers", str(workers)]
            try:
                with open(run / LOG, "ab", opener=no_links) as log:
                    process = subprocess.Popen(
                        [sys.executable, "-P", "-c", _RUN, "resume", *options, "--", str(run.resolve())],
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
            except OSError as error:
                raise UserError(f"cannot resume {run.name}: {error.strerror or error}") from error
            self._processes[run] = process
            return process.pid

    def error(self, run: Path) -> str:
        """Say why the search last resumed in this run failed; empty while it runs, or if it succeeded."""
        process = self._processes.get(run)
        if process is None or process.poll() in (None, 0):
            return ""
        try:
            lines = (run / LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError as error:
            return f"its log cannot be read: {error.strerror}"
        return lines[-1].strip() if lines else f"it ended with code {process.returncode} and said nothing"


def raise_budget(run: Path, record: RunRecord, name: str, value: object) -> float:
    """Write a higher budget into a stopped run, to apply once it is resumed. Raises UserError."""
    if name not in BUDGETS:
        raise UserError(f"no budget {name!r}{did_you_mean(name, BUDGETS)} (known: {', '.join(BUDGETS)})")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MAX:
        raise UserError(f"{name} is {value!r}: a number above 0 is needed")
    whole = name in ("budget_candidates", "budget_tokens")
    if whole and value != int(value):
        raise UserError(f"{name} is {value}: a whole number is needed")
    if record.confirmed or record.chosen is not None:
        raise UserError(
            f"{run.name} has measured its finalists on what it did not see: it searches no further; start a new search"
        )
    if lock_owner(run) is not None:
        raise UserError(f"{run.name} is running: stop it, raise the budget, and resume it")
    config = SearchConfig.from_json(record.config)
    now = budgets_of(config)[name]
    if now is None:
        raise UserError(f"{run.name} has no {name}: there is nothing to raise")
    if value <= now:
        raise UserError(f"{name} is {now:g}: name more than that")
    raised = with_settings(config, {name: int(value) if whole else float(value)}, name)
    with lock_run(run), closing(open_store(run)) as store:
        change_settings(run, store, raised)
    return value


def budgets_of(config: SearchConfig) -> dict[str, float | None]:
    """Return the limits of a search by name; None for no limit. Its plan limits its proposals."""
    return {**{name: getattr(config, name) for name in BUDGETS}, "budget_candidates": planned(config)}


def planned(config: SearchConfig) -> int:
    """Return the number of proposals a search makes, by its plan and its budget of candidates."""
    total = make_strategy(config, config.offline).total()
    return total if config.budget_candidates is None else min(total, config.budget_candidates)
