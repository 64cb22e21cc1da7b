"""Searches with several seeds: one run for each, one after the other, and their comparison."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from vulcan.api.launch import RunSession, SearchRequest
from vulcan.documents.report import SeedsDocument
from vulcan.errors import UserError
from vulcan.files import write_file
from vulcan.progress.base import Display
from vulcan.results.run import state_of
from vulcan.results.seeds import compare_seeds
from vulcan.searches.evidence import EvaluationSet
from vulcan.searches.options import ASK
from vulcan.searches.session import ExecutionConfig, check_config, load_run_spec
from vulcan.store import RunRecord
from vulcan.store.runs import RunNotStarted, open_store, run_directories

FILE = "seeds.json"
"""A file in the directory of each run of several seeds, by which a resumed one finds the others."""

MIN_SEEDS = 2

Displays = Callable[[Path, str], Display]
"""Factory of the display of each search, which it gets the run and the title of."""


@dataclass(frozen=True, slots=True)
class SeedSeries:
    """Searches that differ in their seed alone: `count` of them, with seeds from `first` on; `name` identifies them."""

    name: str
    first: int
    count: int

    @classmethod
    def of(cls, run: Path) -> SeedSeries | None:
        """Return the series that a run belongs to; None where it is a search by itself. Raises UserError."""
        try:
            found = json.loads((run / FILE).read_text(encoding="utf-8"))
            return cls(str(found["name"]), int(found["first"]), int(found["count"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{run / FILE} cannot be read ({error}): delete it to resume the run by itself") from error

    def mark(self, run: Path) -> None:
        """Record in a run's directory that it belongs to the series. Raises UserError."""
        write_file(run / FILE, json.dumps(asdict(self)) + "\n", "make room, and search again")

    def runs(self, directory: Path) -> dict[int, Path]:
        """Return the runs of the series in a directory by seed, apart from those that never began."""
        found = {}
        for path in run_directories(directory):
            if (path / FILE).is_file() and self.of(path) == self:
                config = _record(path).config
                if config:
                    found[int(config["seed"])] = path
        return found


def search_seeds(request: SearchRequest, count: int, runs: Path, displays: Displays) -> SeedsDocument:
    """Search with each of `count` seeds from the request's own on, and compare the results.

    Raises UserError, for an invalid request before writing anything; `resume_seeds` continues after an interruption.
    """
    if count < MIN_SEEDS:
        raise UserError(f"seeds is {count}: at least {MIN_SEEDS} are needed")
    if request.replay is not None or request.search.model == (ASK,):
        raise UserError(f"several seeds cannot be searched with in a replay, nor with the model {ASK}")
    request = request.resolved(runs)
    evidence = check_config(request.task, request.search)
    series = SeedSeries(secrets.token_hex(8), request.search.seed, count)
    return _search(series, request, runs, displays, evidence)


def resume_seeds(run: Path, machines: ExecutionConfig, displays: Displays) -> SeedsDocument:
    """Resume the searches of the series that a run belongs to, and start those that never began. Raises UserError."""
    series = SeedSeries.of(run)
    begun = {} if series is None else series.runs(run.parent)
    if series is None or not begun:
        raise RunNotStarted(run)
    one = next(iter(begun.values()))
    with closing(open_store(one)) as store:
        task, config, evidence = load_run_spec(one, store)
    return _search(series, SearchRequest(task, config, machines), run.parent, displays, evidence)


def _search(
    series: SeedSeries, request: SearchRequest, runs: Path, displays: Displays, evidence: EvaluationSet
) -> SeedsDocument:
    """Search with every seed whose run is not finished, and compare all. Raises UserError."""
    begun = series.runs(runs)
    paths = []
    for number in range(series.count):
        seed = series.first + number
        path = begun.get(seed)
        if path is None:
            one = replace(request, search=replace(request.search, seed=seed))
            session = RunSession.start(one, runs, evidence)
            series.mark(session.path)
        elif state_of(_record(path)) != "finished":
            session = RunSession.reopen(path, request.machines)
        else:
            paths.append(path)
            continue
        paths.append(session.path)
        session.search(displays(session.path, f"seed {seed}, search {number + 1} of {series.count}"))
    return compare_seeds(paths)


def _record(run: Path) -> RunRecord:
    with closing(open_store(run)) as store:
        return RunRecord.of(store.events())
