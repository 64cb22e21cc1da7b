"""The command `vulcan cache`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli import completion
from vulcan.cli.options import AsJson
from vulcan.cli.output import print_json, print_table, say
from vulcan.errors import UserError
from vulcan.paths import TABLES, CachedKind, cache_root, cached_kinds
from vulcan.terminal_text import count

if TYPE_CHECKING:
    from vulcan.documents.host import CacheDocument

_Kinds = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KIND]...", help="Kinds of data; all if omitted.", autocompletion=completion.cached),
]
_Clear = Annotated[bool, typer.Option("--clear", help=f"Delete the data; of kind `{TABLES}` only where it is named.")]


def cache(kinds: _Kinds = None, clear: _Clear = False, as_json: AsJson = False) -> None:
    """Show what is cached on this host, or delete it: decoded traces, compiled kernels, measurements of baselines.

    All of it is regenerated when needed, except data frames that a program has searched on: without these, such runs
    cannot be resumed. Do not delete anything while a search runs.

    \b
    Examples:
      vulcan cache
      vulcan cache --clear
      vulcan cache kernels baselines --clear
    """
    found = cached_kinds()
    chosen = _chosen(found, kinds or [])
    cleared = [kind for kind in chosen if clear and (kinds or kind.name != TABLES)]
    for kind in cleared:
        kind.clear()
    document = _document(chosen, cleared)
    if as_json:
        print_json(document)
        return
    say(f"cache   {document['path']}")
    if chosen:
        rows = [[kind.name, f"{kind.files:,}", _size(kind.bytes)] for kind in chosen]
        print_table(["kind", "files", "size"], rows)
    if clear:
        files, size = sum(kind.files for kind in cleared), sum(kind.bytes for kind in cleared)
        say(f"deleted {count(files, 'file')}, {_size(size)}")
        if any(kind.files for kind in chosen if kind not in cleared):
            say(f"kept    {TABLES}: runs on data frames need them; to delete them: vulcan cache {TABLES} --clear")
    else:
        say(f"in all  {count(document['files'], 'file')}, {_size(document['bytes'])}")


def _chosen(found: tuple[CachedKind, ...], names: list[str]) -> list[CachedKind]:
    known = {kind.name: kind for kind in found}
    for name in names:
        if name not in known:
            there = f"there are: {', '.join(known)}" if known else "the cache is empty"
            raise UserError(f"nothing of kind {name!r} is cached in {cache_root()}; {there}")
    return [known[name] for name in dict.fromkeys(names)] if names else list(found)


def _document(chosen: list[CachedKind], cleared: list[CachedKind]) -> CacheDocument:
    return {
        "path": str(cache_root()),
        "kinds": [
            {
                "kind": kind.name,
                "path": str(kind.path),
                "files": kind.files,
                "bytes": kind.bytes,
                "cleared": kind in cleared,
            }
            for kind in chosen
        ],
        "files": sum(kind.files for kind in chosen),
        "bytes": sum(kind.bytes for kind in chosen),
    }


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
