"""Loading of link traces: from files in any known format, and from generator specifications."""

from __future__ import annotations

import os
from pathlib import Path

from vulcan.errors import UserError, did_you_mean
from vulcan_traces.links.generator_spec import generate_link, is_link_spec
from vulcan_traces.links.link_trace import LinkTrace
from vulcan_traces.links.mahimahi import looks_like_mahimahi, read_mahimahi
from vulcan_traces.links.rate_table import columns_of, looks_like_rate_table, read_rate_table
from vulcan_traces.links.text import Text, read_text

FORMATS = ("mahimahi", "csv")
"""The names that `format` may be; `csv` may be followed by the units of its columns, as `csv:s,mbps`."""


def load_link(spec: str | os.PathLike[str], *, format: str | None = None) -> LinkTrace:
    """Return the link in a file, or the one that a generator specification describes.

    `spec` is a path, plain or compressed by gzip, xz or zstd, or that of a file within a zip archive
    (`dataset.zip/folder/file.csv`), or a text such as `constant:rate=12` (see `vulcan_traces.links.generator_spec`); a
    file whose name looks so is meant by `./constant:...`. `format` is one of `FORMATS`; without it the content has to
    make it clear. Raises UserError, in one line, for a file that cannot be read, is empty, is of no clear format, or
    has a malformed line, which is then named.
    """
    text = os.fspath(spec)
    if is_link_spec(text):
        if format is not None:
            raise UserError(f"{text}: the format is for trace files, and this is a generated link")
        return generate_link(text)
    name, _, columns = (format or "").partition(":")
    if format is not None and (name not in FORMATS or (columns and name != "csv")):
        raise UserError(f"no link format {format!r}{did_you_mean(name, FORMATS)} (known: {', '.join(FORMATS)})")
    content = read_text(Path(text))
    if (name or _detected(content)) == "mahimahi":
        return read_mahimahi(content)
    return read_rate_table(content, columns_of(content, columns or None))


def _detected(text: Text) -> str:
    if looks_like_rate_table(text):
        return "csv"
    if looks_like_mahimahi(text):
        return "mahimahi"
    raise UserError(
        f"{text.path}: its format is not clear from its content; name it (one of {', '.join(FORMATS)}), for a table "
        "of times and rates with their units, as csv:s,mbps"
    )
