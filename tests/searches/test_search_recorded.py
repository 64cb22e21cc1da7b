"""A search whose replies a language model wrote, on a real trace: repeated, event for event, and over HTTP."""

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from chat_server import Behaviour, ChatServer, Received, completion, raw
from locations import RECORDED
from real_caches import DATA
from search_parts import contents, of_kind

from benchmarks.harness import NotMeasurable
from benchmarks.recordings import RECORDINGS, Recording, config_of
from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig
from vulcan.searches.model_pool import open_model_pool
from vulcan.searches.session import ExecutionConfig, RecordedReplies, check_config, open_study, run_search
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.events import CallRecord, CandidateJudged, CandidateProposed, Event, InstancesPrepared
from vulcan.store.runs import open_store

TASK = find_task("cache_eviction")


class Unseen:
    """A display that shows nothing."""

    def preparing(self, what: str) -> None: ...

    def waiting(self, what: str) -> None: ...
    def begin(self, study: object) -> None: ...
    def __call__(self, event: Event) -> None: ...


def read(folder: Path, tmp_path: Path) -> MemoryStore:
    shutil.copy(folder / "run.db", tmp_path / "run.db")
    contents = MemoryStore()
    with closing(open_store(tmp_path)) as store:
        contents.append(*store.events())
        for call in store.calls():
            contents.record_call(call)
    return contents


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """What the recorded run holds; the working directory is the trace's."""
    enter_directory_of("libcachesim/cloudPhysicsIO.vscsi", monkeypatch)
    return read(RECORDED, tmp_path)


def enter_directory_of(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to the directory of a trace of caches, which the recorded settings name without one."""
    path = DATA / "cache" / trace
    if not path.is_file():
        pytest.skip(f"the trace {path.name} is not here")
    monkeypatch.chdir(path.parent)


def repeated(recording: MemoryStore) -> MemoryStore:
    store = MemoryStore()
    config = SearchConfig.from_json(RunRecord.of(recording.events()).config)
    task = find_task(config.task)
    run_search(
        task, config, store, check_config(task, config, models=False), ExecutionConfig("local", 2), Unseen(),
        control=MemoryStore, recording=RecordedReplies.of(recording),
    )  # fmt: skip
    return store


def test_the_recorded_search_is_repeated_event_for_event(recorded: MemoryStore) -> None:
    assert contents(repeated(recorded)) == contents(recorded)


REPLIES = {"prefix_generated": 61, "state-p3": 60, "spot-one-region": 72, "spot-several-regions": 56}
"""How many different ones a recording has at least; the others have 64."""


def test_every_recording_is_listed() -> None:
    library = RECORDED.with_name("recorded_library")
    there = {path.parent for path in RECORDED.parent.glob("recorded*/**/run.db")} - set(library.iterdir())
    assert there == {recording.run for recording in RECORDINGS}


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS[1:], ids=[recording.name for recording in RECORDINGS[1:]])
def test_the_recorded_searches_are_repeated_event_for_event(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        monkeypatch.chdir(recording.directory(tmp_path / "data"))
    except NotMeasurable as missing:
        pytest.skip(str(missing))
    held = read(recording.run, tmp_path)
    assert len({call.reply for call in held.calls()}) >= REPLIES.get(recording.name, 64)
    if recording.folder.startswith("recorded_feedback"):
        assert config_of(recording.run).feedback == recording.name.rpartition("-")[2]
    assert contents(repeated(held)) == contents(held)


STATE = RECORDED.with_name("recorded_state")
WITH_STATE = sorted(path.parent.name for path in STATE.glob("*/run.db"))


@pytest.mark.parametrize("name", WITH_STATE)
def test_the_searches_with_state_hold_sixty_replies_most_of_which_keep_state(name: str, tmp_path: Path) -> None:
    recording = read(STATE / name, tmp_path)
    record = RunRecord.of(recording.events())
    assert SearchConfig.from_json(record.config).state
    written = [c for c in record.candidates.values() if c.origin == "model" and c.verdict != "rejected"]
    stateful = [c for c in written if check(c.source, TASK).program.uses_state]
    assert len({call.reply for call in recording.calls()}) >= 60
    assert len(stateful) >= 0.95 * len(written) >= 50
    assert record.chosen is not None and {(record.chosen.candidate, "test")} <= record.confirmed.keys()


@pytest.mark.slow
def test_the_same_replies_over_http_come_to_the_same_verdicts(recorded: MemoryStore) -> None:
    """A server on loopback gives each prompt the replies that it was given: the whole path of a remote model."""
    replies: dict[object, list[str]] = {}
    for call in recorded.calls():
        replies.setdefault(call.messages, []).append(call.reply)  # the proposals of a round have one prompt

    def reply_to(request: Received) -> Behaviour:
        return raw(completion(replies[tuple((m["role"], m["content"]) for m in request.body["messages"])].pop(0)))

    config = SearchConfig.from_json(RunRecord.of(recorded.events()).config)
    found = MemoryStore()
    with ChatServer(reply_to) as server:
        remote = replace(config, model=("recorded",), api_base=server.url)
        with (
            open_study(TASK, remote, found, check_config(TASK, remote), ExecutionConfig("local", 2), Unseen()) as study,
            closing(open_model_pool(TASK, remote)) as lineup,
        ):
            study.run(lineup, parallel=1)
    assert [replace(p, model="") for p in of_kind(found, CandidateProposed)] == [
        replace(p, model="") for p in of_kind(recorded, CandidateProposed)
    ]
    assert of_kind(found, CandidateJudged) == of_kind(recorded, CandidateJudged)
    assert of_kind(found, InstancesPrepared) == of_kind(recorded, InstancesPrepared)


def test_the_record_holds_at_least_sixty_replies_of_a_language_model(recorded: MemoryStore) -> None:
    calls: list[CallRecord] = list(recorded.calls())
    assert len(calls) >= 60
    assert {call.model for call in calls} == {"claude"}
    assert len({call.reply for call in calls}) == len(calls)
