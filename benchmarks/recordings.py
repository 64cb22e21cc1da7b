"""The recorded searches of `tests/data`: what each is of, where its traces lie, and whether a replay equals it.

`benchmarks.evidence` replays them, slow tests do, and the page of recorded searches is made of their stores.
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from benchmarks import spot, spot_windows
from benchmarks.harness import DATA, NotMeasurable
from vulcan.searches.config import SearchConfig
from vulcan.store import RunRecord
from vulcan.store.events import CallRecord, Event, RunStarted, RunStopped
from vulcan.store.runs import FILE, open_store

TEST_DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
RECORDED = TEST_DATA / "recorded"


@dataclass(frozen=True)
class Recording:
    """A recorded search: the name of its archive, and what it was about, in a few words.

    A search is repeated in the directory in which its settings find their traces: `place`, below the directory of real
    traces. `windows` says that windows of spot VMs are written there first.
    """

    name: str
    what: str
    place: str | None = None
    windows: bool = False

    @property
    def archive(self) -> Path:
        return RECORDED / f"{self.name}.tar.xz"

    def directory(self, made: Path) -> Path:
        """Return where to repeat it, below `made` where nothing is needed. Raises NotMeasurable without its data."""
        made.mkdir(parents=True, exist_ok=True)
        if self.windows:
            if not spot.ARCHIVE.is_file():
                raise NotMeasurable(f"there is no {spot.ARCHIVE}")
            spot_windows.write_one_region(made)
        elif self.place is not None:
            with tempfile.TemporaryDirectory() as run:
                traces = config_of(unpack(self.archive, Path(run))).settings["trace"]
            assert isinstance(traces, list)
            for trace in traces:
                if not (DATA / self.place / str(trace)).is_file():
                    raise NotMeasurable(f"there is no {DATA / self.place / str(trace)}")
            return DATA / self.place
        return made


RECORDINGS = (
    Recording("cache-eviction", "Cache eviction, cloudPhysicsIO", "cache/libcachesim"),
    Recording("congestion-control", "Congestion control"),
    Recording("prefix-cache", "Prefix caches, Mooncake's conversations", "cache/mooncake"),
    Recording("spot-one-region", "Spot VMs, the leaderboard of one region", windows=True),
    Recording("routing-by-conversations", "Routing by conversations, Mooncake's", "cache/mooncake"),
    Recording("scheduling-by-conversations", "Scheduling by conversations, Mooncake's", "cache/mooncake"),
    Recording("queue-management-by-conversations", "Queue management by conversations"),
)

HEADLINE_STORES = TEST_DATA / "headlines"
"""Where runs of the offline generator are kept, each a compressed archive named by what it is of."""


def pack(run: Path, archive: Path) -> None:
    """Write the store of a run, compressed, as an archive that depends on its bytes alone."""
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        packed.add(run / FILE, FILE, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def unpack(archive: Path, run: Path) -> Path:
    """Extract a run to the directory `run`, and return it."""
    with tarfile.open(archive) as packed:
        packed.extractall(run)
    return run


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
    kept = [event for event in events if not isinstance(event, RunStopped)]
    return [replace(event, repeats="") if isinstance(event, RunStarted) else event for event in kept]


def _untimed(calls: Sequence[CallRecord]) -> list[object]:
    return [replace(call, seconds=0.0) for call in calls]
