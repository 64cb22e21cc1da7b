"""A search from plain values: those of a configuration file, or of an MCP client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from vulcan.errors import UserError, nearest
from vulcan.registry import find_task, task_reference
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.task import Json, Setting, Task

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
            close = nearest(spell(name), map(spell, (*OPTIONS, *known, *others)))
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
            close = nearest(str(one), setting.choices)
            raise UserError(f"{where}: {setting.option[2:]} is {one!r}{close} (one of: {', '.join(setting.choices)})")
    if declared == "float":
        values = [float(str(one)) for one in values]
    return values if setting.repeatable else values[0]


def _fits(value: Any, declared: str) -> bool:
    return isinstance(value, _TYPES[declared]) and (declared == "bool" or not isinstance(value, bool))
