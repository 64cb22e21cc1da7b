"""How often policies that decide alike on the short probe measure differently on the instances of their search.

    python -m benchmarks.false_equals RUN ...

Each candidate of a run is compared with the first one before it that has the same digest of decisions: both are
measured on all training instances. The digest alone makes no candidate a repeat (see `vulcan.searches.evaluation`);
this says how often it would be wrong.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import cast

from vulcan.anvil import Policy
from vulcan.evaluator import load_evaluator
from vulcan.python_policy.check import check_policy
from vulcan.registry import find_task
from vulcan.searches.evidence import find_objective, make_scorer
from vulcan.store import RunRecord
from vulcan.store.runs import open_store


def false_equals(run: Path) -> tuple[int, list[float]]:
    """Return the number of candidates with the digest of an earlier one, and the gains of those that differ from it."""
    with closing(open_store(run)) as store:
        record = RunRecord.of(store.events())
    task = find_task(record.config["task"])
    evaluator, training = load_evaluator(task), [i for i in record.instances if i.split == "train"]
    evaluator.prepare(training)
    scorer = make_scorer(find_objective(task, record.config["objective"]), record)
    measured: dict[int, tuple[tuple[str, dict[str, float]], ...]] = {}

    def metrics_of(candidate: int) -> tuple[tuple[str, dict[str, float]], ...]:
        if candidate not in measured:
            policy = cast(Policy, check_policy(record.candidates[candidate].source, task))
            measured[candidate] = tuple((i.name, dict(evaluator.evaluate(policy, i))) for i in training)
        return measured[candidate]

    first: dict[str, int] = {}
    equal, gains = 0, []
    for number, judged in record.candidates.items():
        if judged.signature is None:
            continue
        earlier = first.setdefault(judged.signature, number)
        if earlier == number:
            continue
        equal += 1
        mine, other = metrics_of(number), metrics_of(earlier)
        if mine != other:
            gains.append((scorer.mean("train", mine) or 0.0) - (scorer.mean("train", other) or 0.0))
    return equal, gains


if __name__ == "__main__":
    for name in sys.argv[1:]:
        count, differing = false_equals(Path(name))
        best = f", the best by {max(differing):+.4f}" if differing else ""
        print(f"{name}: {len(differing)} of {count} candidates with the digest of an earlier one differ from it{best}")
