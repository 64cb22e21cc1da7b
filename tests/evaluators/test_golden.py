"""Instances, findings and exported programs of every task are, letter by letter, those of the recorded digests.

Recorded runs hold instances and prompts, so a change here changes what they replay. Where one is meant,
`python tests/evaluators/test_golden.py` writes the digests anew; with a folder, it writes the texts to compare them.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vulcan.anvil import Policy
from vulcan.evaluator import Evaluator, Instance, load_evaluator
from vulcan.export.formats import find_exporter
from vulcan.export.provenance import Provenance
from vulcan.python_policy.check import check_policy
from vulcan.registry import built_in_directory, find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Json, Split, Task

GOLDEN = Path(__file__).with_name("golden.json")
TASKS = sorted(path.parent.name for path in built_in_directory().glob("*/task.py"))
SETTINGS: dict[str, list[dict[str, Json]]] = {
    "active_queue_management": [{"link": ["constant:rate=8,seconds=12"], "flows": 4, "duration_s": 8.0}],
    "cache_eviction": [{"trace": ["zipf:objects=200,requests=4000,alpha=1.0,seed=3"], "cache_size": ["10%", "20obj"]}],
    "congestion_control": [
        {"link": ["constant:rate=8,seconds=12"], "duration_s": 4.0, "competing": ["reno:1@1"], "loss": 0.01},
        {"duration_s": 4.0, "reordering": "0.02/10", "transfers": "20/500", "handshake": "measured"},
    ],
    "load_balancing": [
        {"machines": ["mixed"], "load": [0.8], "requests": 1000, "cores": [2], "delay": [5.0]},
        {"machines": ["noisy"], "load": [0.7], "requests": 1000, "discipline": "sharing", "bursts": 3.0},
    ],
    "memory_tiering": [{"slow_tier": ["cxl", "nvm"], "fast_size": ["10%", "64MiB"], "workloads": ["small-pages"]}],
    "prefix_cache": [{"cache_size": ["10%"], "host_size": "20%", "load": 2.0}],
    "request_routing": [{"trace": ["agent:requests=300,seed=1", "mix:requests=300,seed=1"], "routers": 2}],
    "request_scheduling": [{"trace": ["chat:requests=300,seed=1", "documents:requests=300,seed=1"], "memory": "150k"}],
    "spot_multi": [{"trace": [], "deadline": [70.0], "overhead": [0.1]}],
    "spot_single": [{"deadline": [60.0, 70.0], "overhead": [0.1]}],
}
EXPLAINED = {  # settings of small instances, of which the first is explained
    "active_queue_management": 0,
    "cache_eviction": 0,
    "congestion_control": 0,
    "load_balancing": 0,
    "memory_tiering": 0,
    "prefix_cache": 0,
    "request_routing": 0,
    "request_scheduling": 0,
    "spot_single": 0,
}


def plain(instance: Instance) -> str:
    return json.dumps([instance.name, instance.split, dict(instance.parameters)])


def texts(name: str) -> Iterator[tuple[str, str]]:
    """Yield the texts that are held fixed of a task, each with its name."""
    task = find_task(name)
    evaluator = load_evaluator(task)
    for number, given in enumerate([{}, *SETTINGS.get(name, [])]):
        settings = complete_settings(task, given)
        for by in ("time", "none") if number == 0 else ("time",):
            split = task.split if by == "time" else Split(by="none")
            instances = evaluator.instances(settings, split)
            assert len({(i.split if by == "time" else "", i.name) for i in instances}) == len(instances)
            assert number or by == "none" or {i.split for i in instances} == {"train", "validation", "test"}
            yield f"instances {number} {by}", "\n".join(map(plain, instances))
        rungs = evaluator.rungs([i for i in instances if i.split == "train"])
        lines = [line for r in rungs for line in (f"{r.name} {r.keep} {r.cost}", *map(plain, r.instances))]
        yield f"rungs {number}", "\n".join(lines)
        windows = evaluator.windows(instances[-1], 4)
        yield f"windows {number}", "\n".join(map(plain, windows))
    policies = {n: check_policy(s, task) for n, s in task.seed_policies().items()}
    first, *_ = policies.values()
    exported = find_exporter("python", task).export(first, Provenance("t", "a.py", "", "", "", settings={}))
    yield "export", json.dumps(exported)
    if name in EXPLAINED:
        yield from explained(task, evaluator, [p for p in policies.values() if isinstance(p, Policy)])


def explained(task: Task, evaluator: Evaluator, policies: list[Policy]) -> Iterator[tuple[str, str]]:
    for number, given in enumerate(SETTINGS[task.name]):
        instance = evaluator.instances(complete_settings(task, given), task.split)[0]
        evaluator.prepare([instance])
        evaluator.prepare_findings([instance])
        first, last = policies[0], policies[-1]
        for kind, found in (
            ("workload", evaluator.workload(instance)),
            ("findings", evaluator.findings(first, instance)),
            ("comparison", evaluator.compare(first, last, instance)),
        ):
            yield f"{kind} {number}", "\n".join(map(str, found))
        yield f"decisions {number}", f"{evaluator.decisions(first)} {evaluator.decisions(last)}"
        metrics = {name: dict(evaluator.evaluate_baseline(name, instance)) for name in evaluator.baselines()}
        yield f"metrics {number}", json.dumps([dict(evaluator.evaluate(first, instance)), metrics])


def digests(name: str) -> dict[str, str]:
    return {what: hashlib.sha256(text.encode()).hexdigest()[:16] for what, text in texts(name)}


@pytest.mark.parametrize("name", json.loads(GOLDEN.read_text()))
def test_texts_are_those_recorded(name: str) -> None:
    assert digests(name) == json.loads(GOLDEN.read_text())[name]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for name in sys.argv[2:] or TASKS:
            for what, text in texts(name):
                (Path(sys.argv[1]) / f"{name} {what}").write_text(text)
    else:
        GOLDEN.write_text(json.dumps({name: digests(name) for name in TASKS}, indent=1) + "\n")
