"""Where in a run's store a number stands: the row of the table `events` that it was read from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from vulcan.evaluator import SplitName
from vulcan.store.events import BaselineMeasured, Chosen, Confirmed, Controlled, Event, Judged, Prepared, Started


@dataclass(frozen=True, slots=True)
class Row:
    """An event, the number of its row, and when it was appended, in ISO 8601."""

    number: int
    time: str
    event: Event

    def document(self) -> dict[str, Any]:
        return {"row": self.number, "time": self.time, "kind": type(self.event).__name__, "data": asdict(self.event)}


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a run, and which of them says what."""

    all: tuple[Row, ...]
    started: int | None
    prepared: int | None
    chosen: int | None
    control: int | None
    judged: dict[int, int] = field(default_factory=dict)
    confirmed: dict[tuple[int, SplitName], int] = field(default_factory=dict)
    baselines: dict[tuple[str, SplitName], int] = field(default_factory=dict)

    @classmethod
    def of(cls, numbered: Iterable[tuple[int, str, Event]]) -> Rows:
        every = tuple(Row(*row) for row in numbered)
        judged, confirmed, baselines = {}, {}, {}
        single: dict[type, int] = {}
        for row in every:
            match row.event:
                case Judged(candidate):
                    judged[candidate] = row.number
                case Confirmed(candidate, split):
                    confirmed[candidate, split] = row.number
                case BaselineMeasured(policy, _, split):
                    baselines[policy, split] = row.number
                case Started() | Prepared() | Chosen() | Controlled():
                    single[type(row.event)] = row.number
                case _:
                    pass
        started, prepared, chosen, control = (single.get(kind) for kind in (Started, Prepared, Chosen, Controlled))
        return cls(every, started, prepared, chosen, control, judged, confirmed, baselines)

    def of_candidate(self, candidate: int, split: SplitName) -> int | None:
        """The row that holds a candidate's scores on a split."""
        return self.judged.get(candidate) if split == "train" else self.confirmed.get((candidate, split))
