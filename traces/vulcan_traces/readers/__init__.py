"""Readers of trace formats."""

from __future__ import annotations

from vulcan_traces.readers import csv_columns, logs, records, tables
from vulcan_traces.readers.format import Format

FORMATS: dict[str, Format] = {
    known.name: known
    for known in (
        records.ORACLE_GENERAL,
        records.VSCSI,
        csv_columns.FORMAT,
        tables.TXT,
        tables.TIME_ID_SIZE,
        tables.ARC,
        tables.LIRS,
        tables.MSR,
        tables.TWITTER,
        tables.TENCENT,
        tables.ALIBABA,
        logs.MOONCAKE,
        tables.IBM,
        logs.WEB,
        logs.MONITOR,
        logs.IOLOG,
        logs.BLKPARSE,
        records.BE_U32,
        records.BE_I32,
        records.BE_I64,
    )
}
"""Every format by name."""
