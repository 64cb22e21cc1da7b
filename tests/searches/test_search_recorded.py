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

from benchmarks import spot, spot_windows
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recorded_link", "recorded_link_pacing"])
def test_a_recorded_search_for_congestion_control_is_repeated_event_for_event(name: str, tmp_path: Path) -> None:
    recording = read(RECORDED.with_name(name), tmp_path)
    assert contents(repeated(recording)) == contents(recording)
    assert len({call.reply for call in recording.calls()}) >= 64


@pytest.mark.slow
def test_the_recorded_search_for_prefix_caches_is_repeated_event_for_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_directory_of("mooncake/conversation_trace.jsonl", monkeypatch)
    recording = read(RECORDED.with_name("recorded_prefix"), tmp_path)
    assert contents(repeated(recording)) == contents(recording)
    assert len({call.reply for call in recording.calls()}) == 64


@pytest.mark.slow
def test_the_recorded_search_for_prefix_caches_of_generated_workloads_is_repeated(tmp_path: Path) -> None:
    recording = read(RECORDED.with_name("recorded_prefix_generated"), tmp_path)
    assert SearchConfig.from_json(RunRecord.of(recording.events()).config).state
    assert contents(repeated(recording)) == contents(recording)
    assert len({call.reply for call in recording.calls()}) == 61  # 60 proposals, one of which was repaired


FEEDBACK = RECORDED.with_name("recorded_feedback")
TRACES = {
    "cp": "libcachesim/cloudPhysicsIO.vscsi",
    "tencent": "tencent/tencentBlock.ns1326.sample.csv",
    "web07": "caffeine/cache2k/web07.trace.xz",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.parent.name for path in FEEDBACK.glob("*/run.db")))
def test_the_recorded_searches_with_and_without_findings_are_repeated(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_directory_of(TRACES[name.partition("-")[0]], monkeypatch)
    recording = read(FEEDBACK / name, tmp_path)
    assert contents(repeated(recording)) == contents(recording)
    config = SearchConfig.from_json(RunRecord.of(recording.events()).config)
    assert config.feedback == name.partition("-")[2]
    assert len([e for e in recording.events() if isinstance(e, CandidateProposed) and e.round]) == 64


STATE = RECORDED.with_name("recorded_state")
WITH_STATE = sorted(path.parent.name for path in STATE.glob("*/run.db"))
A_TRACE = {"loops": "caffeine/lirs/sprite.trace.gz", "p3": "arc/P3.lis.zst"}


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
@pytest.mark.parametrize("name", WITH_STATE)
def test_the_recorded_searches_with_state_are_repeated(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_directory_of(A_TRACE[name], monkeypatch)
    recording = read(STATE / name, tmp_path)
    assert contents(repeated(recording)) == contents(recording)


SPOT = RECORDED.with_name("recorded_spot")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "replies"), [("one-region", 72), ("several-regions", 56)])
def test_the_recorded_searches_for_spot_vms_are_repeated(
    name: str, replies: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the directory that `python -m benchmarks.spot_windows` writes."""
    windows = tmp_path / "windows"
    if name == "one-region":
        if not spot.ARCHIVE.is_file():
            pytest.skip("the leaderboard's windows are not here")
        spot_windows.write_one_region(windows)
    else:
        if not (spot_windows.LEADERBOARD / spot_windows.PRICED).is_dir():
            pytest.skip("no checkout of the leaderboard, which has the prices, is here")
        spot_windows.write(windows, spot_windows.LEADERBOARD)
    monkeypatch.chdir(windows)
    recording = read(SPOT / name, tmp_path)
    assert contents(repeated(recording)) == contents(recording)
    assert len({call.reply for call in recording.calls()}) == replies


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
