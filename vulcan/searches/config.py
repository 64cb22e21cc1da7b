"""All that a run is made from, and a repetition of it needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, cast, get_type_hints

from vulcan.errors import UserError, nearest
from vulcan.scoring import Limits
from vulcan.searches.tune import FEWEST_EVALUATIONS
from vulcan.store.decode import MalformedRow, as_declared
from vulcan.task import Json, Task

MOST_SECONDS = Limits().cpu_seconds


@dataclass(frozen=True)
class SearchConfig:
    """The options of a search, by the names that the command line and a configuration file give them.

    `settings` are the task's own. `model` is one model or several, among which the search divides its proposals;
    `temperature` may be a schedule, as `1.1:0.4`. `rounds` x `samples` is the strategy's plan and `budget_candidates`
    another; the other budgets end it earlier. `parents` is how many candidates a proposal is shown, `in_flight` how
    many proposals may be without a verdict when the next one is drafted. `repairs` bounds the further replies that a
    rejected program may get in the same chat. With `racing` cheaper scores come before full ones. `tune` is how many
    evaluations each new best candidate's constants are tuned with, `simplify` how many the winner is simplified with.
    `finalists` of the best on the split `train` are measured on the split `validation`. `split` is `task` (as it
    declares) or `none`. `control` samples without feedback at the same budget afterwards. `limit` is the wall clock of
    one candidate on all its instances, in seconds.
    """

    task: str
    settings: Mapping[str, Json]
    objective: str
    model: tuple[str, ...] = ("offline/evolve",)
    api_base: str | None = None
    temperature: str | None = None
    max_tokens: int | None = None
    strategy: str = "evolve"
    rounds: int = 20
    samples: int = 25
    parents: int = 2
    islands: int = 4
    migrate_every: int = 30
    advice_every: int = 40
    diff: str = "auto"
    in_flight: int = 8
    repairs: int = 2
    budget_candidates: int | None = None
    budget_dollars: float | None = None
    budget_tokens: int | None = None
    budget_minutes: float | None = None
    racing: bool = True
    tune: int = 40
    simplify: int = 80
    control: bool = False
    seed: int = 1
    split: str = "task"
    finalists: int = 10
    limit: float = 120.0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise UserError(f"{name.replace('_', '-')} is {value}: at least {least} is needed")
        for name in ("budget_dollars", "budget_minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise UserError(f"{name.replace('_', '-')} is {value}: it must be above 0 and finite")
        if 0 < self.tune < FEWEST_EVALUATIONS:
            raise UserError(f"tune is {self.tune}: it must be 0, or at least {FEWEST_EVALUATIONS}")
        if not 0 < self.limit <= MOST_SECONDS:
            raise UserError(f"limit is {self.limit}: more than 0 and at most {MOST_SECONDS} seconds are possible")
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                given = getattr(self, name)
                raise UserError(f"{name} is {given!r}{nearest(given, known)} (known: {', '.join(known)})")
        if not self.model:
            raise UserError("name at least one model")

    @property
    def offline(self) -> bool:
        """Whether no language model takes part."""
        return all(name.startswith("offline/") for name in self.model)

    def to_json(self) -> dict[str, Json]:
        return {**cast(dict[str, Json], asdict(self)), "model": list(self.model)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> SearchConfig:
        """Raises UserError for a key that is not known, naming the nearest."""
        known = {f.name for f in fields(cls)}
        for key in plain:
            if key not in known:
                raise UserError(f"the search option {key!r} is not known{nearest(key, known)}")
        hints = get_type_hints(cls)
        for key in ("task", "settings", "objective"):
            if key not in plain:
                raise UserError(f"the search option {key!r} is missing")
        try:
            given = {**plain, "model": list(plain.get("model", cls.model))}
            return cls(**{key: as_declared(value, hints[key], key) for key, value in given.items()})
        except (MalformedRow, TypeError) as error:
            raise UserError(f"a search cannot be so: {error}") from error


_LEAST = {
    "rounds": 1, "samples": 1, "parents": 1, "finalists": 1, "islands": 1, "in_flight": 1, "migrate_every": 1,
    "max_tokens": 1, "budget_candidates": 1, "budget_tokens": 1, "repairs": 0, "advice_every": 0, "tune": 0,
    "simplify": 0,
}  # fmt: skip
_CHOICES = {"split": ("task", "none"), "diff": ("auto", "never", "always")}


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
