"""All that a run is made from, and a repetition of it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, cast

from vulcan.errors import UserError, nearest
from vulcan.scoring import Limits
from vulcan.task import Json, Task

MOST_SECONDS = Limits().cpu_seconds


@dataclass(frozen=True)
class SearchConfig:
    """The options of a search. `settings` are the task's own; `split` is `task` (as it declares) or `none`.

    `rounds` x `samples` is the strategy's plan; `budget_candidates` cuts it short. `repairs` bounds the further
    replies that a rejected program may get in the same chat. `finalists` of the best on the split `train` are
    measured on the split `validation`. `limit` is the wall clock of one candidate on all its instances, in seconds.
    """

    task: str
    settings: Mapping[str, Json]
    objective: str
    model: str = "offline/evolve"
    api_base: str | None = None
    temperature: float | None = None
    strategy: str = "policysmith"
    rounds: int = 20
    samples: int = 25
    parents: int = 2
    repairs: int = 2
    budget_candidates: int | None = None
    seed: int = 1
    split: str = "task"
    finalists: int = 10
    limit: float = 120.0

    def __post_init__(self) -> None:
        for name in ("rounds", "samples", "parents", "finalists"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}: at least 1 is needed")
        if self.repairs < 0:
            raise UserError(f"repairs is {self.repairs}: 0 or more is needed")
        if self.budget_candidates is not None and self.budget_candidates < 1:
            raise UserError(f"budget-candidates is {self.budget_candidates}: at least 1 is needed")
        if not 0 < self.limit <= MOST_SECONDS:
            raise UserError(f"limit is {self.limit}: more than 0 and at most {MOST_SECONDS} seconds are possible")

    def to_json(self) -> dict[str, Json]:
        return cast(dict[str, Json], asdict(self))

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> SearchConfig:
        """Raises UserError for a key that is not known, naming the nearest."""
        known = {f.name for f in fields(cls)}
        for key in plain:
            if key not in known:
                raise UserError(f"the search option {key!r} is not known{nearest(key, known)}")
        return cls(**plain)


def complete_settings(task: Task, given: Mapping[str, Json]) -> dict[str, Json]:
    """A value for each of the task's settings: the given one, or its default; a list where it is repeatable.

    Raises UserError for a setting that the task does not have.
    """
    known = {setting.name: setting for setting in task.settings}
    for name in given:
        if name not in known:
            raise UserError(f"task {task.name!r} has no setting {name!r}{nearest(name, known)}")
    made: dict[str, Json] = {}
    for name, setting in known.items():
        value = given.get(name, setting.default)
        if setting.repeatable and not isinstance(value, list):
            value = [] if value is None else [value]
        made[name] = value
    return made
