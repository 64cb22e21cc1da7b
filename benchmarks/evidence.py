"""The headline searches and the recorded ones, run again: their tables, and what differs from the pages and the record.

    python -m benchmarks.evidence [--only NAME] [--seeds 1 2 3] [--out runs/evidence] [--write]

Each headline search is a command of the installed package, with the offline generator as the model; a finished one is
read and not run again. Beside the winner stand the best baselines, start policies and oracles, on all three parts of
the data, best on the held-out part first; the verdict is what `vulcan search` says. Each table is compared with that of
docs/results/headline-searches.md, or with `--write` takes its place; then the store of the first seed's run is kept
too, of which the site has a report.

Each recorded search of `tests/data` (`benchmarks.recordings`) is replayed from its replies and compared with its
record, event by event; docs/results/recorded-searches.md is made of the records (`make docs`). A search without its
traces below VULCAN_DATA is left out. The exit code is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import DATA, NotMeasurable
from benchmarks.recordings import HEADLINE_STORES, RECORDINGS, Recording, differences, pack, unpack

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "headline-searches.md"
HEAD = "| policy | train | validation | test | verdict |"
SPLITS = ("train", "validation", "test")
SEED = re.compile(r"\| \*\*winner, seed (\d+)\*\*")
SHOWN = 5
"""Baselines and start policies that a table shows."""


@dataclass(frozen=True)
class Headline:
    """A search with its options; `trace` is below the directory of real traces."""

    name: str
    task: str
    options: tuple[str, ...] = ()
    trace: str | None = None

    @property
    def file(self) -> str:
        return self.name.replace(", ", "-").replace(" ", "-")

    def command(self, seed: int, directory: Path) -> list[str]:
        given = ["--trace", self.trace] if self.trace is not None else []
        asked = [*given, *self.options, "--seed", str(seed)]
        return [VULCAN, "search", "--task", self.task, *asked, *QUIETLY, "--runs-dir", str(directory.resolve())]


VULCAN = str(Path(sys.executable).with_name("vulcan"))
QUIETLY = ("--executor", "local", "--progress", "none", "--json")
_CACHE = ("--cache-size", "10%", "--budget-candidates", "200")
_LONG = ("--budget-candidates", "300")
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
    file = out / f"{headline.file}-{seed}.json"
    if not file.is_file():
        place = DATA if headline.trace is not None else None
        done = subprocess.run(headline.command(seed, out), cwd=place, stdout=subprocess.PIPE, check=True, text=True)
        file.write_text(done.stdout, encoding="utf-8")
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def table_of(headline: Headline, results: Mapping[int, dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table: the winner of each seed, and what all seeds share, equal ones once."""
    first = next(iter(results.values()))
    lines = ["| policy | train | validation | test | verdict |", "|---|---|---|---|---|"]
    rows = [
        (f"**winner, seed {seed}**", [_score(document, split) for split in SPLITS], f"*{document['verdict']}*")
        for seed, document in results.items()
    ]
    rivals: dict[str, list[float | None]] = {}
    for kind, label in (("oracles", "{} (oracle)"), ("baselines", "{}"), ("starts", "{} (start)")):
        for name in _names(first, kind):
            rivals[label.format(name)] = [(first[s] or {}).get(kind, {}).get(name) for s in SPLITS]
    oracles = {name: scores for name, scores in rivals.items() if name.endswith("(oracle)")}
    others = {name: scores for name, scores in rivals.items() if name not in oracles}
    for name, scores in [*_best(oracles, 2), *_best(others, SHOWN)]:
        if scores not in [row[1] for row in rows]:
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


def page_table(page: str, headline: Headline) -> tuple[int, int]:
    """Return where the search's table is in the text of the page. Raises ValueError where it is not."""
    title = headline.name[0].upper() + headline.name[1:] if headline.trace is None else headline.name
    begin = page.find(HEAD, page.index(f"\n**{title}.**"))
    return begin, page.index("\n\n", begin)


def compare(page: str, headline: Headline, results: Mapping[int, dict[str, Any]]) -> list[str]:
    """Return the lines of a diff of the page's table and of what it would be now: none where they are equal.

    Where fewer seeds were run than the page has, the winners of the others are left out.
    """
    begin, end = page_table(page, headline)
    shown = [
        line
        for line in page[begin:end].splitlines()
        if (seed := SEED.match(line)) is None or int(seed[1]) in results
    ]  # fmt: skip
    return list(difflib.unified_diff(shown, table_of(headline, results), "the page", "now", lineterm="", n=0))


def replay(recording: Recording, out: Path) -> list[str]:
    """Repeat a recorded search; return what differs. Raises NotMeasurable where its data are missing."""
    place = recording.directory(out / f"{recording.name}-data")
    run = unpack(recording.archive, (out / "recorded" / recording.name).resolve())
    runs = (out / "replays" / recording.name).resolve()
    command = [VULCAN, "search", "--replay", str(run), *QUIETLY, "--runs-dir", str(runs)]
    done = subprocess.run(command, cwd=place, capture_output=True, check=False, text=True)
    if done.returncode:
        return [(done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]]
    return differences(run, runs / json.loads(done.stdout)["run"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*(headline.name for headline in HEADLINES), *(recording.name for recording in RECORDINGS)]
    parser.add_argument("--only", action="append", metavar="NAME", help=", ".join(dict.fromkeys(names)))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--out", type=Path, default=Path("runs/evidence"))
    parser.add_argument("--write", action="store_true", help="write the tables into the page; all seeds are needed")
    given = parser.parse_args(arguments)
    if unknown := set(given.only or ()) - set(names):
        parser.error(f"no search {', '.join(sorted(unknown))} (known: {', '.join(names)})")
    if given.write and given.seeds != [1, 2, 3]:
        parser.error("--write: the tables have the winners of seeds 1, 2 and 3")
    given.out.mkdir(parents=True, exist_ok=True)
    differ = []
    for headline in HEADLINES:
        if given.only and headline.name not in given.only:
            continue
        print(f"## {headline.name}\n")
        if headline.trace is not None and not (DATA / headline.trace).is_file():
            print(f"left out: there is no {DATA / headline.trace}\n")
            continue
        results = {seed: find_result(headline, seed, given.out) for seed in given.seeds}
        table = table_of(headline, results)
        page = PAGE.read_text(encoding="utf-8")
        if given.write:
            begin, end = page_table(page, headline)
            PAGE.write_text(page[:begin] + "\n".join(table) + page[end:], encoding="utf-8")
            pack(Path(results[given.seeds[0]]["run"]), HEADLINE_STORES / f"{headline.file}.tar.xz")
        changed = compare(page, headline, results)
        differ += [headline.name] * bool(changed)
        print("\n".join([*table, "", *(changed or ["as on the page"]), ""]), flush=True)
    for recording in RECORDINGS:
        if given.only and recording.name not in given.only:
            continue
        try:
            changed = replay(recording, given.out)
        except NotMeasurable as missing:
            print(f"{recording.name}: left out: {missing}", flush=True)
            continue
        differ += [recording.name] * bool(changed)
        print(f"{recording.name}: {'; '.join(changed) or 'repeated, event for event'}", flush=True)
    print(f"\n{len(differ)} differ{': ' if differ else ''}{', '.join(differ)}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
