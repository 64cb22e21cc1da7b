"""Mooncake's traces of language-model serving (Qin et al., FAST 2025; github.com/kvcache-ai/Mooncake).

JSON lines with `timestamp` in milliseconds and `hash_ids`, the ids of the prompt's prefix blocks of 512
tokens. Each hash id is a request of size 1 at that time, in the order of the list.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

import numpy as np

from vulcan_traces.notes import SKIPPED, NoteCounts
from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import abbreviated
from vulcan_traces.raw_requests import RawRequests, join
from vulcan_traces.readers.format import Format, without_choices

_MILLISECONDS = 1e3


def _read(source: Source) -> Iterator[RawRequests]:
    for first_line, block in source.line_blocks():
        parts: list[RawRequests] = []
        skipped = 0
        for number, line in enumerate(block.split(b"\n"), first_line):
            if not line.strip():
                continue
            requests = _requests(line)
            if requests is not None:
                parts.append(requests)
            elif source.skip_bad_lines:
                skipped += 1
            else:
                why = "no JSON object with a timestamp and a list of whole-number hash_ids"
                raise source.malformed("line", number, f"{why}: {abbreviated(line)}")
        yield replace(join(parts), notes=NoteCounts({(SKIPPED, "no hash_ids"): skipped}), lines=len(parts) + skipped)


def _requests(line: bytes) -> RawRequests | None:
    """Return the requests of one line, None where it is malformed."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    time, ids = record.get("timestamp"), record.get("hash_ids")
    if not isinstance(time, int | float) or not _is_finite(time) or not isinstance(ids, list):
        return None
    if not all(type(key) is int and -(2**63) <= key < 2**64 for key in ids):
        return None
    keys = np.array([key % 2**64 for key in ids], np.uint64)
    return RawRequests(keys, np.ones(len(ids), np.int64), np.full(len(ids), time / _MILLISECONDS))


def _is_finite(number: float) -> bool:
    try:
        return isfinite(number)
    except OverflowError:  # an integer beyond every float
        return False


def _recognises(source: Source) -> bool:
    return bool(source.first_lines) and _requests(source.first_lines[0]) is not None


FORMAT = Format("mooncake", "JSON lines with hash_ids, one request each", without_choices(_read), _recognises)
