"""The options of a study as JSON Schema, made from what declares them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from vulcan.searches.config import SearchConfig
from vulcan.searches.option_table import MEANINGS, OF_MODELS

STUDY_OPTIONS = tuple(name for name in MEANINGS if name not in ("model", *OF_MODELS))
"""The options of a search that mean something where an agent answers its prompts."""

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def options_schema() -> dict[str, Any]:
    """An object with a property for each option: its type, meaning and default."""
    declared = {f.name: f for f in fields(SearchConfig)}
    properties: dict[str, Any] = {}
    for name in STUDY_OPTIONS:
        field = declared[name]
        properties[name] = {"type": _TYPES[str(field.type).removesuffix(" | None")], "description": MEANINGS[name]}
        if field.default is not MISSING and field.default is not None:
            properties[name]["default"] = field.default
    return {"type": "object", "properties": properties, "additionalProperties": False}
