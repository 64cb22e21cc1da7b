"""Public recordings in forms of their own, written as the tasks read them; nothing of them comes with the project."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np

INTERVALS, ACCESSES = 50, 10_000_000
"""Intervals of a recording of addresses, and the accesses that it is taken to stand for, as in generated workloads."""

PAGE_BITS = 12
SESSION_S = 5.0
"""Seconds between the starts of sessions that were recorded one after another: a server has many at a time."""

PROMPT_MS, TOKEN_MS, OUTPUT_MS = 10.0, 0.112, 30.0
"""How long a request to a language model takes: defaults of the task prefix_cache."""

_NOVA = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) .* time: ([\d.]+)\s*$")


def write_page_counts(addresses: Path, out: Path) -> Path:
    """Write the page counts of a trace of addresses: `l 0xADDRESS`, or `instructions read [write]` of Ramulator."""
    pages, stores = [], []
    with gzip.open(addresses, "rt", encoding="ascii") as file:
        for line in file:
            first, *others = line.split()
            if first in "ls":
                pages.append(int(others[0], 16) >> PAGE_BITS)
                stores.append(first == "s")
            else:
                pages += [int(address) >> PAGE_BITS for address in others]
                stores += [False, True][: len(others)]
    epoch = np.arange(len(pages)) * INTERVALS // len(pages)
    each = round(ACCESSES / len(pages))
    written = np.array(stores)
    np.savez_compressed(
        out.with_suffix(".npz"), epoch=epoch, page=np.array(pages), loads=each * ~written, stores=each * written
    )
    return out.with_suffix(".npz")


def write_prompts(sessions: Path, out: Path) -> Path:
    """Write the log of a server from a directory of sessions, a file each with `timestamp`, `input` and `output`.

    A token is a word. Sessions keep their own pace.
    """
    words: dict[str, int] = {}

    def tokens(text: str) -> list[int]:
        return [words.setdefault(word, len(words)) for word in text.split()]

    requests = []
    for number, file in enumerate(sorted(sessions.glob("*.jsonl"))):
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            at = number * SESSION_S + (line["timestamp"] - lines[0]["timestamp"]) / 1e6
            row = {"timestamp": at, "prompt": tokens(line["input"]), "output": tokens(line["output"])}
            requests.append({**row, "session": file.stem, "ends": line is lines[-1]})
    requests.sort(key=lambda request: request["timestamp"])
    out.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in requests), encoding="utf-8")
    return out.with_suffix(".jsonl")


def write_requests(recorded: Path, out: Path) -> Path:
    """Write the times and durations of requests: of OpenStack's nova-api, or of language models, from their tokens."""
    with out.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("time", "duration_ms"))
        table.writerows(_durations(recorded))
    return out.with_suffix(".csv")


def _durations(recorded: Path) -> Iterator[tuple[float, float]]:
    """Yield when each request came, in seconds, and the milliseconds that it took."""
    with recorded.open(encoding="utf-8") as file:
        if recorded.suffix == ".log":
            for found in filter(None, map(_NOVA.search, file)):
                took = float(found[2])
                yield datetime.fromisoformat(found[1]).timestamp() - took, 1e3 * took
        elif recorded.suffix == ".csv":  # Azure's
            for row in csv.DictReader(file):
                at = datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp()
                yield at, _model_ms(int(row["ContextTokens"]), int(row["GeneratedTokens"]))
        else:  # Mooncake's
            for row in map(json.loads, file):
                yield row["timestamp"] / 1e3, _model_ms(row["input_length"], row["output_length"])


def _model_ms(prompt: int, output: int) -> float:
    return PROMPT_MS + TOKEN_MS * prompt + OUTPUT_MS * output


def write_link(bandwidth: Path, out: Path) -> Path:
    """Write a link from a text of times and rates: milliseconds and kbit/s of Oboe, or seconds and Mbit/s."""
    rows = [tuple(map(float, line.split())) for line in bandwidth.read_text(encoding="ascii").splitlines()]
    head, rows = ("time_ms,rate_kbps", rows[::2]) if bandwidth.suffix == ".txt" else ("time_s,rate_mbps", rows)
    lines = [head, *(f"{at:g},{rate:g}" for at, rate in rows)]
    out.with_suffix(".csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return out.with_suffix(".csv")
