"""A search as a TOML file: the options of `vulcan search` and of its task, by their names."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vulcan.errors import UserError

if TYPE_CHECKING:
    from vulcan.searches.config import SearchConfig


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
