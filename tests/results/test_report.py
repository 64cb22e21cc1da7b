"""The report of a run: every number of it stands in the store, and nothing in it comes from outside."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from html_elements import Element, elements
from locations import recorded_run

from vulcan.results.report.comparison import comparison_document, comparison_page
from vulcan.results.report.data import Report, difference, report_document
from vulcan.results.report.html_page import aligned, html_page


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A copy of a recorded search with a language model."""
    return Path(shutil.copytree(recorded_run(), tmp_path / "run"))


def page_of(run: Path) -> tuple[list[Element], dict[str, object]]:
    report = Report.of(run)
    document = report_document(report, seconds=0.0)
    return elements(html_page(report, document)), document


def links_to_rows(page: list[Element]) -> list[tuple[int, str]]:
    found = ((re.fullmatch(r"#row-(\d+)", e.attributes.get("href", "")), e.text) for e in page)
    return [(int(row[1]), text) for row, text in found if row and text]


def rows_of(run: Path) -> dict[int, tuple[str, dict[str, object]]]:
    """The table `events` but for the calls of the model, read by SQL alone."""
    with closing(sqlite3.connect(run / "run.db")) as db:
        rows = db.execute("SELECT id, kind, data FROM events WHERE kind != 'CallRecord'")
        return {row: (kind, json.loads(data)) for row, kind, data in rows}


def numbers_in(value: object) -> set[str]:
    """Every number in a value, however deep, as the report writes numbers."""
    if isinstance(value, dict):
        return set().union(*map(numbers_in, value.values()))
    if isinstance(value, list):
        return {aligned(len(value))}.union(*map(numbers_in, value))
    return {aligned(value)} if isinstance(value, int | float) else set()


def test_every_row_is_in_the_page_as_it_is_in_the_store(run: Path) -> None:
    page, _ = page_of(run)
    (packed,) = (element.text for element in page if element.attributes.get("id") == "data")
    embedded = {row["row"]: row for row in json.loads(gzip.decompress(base64.b64decode(packed)))["rows"]}
    stored = rows_of(run)
    assert set(embedded) == set(stored)
    for number, (kind, data) in stored.items():
        assert embedded[number]["kind"] == kind
        shown = embedded[number]["data"]
        told = {name: value for name, value in data.items() if name not in ("source", "text")}
        assert {name: shown[name] for name in told} == told


def test_every_number_that_is_a_link_stands_in_its_row(run: Path) -> None:
    page, document = page_of(run)
    stored = rows_of(run)
    derived: set[str] = set()
    for split in ("train", "validation", "test"):
        interval = (document[split] or {}).get("interval") or {}
        derived |= {aligned(interval[end]) for end in ("low", "high") if end in interval}
    scores = {s["row"]: set() for s in document["scores"]}
    for s in document["scores"]:
        scores[s["row"]].add(aligned(s["score"]))
    links = links_to_rows(page)
    assert len(links) > 100
    for row, text in links:
        assert text in numbers_in(stored[row][1]) | scores.get(row, set()) | derived | {
            aligned(len(stored[row][1].get("config", ())))
        }, f"{text} is not in row {row}"


def test_the_scores_of_the_page_are_those_that_show_prints(run: Path) -> None:
    page, document = page_of(run)
    texts = {text for _, text in links_to_rows(page)}
    assert aligned(document["train"]["score"]) in texts
    for score in document["train"]["baselines"].values():
        assert aligned(score) in texts


def test_the_page_asks_for_nothing_from_outside(run: Path) -> None:
    report = Report.of(run)
    text = html_page(report, report_document(report, seconds=0.0))
    assert not re.search(r'(src|href)="https?://', text)
    assert all(e.attributes.get(name, "#").startswith("#") for e in elements(text) for name in ("src", "href"))
    assert "default-src 'none'" in text
    assert len(text) < 400_000


def test_a_difference_leads_from_the_parent_to_the_child(run: Path) -> None:
    record = Report.of(run).record
    children = [number for number in record.candidates if record.parents_of(number)]
    assert children
    for child in children:
        parent = record.candidates[record.parents_of(child)[0]].source.splitlines()
        text = difference(record, child).splitlines()[2:]
        kept = [line[1:] for line in text if line[:1] in (" ", "-")]
        made = [line[1:] for line in text if line[:1] in (" ", "+")]
        assert set(kept) <= set(parent)
        assert set(made) <= set(record.candidates[child].source.splitlines())
        assert bool(text) == (parent != record.candidates[child].source.splitlines())


def test_progress_never_falls_and_ends_at_the_best(run: Path) -> None:
    report = Report.of(run)
    document = report_document(report, seconds=0.0)
    best = [point["best"] for point in document["progress"] if point["best"] is not None]
    assert best == sorted(best)
    assert best[-1] == report.record.ranked()[0].score
    dollars = [point["dollars"] for point in document["progress"]]
    assert dollars == sorted(dollars)


def test_in_a_report_of_several_what_is_said_of_a_run_has_its_name(run: Path) -> None:
    document = comparison_document([Report.of(run), Report.of(recorded_run())])
    document["runs"][0]["recommendation"] = document["runs"][0]["best"] = None  # as of a run that is not finished
    page = comparison_page(document)
    assert "<b>recorded</b>: Undecided: candidate" in page and "<summary>recorded, candidate" in page
    assert "<b>run</b>" not in page and "<summary>run," not in page
