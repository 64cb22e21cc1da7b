"""All that a run is made from, and a repetition of it needs.

A search as a TOML file: the options of `vulcan search` and of its task, by their names.

A search from plain values: those of a configuration file, or of an MCP client.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, cast, get_type_hints

from vulcan.errors import UserError, did_you_mean
from vulcan.registry import find_task, task_reference
from vulcan.scoring import Limits
from vulcan.searches.tuning import MIN_EVALUATIONS
from vulcan.store.decode import MalformedRow, as_declared
from vulcan.task import Json, Setting, Task

MAX_SECONDS = Limits().cpu_seconds


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
        for name, least in _MIN.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise UserError(f"{name.replace('_', '-')} is {value}: at least {least} is needed")
        for name in ("budget_dollars", "budget_minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise UserError(f"{name.replace('_', '-')} is {value}: it must be above 0 and finite")
        if 0 < self.tune < MIN_EVALUATIONS:
            raise UserError(f"tune is {self.tune}: it must be 0, or at least {MIN_EVALUATIONS}")
        if not 0 < self.limit <= MAX_SECONDS:
            raise UserError(f"limit is {self.limit}: more than 0 and at most {MAX_SECONDS} seconds are possible")
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                given = getattr(self, name)
                raise UserError(f"{name} is {given!r}{did_you_mean(given, known)} (known: {', '.join(known)})")
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
                raise UserError(f"the search option {key!r} is not known{did_you_mean(key, known)}")
        hints = get_type_hints(cls)
        for key in ("task", "settings", "objective"):
            if key not in plain:
                raise UserError(f"the search option {key!r} is missing")
        try:
            given = {**plain, "model": list(plain.get("model", cls.model))}
            return cls(**{key: as_declared(value, hints[key], key) for key, value in given.items()})
        except (MalformedRow, TypeError) as error:
            raise UserError(f"a search cannot be so: {error}") from error


_MIN = {
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
            raise UserError(f"task {task.name!r} has no setting {name!r}{did_you_mean(name, known)}")
    made: dict[str, Json] = {}
    for name, setting in known.items():
        value = given.get(name, setting.default)
        if setting.repeatable and not isinstance(value, list):
            value = [] if value is None else [value]
        made[name] = value
    return made


def read_config(path: Path) -> dict[str, Any]:
    """The options in a file, by their names with underscores. Raises UserError where it cannot be read as such."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"cannot read the configuration {path}: {error.strerror}; "
            "name a file that can be, as `vulcan show RUN --config` prints it"
        ) from error
    except ValueError as error:  # no TOML, no UTF-8, or a number of more digits than int() takes
        raise UserError(f"{path} is not TOML: {error}") from error
    options: dict[str, Any] = {}
    for key, value in plain.items():
        name = key.replace("-", "_")
        if name in options:
            raise UserError(f"{path}: {key} is given twice, with a hyphen and with an underscore")
        if isinstance(value, dict):
            raise UserError(f"{path}: [{key}] is a table; write every option at the top level, as name = value")
        options[name] = value
    return options


def as_toml(config: SearchConfig) -> str:
    """The file that `vulcan search --config` repeats the search from. What is not set is left out."""
    plain = config.to_json()
    settings = plain.pop("settings")
    assert isinstance(settings, Mapping)
    lines = [f"{key.replace('_', '-')} = {_value(value)}" for key, value in plain.items() if value is not None]
    lines += ["", f"# Options of the task {config.task}"]
    lines += [f"{key.replace('_', '-')} = {_value(v)}" for key, v in settings.items() if v is not None and v != []]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """A value as TOML: its strings, numbers and lists are written as JSON's, but for what JSON has not."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_TYPES: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
_SPELLED = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}
_OF_SETTINGS = {"text": "str", "int": "int", "float": "float", "flag": "bool"}
_DECLARED = {f.name: str(f.type).removesuffix(" | None") for f in fields(SearchConfig)}

OPTIONS = tuple(name for name in _DECLARED if name not in ("task", "settings"))
"""The options of a search by name, but for the task and its settings."""


def hyphened(name: str) -> str:
    """A name as the command line and a file write it."""
    return name.replace("_", "-")


def make_config(task_name: str, options: Mapping[str, Any], settings: Mapping[str, Json]) -> SearchConfig:
    """A search of a task, with the defaults of all that is not given. Raises UserError."""
    task = find_task(task_name)
    given = {"objective": task.objectives[0].name, **{n: v for n, v in options.items() if v is not None}}
    complete = complete_settings(task, settings)
    return SearchConfig.from_json({**given, "task": task_reference(task_name), "settings": complete})


def sort_options(
    task: Task,
    given: Mapping[str, Any],
    where: str,
    others: Iterable[str] = (),
    spell: Callable[[str], str] = hyphened,
) -> tuple[dict[str, Any], dict[str, Json]]:
    """The options of the search, and those of the task, each checked, out of some of both.

    Names may have hyphens. Raises UserError, which begins with `where`, for a name that is neither, naming the nearest
    (of `others` too) as `spell` writes them, and for a value of the wrong type.
    """
    known = {setting.name: setting for setting in task.settings}
    options: dict[str, Any] = {}
    settings: dict[str, Json] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name in OPTIONS:
            options[name] = _checked(where, name, value)
        elif name in known:
            settings[name] = _checked_setting(where, known[name], value)
        else:
            close = did_you_mean(spell(name), map(spell, (*OPTIONS, *known, *others)))
            raise UserError(f"{where}: no option {spell(name)!r}{close} (`vulcan task show {task.name}` lists those of "
                            "the task, `vulcan search --help` the others)")  # fmt: skip
    return options, settings


def _checked(where: str, name: str, value: Any) -> Any:
    """The value of an option, if it is of the option's type."""
    if name == "model":
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise UserError(f"{where}: model is not a name or a list of names")
        return value
    if name == "temperature" and _fits(value, "float"):
        return str(value)
    declared = _DECLARED[name]
    if not _fits(value, declared):
        raise UserError(f"{where}: {hyphened(name)} is {value!r}, which is no {_SPELLED[declared]}")
    return float(str(value)) if declared == "float" else value


def _checked_setting(where: str, setting: Setting, value: Any) -> Json:
    values: list[Any] = value if isinstance(value, list) and setting.repeatable else [value]
    declared = _OF_SETTINGS[setting.type]
    for one in values:
        if not _fits(one, declared):
            raise UserError(f"{where}: {setting.option[2:]} is {one!r}, which is no {_SPELLED[declared]}")
        if setting.choices and one not in setting.choices:
            close = did_you_mean(str(one), setting.choices)
            raise UserError(f"{where}: {setting.option[2:]} is {one!r}{close} (one of: {', '.join(setting.choices)})")
    if declared == "float":
        values = [float(str(one)) for one in values]
    return values if setting.repeatable else values[0]


def _fits(value: Any, declared: str) -> bool:
    return isinstance(value, _TYPES[declared]) and (declared == "bool" or not isinstance(value, bool))
