"""The headline searches of docs/results/headline-searches.md, run again, and their tables.

    python -m benchmarks.evidence [--only NAME] [--out runs/evidence]

Each search is a command of the installed package, with the offline generator as the model; a finished one is read and
not run again. A search whose traces are not below VULCAN_DATA is left out. Beside the winner stand the best baselines,
start policies and oracles, on all three parts of the data, best on the held-out part first; the verdict is what
`vulcan search` says.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import DATA

SPLITS = ("train", "validation", "test")
SHOWN = 5
"""Baselines and start policies that a table shows."""


@dataclass(frozen=True)
class Headline:
    """A search with its options; `trace` is below the directory of real traces."""

    name: str
    task: str
    options: tuple[str, ...] = ()
    trace: str | None = None
    seeds: tuple[int, ...] = (1, 2, 3)

    def command(self, seed: int, directory: Path) -> list[str]:
        given = ["--trace", str(DATA / self.trace)] if self.trace is not None else []
        fixed = ["--seed", str(seed), "--executor", "local", "--progress", "none", "--runs-dir", str(directory)]
        vulcan = str(Path(sys.executable).with_name("vulcan"))
        return [vulcan, "search", "--task", self.task, *given, *self.options, *fixed, "--json"]


_PARENTS = ("--offline-parents", "archive")
"""With which the tables of docs/results/headline-searches.md were measured: the default then, as was `sample`."""

_CACHE = ("--cache-size", "10%", "--mechanism", "sample", "--budget-candidates", "200", *_PARENTS)
_LONG = ("--budget-candidates", "300", *_PARENTS)
HEADLINES = (
    Headline("cloudPhysicsIO", "cache_eviction", _CACHE, "cache/libcachesim/cloudPhysicsIO.vscsi"),
    Headline("tencentBlock.ns3300", "cache_eviction", _CACHE, "cache/tencent/tencentBlock.ns3300.sample.csv"),
    Headline("sprite", "cache_eviction", _CACHE, "cache/caffeine/lirs/sprite.trace.gz"),
    Headline("congestion control", "congestion_control", _LONG),
    Headline("memory tiering", "memory_tiering", _LONG),
    Headline("load balancing", "load_balancing", _LONG),
    Headline("queue management", "active_queue_management", _LONG),
    Headline("spot, one region", "spot_single", _LONG),
    Headline("spot, several regions", "spot_multi", _LONG),
)


def find_result(headline: Headline, seed: int, out: Path) -> dict[str, Any]:
    """Return the JSON document of a search, run unless `out` has it. Raises CalledProcessError where it fails."""
    file = out / f"{headline.name.replace(', ', '-').replace(' ', '-')}-{seed}.json"
    if not file.is_file():
        done = subprocess.run(headline.command(seed, out), stdout=subprocess.PIPE, check=True, text=True)
        file.write_text(done.stdout, encoding="utf-8")
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def table_of(headline: Headline, results: Mapping[int, dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table: the winner of each seed, and beside them what all seeds share."""
    first = next(iter(results.values()))
    lines = ["| policy | train | validation | test | verdict |", "|---|---|---|---|---|"]
    rows = [
        (f"**winner, seed {seed}**", [_score(document, split) for split in SPLITS], f"*{document['verdict']}*")
        for seed, document in results.items()
    ]
    rivals: dict[str, list[float | None]] = {}
    for kind, label in (("oracles", "{} (oracle)"), ("starts", "{} (start)"), ("baselines", "{}")):
        for name in _names(first, kind):
            rivals[label.format(name)] = [(first[s] or {}).get(kind, {}).get(name) for s in SPLITS]
    oracles = {name: scores for name, scores in rivals.items() if name.endswith("(oracle)")}
    others = {name: scores for name, scores in rivals.items() if name not in oracles}
    for name, scores in [*_best(oracles, 2), *_best(others, SHOWN)]:
        rows.append((name, scores, ""))
    rows.sort(key=lambda row: -(row[1][2] if row[1][2] is not None else float("-inf")))
    lines += [f"| {name} | {' | '.join(map(_figure, scores))} | {verdict} |" for name, scores, verdict in rows]
    return lines


def _score(document: Mapping[str, Any], split: str) -> float | None:
    part = document[split]
    return None if part is None else part["score"]


def _names(document: Mapping[str, Any], kind: str) -> Iterable[str]:
    return dict.fromkeys(name for split in SPLITS for name in (document[split] or {}).get(kind, {}))


def _best(rivals: Mapping[str, list[float | None]], count: int) -> list[tuple[str, list[float | None]]]:
    ranked = sorted(rivals.items(), key=lambda pair: -(pair[1][2] if pair[1][2] is not None else float("-inf")))
    return ranked[:count]


def _figure(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}" if abs(score) < 10 else f"{score:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[headline.name for headline in HEADLINES])
    parser.add_argument("--out", type=Path, default=Path("runs/evidence"))
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    for headline in HEADLINES:
        if given.only and headline.name not in given.only:
            continue
        if headline.trace is not None and not (DATA / headline.trace).is_file():
            print(f"## {headline.name}\n\nleft out: there is no {DATA / headline.trace}\n")
            continue
        results = {seed: find_result(headline, seed, given.out) for seed in headline.seeds}
        print("\n".join([f"## {headline.name}", "", *table_of(headline, results), ""]), flush=True)


if __name__ == "__main__":
    main()
