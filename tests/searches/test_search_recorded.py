"""A search whose replies a language model wrote, on a real trace: repeated, event for event, and over HTTP."""

from pathlib import Path

import pytest
from kept import kept
from locations import RECORDED, recorded_run
from real_data import real_data
from search_parts import contents

from benchmarks.harness import NotMeasurable
from benchmarks.recordings import RECORDINGS, Recording, unpack
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.searches.session import ExecutionConfig, RunDisplay, check_config, run_search
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.runs import FILE

TASK = find_task("cache_eviction")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """What the recorded run holds; the working directory is the trace's."""
    enter_directory_of("libcachesim/cloudPhysicsIO.vscsi", monkeypatch)
    return kept(recorded_run() / FILE)


def enter_directory_of(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to the directory of a trace of caches, which the recorded settings name without one."""
    monkeypatch.chdir(real_data("cache", trace).parent)


def repeated(recording: MemoryStore) -> MemoryStore:
    store = MemoryStore()
    config = SearchConfig.from_json(RunRecord.of(recording.events()).config)
    task = find_task(config.task)
    run_search(
        task, config, store, check_config(task, config, models=False), ExecutionConfig("local", 2), RunDisplay(),
        recording=RecordedReplies.of(recording),
    )  # fmt: skip
    return store


def test_the_recorded_search_is_repeated_event_for_event(recorded: MemoryStore) -> None:
    assert contents(repeated(recorded)) == contents(recorded)


def test_every_recording_is_listed() -> None:
    assert set(RECORDED.glob("*.tar.xz")) == {recording.archive for recording in RECORDINGS}


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS[1:], ids=[recording.name for recording in RECORDINGS[1:]])
def test_the_recorded_searches_are_repeated_event_for_event(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        monkeypatch.chdir(recording.directory(tmp_path / "data"))
    except NotMeasurable as missing:
        pytest.skip(str(missing))
    held = kept(unpack(recording.archive, tmp_path / "run") / FILE)
    assert len({call.reply for call in held.calls()}) >= 16  # conversations have fewer than prompts of one reply
    assert contents(repeated(held)) == contents(held)
