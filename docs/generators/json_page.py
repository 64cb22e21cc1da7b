"""`docs/json.md`, made from the models of the JSON documents."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, is_typeddict

from markdown_parts import paragraphs, written_by

from vulcan.documents import card, conversation, host, library, policy, report, run
from vulcan.documents.schema import keys_of, meaning_of, models_of, type_of
from vulcan.store.events import EVENTS
from vulcan_link.kernel import documents as kernel
from vulcan_traces import documents as traces

_INTRODUCTION = """\
Every command but `vulcan mcp`, `vulcan ui` and those that write a file (`vulcan traces plot`, `convert`, `sample`)
takes `--json`: one document on standard output, and nothing else there; `--progress json` gives a document a line
while a search runs. Progress and messages go to standard error. Numbers are finite; what is not known is `null`.
Exit codes: 0, 1 (a rejected or failed policy), 2 (a mistake in what was given: one line on standard error), 130
(interrupted), 143 (terminated by SIGTERM).

The package has a [JSON Schema](https://json-schema.org) of these documents, `vulcan/documents/schema.json`: each is
under `$defs` by the name that is given here, such as `schema.json#/$defs/RunDocument`. Later versions may add keys."""

_LINES = """\
One JSON document a line on standard output, written as things happen, and nothing else there: `--progress json`
takes the place of `--json`, whose document is in the last line.

A build of a library writes the lines of its searches one after the other, without `Opened`, and then `Ended` with
the library as `vulcan library build --json` prints it."""

_SERIES = """\
With `--progress json`, the lines of all searches come one after the other, and then `Ended` with this document. The
same is true of `vulcan resume` with one of the runs."""

_TOOLS = """\
Tools of the Model Context Protocol, whose results are these documents: `list_tasks` (`TasksDocument`), `describe_task`
(`InterfaceDocument`), `open_study` and `finish` (`RunDocument`), `ask` (`QuestionDocument`), `tell` (`AnswerDocument`),
`inspect` (`InspectDocument`, or `CandidateDocument` for one candidate) and `export` (`ExportedFiles`)."""

_KINDS = (
    ("Opened", "`OpenedData`: the first line"),
    ("Preparing", '`{"what"}`: a baseline that is measured, or Ray'),
    ("Waiting", '`{"what"}`: what the search has been waiting for, such as a reply, or a move to Ray'),
    ("Begun", '`{"completed", "total"}`: the search begins or resumes'),
)
_LAST_KINDS = (
    ("Ended", "`RunDocument`: the last line of a search that came to its end"),
    ("Failed", '`{"reason", "message"}`: the last line of one that did not; `reason` is `interrupted` or `error`'),
)

_NOT_IN_SCHEMA = "These documents are not in the JSON Schema: the command belongs to an evaluator or the traces."

SECTIONS: tuple[tuple[str, str, tuple[type, ...]], ...] = (
    ("`vulcan search`, `vulcan resume`, `vulcan finish`, `vulcan show RUN`", "", (run.RunDocument,)),
    (
        "JSON lines: `vulcan search --progress json`, `vulcan resume --progress json`",
        _LINES,
        (run.ProgressLine, run.OpenedData),
    ),
    ("`vulcan search --seeds`", _SERIES, (report.SeedsDocument,)),
    ("`vulcan search --dry-run`", "", (run.DryRunDocument,)),
    ("`vulcan ask`, `vulcan tell`", "", (conversation.AskDocument, conversation.TellDocument)),
    ("`vulcan steer`", "", (conversation.SteerDocument,)),
    ("`vulcan show RUN CANDIDATE`", "", (run.CandidateDocument,)),
    ("`vulcan show RUN --config`", "The search's options by name; `settings` are those of the task.", ()),
    ("`vulcan report RUN --format json`", "", (report.ReportDocument,)),
    ("`vulcan report RUN RUN ... --format json`", "", (report.ComparisonDocument,)),
    ("`vulcan runs`", "", (run.RunsDocument,)),
    ("`vulcan eval`", "", (policy.EvalDocument,)),
    ("`vulcan explain`, `vulcan compare`", "", (policy.ExplainDocument,)),
    (
        "`vulcan export`",
        "`--format json` writes the [evidence card](exports.md#the-evidence-card), a `CardDocument`.",
        (run.ExportDocument, run.ExportListDocument, card.CardDocument),
    ),
    ("`vulcan check`", "", (policy.CheckDocument,)),
    ("`vulcan verify`", "", (policy.VerifyDocument,)),
    ("`vulcan tasks`", "", (policy.TasksDocument,)),
    ("`vulcan task show`", "", (policy.TaskDocument,)),
    ("`vulcan prompt`", "", (policy.PromptDocument,)),
    ("`vulcan task new`", "", (policy.NewTaskDocument,)),
    ("`vulcan task validate`", "", (policy.ValidateDocument,)),
    ("`vulcan library build`, `vulcan library show`", "", (library.LibraryDocument,)),
    ("`vulcan library select`", "", (policy.SelectDocument,)),
    ("`vulcan library export`", "", (policy.SelectorDocument,)),
    ("`vulcan doctor`", "", (host.DoctorDocument,)),
    ("`vulcan cache`", "", (host.CacheDocument,)),
    (
        "`vulcan mcp`",
        _TOOLS,
        (
            policy.InterfaceDocument,
            conversation.QuestionDocument,
            conversation.AnswerDocument,
            run.InspectDocument,
            run.ExportedFiles,
        ),
    ),
    ("`vulcan repair RUN`", "", (run.RepairDocument,)),
    (
        "`vulcan traces stats`, `list`, `fetch`, `head`",
        _NOT_IN_SCHEMA,
        (traces.StatsDocument, traces.CatalogueDocument, traces.FetchDocument, traces.HeadDocument),
    ),
    ("`vulcan kernel run`", _NOT_IN_SCHEMA, (kernel.KernelRunDocument,)),
)


def json_page() -> str:
    """The page."""
    shown: set[type] = set()
    parts = ["# JSON output", written_by("json_page.py"), _INTRODUCTION]
    for title, prose, documents in SECTIONS:
        parts.append(f"## {title}")
        if prose:
            parts.append(prose)
        for document in documents:
            for model in models_of(document):
                if model not in shown:
                    shown.add(model)
                    parts += _table(model)
        if run.ProgressLine in documents:
            parts += _kinds()
    return "\n\n".join(parts) + "\n"


def _table(model: type) -> Iterator[str]:
    yield f"### {model.__name__}"
    base = _base(model)
    yield paragraphs(model.__doc__)
    keys = keys_of(model)
    if base is not None:
        yield f"All keys of [{base.__name__}](#{base.__name__.lower()}), and:"
        keys = {name: hint for name, hint in keys.items() if name not in keys_of(base)}
    lines = ["| key | type | meaning |", "|---|---|---|"]
    for name, hint in keys.items():
        missing = " (may be missing)" if get_origin(hint) is NotRequired else ""
        lines.append(f"| `{name}` | {_spelled(type_of(hint))} | {meaning_of(hint)}{missing} |")
    yield "\n".join(lines)


def _base(model: type) -> type | None:
    """The model whose keys this one has too."""
    bases: tuple[Any, ...] = getattr(model, "__orig_bases__", ())
    return next((base for base in bases if is_typeddict(base)), None)


_NAMES: dict[Any, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    Any: "any",
}


def _spelled(hint: Any) -> str:
    if is_typeddict(hint):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    if hint in _NAMES:
        return _NAMES[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_spelled, arguments))
    if origin is list:
        return f"list of {_spelled(arguments[0])}"
    return f"object of {_spelled(arguments[1])}"


def _kinds() -> Iterator[str]:
    yield "What `data` has depends on `kind`; the kinds of the table `events` of the store have its data:"
    lines = ["| kind | data |", "|---|---|"]
    lines += [f"| `{kind}` | {data} |" for kind, data in _KINDS]
    for kind, event in EVENTS.items():
        names = ", ".join(f'"{field.name}"' for field in fields(event))
        lines.append(f"| `{kind}` | `{{{names}}}` |")
    lines += [f"| `{kind}` | {data} |" for kind, data in _LAST_KINDS]
    yield "\n".join(lines)
