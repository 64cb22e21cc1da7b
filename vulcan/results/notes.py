"""A user's title, note and tags for a run: `notes.json` in its directory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from vulcan.documents.run import NotesDocument
from vulcan.errors import UserError
from vulcan.files import write_file

NOTES = "notes.json"

MAX_TITLE, MAX_NOTE, MAX_TAG = 100, 20_000, 40
"""Maximum lengths in characters."""


def read_notes(run: Path) -> NotesDocument:
    """Return the notes on a run; empty ones if there are none, or the file is not Vulcan's."""
    try:
        plain = json.loads((run / NOTES).read_bytes())
    except (OSError, ValueError, RecursionError):
        return NotesDocument()
    if not isinstance(plain, dict) or not isinstance(tags := plain.get("tags", []), list):
        return NotesDocument()
    return NotesDocument(
        str(plain.get("title", ""))[:MAX_TITLE],
        str(plain.get("note", ""))[:MAX_NOTE],
        tuple(str(tag)[:MAX_TAG] for tag in tags),
    )


def write_notes(
    run: Path, title: str | None = None, note: str | None = None, tags: Sequence[str] | None = None
) -> NotesDocument:
    """Replace those notes on a run that are given. Raises UserError."""
    old = read_notes(run)
    notes = NotesDocument(
        old.title if title is None else " ".join(title.split()),
        old.note if note is None else note.strip(),
        old.tags if tags is None else tuple(dict.fromkeys(tag for one in tags if (tag := " ".join(one.split())))),
    )
    texts = [("title", notes.title, MAX_TITLE), ("note", notes.note, MAX_NOTE)]
    for what, text, limit in (*texts, *(("tag", tag, MAX_TAG) for tag in notes.tags)):
        if len(text) > limit:
            raise UserError(f"a {what} has at most {limit:,} characters, and this one {len(text):,}")
    write_file(run / NOTES, json.dumps(asdict(notes)), "make room")
    return notes
