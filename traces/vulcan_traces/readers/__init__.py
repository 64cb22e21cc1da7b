"""Readers of trace formats."""

from __future__ import annotations

from vulcan_traces.readers import csv_columns, fixed_integers, logs, mooncake, oracle_general, tables, vscsi
from vulcan_traces.readers.format import Format

FORMATS: dict[str, Format] = {
    known.name: known
    for known in (
        oracle_general.FORMAT,
        vscsi.FORMAT,
        csv_columns.FORMAT,
        tables.TXT,
        tables.TIME_ID_SIZE,
        tables.ARC,
        tables.LIRS,
        tables.MSR,
        tables.TWITTER,
        tables.TENCENT,
        tables.ALIBABA,
        mooncake.FORMAT,
        tables.IBM,
        logs.WEB,
        logs.MONITOR,
        logs.IOLOG,
        logs.BLKPARSE,
        fixed_integers.BE_U32,
        fixed_integers.BE_I32,
        fixed_integers.BE_I64,
    )
}
"""Every format by name."""
