"""The catalogue of JSON documents, and the JSON Schema generated from their models."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from vulcan.documents import conversation, host, library, policy, report, run
from vulcan_link.linux import figures as linux
from vulcan_traces import documents as traces

Schema = dict[str, Any]

SCHEMA_FILE = Path(__file__).resolve().parents[1] / "reference" / "schema.json"

_LINES = """\
One JSON document a line on standard output, written as things happen, and nothing else there: `--progress json`
takes the place of `--json`, whose document is in the last line.

A build of a library writes the lines of its searches one after the other, without `Opened`, and then `Ended` with
the library as `vulcan library build --json` prints it."""

_TOOLS = """\
Tools of the Model Context Protocol, whose results are these documents: `list_tasks` (`TasksDocument`), `describe_task`
(`InterfaceDocument`), `open_study` and `finish` (`RunDocument`), `ask` (`AskDocument`), `tell` (`TellDocument`),
`inspect` (`InspectDocument`, or `CandidateDocument` for one candidate) and `export` (`ExportedFiles`)."""

SECTIONS: tuple[tuple[str, str, tuple[type, ...]], ...] = (
    ("`vulcan search`, `vulcan resume`, `vulcan finish`, `vulcan show RUN`", "", (run.RunDocument,)),
    (
        "JSON lines: `vulcan search --progress json`, `vulcan resume --progress json`",
        _LINES,
        (run.ProgressLine, run.OpenedData),
    ),
    ("`vulcan search --dry-run`", "", (run.DryRunDocument,)),
    ("`vulcan ask`, `vulcan tell`", "", (conversation.AskDocument, conversation.TellDocument)),
    ("`vulcan steer`", "", (conversation.SteerDocument,)),
    ("`vulcan show RUN CANDIDATE`", "", (run.CandidateDocument,)),
    ("`vulcan report RUN --format json`", "", (report.ReportDocument,)),
    ("`vulcan report RUN RUN ... --format json`", "", (report.ComparisonDocument,)),
    ("`vulcan runs`", "", (run.RunsDocument,)),
    ("`vulcan note`", "", (run.NotesDocument,)),
    ("`vulcan eval`", "", (policy.EvalDocument,)),
    ("`vulcan explain`, `vulcan compare`, `vulcan hazards`", "", (policy.ExplainDocument,)),
    ("`vulcan export`", "", (run.ExportDocument, run.ExportListDocument)),
    ("`vulcan check`", "", (policy.CheckDocument,)),
    ("`vulcan verify`", "", (policy.VerifyDocument,)),
    ("`vulcan tasks`", "", (policy.TasksDocument,)),
    ("`vulcan task show`", "", (policy.TaskDocument,)),
    ("`vulcan prompt`", "", (policy.PromptDocument,)),
    ("`vulcan task new`", "", (policy.NewTaskDocument,)),
    ("`vulcan task validate`", "", (policy.ValidateDocument,)),
    ("`vulcan library build`, `vulcan library show`", "", (library.LibraryDocument,)),
    ("`vulcan library export`", "", (policy.FollowingDocument,)),
    ("`vulcan doctor`", "", (host.DoctorDocument,)),
    (
        "`vulcan mcp`",
        _TOOLS,
        (policy.InterfaceDocument, conversation.ToolResult, run.InspectDocument, run.ExportedFiles),
    ),
    ("`vulcan repair RUN`", "", (run.RepairDocument,)),
    ("`vulcan traces stats`, `head`", "", (traces.StatsDocument, traces.HeadDocument)),
    ("`vulcan kernel run`", "", (linux.KernelRunDocument,)),
)
"""Commands, what is to be said besides of what they print, and the models of it."""

_OPEN: tuple[type, ...] = (policy.EvalRow, policy.PolicyMean)
"""Models of documents with additional keys: the task's metrics."""

_SIMPLE: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
}


def make_schema(*, closed: bool = False) -> Schema:
    """Return a JSON Schema that accepts any of the documents of `SECTIONS`; each model is under `$defs` by its name.

    A document may have additional keys, as later versions add some; `closed` forbids them.
    """
    documents = [document for _, _, section in SECTIONS for document in section]
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
