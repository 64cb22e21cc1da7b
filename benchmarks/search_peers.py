"""OpenEvolve, ShinkaEvolve and Vulcan beside each other: the same model, the same evaluator, the same number of calls.

The model is a server on loopback (`benchmarks.peer_endpoint`). In the first two comparisons, cache eviction and one
spot VM on generated workloads, the offline generator's operators answer: the current program that a prompt shows,
changed or crossed with another one, by the seed and the number of the call. In `recorded` the k-th call gets the k-th
reply of a recorded search with a language model, whatever the prompt; its "seeds" are three recordings on one trace.
Every candidate is an Anvil policy: the peers' evaluators send it to Vulcan's checker and evaluator over HTTP, and a
program that is not valid Anvil is rejected, with the lowest score. Their initial program is the best of the task's own
policies, all of which Vulcan starts from.

`measured` programs were measured, `alike` of them as an earlier one and with its decisions; `skipped` ones were not,
because the system had seen the same program. `machine s` is processor time with scoring but without the model's.

Shown is what a loop does with the same replies: the choice of parents, duplicates, what is tuned without the model,
overhead and failures. Not shown is which system finds more with a language model: the operators understand neither
instructions nor feedback, and a recorded reply does not depend on the prompt.

The peers are installed in environments of their own, for instance

    python3 -m venv OPENEVOLVE && OPENEVOLVE/bin/pip install openevolve==0.4.0
    python3 -m venv SHINKA && SHINKA/bin/pip install shinka-evolve==0.0.7

and named by their Python: `--openevolve OPENEVOLVE/bin/python --shinka SHINKA/bin/python`. Results are added to
`--out`, one line of JSON per search; what is there already is not run again.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import DATA
from benchmarks.peer_endpoint import OperatorReplies, RecordedReplies, ReplyWriter
from benchmarks.peer_runs import PeerSearch, search_with_openevolve, search_with_shinka, search_with_vulcan
from benchmarks.peer_scorer import PeerScorer
from vulcan.models import Reply
from vulcan.store.sqlite import SQLiteStore
from vulcan.task import Json

RECORDINGS = tuple(
    Path(__file__).resolve().parents[1] / "tests" / "data" / name / "run.db"
    for name in ("recorded", "recorded_feedback/cp-scores", "recorded_feedback/cp-full")
)


@dataclass(frozen=True)
class Comparison:
    """A task with its settings; `rejected` is the score that the peers are told for a rejected program."""

    task: str
    objective: str
    rejected: float
    settings: Mapping[str, Json] = field(default_factory=dict)
    is_recorded: bool = False


TRACE = DATA / "cache/libcachesim/cloudPhysicsIO.vscsi"
"""The trace of the recorded searches."""

COMPARISONS = {
    "cache eviction": Comparison("cache_eviction", "object", -1.0),
    "spot VM": Comparison("spot_single", "public", 0.0),
    "recorded": Comparison(
        "cache_eviction", "object", -1.0, {"trace": [str(TRACE)], "cache_size": ["10%"]}, is_recorded=True
    ),
}
VULCAN = {
    "Vulcan": (),
    "Vulcan, loop only": ("--tune", "0", "--simplify", "0", "--no-racing", "--feedback", "scores"),
    "Vulcan, best-of-n": (
        "--tune", "0", "--simplify", "0", "--no-racing", "--feedback", "scores", "--strategy", "best-of-n",
    ),
}  # fmt: skip
"""Vulcan as it is; without tuning, simplification, racing and findings; and, as a control, without parents too."""

Runner = Callable[[PeerScorer, ReplyWriter, int, int, Path], PeerSearch]


def runners(openevolve: Path | None, shinka: Path | None) -> dict[str, Runner]:
    """Return the systems to compare, by name."""
    found: dict[str, Runner] = {}
    if openevolve is not None:
        found["OpenEvolve"] = partial(search_with_openevolve, openevolve)
    if shinka is not None:
        found["ShinkaEvolve"] = partial(search_with_shinka, shinka)
    return found | {name: partial(search_with_vulcan, options, name) for name, options in VULCAN.items()}


def recorded_replies(path: Path) -> list[Reply]:
    """Return the replies of a recorded search in the order of its proposals."""
    with tempfile.TemporaryDirectory() as directory:  # reading a store writes beside it
        store = SQLiteStore(Path(shutil.copy(path, directory)))
        calls = sorted(store.calls(), key=lambda call: (call.proposal, call.turn))
        store.close()
    return [Reply(c.reply, c.model, c.finish, c.tokens_in, c.tokens_out, c.dollars, c.seconds) for c in calls]


def table(searches: Sequence[PeerSearch]) -> list[str]:
    """Return a Markdown table of one comparison, a row per system.

    Scores are medians with their range, the rest means over the seeds.
    """
    rows = [
        "| | calls | seconds | machine s | measured | alike | skipped | rejected | lost | best on train | held out |",
        "|---" * 11 + "|",
    ]
    groups: dict[str, list[PeerSearch]] = defaultdict(list)
    for search in searches:
        groups[search.system].append(search)
    for system, group in groups.items():
        counts = [
            f"{statistics.fmean(getattr(search, name) for search in group):.0f}"
            for name in ("calls", "seconds", "machine", "measured", "alike", "skipped", "rejected", "lost")
        ]
        scores = [_spread(search.train for search in group), _spread(search.held_out for search in group)]
        rows.append(f"| {system} | {' | '.join([*counts, *scores])} |")
    start = {search.start for search in searches}
    rows += ["", f"Best policy to start from, on train: {', '.join(f'{one:.4f}' for one in sorted(start))}."]
    failed = [f"{search.system}, seed {search.seed}: {search.failure}" for search in searches if search.failure]
    return rows + ([f"Ended with an error: {'; '.join(failed)}."] if failed else [])


def _spread(values: Iterable[float]) -> str:
    found = sorted(values)
    return f"{statistics.median(found):.4f} ({found[0]:.4f} to {found[-1]:.4f})"


def run(name: str, systems: Mapping[str, Runner], seeds: Sequence[int], calls: int, out: Path, keep: Path) -> None:
    """Run the searches of one comparison that are not in `out` yet, in turn, and add them; `keep` has their files."""
    done = {(line["comparison"], line["search"]["system"], line["search"]["seed"]) for line in _lines(out)}
    comparison = COMPARISONS[name]
    scorer: PeerScorer | None = None
    for seed in seeds:
        replies = recorded_replies(RECORDINGS[seed - 1]) if comparison.is_recorded else []
        for system, search in systems.items():
            if (name, system, seed) in done:
                continue
            scorer = scorer or PeerScorer(
                comparison.task, comparison.objective, comparison.settings, comparison.rejected
            )
            writer: ReplyWriter = (
                RecordedReplies(scorer.task, replies) if replies else OperatorReplies(scorer.task, seed)
            )
            folder = keep / f"{name} {system} {seed}".replace(", ", " ").replace(" ", "-")
            folder.mkdir(parents=True)
            found = search(scorer, writer, len(replies) or calls, seed, folder)
            print(json.dumps(asdict(found)), file=sys.stderr)
            with out.open("a") as file:
                json.dump({"comparison": name, "search": asdict(found)}, file)
                file.write("\n")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--openevolve", type=Path, help="Python of an environment with openevolve")
    parser.add_argument("--shinka", type=Path, help="Python of an environment with shinka-evolve")
    parser.add_argument("--only", nargs="+", choices=COMPARISONS, default=list(COMPARISONS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="1, 2 and 3 at most in `recorded`")
    parser.add_argument("--calls", type=int, default=100, help="per search; as many as were recorded in `recorded`")
    parser.add_argument("--out", type=Path, required=True, help="file of results, one search per line")
    parser.add_argument("--keep", type=Path, help="directory for what the searches write; default: a temporary one")
    parser.add_argument("--read", action="store_true", help="only print the tables of --out")
    options = parser.parse_args()
    for python in (options.openevolve, options.shinka):
        if python is not None and not python.is_file():
            parser.error(f"{python} is not a file: name the Python of the environment, such as OPENEVOLVE/bin/python")
    if "recorded" in options.only and not TRACE.is_file() and not options.read:
        parser.error(f"no trace {TRACE}: set VULCAN_DATA, or leave `recorded` out with --only")
    logging.disable(logging.WARNING)  # parents that the generator cannot read
    if not options.read:
        with tempfile.TemporaryDirectory() as temporary:
            for name in options.only:
                recorded = COMPARISONS[name].is_recorded
                seeds = [seed for seed in options.seeds if not recorded or 0 < seed <= len(RECORDINGS)]
                systems = runners(*(p and p.absolute() for p in (options.openevolve, options.shinka)))
                if recorded:
                    del systems["Vulcan, best-of-n"]  # a recorded reply does not depend on the parents
                run(name, systems, seeds, options.calls, options.out, (options.keep or Path(temporary)).absolute())
    lines = _lines(options.out)
    for name in COMPARISONS:
        found = [PeerSearch(**line["search"]) for line in lines if line["comparison"] == name]
        if found:
            print("\n".join([f"\n{name}, {len({search.seed for search in found})} seeds\n", *table(found)]))


if __name__ == "__main__":
    main()
