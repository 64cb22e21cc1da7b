"""Everything that reads what it was given by others, each as a function of bytes, with a few good examples to begin at.

A target returns, or raises what its reader says it raises: `UserError`, or a checker's `Rejected`. Any other exception
is a fault of the reader's.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import shutil
import sqlite3
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from locations import recorded_run
from traces_in_memory import build_trace, join

from vulcan import zstd
from vulcan.anvil import Rejected, check
from vulcan.errors import UserError
from vulcan.export.source import policy_source
from vulcan.models.base import Reply
from vulcan.models.completion import read_completion
from vulcan.models.reply_parser import NoSource, extract_source
from vulcan.models.retry import TransientError, requested_wait
from vulcan.portfolio.library_file import read_library
from vulcan.python_policy.check import check_program
from vulcan.registry import find_task
from vulcan.scoring.job import JobRequest
from vulcan.scoring.wire import MalformedMessage, decode, outcome_of
from vulcan.searches.config import SearchConfig, make_config, read_config, sort_options
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.store import RunRecord, SQLiteStore
from vulcan.store.decode import MalformedRow, decode_entry, parse_fields
from vulcan.store.events import ENTRIES, EVENTS, QuestionAsked
from vulcan.store.journal import read_journal, signed
from vulcan.store.recovery import repair
from vulcan_traces.links import load_link
from vulcan_traces.memory.npz import read_page_counts
from vulcan_traces.memory.workloads import parse_workload
from vulcan_traces.parsing.column_spec import ColumnSpec, parse_column_spec
from vulcan_traces.parsing.source import Source
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.readers import FORMATS
from vulcan_traces.readers.csv_columns import read_csv
from vulcan_traces.spot.load import load_spot
from vulcan_traces.spot.read import read_spot
from vulcan_traces.synthetic.generator_spec import GENERATORS, parse_generator_spec
from vulcan_traces.synthetic.specification import is_specification


@dataclass(frozen=True)
class Target:
    """What reads bytes; `expected` exceptions tell a mistake in them, and `words` are what such bytes are made of."""

    read: Callable[[bytes], object]
    examples: Sequence[bytes]
    expected: tuple[type[Exception], ...] = (UserError,)
    words: Sequence[bytes] = field(default=(b"0", b"-1", b"1e308", b"nan", b",", b"\n", b"9999999999999999999999"))
    costly: bool = False
    """Whether an input takes milliseconds."""


@contextlib.contextmanager
def a_file(data: bytes, name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="vulcan-fuzz-") as directory:
        path = Path(directory) / name
        path.write_bytes(data)
        yield path


# Traces of caches


def of_format(name: str) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        raw = read_as(name, data, skip_bad_lines=len(data) % 2 == 1)
        return build_trace("trace", "digest", raw) if len(raw.keys) else None

    return read


def read_as(name: str, data: bytes, *, skip_bad_lines: bool = False) -> RawRequests:
    with a_file(data, "trace") as path:
        source = Source(path, skip_bad_lines=skip_bad_lines)
        source.check()
        return join(FORMATS[name].read(source, ColumnSpec()))


def requests_of(name: str, data: bytes) -> int | None:
    """How many requests the bytes have in a format; None where they are refused."""
    try:
        return len(read_as(name, data).keys)
    except UserError:
        return None


def detected(data: bytes) -> object:
    with a_file(data, "trace") as path:
        source = Source(path)
        source.check()
        return [known.name for known in FORMATS.values() if known.recognises is not None and known.recognises(source)]


def table(data: bytes) -> RawRequests:
    spec, _, content = data.partition(b"\n")
    with a_file(content, "trace.csv") as path:
        source = Source(path)
        source.check()
        return join(read_csv(source, parse_column_spec(spec.decode("latin-1"))))


def spec(data: bytes) -> object:
    text = data.decode("latin-1")
    return parse_generator_spec(text) if is_specification(text, GENERATORS) else None


TABLE = b"1,alpha,100\n2,beta,200\n3,alpha,100\n"
TRACES: dict[str, tuple[bytes, ...]] = {
    "oracleGeneral": (b"\x01\0\0\0" + bytes(range(8)) + b"\x10\0\0\0" + b"\x02" + bytes(7), bytes(48)),
    "vscsi": (
        struct.pack("<IIIHHQQ", 1, 512, 1, 0x28, 0x100, 7, 5) * 3,
        struct.pack("<HHIIIQQQ", 40, 0x200, 1, 512, 1, 7, 5, 9),
    ),
    "csv": (
        TABLE,
        b"time,id,size\n" + TABLE,
        b"key,op,size,op_count,key_size\na,GET,10,2,3\n",
        b'{"time": 1, "key": "a", "size": 5}\n' * 2,
    ),
    "txt": (b"alpha\nbeta\nalpha\n",),
    "time-id-size": (b"1 5 100\n2 6 100\n",),
    "arc": (b"0 4 0 0\n8 16 0 1\n",),
    "lirs": (b"5\n6\n*\n5\n",),
    "msr": (b"128166372003061629,hm,1,Read,383496192,32768,58000\n128166372016382155,hm,1,Write,3154132992,4096,1\n",),
    "twitter": (b"0,key,3,100,7,get,0\n1,key2,4,100,7,set,3600\n",),
    "tencent": (b"1538323200,1063,32,0,1283\n1538323201,1064,32,1,1283\n",),
    "alibaba": (b"3,R,1024,4096,1577808000000046\n3,W,4096,512,1577808000000099\n",),
    "mooncake": (b'{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 48]}\n',),
    "ibm": (b"1 REST.GET.OBJECT a1 100 0 99\n2 REST.PUT.OBJECT b2 20\n3 REST.DELETE.OBJECT b2\n",),
    "clf": (b'1.2.3.4 - - [14/Nov/2023:22:13:20 +0000] "GET /a HTTP/1.1" 200 512 "-" "x"\n',),
    "redis-monitor": (b'OK\n1700000000.5 [0 127.0.0.1:5000] "MGET" "a" "b"\n',),
    "fio-iolog": (b"fio version 3 iolog\n0 /dev/sdb add\n7 /dev/sdb read 4096 512\n9 /dev/sdb close\n",),
    "blkparse": (b"  8,0    1        2     0.000000001  1000  Q   R 8 + 8 [fio]\nCPU0 (8,0):\n",),
    "be-u32": (bytes(range(16)),),
    "be-i32": (bytes(range(16)),),
    "be-i64": (bytes(range(32)),),
}
COMPRESSED = tuple(pack(TABLE * 9) for pack in (gzip.compress, lzma.compress, zstd.compress))


# Traces of links, spot VMs and memory


def link(data: bytes) -> object:
    choice, _, content = data.partition(b"\n")
    known = (None, "mahimahi", "csv", "csv:s,mbps", "csv:ms,kbps", "csv:" + choice.decode("latin-1"))
    with a_file(content, "link") as path:
        return load_link(path, format=known[len(choice) % len(known)])


def link_spec(data: bytes) -> object:
    text = data.decode("latin-1")
    return load_link(text) if ":" in text.partition("/")[0] and len(text) < 60 else None


def link_archive(data: bytes) -> object:
    with a_file(data, "links.zip") as path:
        return load_link(path / "folder" / "link.csv")


def zipped(*files: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def spot(data: bytes) -> object:
    return read_spot(data, "spot", "spot.json")


def spot_archive(data: bytes) -> object:
    with a_file(data, "traces.tar.gz") as path:
        return load_spot(f"{path}:folder")


def tarred(name: str, content: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def page_counts(data: bytes) -> object:
    with a_file(data, "counts.npz") as path:
        return read_page_counts(path, "digest", 4096)


def npz(compressed: bool = False) -> bytes:
    made = io.BytesIO()
    columns = {name: np.arange(4) for name in ("epoch", "page", "loads", "stores")}
    (np.savez_compressed if compressed else np.savez)(made, **columns)
    return made.getvalue()


SPOT = b'{"metadata": {"gap_seconds": 600, "start_time": 5}, "data": [1, 1, 0, 2]}'
LINK = b"0.5,12.5\n1.0,3\n1.5,0\n2.0,40\n"


# What was written by Vulcan, and may have been changed by others


def toml(data: bytes) -> object:
    with a_file(data, "search.toml") as path:
        plain = read_config(path)
    plain.pop("task", None)
    task = find_task("cache_eviction")
    return make_config("cache_eviction", *sort_options(task, plain, "search.toml", ("executor", "workers")))


def config(data: bytes) -> object:
    """The search that is written down in a run."""
    found = as_json(data)
    return SearchConfig.from_json(found) if isinstance(found, dict) else None


def as_json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def run(data: bytes) -> object:
    with a_file(data, "run.db") as path, closing(SQLiteStore(path)) as store:
        events = list(store.events())
        list(store.questions())
        return RunRecord.of(events).verdicts(), RecordedReplies.of(store)


def repaired(data: bytes) -> object:
    with a_file(data, "run.db") as path:
        done = repair(path)
        with closing(SQLiteStore(path)) as store:
            store.check()
        return done


def journal(data: bytes) -> object:
    """Lines whose checksums are right, and between them what is no line of a journal."""
    with a_file(b"".join(map(signed, data.split(b"\n"))) + data, "replies.jsonl") as path:
        return read_journal(path).of(*ENTRIES.values())


def event(data: bytes) -> object:
    kind, _, content = data.decode("latin-1").partition("\n")
    return decode_entry(kind, parse_fields(content))


@cache
def small_run() -> bytes:
    """The first events of the recorded run, a page of which has room for several."""
    with tempfile.TemporaryDirectory() as directory:
        whole, path = Path(directory) / "whole.db", Path(directory) / "run.db"
        shutil.copy(recorded_run() / "run.db", whole)
        with closing(SQLiteStore(whole)) as old, closing(SQLiteStore(path, create=True)) as new:
            new.append(*list(old.events())[:24])
            for call in list(old.calls())[:3]:
                new.record(call)
            new.record(QuestionAsked(4, 0))
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode = DELETE")
        return path.read_bytes()


@cache
def recorded_events() -> tuple[bytes, ...]:
    """One of each kind, as the table of events has it."""
    with a_file(small_run(), "run.db") as path, closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT kind, data FROM events GROUP BY kind").fetchall()
    return tuple(f"{kind}\n{data}".encode() for kind, data in rows)


JOURNAL = b"\n".join(
    (
        b'{"row": 1, "time": "2026-01-01", "kind": "RunStarted", "digest": "00", "data": '
        b'{"config": {"task": "x"}, "version": "0"}}',
        b'{"row": 2, "time": "2026-01-01", "kind": "QuestionAsked", "digest": "00", '
        b'"data": {"proposal": 1, "turn": 0}}',
        b'{"row": 3, "time": "2026-01-01", "kind": "CallRecord", "digest": "00", "data": {"proposal": 1, "turn": 0, '
        b'"messages": {"base": 0, "packed": "KLUv/SAPeQAAW1sidXNlciIsICJ4Il1d"}, "reply": "y", "model": "m", '
        b'"finish": "stop", "tokens_in": 1, "tokens_out": null, "dollars": 0.5, "seconds": 1, "by": ""}}',
    )
)
SHIPPED = find_task("cache_eviction").directory / "library"


def library(data: bytes) -> object:
    with a_file(data, "library.json") as path:
        (path.parent / "policies").symlink_to(SHIPPED / "policies")
        return read_library(path.parent)


def small_library() -> bytes:
    """The shipped library of one member and two instances, under one objective."""
    whole = json.loads((SHIPPED / "library.json").read_text(encoding="utf-8"))
    objective = whole["objectives"][0]
    kept = {"workloads": whole["workloads"][:2], "instances": whole["instances"][:2], "members": whole["members"][:1]}
    scores = {
        kind: {name: values[:2] for name, values in table.items()} for kind, table in whole["matrix"][objective].items()
    }
    return json.dumps(whole | kept | {"objectives": [objective], "matrix": {objective: scores}}).encode()


# What a model, a server or a child says


def reply(data: bytes) -> object:
    text = data.decode("utf-8", errors="surrogatepass" if len(data) % 2 else "replace")
    parent = "def priority(now):\n    return 1\n"
    found = extract_source(Reply(text, "m", "stop", 1, 1, None, 0.0), "priority", parent=parent)
    assert found.strip() and found.endswith("\n")
    return found


def surrogates_too(read: Callable[[bytes], object]) -> Callable[[bytes], object]:
    def guarded(data: bytes) -> object:
        try:
            return read(data)
        except UnicodeDecodeError:  # no text at all: nothing to read
            return None

    return guarded


def answer(data: bytes) -> object:
    return read_completion(as_json(data), "model")


def retry_after(data: bytes) -> object:
    return requested_wait(data.decode("latin-1"))


def from_child(data: bytes) -> object:
    return outcome_of(decode(data), "ticket", JobRequest(1, "source", (0,), 1.0, True), ("one",), 0.0)


# The checker


def source(data: bytes) -> object:
    return check(data.decode("utf-8", errors="replace"), find_task("cache_eviction"))


def free_program(data: bytes) -> object:
    return check_program(data.decode("utf-8", errors="replace"), find_task("cache_program"))


def exported(data: bytes) -> object:
    return check(policy_source(data.decode("latin-1")), find_task("cache_eviction"))


LRU = b"def priority(now, obj, cache, ghost):\n    return obj.last_access\n"
POLICY = b'''"""A policy."""
DECAY = 0.3

def weight(x):
    return x / (1.0 + abs(x))

def priority(now, obj, cache, ghost):
    age = now - obj.last_access
    total = 0
    for i in range(3):
        total += i * DECAY
    if age > cache.size.percentile(0.5) and not obj.count < 2:
        return -age ** 2 // 3
    return weight(total) + math.log(obj.size) if ghost.contains(obj.id) else min(age, 1e9)
'''
PYTHON_WORDS = tuple(
    word.encode()
    for word in (
        "def ", "return ", "if ", "else:", "elif ", "for i in range(3):", "while ", "lambda", "class ", "import ", "\n",
        "    ", "(", ")", "[", "]", "{", "}", ":", ",", ".", "=", "==", "+", "**", "//", "%", "-", "not ", "and ",
        "or ",
        "in ", "is ", "None", "True", "1e999", "0x_1", "0o8", "1_000", "99999999999999999999", "1j", "'''", '"', "\\",
        "#",
        "obj", "now", "cache", "ghost", "math.", "priority", "pass", "break", "yield ", "await ", "async ", "@",
        ":=",
        "->", "*", "...", "f'{x}'", "\t", "\f", "\r", "\0", "é", "ﬁ", "\u202e", "𝐱", "\xed\xa0\x80",
        "match x:", "case ", "try:", "except:", "with ", "global ", "del ", "assert ",
    )
)  # fmt: skip
REPLY = b"Idea.\n\n```python\n" + LRU + b"```\n<<<<<<< SEARCH\n    return 1\n=======\n    return 2\n>>>>>>> REPLACE\n"
ANSWER = json.dumps(
    {
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": "text"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7},
    }
).encode()
FROM_CHILD = json.dumps(
    {"ticket": "ticket", "status": "scored", "metrics": [{"sum": 1.5}], "message": "", "signature": "a"}
).encode()
JSON_WORDS = (
    b"{", b"}", b"[", b"]", b'"', b":", b",", b"null", b"true", b"1e999", b"NaN", b"-0", b"\\ud800", b"[" * 3000,
)  # fmt: skip
TOML = b'task = "cache_eviction"\nrounds = 5\ncache-size = ["10%", "5%"]\nmodel = ["offline/evolve"]\nlimit = 3.5\n'
CONFIG = json.dumps(SearchConfig(task="cache_eviction", settings={}, objective="object").to_json()).encode()

TARGETS: dict[str, Target] = {
    **{f"trace {name}": Target(of_format(name), (*examples, *COMPRESSED)) for name, examples in TRACES.items()},
    "trace of no name": Target(detected, (TABLE, LINK, SPOT, *COMPRESSED)),
    "trace as a table": Target(table, (b"time=1,id=2,size=3\n" + TABLE, b"id=2,header=true,delimiter=;\n" + TABLE)),
    "generator": Target(
        spec, (b"zipf:requests=1000,objects=10,alpha=0.9,seed=1,sizes=lognormal", b"scan:requests=5,objects=2")
    ),
    "link": Target(link, (b"\n" + LINK, b"1\n1\n3\n5\n7\n", b"22\n" + LINK, b"4444\n" + LINK, *COMPRESSED)),
    "link generator": Target(link_spec, (b"constant:rate=12", b"steps:rates=12/3,every=2")),
    "link in an archive": Target(link_archive, (zipped(("folder/link.csv", b"1\n1\n3\n5\n")), zipped(("x", b"y")))),
    "spot": Target(spot, (SPOT, b'{"generator": 1, "metadata": {"gap_seconds": 1.0}, "data": [0]}'), words=JSON_WORDS),
    "spot archive": Target(
        spot_archive,
        (
            *(pack(tarred("folder/a.json", SPOT)) for pack in (bytes, gzip.compress, lzma.compress, bz2.compress)),
            tarred("x", b""),
        ),
    ),
    "page counts": Target(page_counts, (npz(), npz(compressed=True))),
    "memory workload": Target(
        lambda data: parse_workload(data.decode("latin-1")), (b"gups:pages=8192,hot_share=0.9,seed=1", b"bfs:")
    ),
    "configuration": Target(
        toml, (TOML,), words=(b"=", b"[", b"]", b'"', b"\n", b"nan", b"inf", b"-1", b"1979-05-27", b"true")
    ),
    "configuration in a run": Target(config, (CONFIG,), words=JSON_WORDS),
    "run": Target(run, (small_run(),), costly=True),
    "repair": Target(repaired, (small_run(),), costly=True),
    "journal": Target(journal, (JOURNAL,), words=JSON_WORDS),
    "event": Target(
        event,
        (*recorded_events(), *(f"{kind}\n{{}}".encode() for kind in EVENTS)),
        (UserError, MalformedRow),
        JSON_WORDS,
    ),
    "library": Target(library, (small_library(),), words=JSON_WORDS),
    "reply": Target(surrogates_too(reply), (REPLY, LRU), (NoSource,), (b"```", b"<think>", b"</think>", *PYTHON_WORDS)),
    "answer of a server": Target(answer, (ANSWER,), (TransientError,), JSON_WORDS),
    "wait that a server asks for": Target(retry_after, (b"7", b"Wed, 21 Oct 2026 07:28:00 GMT")),
    "reply of a child": Target(from_child, (FROM_CHILD,), (MalformedMessage,), JSON_WORDS),
    "policy": Target(source, (POLICY, LRU), (Rejected,), PYTHON_WORDS),
    "free program": Target(
        free_program,
        tuple(source.encode() for source in find_task("cache_program").seed_policies().values()),
        (Rejected,),
        PYTHON_WORDS,
    ),
    "exported policy": Target(
        exported, (b"VULCAN_EXPORT = 1\nPOLICY = '''\n" + LRU + b"'''\n", POLICY), (Rejected,), PYTHON_WORDS
    ),
}
