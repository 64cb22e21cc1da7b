"""Tables as people have them: headers, commas, sizes written as floats, dates, frames of pandas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from vulcan.errors import UserError
from vulcan_traces import load_trace

Write = Callable[[str, str], Path]


@pytest.mark.parametrize("date", ["2024-02-29T12:30:15Z", "2024-02-29 12:30:15.5", "2024-02-29T14:30:15+02:00"])
def test_a_date_and_two_numbers_need_no_description(write: Write, date: str) -> None:
    trace = load_trace(write("my.csv", f"{date},7,512\n{date},8,100\n"))
    assert trace.sizes.tolist() == [512, 100]
    assert trace.times[0] >= 1709209800.0


def test_a_header_is_recognised_where_columns_are_given(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    path = write("my.csv", "time,id,size\n1,7,512\n2,8,512\n")
    trace = load_trace(path, columns="time=1,id=2,size=3")
    assert trace.requests == 2
    assert ",header" in caplog.text
    assert load_trace(path, columns="time=1,id=2,size=3,header").keys.tolist() == trace.keys.tolist()


@pytest.mark.parametrize(("size", "says"), [("512.5", "not a whole number"), ("512.", "not a whole number")])
def test_a_part_of_a_byte_is_refused(write: Write, size: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        load_trace(write("my.csv", f"1,7,{size}\n"), columns="time=1,id=2,size=3")


@pytest.mark.parametrize(
    ("spelled", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2024-02-29 12:30:15", 1709209815.0),
        ("2024-02-29T12:30:15.25Z", 1709209815.25),
        ("2024-02-29T14:30:15+02:00", 1709209815.0),
        ("2024-02-29T07:30:15-0500", 1709209815.0),
        ("1969-12-31T23:59:59", -1.0),
        ("2024-02-29", 1709164800.0),
        ("[29/Feb/2024:14:30:15 +0200]", 1709209815.0),
    ],
)
def test_dates_are_times(write: Write, spelled: str, seconds: float) -> None:
    trace = load_trace(write("my.csv", f"time,id\n{spelled},7\n"))
    assert trace.times.tolist() == [seconds]


@pytest.mark.parametrize(
    "spelled", ["2024-13-01T00:00:00", "2024-02-29T1x:00:00", "2024-02-29T10:00:00+", "2024-02-2x"]
)
def test_what_is_no_date_is_refused(write: Write, spelled: str) -> None:
    with pytest.raises(UserError, match="the time is not a number"):
        load_trace(write("my.csv", f"time,id\n{spelled},7\n"))


def test_a_frame_is_a_trace() -> None:
    frame = pd.DataFrame({"time": [0.0, 1.5, 3.0], "id": [7, 8, 7], "size": [512.0, 64.0, 512.0]})
    trace = load_trace(frame)
    assert trace.times.tolist() == [0.0, 1.5, 3.0]
    assert (trace.sizes.tolist(), trace.keys.tolist()) == ([512, 64, 512], [7, 8])
    dated = frame.assign(time=pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"], utc=True))
    assert load_trace(dated).times.tolist() == [1704067200.0, 1704153600.0, 1704240000.0]
    with pytest.raises(UserError, match="format is not clear"):
        load_trace(frame.rename(columns={"id": "what"}))
    assert load_trace(frame[["id"]]).requests == 3
    with pytest.raises(UserError, match="needs rows"):
        load_trace(frame.iloc[:0])
