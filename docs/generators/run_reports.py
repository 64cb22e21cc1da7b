"""Recorded runs: their table, and the report of each that a page links to, made when the site is built.

In the repository a link leads to the store; on the site it leads to what `vulcan report` writes of it. The script that
draws the figures is 5 MB in each report: in the site all share one file of it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from markdown_parts import written_by

from benchmarks.recordings import HEADLINE_STORES, RECORDINGS, unpack
from vulcan.api.run import Run
from vulcan.results.report.data import Report
from vulcan.results.report.formats import report_text

ROOT = Path(__file__).resolve().parents[2]
STORE = re.compile(r"\]\((?:\.\./)*(tests/data/[\w./-]+\.tar\.xz)\)")
PROOF_SECONDS = 1.0
SPLITS = ("train", "validation", "test")

_INTRODUCTION = """# Recorded searches

{remark}

Every search that is kept with all its prompts and replies, and what its winner scores: higher is better, test was
measured once, at the end; the leaderboards of spot VMs have all in training. A report is what `vulcan report` writes:
verdict, progress, instances, the program, its lineage and every candidate (in the repository, a link leads to the
packed run). `make evidence` replays the searches with a language model and compares each with its record, event by
event; the headline searches of the offline generator it runs anew. [Results](../results.md) has the summary.
"""
_COLUMNS = "| search | proposals | train | validation | test | best baseline on test | verdict | |"


def recorded_page() -> str:
    """The page of all recorded searches."""
    lines = [_INTRODUCTION.format(remark=written_by("run_reports.py"))]
    kept = [(recording.what, recording.archive.relative_to(ROOT).as_posix()) for recording in RECORDINGS]
    files = sorted(HEADLINE_STORES.glob("*.tar.xz"))
    made = [(file.name.removesuffix(".tar.xz").replace("-", " "), file.relative_to(ROOT).as_posix()) for file in files]
    for title, runs in (("With a language model", kept), ("With the offline generator", made)):
        lines += [f"## {title}", "", _COLUMNS, "|---" * 8 + "|"]
        lines += [_row(what, store) for what, store in runs]
        lines.append("")
    return "\n".join(lines)


def _row(what: str, store: str) -> str:
    with tempfile.TemporaryDirectory() as name:
        document = Run.of(_run_of(store, Path(name))).summary
    cells = [what, str(document["proposals"])]
    cells += ["" if document[split] is None else _figure(document[split]["score"]) for split in SPLITS]
    known = (document["test"] or {}).get("baselines") or {}
    best = max(known, key=known.__getitem__, default=None)
    cells.append("" if best is None else f"{best} {_figure(known[best])}")
    return f"| {' | '.join([*cells, str(document['verdict']), f'[report](../../{store})'])} |"


def _figure(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}" if abs(score) < 10 else f"{score:.2f}"


def page_of(store: str) -> str:
    """Return where the report is on the site; `store` is the path of a run's archive in the repository."""
    name = "-".join(Path(store).parts[2:]).removesuffix(".tar.xz")
    return f"reports/{name}.html"


def linked_stores() -> Iterator[str]:
    """Every store that a page of `docs/` links to."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    yield from sorted({store for page in pages for store in STORE.findall(page.read_text(encoding="utf-8"))})


def report_of(store: str) -> str:
    """Return the report's HTML."""
    with tempfile.TemporaryDirectory() as name:
        text = report_text(Report.of(_run_of(store, Path(name))), "html", PROOF_SECONDS)
    return text.replace(f"{name}/", "")


def _run_of(store: str, directory: Path) -> Path:
    """Return a directory with the run, below `directory`, so that nothing of the repository changes."""
    return unpack(ROOT / store, directory / Path(page_of(store)).stem)
