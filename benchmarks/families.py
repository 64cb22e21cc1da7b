"""Found policies beside every baseline on public recordings, by family: tables of docs/results and of the tasks' pages.

    python -m benchmarks.families TASK [--data DIRECTORY] [--policies FILE ...] [--out DIRECTORY]

A recording counts once, however many instances it makes, and a family once in the mean of families. The second table
has each policy's lead over the three best baselines, with 95 % intervals over the recordings of a family and, in the
mean, over families. In its last row each family is left out in turn: the policy, found or known, that is best in the
mean of the others, over the baseline that is. OUT/TASK.csv has the scores of each recording.

Recordings are of the public repositories named beside them, below VULCAN_DATA; clones of some lie in its `github/`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from statistics import fmean
from typing import Any
from zipfile import ZipFile

import pandas as pd

import vulcan
from benchmarks.conversions import write_link, write_page_counts, write_prompts, write_requests
from benchmarks.harness import DATA, BenchmarkTable
from vulcan.errors import UserError
from vulcan.searches.bootstrap import mean_interval

ROOT = Path(__file__).resolve().parents[1]
RIVALS = 3


@dataclass(frozen=True, slots=True)
class Family:
    """Recordings of one origin: the pattern of their files, and what writes one as the task reads it."""

    pattern: str
    convert: Callable[[Path, Path], Path] | None = None

    def files(self, data: Path, out: Path, most: int = sys.maxsize) -> Iterator[tuple[str, str]]:
        """Yield the name and the file of recordings below a directory, or in a zip archive there: `most`, evenly."""
        archive, inside, member = self.pattern.partition(".zip/")
        place = data / f"{archive}.zip"
        if inside and place.is_file():
            found = [place / name for name in ZipFile(place).namelist() if fnmatch(name, member)]
        else:
            found = list(data.glob(self.pattern))
        if not found:
            sys.stderr.write(f"left out: no {data / self.pattern}\n")
        for file in sorted(found)[:: -(-len(found) // most) or 1]:
            yield file.name, str(self.convert(file, out / file.name) if self.convert else file)


@dataclass(frozen=True, slots=True)
class Suite:
    """The recordings of a task, the setting that takes one, the other settings, and those of tables of policies alone.

    Searches on each recording are `benchmarks.unseen`.
    """

    families: Mapping[str, Family]
    setting: str = "trace"
    policies: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    tabled: Mapping[str, Any] = field(default_factory=dict)


LINKS = {
    "mahimahi": Family("cc/mahimahi/*"),  # ravinet/mahimahi
    "nyc-cellular": Family("cc/nyc-cellular/trace-[0-9]*"),  # Soheil-ab/Cellular-Traces-NYC
    "cellular-2018": Family("cc/cellular-2018/*link-*"),  # Soheil-ab/Cellular-Traces-2018
    "pantheon-poisson": Family("cc/pantheon-poisson/*"),  # StanfordSNR/indigo
    "orca": Family("cc/orca/*"),  # Soheil-ab/Orca
    "sage": Family("cc/sage/*"),  # Soheil-ab/sage
    "ucc-5g": Family("cc/ucc-5g/5G-production-dataset.zip/5G*/Download/*/B_*.csv"),  # uccmisl/5Gdataset
    "leocc-starlink": Family("cc/leocc-starlink/bw_*"),  # SpaceNetLab/LeoCC
    "oboe": Family("github/Oboe/traces/trace_*5.txt", write_link),  # USC-NSL/Oboe
    "norway-3g": Family("github/Comyco/src/cooked_test_traces/norway_*_[1-4]", write_link),  # thu-media/Comyco
}

_AGENTS = "github/lmcache-agent-trace"
PROMPTS = {
    "mooncake": Family("github/Mooncake/FAST25-release/traces/*.jsonl"),  # kvcache-ai/Mooncake
    "magagent": Family(f"{_AGENTS}/magagent", write_prompts),  # LMCache/lmcache-agent-trace
    "miniswe": Family(f"{_AGENTS}/miniswe", write_prompts),
}
_AZURE = "github/AzurePublicDataset/data/AzureLLM*.csv"  # Azure/AzurePublicDataset
_SERVED = Suite({**PROMPTS, "azure-llm": Family(_AZURE)}, settings={"load": [0.8]})
_ZONES = "spot/skypilot-spot-traces"  # skypilot-org/spot-traces

SUITES = {
    "congestion_control": Suite(LINKS, "link", ("benchmarks/policies/link_found.py",), tabled={"windows": 3}),
    "active_queue_management": Suite(
        LINKS, "link", ("benchmarks/policies/queue_found.py",), tabled={"duration_s": 60.0}
    ),
    "memory_tiering": Suite(
        {
            "ramulator": Family("mem/ramulator/*.gz", write_page_counts),  # CMU-SAFARI/ramulator
            "caffeine-address": Family("mem/caffeine/address/*.trace.gz", write_page_counts),  # ben-manes/caffeine
        },
        "trace",
        ("benchmarks/policies/tiering_regression.py",),
    ),
    "load_balancing": Suite(
        {
            "nova-api": Family("github/loghub/OpenStack/*.log", write_requests),  # logpai/loghub
            "azure-llm": Family(_AZURE, write_requests),
            "mooncake": Family("github/Mooncake/FAST25-release/traces/*.jsonl", write_requests),  # kvcache-ai
        },
        "trace",
        ("benchmarks/policies/balancing_found.py", "tasks/load_balancing/policies/expected_wait.py"),
        {"load": [0.7, 0.9]},
    ),
    "prefix_cache": Suite(
        PROMPTS,
        "trace",
        tuple(f"tasks/prefix_cache/policies/{name}.py" for name in ("returning", "returning_turns", "continued")),
        {"cache_size": ["2%", "5%", "10%"]},
        {"part": "test"},
    ),
    "request_routing": _SERVED,
    "request_scheduling": _SERVED,
    "spot_multi": Suite(
        {
            "v100-february": Family(f"{_ZONES}/availability/1-node/aws-02-15-2023"),
            "intel-april": Family(f"{_ZONES}/preemption/1-node/aws-04-19-2023"),
            "v100-april": Family(f"{_ZONES}/preemption/1-node/aws-04-22-2023"),
            "gcp-april": Family(f"{_ZONES}/preemption/1-node/gcp-04-30-2023"),
            "4-v100-august": Family(f"{_ZONES}/preemption/4-node/aws-08-03-2023"),
            "16-v100-august": Family(f"{_ZONES}/availability/16-node/aws-08-27-2023"),
        }
    ),
    "spot_single": Suite(
        {
            "k80-2022": Family(f"{_ZONES}/availability/1-node/aws-10-26-2022/us-west-2a_k80_1.json"),
            "8-v100-2022": Family(f"{_ZONES}/availability/1-node/aws-10-26-2022/us-west-2b_v100_8.json"),
            "v100-february": Family(f"{_ZONES}/availability/1-node/aws-02-15-2023/*.json"),
            "intel-april": Family(f"{_ZONES}/preemption/1-node/aws-04-19-2023/*.json"),
            "v100-april": Family(f"{_ZONES}/preemption/1-node/aws-04-22-2023/*.json"),
            "gcp-april": Family(f"{_ZONES}/preemption/1-node/gcp-04-30-2023/*.json"),
            "v100-august": Family(f"{_ZONES}/*/*-node/aws-08-*-2023/*.json"),
        },
        "trace",
        (
            *(f"benchmarks/policies/spot_{name}.py" for name in ("levi", "reserve", "surplus")),
            "tasks/spot_single/policies/uniform_progress_memory.py",
        ),
        tabled={
            "objective": "public_on_time",
            "safety_net": "published",
            "deadline": [26, 35],
            "overhead": 0.1,
            "windows": 20,
        },
    ),
}


def measure(task: str, suite: Suite, policies: Sequence[Path], data: Path, out: Path) -> pd.DataFrame:
    """Return the scores of policies, best mean of families first, by family and recording, in two levels of columns.

    What is not there, or a task cannot read, is left out and named.
    """
    found: dict[tuple[str, str], pd.Series[float]] = {}
    for name, family in suite.families.items():
        (out / name).mkdir(parents=True, exist_ok=True)
        for recording, file in family.files(data, out / name):
            settings: dict[str, Any] = {suite.setting: file, **suite.settings, **suite.tabled}
            try:
                table = vulcan.evaluate(policies, task, **settings)
            except UserError as error:
                sys.stderr.write(f"left out: {name}, {recording}: {error}\n")
                continue
            found[name, recording] = table.groupby(["kind", "policy"]).score.mean()
            sys.stderr.write(f"{name}, {recording}\n")
    if not found:
        raise UserError(f"{data}: no recordings of {', '.join(suite.families)}")
    scores = pd.DataFrame(found)
    order = _by_family(scores).mean(axis=1).sort_values(ascending=False, kind="stable")
    return scores.loc[order.index]


def _by_family(scores: pd.DataFrame) -> pd.DataFrame:
    return scores.T.groupby(level=0, sort=False).mean().T


def tables(scores: pd.DataFrame) -> Iterator[BenchmarkTable]:
    """Yield the mean scores by family, and the leads of the policies."""
    means = _by_family(scores)
    counts = {family: scores[family].shape[1] for family in means}
    columns = ("mean of families", *(f"{family} ({count})" for family, count in counts.items()))
    rows = [
        (f"{name} (oracle)" if kind == "oracle" else f"**{name}**" if kind == "candidate" else name,
         f"{row.mean():.3f}", *(f"{value:.3f}" for value in row))
        for (kind, name), row in means.iterrows()
    ]  # fmt: skip
    yield BenchmarkTable(f"Mean score on {scores.shape[1]} recordings", ("policy", *columns), tuple(rows))
    baselines = [policy for policy in scores.index if policy[0] == "baseline"]
    rows = []
    for policy in (policy for policy in scores.index if policy[0] == "candidate"):
        for rival in baselines[:RIVALS]:
            rows.append((f"{policy[1]} over {rival[1]}", *_lead(scores.loc[policy] - scores.loc[rival])))
        ahead = (scores.loc[policy] > scores.loc[baselines[:RIVALS]].max()).sum()
        rows.append((f"{policy[1]} over all {RIVALS} at once", f"{ahead}", *[""] * len(columns)))
    if len(counts) > 1:
        known = [policy for policy in scores.index if policy[0] != "oracle"]
        rows.append(("left out", *_lead(pd.concat([_left_out(scores, means, f, known, baselines) for f in counts]))))
    yield BenchmarkTable("Lead", ("", "ahead on", *columns), tuple(rows))


def _left_out(
    scores: pd.DataFrame, means: pd.DataFrame, family: str, known: Sequence[Any], baselines: Sequence[Any]
) -> pd.Series[float]:
    """Return the lead on a family of the best policy of the others over the best baseline of the others."""
    others = means.drop(columns=family).mean(axis=1)
    difference = scores.loc[others[known].idxmax()] - scores.loc[others[baselines].idxmax()]
    return difference[[family]]


def _lead(difference: pd.Series[float]) -> list[str]:
    """Return the cells of a lead: on how many recordings, in the mean of families, and in each."""
    families = {str(family): list(values) for family, values in difference.groupby(level=0, sort=False)}
    cells = [_with_interval(values) for values in families.values()]
    return [str((difference > 0).sum()), _with_interval([fmean(values) for values in families.values()]), *cells]


def _with_interval(values: Sequence[float]) -> str:
    interval = mean_interval(values)
    ends = f" [{interval['low']:.3f}, {interval['high']:.3f}]" if interval else ""
    return f"{fmean(values):.3f}{ends}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=[task for task, suite in SUITES.items() if suite.policies])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=Path("runs/families"))
    parser.add_argument("--policies", type=Path, nargs="+", help="in place of those found before")
    given = parser.parse_args(arguments)
    suite = SUITES[given.task]
    policies = given.policies or [ROOT / name for name in suite.policies]
    try:
        scores = measure(given.task, suite, policies, given.data, given.out)
    except UserError as error:
        parser.error(str(error))
    scores.to_csv(given.out / f"{given.task}.csv")
    for table in tables(scores):
        print("\n".join([*table.lines(), ""]))


if __name__ == "__main__":
    main()
