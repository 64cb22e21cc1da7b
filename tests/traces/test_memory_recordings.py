"""Recordings of a running program's accesses become page counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from console import Console
from hypothesis import given
from hypothesis import strategies as st

from vulcan.errors import UserError
from vulcan_traces.memory import load_page_counts
from vulcan_traces.memory.recordings import read_recording

Write = Callable[[str, str | bytes], Path]

# as perf 6.x prints them: with and without a period, with a data source, and of a processor that did not say where
SAMPLES = """\
# captured on: Mon Nov 16 10:00:00 2026
  4193.552513: cpu/mem-loads,ldlat=30/P:     7f0b5c0a2010
  4193.552600:       1000 cpu/mem-loads,ldlat=30/P:     7f0b5c0a2ff8
  4194.600001: cpu/mem-stores/P:     7f0b5c0a3000
  4194.700000: cpu/mem-loads/P:                0
app  811 [002]  4195.552512: ibs_op//:  7f0b5c0a2010 68100142 |OP STORE|LVL L1 hit|SNP None|TLB L1 hit|LCK No|BLK  N/A
"""
# as Documentation/admin-guide/mm/damon/usage.rst shows them
REGIONS = """\
kdamond.0 46568 [027] 79357.842179: damon:damon_aggregated: target_id=0 nr_regions=3 8192-20480: 3 864
kdamond.0 46568 [027] 79357.842200: damon:damon_aggregated: target_id=0 nr_regions=3 20480-40960: 0 11
kdamond.0 46568 [027] 79358.942201: damon:damon_aggregated: target_id=1 nr_regions=3 8192-12288: 2 1
"""

# as tools/mm/page-types.c of Linux lists a process's pages, twice; a huge page and one that is swapped out too
IDLE = """\
voffset\toffset\tflags
55d0c0a00\t1a2b3c\t__RU_lA____Ma_b______i____________________1
55d0c0a01\t1a2b3d\t__RU_lA____Ma_b___________________________1
7f3a00000\t200000\t___U_lA____Ma_bH______t___________________1
voffset\toffset\tflags
55d0c0a00\t1a2b3c\t__RU_lA____Ma_b___________________________1
55d0c0a01\t1a2b3d\t__RU_lA____Ma_b__________i________________1
7f3a00000\t12\t_________________________________________w_
"""
IN_RANGES = """\
voffset\toffset\tlen\tflags
55d0c0a00\t1a2b3c\t3\t__RU_lA____Ma_b___________________________1
55d0c0a03\t1a2b3f\t1\t__RU_lA____Ma_b__________i________________1
"""


def rows(path: Path, **settings: float) -> dict[tuple[int, int], tuple[int, int]]:
    columns = read_recording(path, **{"epoch_seconds": 1.0, "page_size": 4096, **settings}).columns  # type: ignore[arg-type]
    epoch, page, loads, stores = (columns[name].tolist() for name in ("epoch", "page", "loads", "stores"))
    return dict(zip(zip(epoch, page, strict=True), zip(loads, stores, strict=True), strict=True))


def test_sampled_accesses(write: Write) -> None:
    page = 0x7F0B5C0A2
    assert rows(write("samples.txt", SAMPLES)) == {
        (0, page): (1001, 0),
        (1, page + 1): (0, 1),
        (1, page): (0, 1),
    }
    assert rows(write("samples.txt", SAMPLES), page_size=1 << 21, epoch_seconds=10, scale=7) == {
        (0, page >> 9): (7007, 14)
    }


def test_regions_of_damon_are_their_pages(write: Write) -> None:
    found = rows(write("regions.txt", REGIONS), scale=10)
    assert {key: counts for key, counts in found.items() if key[0] == 0} == {(0, n): (30, 0) for n in (2, 3, 4)}
    ((later, counts),) = ((key, counts) for key, counts in found.items() if key[0] == 1)
    assert counts == (20, 0)
    assert later[1] not in (2, 3, 4), "another target's page is another page"


def test_listings_of_idle_pages_are_epochs(write: Write) -> None:
    first, huge = 0x55D0C0A00, 0x7F3A00000
    assert rows(write("idle.txt", IDLE)) == {(0, first + 1): (1, 0), (0, huge): (1, 0), (1, first): (1, 0)}
    assert rows(write("idle.txt", IDLE), page_size=1 << 21, scale=5) == {
        (0, first >> 9): (5, 0), (0, huge >> 9): (5, 0), (1, first >> 9): (5, 0),
    }  # fmt: skip
    assert rows(write("idle.txt", IN_RANGES)) == {(0, first + n): (1, 0) for n in range(3)}


@given(table=st.lists(st.tuples(*(st.integers(0, 5) for _ in range(4))), min_size=1), has_counts=st.booleans())
def test_a_table_is_added_up(
    table: list[tuple[int, ...]], has_counts: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("table") / "idle.csv"
    names = ("epoch", "page", "loads", "stores")[: 4 if has_counts else 2]
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row[: len(names)])) for row in table)]))
    loads: Counter[tuple[int, int]] = Counter()
    stores: Counter[tuple[int, int]] = Counter()
    for epoch, page, *counts in table:
        loads[epoch, page] += counts[0] if has_counts else 1
        stores[epoch, page] += counts[1] if has_counts else 0
    expected = {key: (loads[key], stores[key]) for key in loads if loads[key] or stores[key]}
    if expected:
        assert rows(path) == expected
    else:
        with pytest.raises(UserError, match="no access"):
            rows(path)


def test_lines_of_lost_events_are_skipped_and_counted(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    first, *rest = SAMPLES.splitlines(keepends=True)
    lost = "app 811 [002] 4193.6: PERF_RECORD_LOST lost 42\nCPU:1 [LOST 12 EVENTS]\n"
    assert rows(write("lost.txt", first + rest[0] + lost + "".join(rest[1:]))) == rows(write("samples.txt", SAMPLES))
    assert "2 lines of lost events" in caplog.text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("4193.5: what is this", "line 1: neither a sampled access"),
        ("1.0: mem-loads:  12zz", "line 1: neither a sampled access"),
        ("1.0: damon:damon_aggregated: target_id=0 nr_regions=1 0-9000000000000000: 1 1", "larger pages"),
        ("1.0: damon:damon_aggregated: target_id=0 nr_regions=1 0-4096: 0 1", "no access of a page"),
        ("epoch,page\n1,x", "line 2: epoch, page, loads, stores are whole numbers"),
        ("epoch,page\n1,-1", "line 2: a number is negative"),
        ("voffset\toffset\tflags\n12\t13", "line 2: not a page as `page-types"),
        ("voffset\toffset\tlen\tflags\n12\t13\txyz\t__", "line 2: not a page as `page-types"),
        ("1.5: " + "9" * 30 + " mem-loads:  12", "line 1: a number is too large"),
        ("1.5: " + "9" * 5000 + " mem-loads:  12", "line 1: a number of more than"),
        ("voffset\toffset\tflags\n" + "f" * 16 + "\t1\t__", "line 2: a number is too large"),
        ("9" * 400 + ".5: mem-loads:  12\n1.5: mem-loads:  12", "line 1: "),
        ("\n", "no access of a page"),
        ("", "is empty"),
    ],
)
def test_what_is_no_recording_is_said_in_a_line(write: Write, text: str, why: str) -> None:
    with pytest.raises(UserError, match=why) as refused:
        rows(write("recording.txt", text))
    assert "\n" not in str(refused.value)


def test_from_a_recording_to_page_counts(tmp_path: Path, write: Write) -> None:
    write("samples.txt", SAMPLES)
    vulcan = Console(tmp_path)
    said = vulcan.good("traces", "pages", "samples.txt", "program.npz").stderr
    assert said == "wrote 2 epochs of 2 pages, 1,001 loads and 2 stores, to program.npz\n"
    counts = load_page_counts(tmp_path / "program.npz")
    assert counts.loads.tolist() == [[1001, 0], [0, 0]]
    assert counts.stores.tolist() == [[0, 0], [1, 1]]
    again = vulcan("traces", "pages", "samples.txt", "program.npz")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
