"""What the page's scripts are told is what the store holds, and what the command line prints."""

from __future__ import annotations

import html
import json
import re
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from live import MANY, MARKUP, Server, messages, metrics_of, record_of, until
from locations import recorded_run

from vulcan.dashboard.api import COLUMNS, PAGE, TableQuery, page_of
from vulcan.dashboard.live_run import LiveRun
from vulcan.results.report.data import difference, failures
from vulcan.results.run import run_verdict
from vulcan.searches.evidence import SPLITS
from vulcan.store.events import CandidateProposed, RunStopped
from vulcan.store.runs import open_store

LINES = st.lists(
    st.fixed_dictionaries(
        {
            "verdict": st.sampled_from(["scored", "rejected", "crashed"]),
            "score": st.none() | st.floats(-1, 1),
            "origin": st.sampled_from(["model", "seed"]),
            "operator": st.sampled_from(["mutate", "crossover"]),
            "parents": st.lists(st.integers(1, 9), max_size=2),
            "size": st.none() | st.integers(0, 3),
            "operations": st.none() | st.integers(0, 3),
            "model": st.none() | st.sampled_from(["a", "b"]),
            "rules": st.just([]),
        }
    ),
    max_size=3 * PAGE,
)


def numbered(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**line, "candidate": n, "text": f"{n} {line['verdict']} {line['operator']}"} for n, line in enumerate(lines, 1)
    ]


@given(LINES, st.sampled_from(COLUMNS), st.booleans(), st.sampled_from([(), ("mutate",), ("scored", "cross"), ("x",)]))
def test_the_pages_of_a_table_are_its_lines_in_order(
    lines: list[dict[str, Any]], sort: str, descending: bool, words: tuple[str, ...]
) -> None:
    every = numbered(lines)
    first = page_of(every, TableQuery(words, sort, descending))
    shown = [
        line
        for page in range(1, first["pages"] + 1)
        for line in page_of(every, TableQuery(words, sort, descending, page))["candidates"]
    ]
    fitting = [line["candidate"] for line in every if all(word in line["text"] for word in words)]
    assert sorted(line["candidate"] for line in shown) == fitting
    assert (first["found"], first["total"]) == (len(fitting), len(every))
    values = [line[sort] for line in shown if line[sort] not in (None, [])]
    assert values == sorted(values, reverse=descending)
    assert all(line[sort] in (None, []) for line in shown[len(values) :])
    assert page_of(every, TableQuery(words, sort, descending, 99))["page"] == first["pages"]


def test_the_list_has_every_run_the_newest_first_and_says_which_is_damaged(page_server: Server) -> None:
    with page_server.client() as client:

        def read() -> list[dict[str, Any]]:
            lines = client.get("/api/runs").json()["runs"]
            return lines if all(line["status"]["state"] != "reading" for line in lines) else []

        lines = until(read, "every run is read")
    known = {line["run"]: line for line in lines}
    assert set(known) == {"recorded", "large", "hostile", "damaged"}
    begun = [line["begun"] for line in lines if line["begun"]]
    assert begun == sorted(begun, reverse=True)
    recorded = record_of(page_server.directory / "runs" / "recorded")
    assert recorded.chosen is not None
    winner = recorded.chosen.candidate
    assert known["recorded"]["status"]["state"] == "finished"
    assert (known["recorded"]["best"], known["recorded"]["train"]) == (winner, recorded.candidates[winner].score)
    assert known["recorded"]["test"] == recorded.confirmed[winner, "test"].score
    verdict = run_verdict(recorded)
    assert verdict is not None
    told = [known["recorded"][key] for key in ("conclusion", "doubt", "gain")]
    gains = [gain["gain"] for gain in verdict.gains if gain["split"] == "test"]
    assert told == ["undecided", "a loss in a quarter of train", *gains]
    for split in SPLITS:
        baseline = recorded.named_baseline(split)
        assert baseline is not None
        assert known["recorded"]["baselines"][split] == {"policy": baseline.policy, "score": baseline.score}
    assert known["damaged"]["status"]["state"] == "damaged"
    assert "vulcan repair" in known["damaged"]["status"]["message"]
    assert known["large"]["candidates"] == MANY


def test_a_run_is_told_as_the_store_has_it(page_server: Server) -> None:
    record = record_of(page_server.directory / "runs" / "recorded")
    with page_server.client() as client:
        told = client.get("/api/runs/recorded").json()
    assert record.chosen is not None
    best = record.candidates[record.chosen.candidate]
    baseline = record.best_baseline("train")
    assert baseline is not None
    assert told["best"] == {"candidate": best.candidate, "score": best.score, "chosen": True}
    assert told["baseline"] == {"policy": baseline.policy, "score": baseline.score}
    assert told["verdicts"] == record.verdicts()
    assert told["rules"] == failures(record)["rules"]
    assert told["cost"]["calls"] == 64
    assert (told["proposals"], told["planned"]) == (64, 64)
    known = {line["policy"]: line["scores"] for line in told["policies"]}
    for (policy, split), measured in record.baselines.items():
        assert known[policy][split] == measured.score if policy in known else policy in told["equal"]
    tests = [line["scores"].get("test") for line in told["policies"]]
    measured_ones = [score for score in tests if score is not None]  # starts of runs this old are not measured there
    assert tests == [*sorted(measured_ones, reverse=True), *[None] * (len(tests) - len(measured_ones))]


def test_a_candidates_page_has_all_of_it(page_server: Server) -> None:
    record = record_of(page_server.directory / "runs" / "recorded")
    with page_server.client() as client:
        text = client.get("/runs/recorded/candidates/60").text
    plain = html.unescape(re.sub(r"<[^>]+>", "", text))
    assert record.candidates[60].source.strip() in plain
    for line in difference(record, 60).splitlines():
        assert line in plain
    for instance, metrics in record.candidates[60].metrics:
        assert instance in plain
        assert all(name in plain for name in metrics)
    for parent in record.parents_of(60):
        assert f'href="/runs/recorded/candidates/{parent}"' in text


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/api/runs/nothing", "no run 'nothing'"),
        ("/api/runs/recordet", "did you mean 'recorded'"),
        ("/api/runs/damaged", "vulcan repair"),
        ("/api/runs/recorded/candidates?sort=scores", "did you mean 'score'"),
        ("/api/runs/recorded/figures/progress?of=999", "they go from 1 to 89"),
        ("/api/runs/recorded/figures/progres", "did you mean 'progress'"),
    ],
)
def test_a_mistake_is_told_in_one_line(page_server: Server, path: str, why: str) -> None:
    with page_server.client() as client:
        answer = client.get(path)
    assert answer.status_code == 400
    assert why in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_five_thousand_candidates_are_served_a_page_at_a_time(page_server: Server) -> None:
    with page_server.client() as client:
        until(lambda: client.get("/api/runs/large").status_code == 200, "the run is read")
        for path in (
            "",
            "/figures/progress",
            "/candidates",
            "/candidates?sort=score&order=down&page=7",
            "/candidates?filter=while",
        ):
            answer = client.get(f"/api/runs/large{path}")
            assert answer.status_code == 200
            if path.startswith("/candidates"):
                assert len(answer.json()["candidates"]) == PAGE
        rejected = client.get("/api/runs/large/candidates", params={"filter": "rejected while"}).json()
        assert client.get("/runs/large").status_code == 200
        assert client.get(f"/runs/large/candidates/{MANY}").status_code == 200
    record = record_of(page_server.directory / "runs" / "large")
    assert rejected["found"] == sum("while" in c.rules for c in record.candidates.values()) > 100


def listen(server: Server, run: str, after: int, most: int, last: int | None = None) -> list[dict[str, Any]]:
    """The next rows that a stream tells, with the id of the last message under `id`."""
    headers = {} if last is None else {"last-event-id": str(last)}
    rows: list[dict[str, Any]] = []
    with (
        server.client() as client,
        client.stream("GET", f"/api/runs/{run}/events", params={"after": after}, headers=headers) as stream,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        for message in messages(stream.iter_lines()):
            if message["event"] == "rows":
                rows += [{**row, "id": int(message["id"])} for row in json.loads(message["data"])["rows"]]
            if len(rows) >= most:
                return rows
    raise AssertionError("the stream ended")


def test_a_stream_goes_on_where_it_was_cut_off(page_server: Server) -> None:
    whole = listen(page_server, "large", 0, MANY)
    assert [row["row"] for row in whole] == sorted({row["row"] for row in whole})
    part = listen(page_server, "large", 0, 300)
    cut = part[-1]["id"]
    rest = listen(page_server, "large", 0, 300, last=cut)  # the address is still that of the first time
    told = [row["row"] for row in [*part, *rest]]
    assert told == [row["row"] for row in whole][: len(told)]
    assert len(told) >= 600


def test_what_is_written_later_is_told_too(page_server: Server) -> None:
    run = page_server.directory / "runs" / "hostile"
    watched = LiveRun(run)
    watched.refresh()
    before, row = len(watched.lines), watched.row
    with closing(open_store(run)) as store:
        first = record_of(run).candidates[1]
        store.append(
            CandidateProposed(3, 2, "mutate", (1,), 1, MARKUP),
            replace(first, candidate=3, proposal=3, score=0.09, metrics=metrics_of(0.09, record_of(recorded_run()))),
        )
        store.append(RunStopped("interrupted"))
    told = listen(page_server, "hostile", row, 2)
    assert [one["candidate"] for one in told] == [3, None]
    assert told[1]["text"] == "stopped: interrupted"
    watched.refresh()
    assert len(watched.lines) == before + 1
    assert watched.record.best() == watched.judged(3)
    with page_server.client() as client:
        assert client.get("/api/runs/hostile").json()["best"]["candidate"] == 3


def test_a_run_whose_file_was_replaced_is_read_anew(tmp_path: Path, shelf: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(shelf / "runs" / "recorded", run)
    watched = LiveRun(run)
    watched.refresh()
    assert len(watched.lines) == 89
    (run / "run.db").rename(tmp_path / "old")
    shutil.copy(shelf / "runs" / "hostile" / "run.db", run / "run.db")
    watched.refresh()
    assert len(watched.lines) == len(record_of(run).candidates) < 89
