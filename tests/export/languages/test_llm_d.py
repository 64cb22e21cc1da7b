"""Scorers of llm-d's router rank replicas as the interpreter does, driven through its interfaces as published."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from c_programs import provenance
from language_programs import run

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.export.formats import export_policy
from vulcan.registry import find_task

TASK = find_task("request_routing")
ROUTER = Path(__file__).with_name("llm_d_router.go").read_text(encoding="utf-8")
MODULE = "github.com/llm-d/llm-d-router"
PODS = 4
REPORTED = """
class policy:
    begun = 0


def on_first_token(now, replica, router, answer):
    policy.begun = policy.begun + (replica.prefill == 0)


def on_finish(now, replica, router, answer):
    policy.begun = policy.begun + answer.generated * replica.mine


def score(now, replica, router, request):
    load = replica.used * router.capacity + replica.running + 3 * replica.waiting + replica.sent
    return load % 97 - (replica.id + policy.begun) % 5 - router.unfinished * replica.id
"""
"""What is reported, and events by what they show."""


def exported(source: str) -> dict[str, str]:
    return export_policy(check(source, TASK), "llm-d", provenance(TASK.name))


@pytest.mark.skipif(shutil.which("go") is None, reason="no go")
@pytest.mark.parametrize("name", ["least_loaded", "least_work", "prefix_affinity", "round_robin", "reported"])
def test_a_scorer_ranks_replicas_as_the_interpreter_does(name: str, tmp_path: Path) -> None:
    source = TASK.seed_policies().get(name, REPORTED)
    below = tmp_path / "pkg/epp/framework"
    for file, text in re.findall(r"// file: (\S+)\n(.*?)(?=\n// file: |\Z)", ROUTER, flags=re.DOTALL):
        place = tmp_path / file if file == "main.go" else below / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (tmp_path / "go.mod").write_text(f"module {MODULE}\n\ngo 1.18\n")
    (below / "policy").mkdir()
    for file, text in exported(source).items():
        (below / "policy" / file).write_text(text)
    events, expected = history(source)
    (tmp_path / "events").write_text("\n".join(map(json.dumps, events)))
    run("go", "vet", "./...", folder=tmp_path)
    told = run("sh", "-c", "go run . < events", folder=tmp_path)
    assert [[float(score) for score in line.split()] for line in told.splitlines()] == expected


def history(source: str) -> tuple[list[dict[str, object]], list[list[float]]]:
    """Return random requests that are sent, begin and end, and for each one sent the scores by the interpreter's."""
    rng = np.random.default_rng(7)
    reference = check(source, TASK).reference()
    blank = dict.fromkeys((name for name, _ in TASK.whole_interface.features()), 0.0)
    blank |= {"router.capacity": 16_000.0, "request.turn": 1.0}
    events: list[dict[str, object]] = []
    expected = []
    mine, prefill = np.zeros((2, PODS))
    sent = np.zeros(PODS)
    open_requests: dict[int, tuple[int, float, dict[str, float]]] = {}
    begun: set[int] = set()

    def counts(pod: int) -> dict[str, float]:
        return {
            "replica.mine": mine[pod], "replica.prefill": prefill[pod], "replica.sent": sent[pod],
            "router.unfinished": mine.sum(), "router.replicas": PODS,
        }  # fmt: skip

    for number in range(150):
        tokens, predicted = int(rng.integers(1, 9_000)), int(rng.integers(0, 500))
        pods = [
            {
                "Name": f"pod-{p}", "Running": int(rng.integers(9)), "Waiting": int(rng.integers(9)),
                "Match": int(rng.integers(0, 1 + tokens // 16)), "Used": float(rng.random()),
            }
            for p in range(PODS)
        ]  # fmt: skip
        shown = [
            {
                **blank, **counts(p), "replica.id": p, "replica.prefix": 16 * pod["Match"],
                "replica.running": pod["Running"], "replica.waiting": pod["Waiting"], "replica.used": pod["Used"],
                "request.prompt": tokens, "request.predicted": predicted,
            }
            for p, pod in enumerate(pods)
        ]  # fmt: skip
        scores = [reference(features, key=p) for p, features in enumerate(shown)]
        expected.append([sum(other <= score for other in scores) / PODS for score in scores])
        to = int(np.argmax(scores))
        events.append({"Kind": "send", "Request": str(number), "To": f"pod-{to}", "Tokens": tokens,
                       "Predicted": predicted, "Pods": pods})  # fmt: skip
        reference.handle("on_dispatch", shown[to], key=to)
        new = tokens - shown[to]["replica.prefix"]
        mine[to], sent[to], prefill[to] = mine[to] + 1, sent[to] + 1, prefill[to] + new
        open_requests[number] = to, new, shown[to]
        for other in [n for n in open_requests if rng.random() < 0.2]:
            at, computed, known = open_requests[other]
            answer = {"answer.prompt": known["request.prompt"], "answer.predicted": known["request.predicted"]}
            ends, written = rng.random() < 0.6, int(rng.integers(1, 400))
            events.append({"Kind": "end" if ends else "part", "Request": str(other), "Written": written})
            if other not in begun:
                begun.add(other)
                prefill[at] -= computed
                told = {**blank, **answer, **counts(at), "replica.id": at, "answer.generated": 1.0}
                reference.handle("on_first_token", told, key=at)
            if ends:
                del open_requests[other]
                mine[at] -= 1
                told = {**blank, **answer, **counts(at), "replica.id": at, "answer.generated": written}
                reference.handle("on_finish", told, key=at)
    return events, expected


def test_what_llm_d_does_not_show_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"the policy uses replica\.held, which llm-d's router does not show"):
        exported(TASK.seed_policies()["kv_cost"])
    with pytest.raises(UserError, match=r"the policy uses request\.prompt\.avg: llm-d keeps no such statistics"):
        exported("def score(now, replica, router, request):\n    return -request.prompt.avg() * replica.mine\n")
