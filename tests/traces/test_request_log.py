"""Logs of requests: each format says the same of the same requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from vulcan.errors import UserError
from vulcan_traces.request_log import read_request_log

AGENT = '"-" "curl/8.0"'
NGINX = '10.0.0.1 - - [31/May/2024:12:30:0{} +0000] "GET / HTTP/1.1" 200 612 ' + AGENT
FORMATS = {
    "a table": "start,server,duration_ms\n1717158600.25,b:80,120\n1717158600.5,a:80,40\n",
    "a table of dates": "ts;latency;upstream\n2024-05-31T12:30:00.250Z;0.12;b:80\n2024-05-31T12:30:00.500Z;0.04;a:80\n",
    "a table of ends": "msec\trequest_time\tupstream_addr\n1717158600.37\t0.12\tb:80\n1717158600.54\t0.04\ta:80\n",
    "envoy": "".join(
        f'[2024-05-31T12:30:00.{at}Z] "GET / HTTP/2" 200 - 0 31 {total} {took} "-" "curl" "1" "shop" "{server}"\n'
        for at, total, took, server in (("250", 125, 120, "b:80"), ("500", 40, "-", "a:80"), ("700", 1, "-", "-"))
    ),
    "istio": "".join(
        f'[2024-05-31T12:30:00.{at}Z] "GET / HTTP/1.1" 200 - via_upstream - "-" 0 31 {took} {took} "-" "curl" "1" '
        f'"shop" "{server}" outbound|80||shop a:1 b:2 c:3 - default\n'
        for at, took, server in (("250", 120, "b:80"), ("500", 40, "a:80"))
    ),
    "haproxy": "".join(
        f"May 31 12:30:01 lb haproxy[7]: 10.0.0.1:33317 [31/May/2024:12:30:00.{at}] http-in pool/{server} "
        f'{timers} 200 2750 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"\n'
        for at, server, timers in (
            ("240", "b", "4/5/1/120/131"), ("500", "a", "0/0/0/40/40"), ("800", "<NOSRV>", "0/-1/-1/-1/9")
        )
    ) + "May 31 12:30:02 lb haproxy[7]: Server pool/a is DOWN.\n",
}  # fmt: skip
WHOLE_SECONDS = {
    "nginx": "".join(
        NGINX.format(second) + f' rt={took} uct="0.000" urt="{took}" upstream_addr="{server}"\n'
        for second, took, server in ((0, "0.120", "b:80"), (1, "0.500, 0.040", "b:80, a:80"), (2, "-", "-"))
    ),
    "ingress-nginx": "".join(
        NGINX.format(second) + f" 77 0.2 [shop-80] [] {server} 612 {took} 200 0a1b\n"
        for second, took, server in ((0, "0.120", "b:80"), (1, "0.040", "a:80"))
    ),
}


@pytest.mark.parametrize("name", [*FORMATS, *WHOLE_SECONDS])
def test_each_format_says_when_how_long_and_where(name: str, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text((FORMATS | WHOLE_SECONDS)[name])
    log = read_request_log(str(file))
    # nginx logs as a request ends: the first at 0.5 s, in the middle of a second, and the other a second later
    assert log.arrivals.tolist() == pytest.approx([0.0, 1000.0 + 80 if name in WHOLE_SECONDS else 250.0], abs=0.01)
    assert log.durations.tolist() == pytest.approx([120.0, 40.0])
    assert (log.server.tolist(), log.servers) == ([1, 0], 2)


@pytest.mark.parametrize(
    ("text", "columns", "says"),
    [
        (NGINX.format(0) + "\n", None, "an access log without durations"),
        ("when,took\n1,2\n", None, "one column time or end, and one duration"),
        ("when,took\n1,x\n", "time=when,duration=took", "line 2: took is no number: 'x'"),
        ("when,took\nx,1\n", "time=when,duration=took", "line 2: when is no number or date: 'x'"),
        ("when,took\n1,2\n3\n", "time=when,duration=took", "line 3: 1 fields where there are 2: '3'"),
        ("when,took\n1,1e300\n", "time=when,duration=took", r"line 2: a duration of 1e\+300 s"),
        ("when,took\n1,-2\n", "time=when,duration=took", "line 2: a duration of -2 s"),
        ("when,took\n1,2\n", "time=when,duratoin=took", "no 'duratoin'; did you mean 'duration'"),
        ("when,took\n1,2\n", "time=when,duration=tok", "no column 'tok'"),
        ("time,duration\n", None, "no request in it"),
    ],
)  # fmt: skip
def test_what_is_no_such_log_is_one_line(text: str, columns: str | None, says: str, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(text)
    with pytest.raises(UserError, match=says) as caught:
        read_request_log(str(file), columns)
    assert "\n" not in str(caught.value)
