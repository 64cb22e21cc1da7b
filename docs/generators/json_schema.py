"""The catalogue of JSON documents, and the JSON Schema generated from their models."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from vulcan.documents.conversation import (
    AskDocument,
    SteerDocument,
    TellDocument,
)
from vulcan.documents.host import DoctorDocument
from vulcan.documents.library import LibraryDocument
from vulcan.documents.policy import (
    CheckDocument,
    EvalDocument,
    EvalRow,
    ExplainDocument,
    FollowingDocument,
    InterfaceDocument,
    NewTaskDocument,
    PolicyMean,
    PromptDocument,
    TaskDocument,
    TasksDocument,
    ValidateDocument,
    VerifyDocument,
)
from vulcan.documents.report import ComparisonDocument, ReportDocument
from vulcan.documents.run import (
    CandidateDocument,
    DryRunDocument,
    ExportDocument,
    ExportedFiles,
    ExportListDocument,
    InspectDocument,
    NotesDocument,
    OpenedData,
    ProgressLine,
    RepairDocument,
    RunDocument,
    RunsDocument,
)

Schema = dict[str, Any]

SCHEMA_FILE = Path(__file__).resolve().parents[1] / "reference" / "schema.json"

DOCUMENTS: tuple[type, ...] = (
    RunDocument,
    ProgressLine,
    OpenedData,
    DryRunDocument,
    AskDocument,
    TellDocument,
    SteerDocument,
    CandidateDocument,
    ReportDocument,
    ComparisonDocument,
    RunsDocument,
    NotesDocument,
    RepairDocument,
    EvalDocument,
    ExplainDocument,
    ExportDocument,
    ExportListDocument,
    CheckDocument,
    VerifyDocument,
    TasksDocument,
    TaskDocument,
    PromptDocument,
    NewTaskDocument,
    ValidateDocument,
    LibraryDocument,
    FollowingDocument,
    DoctorDocument,
    InspectDocument,
    InterfaceDocument,
    ExportedFiles,
)
"""All documents with a model."""

_OPEN: tuple[type, ...] = (EvalRow, PolicyMean)
"""Models of documents with additional keys: the task's metrics."""

_SIMPLE: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
}


def make_schema(documents: Sequence[type] = DOCUMENTS, *, closed: bool = False) -> Schema:
    """Return a JSON Schema that accepts any of the documents; each model is under `$defs` by its name.

    A document may have additional keys, as later versions add some; `closed` forbids them.
    """
    models = {model.__name__: model for document in documents for model in models_of(document)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "JSON documents of Vulcan",
        "anyOf": [{"$ref": f"#/$defs/{document.__name__}"} for document in documents],
        "$defs": {name: _object(model, closed) for name, model in sorted(models.items())},
    }


def schema_text() -> str:
    """Return the text of the schema file."""
    return json.dumps(make_schema(), indent=1) + "\n"


def is_model(hint: Any) -> bool:
    """Check whether a type hint is an object of JSON with known keys: a TypedDict, or a dataclass that becomes one."""
    return is_typeddict(hint) or is_dataclass(hint)


@cache
def keys_of(model: type) -> dict[str, Any]:
    """Return the type hints of a model's keys, which hold type, meaning and optionality."""
    return get_type_hints(model, include_extras=True)


def meaning_of(hint: Any) -> str:
    """Return the meaning of a key from its type hint."""
    if get_origin(hint) is NotRequired:
        hint = get_args(hint)[0]
    return str(hint.__metadata__[0])


def type_of(hint: Any) -> Any:
    """Return the type of a key, without its meaning and optionality."""
    while get_origin(hint) in (NotRequired, Annotated):
        hint = get_args(hint)[0]
    return hint


def models_of(model: type) -> Iterator[type]:
    """Yield a model and all nested ones, each once, in order of first use."""
    found: dict[type, None] = {}

    def visit(hint: Any) -> None:
        if is_model(hint):
            if hint not in found:
                found[hint] = None
                for inner in keys_of(hint).values():
                    visit(inner)
        else:
            for inner in get_args(hint):
                visit(inner)

    visit(model)
    yield from found


def _object(model: type, closed: bool) -> Schema:
    keys = keys_of(model)
    required = [name for name, hint in keys.items() if get_origin(hint) is not NotRequired]
    described: Schema = {
        "description": inspect.cleandoc(model.__doc__ or ""),
        "type": "object",
        "properties": {
            name: {**_schema_of(type_of(hint)), "description": meaning_of(hint)} for name, hint in keys.items()
        },
        "required": required,
    }
    if closed and model not in _OPEN:
        described["additionalProperties"] = False
    return described


def _schema_of(hint: Any) -> Schema:
    if is_model(hint):
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if hint in _SIMPLE:
        return dict(_SIMPLE[hint])
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema_of(each) for each in arguments]}
    if origin in (list, tuple):
        return {"type": "array", "items": _schema_of(arguments[0])}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _schema_of(arguments[1])}
    raise TypeError(f"no JSON Schema of {hint}")
