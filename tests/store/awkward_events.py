"""One event of each kind at least, with contents that a store could spoil, and calls of the same sort."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from vulcan.findings import InstanceFinding, Series, SmallTable
from vulcan.store.events import (
    AdviceReceived,
    BaselineMeasured,
    CallRecord,
    CallsChanged,
    CandidateJudged,
    CandidateProposed,
    CandidateRefined,
    Event,
    FinalistScored,
    HeldOutMeasured,
    InstanceMetrics,
    InstancesPrepared,
    LessonsLearnt,
    PolicyExplained,
    ReferenceMeasured,
    RunStarted,
    RunStopped,
    SearchSteered,
    WinnerChosen,
    WorkloadDescribed,
)

TEXT = "\"quoted\" 'twice' \\ back\nnew line\r\n\ttab \x00 nul \x7f é 猫 \U0001f98a ; DROP TABLE events; -- %s {x}"
FLOATS = {"third": 1 / 3, "tenth": 0.1, "tiny": 5e-324, "huge": sys.float_info.max, "below": -2.5e-17, "zero": 0.0}
METRICS: InstanceMetrics = (("b@10%", FLOATS), (TEXT, {}), ("a", {TEXT: 1.0}))

EVENTS: tuple[Event, ...] = (
    RunStarted(
        {"task": TEXT, "seed": 2**62, "none": None, "flag": True, "settings": {"trace": ["a", "b"], "n": []}}, "0"
    ),
    InstancesPrepared(()),
    InstancesPrepared(
        (
            {"name": TEXT, "split": "train", "parameters": {"size": 0.1, "of": None, "list": [1, [2, 3]], "text": ""}},
            {"name": "b", "split": "test", "parameters": {}},
        ),
        ({"name": "R=0.1", "instances": [{"name": "b R=0.1", "split": "train", "parameters": {}}], "keep": 0.3},),
    ),
    BaselineMeasured("lru", "baseline", "train", 0.1 + 0.2, METRICS),
    BaselineMeasured("belady", "oracle", "test", -1.0, ()),
    CandidateProposed(1, 0, "seed", (), 0, ""),
    CandidateProposed(3, 1, "advice", (), 5, "a model"),
    AdviceReceived(3, TEXT),
    SearchSteered(3, "a1", "hint", TEXT),
    SearchSteered(4, "b2", "add", "def decide(load, room):\n    return load\n"),
    CandidateJudged(
        1, 1, 0, TEXT, "f" * 64, "scored", "", (), 17, 9, None, 1 / 3, METRICS,
        (("R=0.1", 0.1), ("R=0.3", -1 / 7)), "ab", (TEXT, "two"), "seed"
    ),
    CandidateProposed(2, 1, "mutate", (1, 1), 2**63 - 1, "a model", 3, "diff"),
    CandidateJudged(2, 2, 0, "", None, "rejected", TEXT, ("no-code-block", "while"), None, None, None, None, ()),
    CandidateJudged(3, 2, 1, TEXT, "f" * 64, "duplicate", "", (), 17, 9, 1, None, ()),
    CandidateJudged(4, 2, 2, "def f():\n    return 0\n", "e", "timeout", "took 1 s", (), 0, 1, None, None, ()),
    CandidateJudged(5, 2, 3, "", None, "no-reply", "gave up", (), None, None, None, None, ()),
    CandidateJudged(
        6, 1, 0, TEXT, "d", "scored", "", (), 1, 1, None, 0.1, (), origin="tuned", derived_from=1
    ),
    CandidateRefined(1, "tuned", 40, 6, 9.5, ("A", "obj.n.ewma(0.3) alpha"), ((1.0, -0.0, 1e300), (2.5, 1e-9, 0.1))),
    CandidateRefined(6, "simplified", 60, None),
    ReferenceMeasured("fifo", "R=0.1", METRICS),
    WorkloadDescribed.of(
        [InstanceFinding("ünï", "train", SmallTable("a\u2028b", ("x", "y"), ((-0.0, "\0"), (1, ""))))]
    ),
    LessonsLearnt((TEXT, "")),
    PolicyExplained.of(1, [InstanceFinding("a", "train", Series("s", "x", "y", ((0.0, 1e300), (1.5, -2.0)), 0.0))]),
    PolicyExplained(2, (), "timeout: took more than 3 s"),
    FinalistScored(1, "validation", None, ()),
    FinalistScored(1, "test", -0.0, METRICS),
    WinnerChosen(1, "validation"),
    HeldOutMeasured(
        ((1, "test", METRICS),), (("test", TEXT, (TEXT, "b")),), ((1, "test", METRICS), (TEXT, "validation", ()))
    ),
    CallsChanged(3, "a model", "max_tokens"),
    RunStopped("interrupted"),
    RunStopped("error", TEXT),
    RunStopped("finished"),
)  # fmt: skip

CALLS: tuple[CallRecord, ...] = (
    CallRecord(2, 1, (("user", TEXT), ("assistant", ""), ("user", "again")), TEXT, TEXT, "stop", 0, 2**40, 0.1, 1 / 3),
    CallRecord(2, 0, (("user", TEXT),), "", "m", "length", None, None, None, 0.0, "the search's name"),
    CallRecord(10, 0, (), TEXT, "m", "unknown", 1, 2, 0.0, 5.0),
    CallRecord(1, 0, (("system", "s"), ("user", "u")), "reply", "m", "stop", 3, 4, 1e-9, 2.5),
)


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    """Ask a run's file by SQL."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()
