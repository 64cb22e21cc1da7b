"""What a task warns of in a winner stands wherever the winner does."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from locations import recorded_run

from vulcan.cli.summary import print_result
from vulcan.registry import find_task
from vulcan.results import run as results
from vulcan.results.report.data import Report, report_document
from vulcan.results.report.html_page import html_page
from vulcan.store import RunRecord
from vulcan.store.runs import open_store
from vulcan.task import Caution, Task


@pytest.fixture
def record() -> RunRecord:
    with closing(open_store(recorded_run())) as store:
        return RunRecord.of(store.events())


@pytest.fixture
def warned(record: RunRecord, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said of the recorded winner where its task has a limit that it exceeds on its worst instance of test."""
    assert record.chosen is not None
    winner = record.chosen.candidate
    of_test = dict(results.metrics_of(record, winner, "test"))
    metric = next(iter(next(iter(of_test.values()))))
    worst = max(of_test, key=lambda name: of_test[name][metric])
    value = of_test[worst][metric]
    limit = max((of[metric] for name, of in of_test.items() if name != worst), default=value - 1)
    warning = Caution(metric, (limit + value) / 2, "does it too much")

    def with_caution(name: str) -> Task:
        return replace(find_task(name), cautions=(warning,))

    monkeypatch.setattr(results, "recorded_task", with_caution)
    (said,) = [line for line in results.cautions_of(record, winner) if "of test" in line]
    assert said.startswith(f"candidate {winner} does it too much on 1 of {len(of_test)} instances of test: ")
    assert f"{metric} {value:.3g} on {worst}, " in said
    return said


def test_the_verdict_says_it(record: RunRecord, warned: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_result(recorded_run(), record, None)
    assert f"\nwarning: {warned}\n" in capsys.readouterr().out


def test_every_form_of_the_report_says_it(warned: str) -> None:
    report = Report.of(recorded_run())
    document = report_document(report, seconds=0.0)
    assert warned in document["cautions"]
    assert warned in html_page(report, document)
