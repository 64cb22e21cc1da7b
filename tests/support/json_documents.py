"""JSON documents against their models."""

from __future__ import annotations

from typing import Any

from json_schema import make_schema
from jsonschema import Draft202012Validator

CLOSED = make_schema(closed=True)


def faults(document: Any, model: str) -> list[str]:
    validator = Draft202012Validator({"$ref": f"#/$defs/{model}", "$defs": CLOSED["$defs"]})
    return [f"{fault.json_path}: {fault.message}" for fault in validator.iter_errors(document)]
