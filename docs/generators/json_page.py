"""`docs/json.md`, and on the site a page for each command, made from the models of the JSON documents."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, is_typeddict

from json_schema import SECTIONS, is_model, keys_of, meaning_of, models_of, type_of
from markdown_parts import paragraphs, written_by

from vulcan.documents import run
from vulcan.store.events import EVENTS

_INTRODUCTION = """\
Every command but `vulcan mcp`, `vulcan ui` and those that write a file (`vulcan traces convert`, `pages`)
takes `--json`: one document on standard output, and nothing else there; `--progress json` gives a document a line
while a search runs. Progress and messages go to standard error. Numbers are finite; what is not known is `null`.
Exit codes: 0, 1 (a rejected or failed policy), 2 (a mistake in what was given: one line on standard error), 130
(interrupted), 143 (terminated by SIGTERM).

These documents have a [JSON Schema](https://json-schema.org), [schema.json](reference/schema.json), with the type and
the meaning of each key: each is under `$defs` by the name that is given here, such as `schema.json#/$defs/RunDocument`.
The site that `make docs` builds has a page for each line below. Later versions may add keys."""

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


def index_page(*, linked: bool) -> str:
    """Return the page of all documents, with links to the pages of the site or without."""
    parts = ["# JSON output", written_by("json_page.py"), _INTRODUCTION]
    lines = []
    for title, _, documents in SECTIONS:
        shown = f"[{_plain(title)}]({_place(title)})" if linked else title
        lines.append(f"- {shown}: {', '.join(f'`{document.__name__}`' for document in documents)}")
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"


def document_pages() -> dict[str, str]:
    """Return a page for each section: its path on the site, and its text."""
    return {_place(title): _page(title, prose, documents) for title, prose, documents in SECTIONS}


def _page(title: str, prose: str, documents: tuple[type, ...]) -> str:
    parts = [f"# {_plain(title)}", written_by("json_page.py")]
    if prose:
        parts.append(_from_here(prose))
    for model in dict.fromkeys(model for document in documents for model in models_of(document)):
        if _homes()[model] == _slug(title):
            parts += _table(model)
    if run.ProgressLine in documents:
        parts += _kinds()
    return "\n\n".join(parts) + "\n"


@cache
def _homes() -> dict[type, str]:
    """The page of each model: that of the first section which has it."""
    homes: dict[type, str] = {}
    for title, _, documents in SECTIONS:
        for document in documents:
            for model in models_of(document):
                homes.setdefault(model, _slug(title))
    return homes


def _from_here(text: str) -> str:
    """Return a text whose links to pages in `docs/` hold two directories below it."""
    return re.sub(r"\]\((?=[\w/-]+\.md)", "](../../", text)


def _plain(title: str) -> str:
    return title.replace("`", "").replace("vulcan ", "").replace("JSON lines: ", "")


def _place(title: str) -> str:
    return f"reference/json/{_slug(title)}.md"


def _slug(title: str) -> str:
    return re.sub(r"[^a-z]+", "-", _plain(title).split(",")[0].lower()).strip("-")


def _link(model: type) -> str:
    return f"[{model.__name__}]({_homes()[model]}.md#{model.__name__.lower()})"


def _table(model: type) -> Iterator[str]:
    yield f"## {model.__name__}"
    base = _base(model)
    yield _from_here(paragraphs(model.__doc__))
    keys = keys_of(model)
    if base is not None:
        yield f"All keys of {_link(base)}, and:"
        keys = {name: hint for name, hint in keys.items() if name not in keys_of(base)}
    lines = ["| key | type | meaning |", "|---|---|---|"]
    for name, hint in keys.items():
        missing = " (may be missing)" if get_origin(hint) is NotRequired else ""
        lines.append(f"| `{name}` | {_spelled(type_of(hint))} | {_from_here(meaning_of(hint))}{missing} |")
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
    if is_model(hint):
        return _link(hint)
    if hint in _NAMES:
        return _NAMES[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_spelled, arguments))
    if origin in (list, tuple):
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
