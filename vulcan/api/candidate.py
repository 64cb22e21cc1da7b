"""One candidate of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vulcan.api.files import places, write_text
from vulcan.printable import printable
from vulcan.report.candidate import candidate_document
from vulcan.report.document import Told, difference
from vulcan.report.evidence_card import export_candidate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Candidate:
    """A policy that a search tried: its program, where it comes from, and how it did.

    `number` is its number in the run, as `vulcan show RUN NUMBER` and every table have it.
    """

    number: int
    _place: Path = field(compare=True)
    _told: Told = field(compare=False)

    @property
    def source(self) -> str:
        """The program, as it was proposed; empty where the reply held none."""
        return self._told.record.candidates[self.number].source

    @property
    def verdict(self) -> str:
        """What became of it, such as `scored`, `rejected` or `timeout`; see docs/json.md."""
        return self._told.record.candidates[self.number].verdict

    @property
    def score(self) -> float | None:
        """The mean of the run's objective on the split train, higher is better; None unless it was measured there."""
        return self._told.record.candidates[self.number].score

    @property
    def scores(self) -> dict[str, float | None]:
        """The mean of the objective on each split: `train`, `validation` and `test`; None where it was not measured."""
        return dict(self.document["scores"])

    @property
    def metrics(self) -> pd.DataFrame:
        """A row an instance that it was measured on: `instance`, `split`, `score`, and the metrics of the task."""
        from vulcan.api.frames import of_candidate

        return of_candidate(self.document["metrics"])

    @property
    def parents(self) -> tuple[int, ...]:
        """The numbers of the candidates that it was made from."""
        return self._told.record.parents_of(self.number)

    @property
    def feedback(self) -> str:
        """What was wrong with it, as the model is told; empty where nothing was."""
        return self._told.record.candidates[self.number].feedback

    @property
    def difference(self) -> str:
        """A unified diff against its first parent; empty where it has none."""
        return difference(self._told.record, self.number)

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """All that is known of it, as `vulcan show RUN NUMBER --json` prints it."""
        judged = self._told.record.candidates[self.number]
        calls = (c for c in self._told.calls if (c.proposal, c.turn) == (judged.proposal, judged.turn))
        return candidate_document(self._told.record, judged, next(calls, None))

    def export(self, path: str | Path | None = None, format: str = "python") -> list[Path]:
        """Write it so that it runs without Vulcan; the files that were written, the main one first.

        `path` is the file, or the directory where the format has several; by default they are named after the task and
        stand in the working directory. `format` is one of those of `vulcan export --format`. Raises UserError.
        """
        files = export_candidate(self._place, format, self.number).files
        written = places(files, None if path is None else Path(path), format)
        for place, text in zip(written, files.values(), strict=True):
            write_text(place, text)
        return written

    def __repr__(self) -> str:
        scored = "" if self.score is None else f", score={self.score:.4f}"
        return f"<Candidate {self.number} of {self._place.name}: {self.verdict}{scored}>"

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.syntax import Syntax
        from rich.text import Text

        return Group(Text(printable(repr(self))), Syntax(printable(self.source), "python", background_color="default"))

    def _repr_html_(self) -> str:
        scored = "" if self.score is None else f", score {self.score:.4f} on train"
        return (
            f"<p><b>Candidate {self.number}</b> of {escape(self._place.name)}: {escape(self.verdict)}{scored}</p>"
            f"<pre>{escape(self.source)}</pre>"
        )
