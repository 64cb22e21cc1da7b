"""`vulcan show`"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vulcan.cli.options import RUNS, AsJson, RunsDirectory
from vulcan.cli.output import number, print_json, print_table, say

if TYPE_CHECKING:
    from vulcan.store import RunRecord
    from vulcan.store.events import Judged


def show(
    run: Annotated[str, typer.Argument(help="A run's directory, or its name in --runs-dir.")],
    candidate: Annotated[int | None, typer.Argument(help="A candidate's number; default: the run as a whole.")] = None,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show a run, or one of its candidates with its source, lineage and metrics."""
    from vulcan.cli.summary import document, print_summary, state
    from vulcan.errors import UserError
    from vulcan.search.costs import Costs
    from vulcan.store import RunRecord
    from vulcan.store.runs import find_run, open_store

    place = find_run(run, runs_dir)
    store = open_store(place)
    record, costs = RunRecord.of(store.events()), Costs.of(store.calls())
    store.close()
    if candidate is None:
        if as_json:
            print_json(document(place, record, costs))
            return
        say(f"run {place}: task {record.config.get('task')}, {state(record)}")
        print_summary(place, record, costs)
        if record.chosen is not None:
            _show_candidate(record, record.candidates[record.chosen.candidate])
        return
    if candidate not in record.candidates:
        raise UserError(f"{place} has no candidate {candidate}: they go from 1 to {len(record.candidates)}")
    judged = record.candidates[candidate]
    if as_json:
        print_json(_document(record, judged))
    else:
        _show_candidate(record, judged)


def _show_candidate(record: RunRecord, judged: Judged) -> None:
    proposal = record.proposals[judged.proposal]
    say(f"\ncandidate {judged.candidate}: {judged.verdict}")
    say(f"  proposal   {proposal.proposal}, round {proposal.round}, {proposal.operator}, reply {judged.turn + 1}")
    say(f"  lineage    {_spelled(_lineage(record, judged))}")
    if judged.of is not None:
        say(f"  equal to   candidate {judged.of}")
    if judged.operations is not None:
        say(f"  operations at most {judged.operations:,} a call")
    if judged.feedback:
        say(f"  feedback\n{judged.feedback}")
    rows = _metric_rows(record, judged)
    if rows:
        names = [name for name, value in rows[0]["metrics"].items() if not float(value).is_integer()]
        print_table(
            ("instance", "split", "score", *names),
            [
                (r["instance"], r["split"], number(r["score"]), *(number(r["metrics"][name]) for name in names))
                for r in rows
            ],
        )
    say()
    say(judged.source.rstrip() or "(no program)")


def _lineage(record: RunRecord, judged: Judged) -> list[list[int]]:
    """Parents, their parents, and so on, as far as the task's own policies."""
    generations: list[list[int]] = []
    parents = record.proposals[judged.proposal].parents
    seen: set[int] = set()
    while parents:
        generations.append(sorted(parents))
        seen.update(parents)
        earlier = {p for c in parents for p in record.proposals[record.candidates[c].proposal].parents}
        parents = tuple(sorted(earlier - seen))
    return generations


def _spelled(generations: list[list[int]]) -> str:
    return " <- ".join(", ".join(map(str, generation)) for generation in generations) or "none"


def _metric_rows(record: RunRecord, judged: Judged) -> list[dict[str, Any]]:
    from vulcan.cli.summary import SPLITS
    from vulcan.registry import find_task
    from vulcan.search.opening import find_objective, make_scorer

    scorer = make_scorer(find_objective(find_task(record.config["task"]), record.config["objective"]), record)
    rows = []
    for split in SPLITS:
        confirmed = record.confirmed.get((judged.candidate, split))
        measured = judged.metrics if split == "train" else confirmed.metrics if confirmed else ()
        for instance, metrics in measured:
            score = scorer.on_instance(split, instance, metrics)
            rows.append({"instance": instance, "split": split, "score": score, "metrics": metrics})
    return rows


def _document(record: RunRecord, judged: Judged) -> dict[str, Any]:
    from vulcan.cli.summary import SPLITS, score_of

    return {
        "candidate": judged.candidate,
        "verdict": judged.verdict,
        "source": judged.source,
        "proposal": asdict(record.proposals[judged.proposal]),
        "turn": judged.turn,
        "lineage": _lineage(record, judged),
        "duplicate_of": judged.of,
        "operations": judged.operations,
        "feedback": judged.feedback,
        "rules": list(judged.rules),
        "scores": {split: score_of(record, judged.candidate, split) for split in SPLITS},
        "metrics": _metric_rows(record, judged),
    }
