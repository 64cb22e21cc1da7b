"""Management of runs from the dashboard: title and note, export as a download, deletion."""

from __future__ import annotations

import io
import json
import secrets
import shutil
import zipfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from vulcan.documents.dashboard import ExportChoice, NotesDocument
from vulcan.errors import UserError
from vulcan.export.formats import every_format, export_policy, files_of
from vulcan.results.evidence_card import CardExporter
from vulcan.results.recommended import find_recommended
from vulcan.store.runs import lock_run

NOTES = "notes.json"
"""Title and note of a run, in its directory."""

MAX_TITLE, MAX_NOTE = 100, 20_000
"""Maximum lengths in characters."""

EVERYTHING = "all"
"""All formats that support a policy, in one archive."""

_PROOF_SECONDS = 2.0
"""Timeout per property, for the proofs on the evidence card."""


@dataclass(frozen=True, slots=True)
class RunNotes:
    """A user's title for a run, shown next to its name, and note."""

    title: str = ""
    note: str = ""

    def document(self) -> NotesDocument:
        return {"title": self.title, "note": self.note}


def read_notes(run: Path) -> RunNotes:
    """Return the notes on a run; empty ones if there are none, or the file is not Vulcan's."""
    try:
        plain = json.loads((run / NOTES).read_bytes())
    except (OSError, ValueError, RecursionError):
        return RunNotes()
    if not isinstance(plain, dict):
        return RunNotes()
    return RunNotes(*(str(plain.get(name, ""))[:limit] for name, limit in (("title", MAX_TITLE), ("note", MAX_NOTE))))


def write_notes(run: Path, title: str, note: str) -> RunNotes:
    """Replace the notes on a run. Raises UserError."""
    notes = RunNotes(" ".join(title.split()), note.strip())
    for what, text, limit in (("title", notes.title, MAX_TITLE), ("note", notes.note, MAX_NOTE)):
        if len(text) > limit:
            raise UserError(f"a {what} has at most {limit:,} characters, and this one {len(text):,}")
    new = run / f".{NOTES}"
    try:
        new.write_text(json.dumps(asdict(notes)), encoding="utf-8")
        new.replace(run / NOTES)
    except OSError as error:
        raise UserError(f"cannot write to {run}: {error.strerror}") from error
    return notes


def delete_run(run: Path) -> None:
    """Delete a run's directory with all that is in it. Raises UserError where a search runs in it."""
    if run.is_symlink():
        raise UserError(f"{run} is a link to a run elsewhere: delete it there")
    doomed = run.with_name(f".deleted-{run.name}-{secrets.token_hex(2)}")
    with lock_run(run):
        try:
            run.rename(doomed)
        except OSError as error:
            raise UserError(f"cannot delete {run}: {error.strerror}") from error
    try:
        shutil.rmtree(doomed)
    except OSError as error:
        with suppress(OSError):
            doomed.rename(run)
        raise UserError(f"cannot delete all of {run}: {error.strerror}") from error


def export_choices(run: Path, candidate: int | None) -> list[ExportChoice]:
    """Return the export formats for a candidate, by default the recommended one, with the reason for each refusal."""
    found, _ = find_recommended(run, candidate)
    card = CardExporter(run, 0.0)
    made = every_format(found.policy, found.provenance, {card.format: card})
    return [{"format": one.format, "summary": one.exporter.summary, "refused": one.refusal or None} for one in made]


def export_download(run: Path, format: str, candidate: int | None) -> tuple[str, bytes]:
    """Return a file's name and content: an export, or an archive where it has several files. Raises UserError."""
    found, _ = find_recommended(run, candidate)
    card = CardExporter(run, _PROOF_SECONDS)
    others = {card.format: card}
    if format == EVERYTHING:
        files = files_of(every_format(found.policy, found.provenance, others), found.provenance)
    else:
        files = export_policy(found.policy, format, found.provenance, others)
    stem = f"{found.policy.task.name}-" + ("known" if found.number is None else f"candidate-{found.number}")
    if len(files) == 1:
        ((name, text),) = files.items()
        return f"{stem}{Path(name).suffix}", text.encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"{stem}/{name}", text)
    return f"{stem}-{format}.zip", packed.getvalue()
