"""The summary of a run, as commands print it."""

from __future__ import annotations

from pathlib import Path

from vulcan.cli.output import number, print_json, print_table, say
from vulcan.documents.run import Gain, InstanceScores, PolicyScore
from vulcan.evaluator import SplitName
from vulcan.models.accommodation import CHANGES
from vulcan.registry import recorded_task
from vulcan.results.recommended import recommended_source
from vulcan.results.run import (
    cautions_of,
    compare_instances,
    comparison_of,
    distinct,
    headline,
    interval_of,
    mean_metrics,
    proposals,
    refined,
    run_document,
    scorer_of,
    standings,
)
from vulcan.searches.costs import Costs
from vulcan.searches.evidence import SPLITS
from vulcan.searches.held_out import start_names
from vulcan.searches.resumption import describe_changes
from vulcan.searches.scorer import Scorer
from vulcan.searches.verdict import Comparison, RunVerdict, verdict_of
from vulcan.store import RunRecord
from vulcan.store.events import VERDICTS
from vulcan.terminal_text import count

_MAX_LINES = 40  # of a known program: a screen
_MAX_ROWS = 8  # of policies, as a search ends


def print_run(run: Path, record: RunRecord, costs: Costs, *, as_json: bool, brief: bool = False) -> None:
    """Print the verdict, the result and the program, then scores and the cost; or all of it as JSON.

    What is `brief` has the best of the other policies alone, and nothing by instance. Raises UserError where the task
    is not found.
    """
    if as_json:
        print_json(run_document(run, record, costs))
        return
    scorer = scorer_of(record)
    compared = comparison_of(record, scorer)
    verdict = None if compared is None else verdict_of(compared)
    print_result(run, record, verdict)
    shown = [split for split in SPLITS if any(i.split == split for i in record.instances)]
    _print_scores(record, scorer, shown, compared, _MAX_ROWS if brief else None)
    if record.chosen is not None:
        _print_winner(record, scorer, record.chosen.candidate, shown)
    if verdict is not None:
        _print_gains(verdict.gains)
    if shown == ["train"]:
        say("Nothing was held out: these are the scores that the search itself saw.")
    if not brief:
        _print_instances(record, list(compare_instances(record, scorer)), shown)
    _print_effort(record, costs)


def print_result(run: Path, record: RunRecord, verdict: RunVerdict | None) -> None:
    """Print the verdict, the winner's result on test, and the program that is recommended; nothing without a winner."""
    if verdict is not None:
        say(f"\n{verdict.sentence}")
    if record.chosen is None:
        return
    winner, task = record.chosen.candidate, recorded_task(record.config["task"])
    start = start_names(task, record).get(winner)
    found = f"\nCandidate {winner}" + (f", {start}, which the search began with" if start else "")
    source, known, title = record.candidates[winner].source, start is not None, ""
    if verdict is not None and verdict.second == winner:
        found = f"\nWhat the search found, candidate {winner}, which is not recommended"
        if (advised := recommended_source(record, task, verdict)) is not None:
            name = verdict.policy.removeprefix("start: ")
            source, known = advised, True
            title = f"Recommended, {name} (`vulcan show {run} {winner}` prints what was found):\n\n"
    if (text := headline(record)) is not None:
        say(f"{found}: {text}")
    lines = source.strip().splitlines()
    shown = lines[:_MAX_LINES] if known else lines
    say(f"\n{title}" + "\n".join(shown))
    if len(shown) < len(lines):
        say(f"... and {len(lines) - len(shown)} more lines")
    for caution in cautions_of(record, winner):
        say(f"\nwarning: {caution}")


def _print_gains(gains: tuple[Gain, ...]) -> None:
    """Print the winner's gain over the known policy that is best on validation, on each split."""
    if not gains:
        return
    say("Gain over what was known, less luck in choosing; paired, with the blocks of time or workloads it is over:")
    rows = []
    for gain in gains:
        interval = gain["interval"]
        ends = f"{interval['low']:.4f} to {interval['high']:.4f}" if interval else "-"
        over = f"start: {gain['over']}" if gain["kind"] == "start" else gain["over"]
        unit = "window" if gain["units"] == "windows" else "workload"
        units = count(gain["count"], unit) if gain["count"] else "-"
        rows.append((gain["split"], over, number(gain["shrunk"]), ends, units))
    print_table(("split", "over", "gain", "95% interval", "of"), rows)


def _print_scores(
    record: RunRecord, scorer: Scorer | None, shown: list[SplitName], compared: Comparison | None, most: int | None
) -> None:
    """Print mean scores on each split, and on the last one the metrics that the objective has beside its score.

    Of the policies that differ, the best `most` and the search's own.
    """
    watched = scorer.objective.beside if scorer is not None and shown else ()
    last = shown[-1] if shown else "train"
    winner = None if record.chosen is None else record.chosen.candidate
    rows = []
    for line in standings(record, compared, winner):
        of = compared.metrics(line.policy if line.candidate is None else line.candidate, last) if compared else ()
        figures = [*(line.scores.get(split) for split in shown), *mean_metrics(of, watched)]
        rows.append((line.policy, line.kind, *map(number, figures)))
    different, equal = distinct(rows, tuple)
    rows = [row for n, row in enumerate(different) if most is None or n < most or row[1] == "candidate"]
    meaning = "" if scorer is None else f" ({scorer.objective.meaning})"
    say(f"\nMean score of objective `{record.config.get('objective', '')}`{meaning} on each split, higher is better:")
    print_table(
        ("policy", "kind", *shown, *(f"{metric} ({last})" for metric in watched)),
        rows,
        [kind == "candidate" for _, kind, *_ in rows],
    )
    if len(rows) < len(different):
        say(f"The best {len(rows)} of {len(different)} that differ; `vulcan show` has all, and each instance.\n")
    elif equal:
        say(f"{equal}\n")


def _print_winner(record: RunRecord, scorer: Scorer | None, winner: int, shown: list[SplitName]) -> None:
    """Print the winner's mean and confidence interval on each split, if there is one."""
    rows = []
    for split in shown:
        interval = interval_of(record, scorer, winner, split)
        spelled = f"{interval['low']:.4f} to {interval['high']:.4f}" if interval else "-"
        count = sum(i.split == split for i in record.instances)
        rows.append((split, str(count), number(record.score_of(winner, split)), spelled))
    if any(interval != "-" for *_, interval in rows):
        say(f"Candidate {winner}, over instances:")
        print_table(("split", "instances", "mean", "95% interval"), rows)


def _print_instances(record: RunRecord, rows: list[InstanceScores], shown: list[SplitName]) -> None:
    """Print the winner's score on each instance, that of the best baseline on validation, and the best oracle's."""
    if not rows:
        return
    baseline = record.named_baseline(shown[-1])
    say("Instance by instance:")
    print_table(
        ("instance", "split", "winner", "-" if baseline is None else baseline.policy, "oracle", "best oracle"),
        [
            (r["instance"], r["split"], number(r["winner"]), _spelled(r["best_baseline"])[0], *_spelled(r["oracle"]))
            for r in rows
        ],
        [row["split"] == shown[-1] for row in rows],
        optional=("oracle", "best oracle"),
    )


def _spelled(known: PolicyScore | None) -> tuple[str, str]:
    return ("-", "-") if known is None else (number(known["score"]), known["policy"])


def _print_effort(record: RunRecord, costs: Costs) -> None:
    verdicts = ", ".join(f"{n} {verdict}" for verdict in VERDICTS if (n := record.verdicts().get(verdict, 0)))
    made = f"{count(proposals(record), 'proposal')}, {count(len(record.candidates), 'candidate')}"
    say(f"{made}: {verdicts or 'none'}")
    for by in ("tuned", "simplified"):
        if (done := refined(record, by))["evaluations"]:
            work = f"{count(done['candidates'], 'candidate')} in {count(done['evaluations'], 'evaluation')}"
            cost = f" (at the cost of {done['cost']:.3g} full ones)" if done["cost"] < done["evaluations"] else ""
            say(f"{by}: {work}{cost}, {done['improved']} better")
    tokens = f"{costs.tokens_in} tokens in, {costs.tokens_out} out"
    if costs.unreported:
        tokens += f", without those of {count(costs.unreported, 'call')} that the server did not report"
    say(f"model cost: {costs.text()}, {count(costs.calls, 'call')}, {tokens}")
    for line in describe_changes(record):
        say(line)
    for event in record.calls_changed:
        say(f"{event.model}: {CHANGES[event.change]}, from proposal {event.proposal} on: it refuses other calls")
    if record.stopped is not None and record.stopped.message:
        say(f"Ended early: {record.stopped.message}.")
