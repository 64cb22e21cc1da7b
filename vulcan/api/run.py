"""A run read from its directory: its tables, candidates and report, and how to resume it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vulcan.errors import UserError
from vulcan.files import write_files, write_output
from vulcan.results.candidate import candidate_document
from vulcan.results.drawing import draw
from vulcan.results.recommended import find_recommended
from vulcan.results.report.data import Report, difference
from vulcan.results.run import state_of
from vulcan.searches.evidence import SPLITS
from vulcan.searches.options import EXECUTION_OPTIONS, RESUME_OPTIONS, parse_execution, take_options
from vulcan.svg import Figure
from vulcan.terminal_text import count

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Candidate:
    """A policy that a search tried: its program, its origin and its scores.

    `number` is its number in the run, as in `vulcan show RUN NUMBER` and every table.
    """

    number: int
    _path: Path = field(compare=True)
    _report: Report = field(compare=False)

    @property
    def source(self) -> str:
        """The program as proposed; empty where the reply held none."""
        return self._report.record.candidates[self.number].source

    @property
    def verdict(self) -> str:
        """The verdict on it, such as `scored`, `rejected` or `timeout`; see docs/json.md."""
        return self._report.record.candidates[self.number].verdict

    @property
    def score(self) -> float | None:
        """Mean of the run's objective on the split train, higher is better; None if not measured there."""
        return self._report.record.candidates[self.number].score

    @property
    def scores(self) -> dict[str, float | None]:
        """Mean of the objective on each split, `train`, `validation` and `test`; None where not measured."""
        return dict(self.document["scores"])

    @property
    def metrics(self) -> pd.DataFrame:
        """One row per instance that it was measured on: `instance`, `split`, `score`, and the task's metrics."""
        from vulcan.api.frames import of_candidate

        return of_candidate(self.document["metrics"])

    @property
    def parents(self) -> tuple[int, ...]:
        """Numbers of the candidates from which it was derived."""
        return self._report.record.parents_of(self.number)

    @property
    def feedback(self) -> str:
        """The errors in it, as sent to the model; empty if there are none."""
        return self._report.record.candidates[self.number].feedback

    @property
    def difference(self) -> str:
        """A unified diff against its first parent; empty if it has none."""
        return difference(self._report.record, self.number)

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """Everything known of it, as `vulcan show RUN NUMBER --json` prints it."""
        judged = self._report.record.candidates[self.number]
        calls = (c for c in self._report.calls if (c.proposal, c.turn) == (judged.proposal, judged.turn))
        return candidate_document(self._report.record, judged, next(calls, None))

    def export(self, path: str | Path | None = None, format: str = "python") -> list[Path]:
        """Write it as code that runs without Vulcan, and return the files written, the main one first.

        `path` is the file, or the directory where the format has several; by default they are named after the task, in
        the working directory. `format` is one of those of `vulcan export --format`. Raises UserError.
        """
        files = find_recommended(self._path, self.number).files(format)
        return write_files(files, None if path is None else Path(path), format)

    def __repr__(self) -> str:
        scored = "" if self.score is None else f", score={self.score:.4f}"
        return f"<Candidate {self.number} of {self._path.name}: {self.verdict}{scored}>"

    def _repr_html_(self) -> str:
        scored = "" if self.score is None else f", score {self.score:.4f} on train"
        return (
            f"<p><b>Candidate {self.number}</b> of {escape(self._path.name)}: {escape(self.verdict)}{scored}</p>"
            f"<pre>{escape(self.source)}</pre>"
        )


@dataclass(frozen=True, repr=False)
class Run:
    """A snapshot of a run; `vulcan.load(run)` reads its current state.

    Scores are in units of the run's objective, higher is better; None or NaN means not measured.
    """

    path: Path
    """The run's directory."""
    _report: Report = field(compare=False)

    @classmethod
    def of(cls, path: Path) -> Run:
        """Read the run in a directory. Raises UserError where there is none, or its task is not found."""
        return cls(path, Report.of(path))

    # Properties

    @property
    def name(self) -> str:
        """The run's name: that of its directory."""
        return self.path.name

    @property
    def task(self) -> str:
        """The task's name or path; empty where the search stopped before recording it."""
        return str(self.config.get("task", ""))

    @property
    def state(self) -> str:
        """`finished`, `interrupted`, `error`, or `open` where no stop is recorded."""
        return state_of(self._report.record)

    @property
    def config(self) -> Mapping[str, Any]:
        """The options of the search by name, with underscores; `settings` are those of the task."""
        return self._report.record.config

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """The summary that `vulcan show RUN --json` prints; its schema is in docs/json.md."""
        return self._report.summary

    # Candidates

    @property
    def best(self) -> Candidate:
        """The winner, or the best candidate so far if there is none. Raises UserError where nothing was scored."""
        if (best := self._report.record.best()) is None:
            raise UserError(f"{self.path} has no scored candidate yet: continue with `vulcan resume {self.path}`")
        return self.candidate(best.candidate)

    @property
    def verdict(self) -> str | None:
        """What the search found, and which policy is recommended, in a sentence; None before its end."""
        advice = self.summary["recommendation"]
        return None if advice is None else str(advice["sentence"])

    def export(self, path: str | Path | None = None, format: str = "python") -> list[Path]:
        """Write what the verdict recommends, as `Candidate.export` does. Raises UserError."""
        files = find_recommended(self.path).files(format)
        return write_files(files, None if path is None else Path(path), format)

    def candidate(self, number: int) -> Candidate:
        """Return the candidate of a number, counted from 1. Raises UserError where there is none."""
        return Candidate(self._report.record.candidate(number, self.path).candidate, self.path, self._report)

    # Tables

    @cached_property
    def candidates(self) -> pd.DataFrame:
        """One row per candidate, in the order of their verdicts; the index is its number.

        Columns: `proposal` and `turn` that it was read from, `operator`, `origin`, `parents` (a list of numbers),
        `verdict`, `score` on the split train, `best` so far, `size` (nodes of its syntax tree), `operations` (upper
        bound per call), `dollars` spent until then on models of known price, and `row` of the store's table `events`.
        """
        from vulcan.api.frames import candidates

        return candidates(self._report)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row for the winner and each known policy on each instance.

        Columns: `policy`, `kind` (`candidate`, `baseline` or `oracle`), `split`, `instance`, `score`, `row` of the
        store's table `events`, and each metric of the task in its own unit.
        """
        from vulcan.api.frames import scores

        return scores(self._report)

    @cached_property
    def instances(self) -> pd.DataFrame:
        """One row per instance: the winner compared with the best known policies there.

        Columns: `instance`, `split`, `winner` (its score), `best_baseline` and `best_baseline_policy`, `oracle` and
        `oracle_policy`, `gap` (the winner's lead over the best baseline), and `parameters` (a dict).
        """
        from vulcan.api.frames import instances

        return instances(self._report)

    @cached_property
    def failures(self) -> pd.DataFrame:
        """One row per candidate that was not measured; the index is its number.

        Columns: `verdict`, `rules` of the language that it broke (a list), `feedback` sent to the model, `proposal`,
        `turn`, `origin`, and `row` of the store's table `events`.
        """
        from vulcan.api.frames import failures

        return failures(self._report)

    @cached_property
    def costs(self) -> pd.DataFrame:
        """One row per model, indexed by its server's name for it: its calls and their cost.

        Columns: `calls`, `tokens_in`, `tokens_out`, `dollars` (NaN where a price is not known), and `seconds` of
        waiting in total.
        """
        from vulcan.api.frames import costs

        return costs(self._report)

    @cached_property
    def events(self) -> pd.DataFrame:
        """Every event, in order; the index is the row of the store's table `events`.

        Columns: `time` (UTC), `kind`, and `data` (a dict).
        """
        from vulcan.api.frames import events

        return events(self._report)

    # Actions

    def report(self, path: str | Path, format: str | None = None, seconds: float = 5.0) -> Path:
        """Write a report of the run to a file: `html` or `json`, by default inferred from its name.

        Each property of the winner gets `seconds` to be proved. Raises UserError.
        """
        from vulcan.results.report.formats import form_of, report_text

        output = Path(path)
        write_output(output, report_text(self._report, form_of(output, format), seconds))
        return output

    def plot(self, figure: str = "progress") -> Figure:
        """Return a figure of the run, which a notebook shows, and whose `save("x.svg")` writes it to a file.

        `figure` is `progress` (scores and the best so far), `instances` (the winner and the known policies on each
        instance), `constants` (how much each of the winner matters), `behaviour` (policies by two measures), `descent`
        (the winner's ancestors), or `size` or `operations` (score against the size or the cost of programs). Raises
        UserError for another name, and where too little is scored.
        """
        if (drawn := draw(figure, self._report.record)) is None:
            raise UserError(f"{self.name} has too few scored candidates to draw {figure!r}")
        return drawn

    def resume(self, *, progress: str = "auto", **options: Any) -> Run:
        """Resume an interrupted search to its end; the result is the same as without the interruption.

        The options are those of `vulcan resume`: with one of the search, such as `model`, that applies to what was not
        asked before. Returns the run in its new state. Raises UserError.
        """
        from vulcan.api.launch import RunSession, run_to_completion
        from vulcan.searches.session import ExecutionConfig

        given = {name: value for name, value in options.items() if value is not None}
        anew = {name: given.pop(name) for name in RESUME_OPTIONS if name in given}
        machines = ExecutionConfig(**parse_execution(given, "Run.resume"))
        return Run.of(run_to_completion(RunSession.reopen(self.path, machines, anew), progress))

    # Display

    def _standings(self) -> Iterator[tuple[str, float | None, str, float | None, float | None]]:
        """Return for each split the winner's score, the best baseline with its score, and the winner's lead."""
        for split in SPLITS:
            part = self.summary[split]
            if part is None:
                continue
            known = part["best_baseline"] or {"policy": "-", "score": None}
            score, beside = part["score"], known["score"]
            yield split, score, known["policy"], beside, None if None in (score, beside) else score - beside

    def _title(self) -> str:
        chosen = self.summary["best"]
        winner = "no winner yet" if chosen is None else f"candidate {chosen['candidate']} won"
        if (advice := self.summary["recommendation"]) is not None and advice["second"] is not None:
            winner = f"{advice['policy'].removeprefix('start: ')} is recommended, not candidate {advice['second']}"
        judged = count(len(self._report.record.candidates), "candidate")
        return f"{self.name}: {self.task}, {self.state}, {judged}, {winner}"

    def __repr__(self) -> str:
        return f"<Run {self._title()}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>" for row in self._standings()
        )
        return (
            f"<table><caption>{escape(self._title())}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


take_options(
    Run.resume, [option.parameter() for option in (*RESUME_OPTIONS.values(), *EXECUTION_OPTIONS.values())], after="self"
)


_COLUMNS = ("split", "winner", "best baseline", "its score", "gap")


def _cell(value: float | str | None) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None else f"{value:.4f}"
