"""Loading of prompt traces: from files in any known format, and from generator specifications."""

from __future__ import annotations

import os
from pathlib import Path

from vulcan.errors import UserError, did_you_mean
from vulcan_traces.parsing.source import Source
from vulcan_traces.prompts.generators import GENERATORS, generate_prompts
from vulcan_traces.prompts.prompt_trace import PromptTrace
from vulcan_traces.prompts.readers import FORMATS, read_prompts
from vulcan_traces.synthetic.specification import is_specification

MAX_BLOCK = 65_536


def load_prompts(
    spec: str | os.PathLike[str], *, format: str | None = None, block_tokens: int | None = None
) -> PromptTrace:
    """Return the trace in a file, or the one that a generator specification describes.

    `spec` is a path, plain or compressed by gzip, xz or zstd, or a text such as `chat:requests=4000,seed=1` (see
    `vulcan_traces.prompts.generators`). `format` names one of `vulcan_traces.prompts.readers.FORMATS`; without it, the
    first line tells. `block_tokens` is the size of a block; without it, that of the format, or one
    that the lengths agree with. Raises UserError.
    """
    text = os.fspath(spec)
    if is_specification(text, GENERATORS):
        if format is not None:
            raise UserError(f"{text}: the format is for trace files, and this is a generated trace")
        return generate_prompts(text)
    if format is not None and format not in FORMATS:
        raise UserError(f"no format of prompts {format!r}{did_you_mean(format, FORMATS)} (known: {', '.join(FORMATS)})")
    if block_tokens is not None and not 1 <= block_tokens <= MAX_BLOCK:
        raise UserError(f"blocks of {block_tokens} tokens: must be from 1 to {MAX_BLOCK}")
    path = Path(text)
    source = Source(path, False)
    source.check()
    trace = read_prompts(source, path.name, format, block_tokens)
    if not trace.requests:
        raise UserError(f"{path}: no request in it")
    return trace
