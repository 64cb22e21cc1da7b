"""The recorded searches of `tests/data`: what each is of, where its traces lie, and whether a replay equals it.

`benchmarks.evidence` replays them, slow tests do, and the page of recorded searches is made of their stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from benchmarks import spot, spot_windows
from benchmarks.harness import DATA, NotMeasurable
from vulcan.searches.config import SearchConfig
from vulcan.store import RunRecord
from vulcan.store.events import CallRecord, Event, RunStopped
from vulcan.store.runs import open_store

RECORDED = Path(__file__).resolve().parents[1] / "tests" / "data"


@dataclass(frozen=True)
class Recording:
    """A recorded search: its folder below `tests/data`, and what it was about, in a few words.

    A search is repeated in the directory in which its settings find their traces: `place`, below the directory of real
    traces. `windows` says whose windows of spot VMs are written there first.
    """

    folder: str
    what: str
    place: str | None = None
    windows: str | None = None

    @property
    def run(self) -> Path:
        return RECORDED / self.folder

    @property
    def name(self) -> str:
        return self.folder.removeprefix("recorded").strip("_/").replace("/", "-") or "recorded"

    def directory(self, made: Path) -> Path:
        """Return where to repeat it, below `made` where nothing is needed. Raises NotMeasurable without its data."""
        made.mkdir(parents=True, exist_ok=True)
        if self.windows == "one region":
            if not spot.ARCHIVE.is_file():
                raise NotMeasurable(f"there is no {spot.ARCHIVE}")
            spot_windows.write_one_region(made)
        elif self.windows == "several regions":
            if not (spot_windows.LEADERBOARD / spot_windows.PRICED).is_dir():
                raise NotMeasurable("ADRS_LEADERBOARD names no checkout of the leaderboard, which has the prices")
            spot_windows.write(made, spot_windows.LEADERBOARD)
        elif self.place is not None:
            traces = config_of(self.run).settings["trace"]
            assert isinstance(traces, list)
            for trace in traces:
                if not (DATA / self.place / str(trace)).is_file():
                    raise NotMeasurable(f"there is no {DATA / self.place / str(trace)}")
            return DATA / self.place
        return made


_CP, _TENCENT, _WEB = "cache/libcachesim", "cache/tencent", "cache/caffeine/cache2k"
RECORDINGS = (
    Recording("recorded", "Cache eviction, cloudPhysicsIO", _CP),
    Recording("recorded_heap", "The same, under a mechanism chosen first", _CP),
    Recording("recorded_feedback/cp-full", "As the first, with findings in its prompts", _CP),
    Recording("recorded_feedback/cp-scores", "The same, with scores alone", _CP),
    Recording("recorded_feedback/tencent-full", "Cache eviction, Tencent's block trace, with findings", _TENCENT),
    Recording("recorded_feedback/tencent-scores", "The same, with scores alone", _TENCENT),
    Recording("recorded_feedback/web07-full", "Cache eviction, web07, with findings", _WEB),
    Recording("recorded_feedback/web07-scores", "The same, with scores alone", _WEB),
    Recording("recorded_state/p3", "Cache eviction with state, ARC's P3", "cache/arc"),
    Recording("recorded_state/loops", "Cache eviction with state, nine loops", "cache/caffeine/lirs"),
    Recording("recorded_link", "Congestion control"),
    Recording("recorded_link_pacing", "Congestion control with pacing, for BPF"),
    Recording("recorded_link_beside", "Congestion control beside CUBIC too, for BPF"),
    Recording("recorded_prefix", "Prefix caches, Mooncake's conversations", "cache/mooncake"),
    Recording("recorded_prefix_generated", "Prefix caches with state, generated workloads"),
    Recording("recorded_spot/one-region", "Spot VMs, the leaderboard of one region", windows="one region"),
    Recording("recorded_spot/several-regions", "Spot VMs, that of several regions", windows="several regions"),
)

HEADLINE_STORES = RECORDED / "headlines"
"""Where runs of the offline generator are kept, each a compressed archive named by what it is of."""

RUN_FILES = ("run.db", "held-out.json")
"""The store of a run, and what its start policies score on held-out data, which the verdict takes account of."""


def config_of(run: Path) -> SearchConfig:
    """Return the options of a recorded search."""
    with closing(open_store(run)) as store:
        return SearchConfig.from_json(RunRecord.of(store.events()).config)


def differences(run: Path, again: Path) -> list[str]:
    """Return the first event and the first call that a replay has otherwise; times aside, and interruptions."""
    found = []
    with closing(open_store(run)) as first, closing(open_store(again)) as second:
        events, calls = zip(*[(list(store.events()), list(store.calls())) for store in (first, second)], strict=True)
    for kind, (recorded, repeated) in (("event", map(_kept, events)), ("call", map(_untimed, calls))):
        for number, (one, other) in enumerate(zip_longest(recorded, repeated), 1):
            if one != other:
                found.append(f"{kind} {number} is {other!r:.200}, and was {one!r:.200}")
                break
    return found


def _kept(events: Sequence[Event]) -> list[object]:
    return [event for event in events if not isinstance(event, RunStopped)]


def _untimed(calls: Sequence[CallRecord]) -> list[object]:
    return [replace(call, seconds=0.0) for call in calls]
