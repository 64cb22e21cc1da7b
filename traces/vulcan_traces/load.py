"""Loading of traces: from files in any known format, and from generator specifications."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from vulcan.errors import UserError, did_you_mean
from vulcan.paths import is_table, table_file
from vulcan.sizes import parse_bytes
from vulcan_traces.notes import (
    BACKWARDS,
    CLIMBING,
    FALLING,
    MANY_SKIPPED,
    RISING,
    SKIPPED,
    SWAPPED,
    VARYING,
    NoteCounts,
    notes_of,
    one_line,
)
from vulcan_traces.parsing.column_spec import MAX_PAGE, ColumnSpec, parse_column_spec
from vulcan_traces.parsing.source import Source
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.readers import FORMATS
from vulcan_traces.readers.format import Format
from vulcan_traces.request_trace import Trace
from vulcan_traces.storage.trace_store import FORMAT_VERSION, cached_trace
from vulcan_traces.synthetic.generator_spec import GENERATORS, VERSION, generate_requests, parse_generator_spec
from vulcan_traces.synthetic.specification import is_specification

if TYPE_CHECKING:
    import pandas as pd

_COMPRESSIONS = (".gz", ".xz", ".zst")

log = logging.getLogger(__name__)


def load_trace(
    spec: str | os.PathLike[str] | pd.DataFrame,
    *,
    format: str | None = None,
    columns: str | None = None,
    skip_bad_lines: bool = False,
    page_size: str | None = None,
) -> Trace:
    """Return the trace in a file, or the one that a generator specification describes.

    `spec` is a path, plain or packed (see `vulcan_traces.parsing.compression`), or a text such as
    `zipf:requests=200000,objects=20000,alpha=0.9,seed=1` (see `vulcan_traces.synthetic.generator_spec`); a file whose
    name looks so is meant by `./zipf:...`. A pandas DataFrame is read like a CSV file with its columns' names as the
    header. The rest is for files:

    `format` names one of `vulcan_traces.readers.FORMATS`; without it the name's ending and the content have
    to make it clear. `columns` describes a table (see `vulcan_traces.parsing.column_spec`) and implies the format csv,
    unless it has nothing but `ops` or `page`. With `skip_bad_lines`, malformed lines are left out. `page_size`, such as
    `4KiB`, has a block trace be requests for pages. `Trace.notes` say what was left out or changed, and a log warning
    does.

    Decoded traces are kept in the user's cache directory. Raises UserError, in one line, for a file that
    cannot be read, is empty, is of no clear format, or has a malformed line (or record), which is then named.
    """
    text = str(table_file(spec)) if is_table(spec) else os.fspath(cast("str | os.PathLike[str]", spec))
    if is_specification(text, GENERATORS):
        if format is not None or columns is not None or page_size is not None:
            raise UserError(f"{text}: format, columns and page size are for trace files, and this is a generated trace")
        parsed = parse_generator_spec(text)
        digest = _digest("generated", parsed.canonical(VERSION))
        return cached_trace(parsed.name, digest, lambda: [generate_requests(parsed)])
    source = Source(Path(text), skip_bad_lines)
    source.check()
    given = parse_column_spec(columns) if columns is not None else ColumnSpec()
    if page_size is not None:
        given = replace(given, page=parse_bytes(page_size, "page size", MAX_PAGE))
    chosen = _format_of(source, format, given)
    content = source.sha256()
    digest = _digest(content, chosen.name, repr(given), skip_bad_lines)
    trace = cached_trace(source.path.name, digest, lambda: _whole(source, content, chosen.read(source, given)))
    if trace.notes:
        _warn(f"{source.path}: {one_line(trace.notes)}")
    return trace


@lru_cache(maxsize=1024)
def _warn(text: str) -> None:
    """Log a warning, once in a process."""
    log.warning("%s", text)


def _whole(source: Source, content: str, parts: Iterable[RawRequests]) -> Iterator[RawRequests]:
    """Yield all parts; at the end raise an error if there are none, or if the file's digest is not `content`."""
    requests = lines = backwards = climbing = rising = 0
    latest = -np.inf
    notes, doubted = NoteCounts(), NoteCounts()
    for part in parts:
        is_request = ~np.isnan(part.times)
        times = part.times if is_request.all() else part.times[is_request]
        if len(times):
            backwards += int((np.diff(times, prepend=latest) < 0).sum())
            climbing += int((np.diff(part.sizes.astype(np.int64)) >= 0).sum()) if part.sizes.min() >= _LIKE_TIMES else 0
            latest = float(times[-1])
            rising += int((part.keys[1:] >= part.keys[:-1]).sum()) + 1
        requests += len(times)
        lines += len(times) if part.lines is None else part.lines
        notes += part.notes
        if requests == len(times):
            doubted += _doubts_of_sizes(part)
        yield part
    if source.sha256() != content:  # else half a trace would be kept as the whole one
        raise UserError(f"{source.path} was changed while it was read; wait until it is written, and try again")
    skipped = NoteCounts({key: count for key, count in notes.items() if key[0] == SKIPPED})
    share = skipped.total() / max(lines, 1)
    if skipped and (not requests or share > _MOST_SKIPPED):
        of = f"of {lines:,} lines, {share:.0%} are malformed"
        raise UserError(f"{source.path}: {of}, {one_line(notes_of(skipped))}; name its format, or give columns")
    if not requests:
        why = f": {one_line(notes_of(notes))}" if notes else ""
        raise UserError(f"{source.path}: the trace has no request{why}")
    doubts = NoteCounts({(FALLING if backwards > requests / 4 else BACKWARDS, ""): backwards})
    doubts += doubted
    if share > _MUCH_SKIPPED:
        doubts[MANY_SKIPPED, f"{share:.1%}"] = lines
    if climbing > 0.9 * requests and requests > _FEW:
        doubts.pop((VARYING, ""), None)
        doubts[CLIMBING, ""] = climbing
    if rising >= requests > _FEW:
        doubts[RISING, ""] = requests
    yield RawRequests(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0), doubts)


def _doubts_of_sizes(part: RawRequests) -> NoteCounts:
    """Return a doubt where sizes recur as ids do, each with its one id, or where ids have ever other sizes."""
    rows = np.stack([part.keys[:_LOOKED_AT], part.sizes[:_LOOKED_AT].astype(np.uint64)])
    ids, sizes, pairs = len(np.unique(rows[0])), len(np.unique(rows[1])), np.unique(rows, axis=1).shape[1]
    is_swapped = 2 * ids < sizes and 2 * pairs < 3 * sizes and 2 * sizes < rows.shape[1] > _FEW
    again = rows.shape[1] - ids
    is_varying = 10 * (pairs - ids) > 9 * again and 2 * again > rows.shape[1] > _FEW
    return NoteCounts({(SWAPPED, ""): sizes} if is_swapped else {(VARYING, ""): pairs - ids} if is_varying else {})


_LOOKED_AT = 100_000
_MOST_SKIPPED, _MUCH_SKIPPED = 0.5, 0.01
_FEW = 100
_LIKE_TIMES = 10**8
"""Sizes that are all larger than that, and climb, may be times: seconds since 1970 are, and most objects are not."""


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps([FORMAT_VERSION, *parts]).encode()).hexdigest()


def _format_of(source: Source, name: str | None, spec: ColumnSpec) -> Format:
    if spec.columns:
        if name not in (None, "csv"):
            raise UserError(f"columns describe the format csv, and format is {name!r}; leave one of them out")
        return FORMATS["csv"]
    if name is None:
        return _detected(source)
    if name not in FORMATS:
        raise UserError(f"no trace format {name!r}{did_you_mean(name, FORMATS)} (known: {', '.join(FORMATS)})")
    return FORMATS[name]


def _detected(source: Source) -> Format:
    """Return the format that the name's ending claims, if the content agrees, or the only one the content allows."""
    file_name = source.path.name.lower()
    for compression in _COMPRESSIONS:
        file_name = file_name.removesuffix(compression)
    for known in FORMATS.values():
        if known.recognises is not None and known.suffixes and file_name.endswith(known.suffixes):
            if known.recognises(source):
                return known
            raise UserError(
                f"{source.path}: not in the format {known.name}, as its name says; give its format if it is in it"
            )
    found = [known for known in FORMATS.values() if known.recognises is not None and known.recognises(source)]
    if len(found) == 1:
        return found[0]
    if FORMATS["csv"] in found:  # names in a header say more than the shape of the lines below
        return FORMATS["csv"]
    if source.first_lines and not source.first_lines[1:]:
        raise UserError(
            f"{source.path}: it has one line, from which its format is not clear: are the requests missing?"
        )
    unclear = f"could be {' or '.join(known.name for known in found)}" if found else "not clear from its content"
    raise UserError(
        f"{source.path}: its format is {unclear}; name it (one of {', '.join(FORMATS)}), "
        "or describe a table by columns such as 'time=1,id=2,size=3' (',header' where its first line has names; "
        "'id=2,size=3' where it has no time)"
    )
