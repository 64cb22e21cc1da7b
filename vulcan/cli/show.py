"""`vulcan show`"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vulcan.cli.options import RUNS, AsJson, RunName, RunsDirectory
from vulcan.cli.output import number, print_json, print_table, say

if TYPE_CHECKING:
    from vulcan.store import RunRecord
    from vulcan.store.events import CallRecord, Judged


def show(
    run: RunName,
    candidate: Annotated[int | None, typer.Argument(help="A candidate's number; default: the run as a whole.")] = None,
    config: Annotated[
        bool, typer.Option("--config", help="Print the search as a TOML file, for `vulcan search --config`.")
    ] = False,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show a run, or one of its candidates with its source, lineage and metrics.

    \b
    Examples:
      vulcan show cache_eviction-20260101-120000-ab12
      vulcan show cache_eviction-20260101-120000-ab12 12
      vulcan show cache_eviction-20260101-120000-ab12 --config > search.toml
    """
    from vulcan.cli.summary import print_run
    from vulcan.errors import UserError
    from vulcan.report.standing import state_of
    from vulcan.searches.costs import Costs
    from vulcan.store import RunRecord
    from vulcan.store.runs import find_run, open_store

    place = find_run(run, runs_dir)
    with closing(open_store(place)) as store:
        record, costs = RunRecord.of(store.events()), Costs.of(store.calls())
        if config:
            if candidate is not None:
                raise UserError("--config prints the whole search: leave out the candidate")
            _show_config(record, str(place), as_json=as_json)
            return
        if candidate is None:
            if not as_json:
                say(f"run {place}: task {record.config.get('task')}, {state_of(record)}")
            print_run(place, record, costs, as_json=as_json)
            if record.chosen is None or as_json:
                return
            candidate = record.chosen.candidate
        if candidate not in record.candidates:
            raise UserError(f"{place} has no candidate {candidate}: they go from 1 to {len(record.candidates)}")
        judged = record.candidates[candidate]
        call = store.call(judged.proposal, judged.turn)
    if as_json:
        from vulcan.report.candidate import candidate_document

        print_json(candidate_document(record, judged, call))
    else:
        _show_candidate(record, judged, call)


def _show_config(record: RunRecord, place: str, *, as_json: bool) -> None:
    from vulcan.searches.config import SearchConfig
    from vulcan.searches.config_file import as_toml
    from vulcan.store.runs import NotBegun

    if not record.config:
        raise NotBegun(Path(place))
    chosen = SearchConfig.from_json(record.config)
    if as_json:
        print_json(chosen.to_json())
    else:
        say(as_toml(chosen).rstrip("\n"))


def _show_candidate(record: RunRecord, judged: Judged, call: CallRecord | None) -> None:
    from vulcan.report.candidate import lineage, metric_rows

    proposal = record.proposals[judged.proposal]
    say(f"\ncandidate {judged.candidate}: {judged.verdict}")
    say(f"  origin     {judged.origin}{f', of {judged.derived_from}' if judged.derived_from is not None else ''}")
    island = f", island {proposal.island}" if proposal.round else ""
    asked = f"{proposal.proposal}, round {proposal.round}, {proposal.operator}{island}"
    say(f"  proposal   {asked}, reply {judged.turn + 1}")
    if call is not None:
        say(f"  model      {call.model}")
    say(f"  lineage    {_spelled(lineage(record, judged.candidate))}")
    if judged.of is not None:
        say(f"  equal to   candidate {judged.of}")
    if judged.operations is not None:
        say(f"  operations at most {judged.operations:,} a call; {judged.size} nodes")
    if judged.rungs:
        say(f"  rungs      {', '.join(f'{rung} {score:.4f}' for rung, score in judged.rungs)}")
    if judged.feedback:
        say(f"  feedback\n{judged.feedback}")
    if judged.warnings:
        say("  warnings")
        for warning in judged.warnings:
            say(f"    {warning}")
    _show_metrics(metric_rows(record, judged.candidate))
    say()
    say(judged.source.rstrip() or "(no program)")


def _show_metrics(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    names = [name for name, value in rows[0]["metrics"].items() if not float(value).is_integer()]
    print_table(
        ("instance", "split", "score", *names),
        [
            (r["instance"], r["split"], number(r["score"]), *(number(r["metrics"][name]) for name in names))
            for r in rows
        ],
    )


def _spelled(generations: list[list[int]]) -> str:
    return " <- ".join(", ".join(map(str, generation)) for generation in generations) or "none"
