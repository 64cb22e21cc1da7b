"""Searches by OpenEvolve, ShinkaEvolve and Vulcan, each in a process of its own, with the same model and evaluator.

Each is limited to one call of the model and one evaluation at a time; the rest is as the system sets it, unless stated
here. Off is all that needs another model: OpenEvolve's feedback by a model and its embeddings, ShinkaEvolve's
embeddings with its novelty judge, its meta-recommendations and its evolution of prompts, and Vulcan's requests for
advice. Programs are asked for in full: OpenEvolve with `diff_based_evolution` off, ShinkaEvolve with the patches `full`
(0.75) and `cross` (0.25), which is their ratio in its defaults, and Vulcan with `--diff never`. None of them sends a
rejected program back to the model for repair.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peer_endpoint import COMPLETIONS, LoopbackServer, ModelEndpoint, ReplyWriter, with_markers
from benchmarks.peer_scorer import SCORE, PeerCandidate, PeerScorer
from vulcan.paths import cache_root
from vulcan.store import RunRecord
from vulcan.store.sqlite import SQLiteStore

MAX_SECONDS = 1800.0
"""Wall-clock limit of one search."""

_REQUEST = """\
import json
import urllib.request


def ask(path):
    body = json.dumps({{"source": open(path, encoding="utf-8").read()}}).encode()
    request = urllib.request.Request({url!r}, body, {{"Content-Type": "application/json"}})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)
"""
_OPENEVOLVE_EVALUATOR = """

def evaluate(program_path):
    return {"combined_score": ask(program_path)["score"]}
"""
_SHINKA_EVALUATOR = """

if __name__ == "__main__":
    import argparse
    import pathlib

    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path")
    parser.add_argument("--results_dir")
    options = parser.parse_args()
    answer = ask(options.program_path)
    folder = pathlib.Path(options.results_dir)
    folder.mkdir(parents=True, exist_ok=True)
    metrics = {"combined_score": answer["score"], "public": {}, "private": {}}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    (folder / "correct.json").write_text(json.dumps({"correct": answer["valid"], "error": answer["feedback"]}))
"""

Command = Callable[[str], list[str]]
"""Writes the files of a search, and returns its command, for the address of the server."""


@dataclass(frozen=True, slots=True)
class PeerSearch:
    """The result of one search.

    `calls` is the calls of the model. Of the programs in the replies, `measured` were measured, on all training
    instances or on enough to see that they are not among the best; `alike` of these decided and measured as an earlier
    one. `skipped` were not measured, because the system had seen the same program; the checker refused those that were
    `rejected`, and `lost` ones never came to be evaluated. `seconds` is wall-clock time, and `machine` processor time
    with scoring but without the model's. `failure` says how the process ended if it failed.
    """

    system: str
    seed: int
    calls: int
    measured: int
    alike: int
    skipped: int
    rejected: int
    lost: int
    seconds: float
    machine: float
    start: float
    train: float
    held_out: float
    failure: str = ""


def search_with_openevolve(
    python: Path, scorer: PeerScorer, writer: ReplyWriter, calls: int, seed: int, folder: Path
) -> PeerSearch:
    """Run OpenEvolve for a number of iterations."""
    start, _ = scorer.start()
    (folder / "initial.py").write_text(with_markers(start), encoding="utf-8")

    def command(url: str) -> list[str]:
        (folder / "evaluator.py").write_text(_REQUEST.format(url=url + SCORE) + _OPENEVOLVE_EVALUATOR, encoding="utf-8")
        config = {
            "max_iterations": calls,
            "random_seed": seed,
            "language": "python",
            "diff_based_evolution": False,
            "log_level": "WARNING",
            "llm": {"api_base": f"{url}/v1", "api_key": "none", "primary_model": "peers"},
            "evaluator": {"parallel_evaluations": 1, "cascade_evaluation": False},
        }
        (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
        program = "import sys; from openevolve.cli import main; sys.exit(main())"
        files = ["initial.py", "evaluator.py", "--config", "config.yaml", "--output", "output"]
        return [str(python), "-c", program, *files, "--iterations", str(calls)]

    return _peer_search("OpenEvolve", command, scorer, writer, seed, folder)


def search_with_shinka(
    python: Path, scorer: PeerScorer, writer: ReplyWriter, calls: int, seed: int, folder: Path
) -> PeerSearch:
    """Run ShinkaEvolve for a number of generations beside the first, which is the initial program."""
    start, _ = scorer.start()
    (folder / "initial.py").write_text(with_markers(start), encoding="utf-8")

    def command(url: str) -> list[str]:
        (folder / "evaluate.py").write_text(_REQUEST.format(url=url + SCORE) + _SHINKA_EVALUATOR, encoding="utf-8")
        settings = {
            "evo.llm_models": [f"local/peers@{url}/v1"],
            "evo.llm_dynamic_selection": "none",
            "evo.patch_types": ["full", "cross"],
            "evo.patch_type_probs": [0.75, 0.25],
            "evo.embedding_model": "none",
            "evo.meta_rec_interval": "none",
        }
        written = [f"{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in settings.items()]
        program = "import sys; from shinka.cli.run import main; sys.exit(main())"
        return [
            str(python), "-c", program, "--task-dir", ".", "--results_dir", "results", "--no-verbose",
            "--num_generations", str(calls + 1), "--max-evaluation-jobs", "1", "--max-proposal-jobs", "1",
            *(word for setting in written for word in ("--set", setting)),
        ]  # fmt: skip

    return _peer_search("ShinkaEvolve", command, scorer, writer, seed, folder)


def _peer_search(
    system: str, command: Command, scorer: PeerScorer, writer: ReplyWriter, seed: int, folder: Path
) -> PeerSearch:
    scorer.judged.clear()
    endpoint = ModelEndpoint(writer)
    with LoopbackServer({COMPLETIONS: endpoint.complete, SCORE: scorer.answer}) as server:
        spent = run_process(command(server.url), folder)
    judged = scorer.judged[1:]  # the first is the initial program
    if not judged:
        raise SystemExit(f"{system} had nothing scored: see {folder / 'log.txt'}")
    scored = [candidate for candidate in scorer.judged if candidate.score is not None]
    best = max(scored, key=lambda candidate: candidate.score or 0.0)
    assert best.score is not None and scored[0].score is not None
    rejected = sum(candidate.verdict == "rejected" for candidate in judged)
    return PeerSearch(
        system, seed, endpoint.calls, len(judged) - rejected, count_alike(scorer.judged), 0, rejected,
        endpoint.calls - len(judged), spent.seconds, spent.machine + sum(c.seconds for c in scorer.judged),
        scored[0].score, best.score, scorer.score(best.source, "test"), spent.failure,
    )  # fmt: skip


def count_alike(judged: Sequence[PeerCandidate]) -> int:
    """Return how many candidates were scored although an earlier one decides and measures the same."""
    behaviours = [candidate.behaviour for candidate in judged if candidate.verdict == "scored"]
    return len(behaviours) - len(set(behaviours))


def count_alike_in_run(record: RunRecord) -> int:
    """Return the same of a run of Vulcan: those that it recognized as such, and others, which it kept."""
    candidates = [c for c in record.candidates.values() if c.origin in ("seed", "model")]
    kept = [f"{candidate.signature} {candidate.metrics}" for candidate in candidates if candidate.verdict == "scored"]
    return sum(c.verdict == "same-decisions" for c in candidates) + len(kept) - len(set(kept))


def search_with_vulcan(
    options: Sequence[str], name: str, scorer: PeerScorer, writer: ReplyWriter, calls: int, seed: int, folder: Path
) -> PeerSearch:
    """Run `vulcan search` for a number of proposals."""
    endpoint = ModelEndpoint(writer)
    config = scorer.config
    settings: list[str] = []
    for key, value in config.settings.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None and one is not False:
                settings += [f"--{key.replace('_', '-')}"] + ([] if one is True else [str(one)])
    with LoopbackServer({COMPLETIONS: endpoint.complete}) as server:
        words = [
            sys.executable, "-c", "from vulcan.cli.main import run; run()", "search", "--task", config.task,
            "--objective", config.objective, *settings, "--model", "peers", "--api-base", f"{server.url}/v1",
            "--budget-candidates", str(calls), "--seed", str(seed), "--in-flight", "1", "--workers", "1",
            "--executor", "local", "--diff", "never", "--repairs", "0", "--advice-every", "0", "--runs-dir", "runs",
            "--quiet", *options,
        ]  # fmt: skip
        spent = run_process(words, folder)
    runs = list((folder / "runs").glob("*/run.db"))
    if spent.failure or not runs:
        raise SystemExit(f"{name} ended with {spent.failure or 'no run'}: see {folder / 'log.txt'}")
    store = SQLiteStore(runs[0])
    record = RunRecord.of(store.events())
    store.close()
    candidates = record.candidates.values()
    written = [c.verdict for c in candidates if c.origin == "model"]
    assert record.chosen is not None
    winner = record.candidates[record.chosen.candidate].source
    train = max(c.score for c in candidates if c.score is not None)
    _, start = scorer.start()
    return PeerSearch(
        name, seed, endpoint.calls, sum(v in ("scored", "stopped", "same-decisions") for v in written),
        count_alike_in_run(record), written.count("duplicate"), written.count("rejected"),
        sum(v in ("timeout", "memory", "crashed", "failed", "no-reply") for v in written) + calls - len(written),
        spent.seconds, spent.machine, start, train, scorer.score(winner, "test"), spent.failure,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProcessCost:
    """Wall-clock and processor seconds of a process and its children.

    `failure` says how it ended, and is empty if it ended well.
    """

    seconds: float
    machine: float
    failure: str = ""


def run_process(words: Sequence[str], folder: Path) -> ProcessCost:
    """Run a command in a directory, without the environment's keys; its output goes to `log.txt` there."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "none",
        "VULCAN_CACHE_DIR": str(cache_root()),  # with the simulator's kernels, which this process has compiled
    }
    before, began = _children(), time.perf_counter()
    with (folder / "log.txt").open("w") as log:
        try:
            done = subprocess.run(
                words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                timeout=MAX_SECONDS, check=False,
            )  # fmt: skip
            failure = f"exit code {done.returncode}" if done.returncode else ""
        except subprocess.TimeoutExpired:
            failure = f"stopped after {MAX_SECONDS:g} s"
    return ProcessCost(time.perf_counter() - began, _children() - before, failure)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
