"""The catalogue, for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from vulcan_traces.catalogue import TraceSet


def catalogue_document(sets: Sequence[TraceSet]) -> dict[str, Any]:
    """All that the catalogue says; what is not known is null."""
    return {"sets": [asdict(each) for each in sets]}


def catalogue_lines(sets: Sequence[TraceSet]) -> list[str]:
    """Each set with its origin and terms, and its traces."""
    from vulcan_traces.commands.output import table_lines

    lines: list[str] = []
    for each in sets:
        lines += [f"{each.name} ({each.kind}): {each.title}", f"  source   {each.source}", f"  licence  {each.licence}"]
        lines += [f"  paper    {each.paper}"] if each.paper else []
        lines += [f"  note     {each.note}"] if each.note else []
        rows = [
            [
                file.name,
                file.format,
                "unknown" if file.bytes is None else f"{file.bytes:,}",
                "unknown" if file.requests is None else f"{file.requests:,}",
                "unknown" if file.checksum is None else file.checksum.partition(":")[0],
            ]
            for file in each.files
        ]
        if rows:
            lines += [f"  {line}" for line in table_lines(["trace", "format", "bytes", "requests", "checksum"], rows)]
        else:
            lines.append("  (to be had from its source alone)")
        lines.append("")
    return [*lines, "`vulcan traces fetch NAME` fetches one; `--json` gives addresses and checksums in full."]
