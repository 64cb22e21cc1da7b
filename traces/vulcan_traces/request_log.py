"""Recorded requests of servers: when each came to its server, how long that took, and which server it was.

A table with a header row: `time` (when the request came, or `end`, when it was answered), `duration` and, where it is
known, `server`; `columns` says which columns these are (`end=msec,duration=urt_ms,server=upstream`). A name that ends
in `_ms`, `_us` or `_ns` says the unit, else it is the second; times may be dates as ISO 8601 has them.

Access logs with durations: nginx with `rt=$request_time` and better `urt=$upstream_response_time`, and
`upstream_addr=$upstream_addr` behind the combined format, in any order and quotes; ingress-nginx; Envoy's and Istio's
default formats; HAProxy's `option httplog`. The time at the upstream server is taken where a log has it. Requests that
reached no server are left out, and of several attempts the last one counts.
"""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError, did_you_mean
from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import abbreviated

log = logging.getLogger(__name__)

_USUAL = {
    "time": ("time", "timestamp", "ts", "start", "start_time", "arrival"),
    "end": ("end", "end_time", "finished", "msec"),
    "duration": ("duration", "latency", "upstream_response_time", "service_time", "request_time", "response_time"),
    "server": ("server", "upstream", "upstream_addr", "upstream_host", "backend", "host"),
}
_PER_SECOND = {"_ms": 1e3, "_us": 1e6, "_ns": 1e9}

_HEAD = r'\S+ .*?\[(?P<end>[^\]]+)\] "(?:[^"\\]|\\.)*" \d{3} (?:\d+|-) "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*" '
_INGRESS = re.compile(
    _HEAD + r"\d+ (?P<total_s>[\d.]+) \[[^\]]*\] \[[^\]]*\] (?P<server>[^ ,]+(?:, [^ ,]+)*) "
    r"[\d, -]+? (?P<upstream_s>[\d.-]+(?:, [\d.-]+)*) [\d-]+(?:, [\d-]+)* \S+"
)
_NGINX = re.compile(_HEAD + r"(?P<more>.*\b(?:rt|urt)=.*)")
_KEY = re.compile(r'\b(rt|urt|upstream_addr)=(?:"([^"]*)"|([^\s",]+(?:, [^\s",]+)*))')
_ENVOY = re.compile(
    r'\[(?P<time>[^\]]+)\] "[^"]*" \d+ \S+ (?:\S+ \S+ "[^"]*" )?\d+ \d+ (?P<total_ms>\d+) (?P<upstream_ms>\d+|-)'
    r'(?: "[^"]*"){4} "(?P<server>[^"]*)"'
)
_HAPROXY = re.compile(
    r".*?\[(?P<time>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d\.\d+)\] \S+ (?P<server>\S+/\S+) "
    r"(?P<before>-?\d+/-?\d+/-?\d+)/(?P<upstream_ms>-?\d+)/\+?\d+ \d{3} "
)
_MOST_SECONDS = 1e9  # three decades: more is another unit, or damage
_DATES = "%d/%b/%Y:%H:%M:%S %z", "%d/%b/%Y:%H:%M:%S.%f"

Request = tuple[float, float, str]
"""When it came to its server, s; how long that took, s; and the server, "" where none is named."""


@dataclass(frozen=True)
class RequestLog:
    """Requests in the order of `arrivals` (requests,), ms from the first one; `durations` (requests,) in ms;
    `server` (requests,) the number of the server, all 0 where none is named, of `servers` in all, then 0.
    """

    name: str
    digest: str
    arrivals: NDArray[np.float64]
    durations: NDArray[np.float64]
    server: NDArray[np.int64]
    servers: int


def read_request_log(path: str, columns: str | None = None) -> RequestLog:
    """Return the requests of a table or an access log, plain or compressed. Raises UserError, in one line."""
    source = Source(Path(path))
    source.check()
    if not source.is_text:
        raise UserError(f"{path}: no log: its first lines are no text")
    lines = ((n, line) for first, block in source.line_blocks() for n, line in enumerate(block.splitlines(), first))
    parse = None if columns else _recognised(source)
    found = list(_table(source, lines, columns or "") if parse is None else _lines(source, lines, parse))
    if not found:
        raise UserError(f"{path}: no request in it that reached a server and has a duration")
    begun, took = (np.array([request[column] for request in found]) for column in (0, 1))
    if (begun + took == np.floor(begun + took)).all() and parse in (_ingress, _nginx):
        begun = _within_seconds(begun + took) - took
        log.warning("%s: its times are whole seconds, within which requests are spread evenly", path)
    order = np.argsort(begun, kind="stable")
    names = sorted({request[2] for request in found} - {""})
    numbers = {name: number for number, name in enumerate(names)}
    server = np.array([numbers.get(found[place][2], 0) for place in order], np.int64)
    arrivals = 1e3 * (begun[order] - begun[order[0]])
    return RequestLog(source.path.name, source.sha256(), arrivals, 1e3 * took[order], server, len(names))


def _within_seconds(ends: NDArray[np.float64]) -> NDArray[np.float64]:
    _, place, count = np.unique(ends, return_inverse=True, return_counts=True)
    order = np.argsort(ends, kind="stable")
    rank = np.empty(len(ends))
    rank[order] = np.arange(len(ends)) - np.repeat(np.cumsum(count) - count, count)
    spread: NDArray[np.float64] = ends + (rank + 0.5) / count[place]
    return spread


def _recognised(source: Source) -> Callable[[str], Request | None] | None:
    """Return what reads the lines of an access log; None for a table."""
    head = [line.decode("utf-8", "replace") for line in source.first_lines[:100]]
    for pattern, parse in ((_INGRESS, _ingress), (_NGINX, _nginx), (_ENVOY, _envoy), (_HAPROXY, _haproxy)):
        if sum(pattern.match(line) is not None for line in head) > len(head) / 2:
            return parse
    if re.match(r'\S+ .*?\[[^\]]+\] "', head[0]):
        raise UserError(
            f"{source.path}: an access log without durations: have the server log them, as nginx does with "
            'log_format ... rt=$request_time urt="$upstream_response_time" upstream_addr="$upstream_addr"'
        )
    return None


def _lines(
    source: Source, lines: Iterable[tuple[int, bytes]], parse: Callable[[str], Request | None]
) -> Iterator[Request]:
    """Yield the requests of an access log; other lines are other programs', as in a syslog."""
    for number, line in lines:
        try:
            request = parse(line.decode("utf-8", "replace"))
        except ValueError as error:
            raise source.malformed("line", number, f"{error}: {abbreviated(line)}") from error
        if request is not None:
            yield request


def _ingress(line: str) -> Request | None:
    found = _INGRESS.match(line)
    return found and _upstream(found["end"], found["upstream_s"], found["server"])


def _nginx(line: str) -> Request | None:
    found = _NGINX.match(line)
    if found is None:
        return None
    keys = {name: quoted or plain for name, quoted, plain in _KEY.findall(found["more"])}
    return _upstream(found["end"], keys.get("urt", keys.get("rt", "-")), keys.get("upstream_addr", ""))


def _upstream(end: str, durations: str, servers: str) -> Request | None:
    """Return the last attempt of a request that nginx logs as it ends."""
    last, server = re.split("[,:] ", durations)[-1], servers.rsplit(", ", maxsplit=1)[-1]
    if last in ("-", "") or server == "-":
        return None
    return _seconds(end) - float(last), float(last), server


def _envoy(line: str) -> Request | None:
    found = _ENVOY.match(line)
    if found is None or found["server"] in ("-", ""):
        return None
    return (
        _seconds(found["time"]),
        float(found["upstream_ms" if found["upstream_ms"] != "-" else "total_ms"]) / 1e3,
        (found["server"]),
    )


def _haproxy(line: str) -> Request | None:
    found = _HAPROXY.match(line)
    if found is None or found["upstream_ms"].startswith("-") or found["server"].endswith("/<NOSRV>"):
        return None
    before = sum(max(int(spell), 0) for spell in found["before"].split("/"))
    return _seconds(found["time"]) + before / 1e3, float(found["upstream_ms"]) / 1e3, found["server"]


def _table(source: Source, lines: Iterator[tuple[int, bytes]], columns: str) -> Iterator[Request]:
    text = (line.decode("utf-8", "replace") for _, line in lines)
    header = next(text)
    delimiter = max(",;\t|", key=header.count)
    names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter))]
    of = _columns(source, names, columns)
    scales = {role: _PER_SECOND.get(name[-3:], 1.0) for role, name in of.items()}
    places = {role: names.index(name) for role, name in of.items()}
    is_end, clock = "end" in of, "end" if "end" in of else "time"
    for number, row in enumerate(csv.reader(text, delimiter=delimiter), 2):
        if not row:
            continue
        if len(row) <= max(places.values()):
            said = abbreviated(delimiter.join(row).encode())
            raise source.malformed("line", number, f"{len(row)} fields where there are {len(names)}: {said}")
        column = of["duration"]
        try:
            took = float(row[places["duration"]]) / scales["duration"]
            column = of[clock]
            time = _seconds(row[places[clock]], scales[clock])
        except ValueError as error:
            kind = "number" if column == of["duration"] else "number or date"
            said = abbreviated(row[names.index(column)].encode())
            raise source.malformed("line", number, f"{column} is no {kind}: {said}") from error
        if not (0 <= took <= _MOST_SECONDS and isfinite(time)):
            raise source.malformed("line", number, f"a duration of {took:g} s at {time:g} s")
        yield time - took * is_end, took, row[places["server"]] if "server" in places else ""


def _columns(source: Source, names: list[str], given: str) -> Mapping[str, str]:
    """Return the name of each role's column. Raises UserError."""
    of = dict.fromkeys(filter(None, given.split(",")), "")
    of = {role.strip(): name.strip() for role, _, name in (part.partition("=") for part in of)}
    plain = {re.sub("_[mun]?s$", "", name.lower()): name for name in names}
    for role in () if of else _USUAL:
        known = [plain[name] for name in _USUAL[role] if name in plain]
        if known and not (role == "end" and "time" in of):
            of[role] = known[0]
    for role, name in of.items():
        if role not in _USUAL:
            raise UserError(f"columns {given!r}: no {role!r}{did_you_mean(role, _USUAL)} (known: {', '.join(_USUAL)})")
        if name not in names:
            raise UserError(f"{source.path}: no column {name!r} (there are {', '.join(names)})")
    if "duration" not in of or ("time" in of) == ("end" in of):
        raise UserError(
            f"{source.path}: a log of requests has one column time or end, and one duration; say which by --columns "
            f"'time=...,duration=...,server=...' (there are {', '.join(names)})"
        )
    return of


def _seconds(text: str, per_second: float = 1.0) -> float:
    """Return seconds since 1970, of a number or a date. Raises ValueError."""
    try:
        return float(text) / per_second
    except ValueError:
        for form in _DATES:
            try:
                date = datetime.strptime(text, form)
                break
            except ValueError:
                continue
        else:
            date = datetime.fromisoformat(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
