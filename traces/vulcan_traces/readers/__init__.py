"""Readers of trace formats, one file each."""

from __future__ import annotations

from vulcan_traces.readers import (
    alibaba,
    arc,
    fixed_integers,
    ibm,
    lirs,
    logs,
    mooncake,
    msr,
    oracle_general,
    tencent,
    time_id_size,
    twitter,
    txt,
    vscsi,
)
from vulcan_traces.readers import csv_columns as csv
from vulcan_traces.readers.format import Format

FORMATS: dict[str, Format] = {
    known.name: known
    for known in (
        oracle_general.FORMAT,
        vscsi.FORMAT,
        csv.FORMAT,
        txt.FORMAT,
        time_id_size.FORMAT,
        arc.FORMAT,
        lirs.FORMAT,
        msr.FORMAT,
        twitter.FORMAT,
        tencent.FORMAT,
        alibaba.FORMAT,
        mooncake.FORMAT,
        ibm.FORMAT,
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
