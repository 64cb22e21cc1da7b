"""The configuration of a search: built from plain values, and read from and written as TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, cast, get_type_hints

import tomli_w

from vulcan.errors import UserError, did_you_mean
from vulcan.export import hidden_by
from vulcan.inputs import read_input
from vulcan.registry import recorded_task, task_reference
from vulcan.searches.options import ASK, OPTIONS, SPELLED, SearchOptions, fits
from vulcan.store.decode import MalformedRow, as_declared
from vulcan.task import Json, Setting, Task
from vulcan.trust import trust


@dataclass(frozen=True, kw_only=True)
class SearchConfig(SearchOptions):
    """The configuration of a search: its options, and `settings`, the task's own.

    `starts` has the source of each policy that `start_from` names, once they are read.
    """

    task: str
    settings: Mapping[str, Json]
    starts: Mapping[str, str] = field(default_factory=dict)

    @property
    def offline(self) -> bool:
        """True if no language model takes part."""
        return all(name.startswith("offline/") for name in self.model)

    @property
    def generates(self) -> bool:
        """True if the offline generator takes part."""
        return any(name.startswith("offline/") for name in self.model)

    @property
    def converses(self) -> bool:
        """True if proposals are conversations."""
        return self.strategy == "engineer"

    @property
    def candidates(self) -> int:
        """Number of candidates of the plan."""
        return self.rounds * self.samples if self.budget_candidates is None else self.budget_candidates

    def offered(self, task: Task) -> Task:
        """Return the task as this search shows it to who writes policies."""
        return task.offered(self.settings, hidden_by(task, self.target))

    def to_json(self) -> dict[str, Json]:
        plain = cast(dict[str, Json], asdict(self))
        return {**plain, "start_from": list(self.start_from), "model": list(self.model)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> SearchConfig:
        """Build the configuration of a recorded run from JSON.

        Raises UserError for an unknown key, naming the nearest.
        """
        known = {f.name for f in fields(cls)}
        plain = {key: value for key, value in plain.items() if key not in _RETIRED}
        for key in plain:
            if key not in known:
                raise UserError(f"the search option {key!r} is not known{did_you_mean(key, known)}")
        for key in ("task", "settings", "objective"):
            if key not in plain:
                raise UserError(f"the search option {key!r} is missing")
        hints = {key: str if key in OPTIONS and OPTIONS[key].choices else hint for key, hint in _hints().items()}
        try:
            return cls(**{key: as_declared(value, hints[key], key) for key, value in plain.items()})
        except (MalformedRow, TypeError) as error:
            raise UserError(f"invalid search configuration: {error}") from error


_RETIRED = frozenset({"control"})
"""Options that are no more, which the headline searches that are kept have, always unset."""


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(SearchConfig)


def complete_settings(task: Task, given: Mapping[str, Json]) -> dict[str, Json]:
    """Return a value for each of the task's settings: the given one, or its default; a list if it is repeatable.

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


_MAX_CONFIG = 1 << 20
_NAME_ONE = "name a file such as `vulcan show RUN --config` prints"


def read_config(path: Path) -> dict[str, Any]:
    """Read the options in a file, whose names may have hyphens instead of underscores. Raises UserError."""
    try:
        plain = tomllib.loads(read_input(path, "configuration", _MAX_CONFIG, _NAME_ONE).decode("utf-8"))
    except ValueError as error:  # invalid TOML or UTF-8, or a number with more digits than int() accepts
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
    """Return the TOML file for `vulcan search --config` that repeats the search. Unset options are omitted."""
    plain = config.to_json()
    settings = plain.pop("settings")
    del plain["starts"]
    assert isinstance(settings, Mapping)
    options, chosen = (
        {key: value for key, value in given.items() if value is not None and value != []} for given in (plain, settings)
    )
    return f"{tomli_w.dumps(options)}\n# Options of the task {config.task}\n{tomli_w.dumps(chosen)}"


def make_config(task_name: str, options: Mapping[str, Any], settings: Mapping[str, Json]) -> SearchConfig:
    """Build the configuration of a search, with defaults for all that is not given. Raises UserError."""
    task = recorded_task(task_name)
    if isinstance(address := options.get("api_base"), str):
        trust("addresses", address)
    given = {"objective": task.objectives[0].name, **{n: v for n, v in options.items() if v is not None}}
    given |= {"task": task_reference(task_name), "settings": complete_settings(task, settings)}
    if "model" in given:
        given["model"] = list(given["model"])
    # who answers one after the other would see no result of the latest replies
    if given.get("model") == [ASK]:
        given.setdefault("in_flight", 0)
    elif given.get("strategy") == "engineer":
        given.setdefault("in_flight", 1)
    return SearchConfig.from_json(given)


def sort_options(
    task: Task, given: Mapping[str, Any], where: str, others: Iterable[str] = ()
) -> tuple[dict[str, Any], dict[str, Json]]:
    """Separate the options of the search from those of the task, and check the type of each.

    Names may have hyphens instead of underscores. Raises UserError, prefixed by `where`, for an unknown name, naming
    the nearest (of `others` too), and for a value of the wrong type.
    """
    known = {setting.name: setting for setting in task.settings}
    options: dict[str, Any] = {}
    settings: dict[str, Json] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name in OPTIONS:
            options[name] = OPTIONS[name].parse(value, where)
        elif name in known:
            settings[name] = parse_setting(known[name], value, where)
        else:
            close = did_you_mean(name, (*OPTIONS, *known, *others))
            raise UserError(
                f"{where}: no option {name!r}{close} (`vulcan task show {task.name}` lists those of the task, "
                "`vulcan search --help` the others)"
            )
    return options, settings


_KINDS: Mapping[str, type] = {"text": str, "int": int, "float": float, "flag": bool}


def parse_setting(setting: Setting, value: Any, where: str) -> Json:
    """Check the type of a setting's value, and that it is one of its choices. Raises UserError."""
    values: list[Any] = value if isinstance(value, list) and setting.repeatable else [value]
    kind = _KINDS[setting.type]
    for one in values:
        if not fits(one, kind):
            told = "; write it in quotes, as it stands on the command line" if kind is str else ""
            raise UserError(f"{where}: {setting.name} is {one!r}, which is no {SPELLED[kind]}{told}")
        if setting.choices and one not in setting.choices:
            close = did_you_mean(str(one), setting.choices)
            raise UserError(f"{where}: {setting.name} is {one!r}{close} (one of: {', '.join(setting.choices)})")
    if kind is float:
        values = [float(str(one)) for one in values]
    return values if setting.repeatable else values[0]
