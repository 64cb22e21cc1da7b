"""The commands `vulcan runs`, `vulcan show`, `vulcan repair` and `vulcan report`."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.options import RUNS, AsJson, RunName, RunNames, RunsDirectory
from vulcan.cli.output import number, print_json, print_table, say, tell
from vulcan.errors import UserError
from vulcan.files import write_output

if TYPE_CHECKING:
    from vulcan.documents.run import InstanceMetricsRow, RepairDocument, RepairedFile, RunRow, RunsDocument
    from vulcan.store import RunRecord
    from vulcan.store.events import CallRecord, CandidateJudged


def runs(runs_dir: RunsDirectory = RUNS, as_json: AsJson = False) -> None:
    """List the runs in --runs-dir, oldest first.

    \b
    Examples:
      vulcan runs
      vulcan runs --runs-dir elsewhere --json
    """
    from vulcan.results.notes import read_notes
    from vulcan.store import RunRecord
    from vulcan.store.runs import open_store, run_directories

    found: list[tuple[str, RunRow]] = []
    damaged = 0
    for path in run_directories(runs_dir):
        try:
            with closing(open_store(path)) as store:
                record, begun = RunRecord.of(store.events()), store.started_at()
        except UserError as error:  # a damaged run must not hide the others
            tell(f"vulcan: {error}")
            damaged += 1
            continue
        best = record.best()
        winner = None if best is None else best.candidate
        row: RunRow = {
            "run": path.name,
            "title": (notes := read_notes(path)).title,
            "tags": list(notes.tags),
            "task": record.config.get("task"),
            "model": record.config.get("model"),
            "state": _state(path, record),
            "candidates": len(record.candidates),
            "best": winner,
            "train": record.score_of(winner, "train") if winner else None,
            "test": record.score_of(winner, "test") if winner else None,
        }
        found.append((begun, row))
    rows = [row for _, row in sorted(found, key=lambda pair: pair[0])]
    if as_json:
        document: RunsDocument = {"runs": rows}
        print_json(document)
    elif not rows:
        say(f"no runs in {runs_dir}" if not damaged else f"none of the {damaged} runs in {runs_dir} can be read")
    else:
        print_table(
            ("run", "tags", "task", "model", "state", "candidates", "train", "test"),
            [
                (
                    str(r["run"]),
                    ", ".join(r["tags"]) or "-",
                    str(r["task"] or "-"),
                    ", ".join(r["model"] or ()),
                    str(r["state"]),
                    str(r["candidates"]),
                    number(r["train"]),
                    number(r["test"]),
                )
                for r in rows
            ],
            optional=("candidates", "task", "model", "tags"),
        )
    if damaged and not rows:
        raise typer.Exit(2)


def _state(place: Path, record: RunRecord) -> str:
    """Return the state of a run: of those that no stop is recorded of, some are running and some crashed."""
    from vulcan.dashboard.status import lock_owner, run_status

    state = run_status(record, lock_owner(place)).state
    return "waiting" if state == "asked" else state


def note(
    run: RunName,
    text: Annotated[str | None, typer.Argument(help="The note; an empty one takes the old one away.")] = None,
    title: Annotated[str | None, typer.Option(help="Title, shown beside the run's name.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Tag, in place of the earlier ones. May be repeated.")] = None,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Note something on a run, give it a title or tags; without any of them, print what is noted.

    \b
    Examples:
      vulcan note latest --title "Small caches" --tag thesis --tag week-3
      vulcan note latest "Reads the ghost list; compare with the run of Monday."
      vulcan note latest
    """
    from vulcan.results.notes import read_notes, write_notes
    from vulcan.store.runs import find_run

    path = find_run(run, runs_dir)
    reads = text is None and title is None and tag is None
    notes = read_notes(path) if reads else write_notes(path, title, text, tag)
    if as_json:
        print_json(notes)
        return
    say(f"title  {notes.title or '-'}\ntags   {', '.join(notes.tags) or '-'}")
    if notes.note:
        say(f"\n{notes.note}")


def show(
    run: RunName,
    candidate: Annotated[int | None, typer.Argument(help="Candidate number. Default: the whole run.")] = None,
    config: Annotated[
        bool,
        typer.Option("--config", help="Print the configuration of the search as TOML, for `vulcan search --config`."),
    ] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="Print only the result in a sentence, and the winner's program.")
    ] = False,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show a run, or one of its candidates with source, lineage and metrics.

    \b
    Examples:
      vulcan show cache_eviction-20260101-120000-ab12
      vulcan show cache_eviction-20260101-120000-ab12 12
      vulcan show cache_eviction-20260101-120000-ab12 --config > search.toml
    """
    from vulcan.cli.summary import print_result, print_run
    from vulcan.results.notes import read_notes
    from vulcan.results.run import run_verdict
    from vulcan.searches.costs import Costs
    from vulcan.store import RunRecord
    from vulcan.store.runs import find_run, open_store

    path, summarised = find_run(run, runs_dir), False
    with closing(open_store(path)) as store:
        record, costs = RunRecord.of(store.events()), Costs.of(store.calls())
        if config:
            if candidate is not None:
                raise UserError("--config prints the whole search: leave out the candidate")
            _show_config(record, str(path), as_json=as_json)
            return
        if brief:
            if candidate is not None or as_json:
                raise UserError("--brief is about the whole run, and no JSON: leave out the others")
            print_result(path, record, run_verdict(record))
            return
        if candidate is None:
            if not as_json:
                notes = read_notes(path)
                titled = f" ({notes.title})" if notes.title else ""
                say(f"run {path}{titled}: task {record.config.get('task')}, {_state(path, record)}")
                if notes.note:
                    say(notes.note)
            print_run(path, record, costs, as_json=as_json)
            if record.chosen is None or as_json:
                return
            candidate, summarised = record.chosen.candidate, True
        judged = record.candidate(candidate, path)
        call = store.call(judged.proposal, judged.turn)
    if as_json:
        from vulcan.results.candidate import candidate_document

        print_json(candidate_document(record, judged, call))
    else:
        _show_candidate(record, judged, call)
        if not summarised:
            say()
            say(judged.source.rstrip() or "(no program)")
            if not judged.source and call is not None:
                say(f"\nThe reply, which ended by {call.finish}:\n\n{call.reply.rstrip() or '(empty)'}")


def _show_config(record: RunRecord, run: str, *, as_json: bool) -> None:
    from vulcan.searches.config import SearchConfig, as_toml
    from vulcan.store.runs import RunNotStarted

    if not record.config:
        raise RunNotStarted(Path(run))
    chosen = SearchConfig.from_json(record.config)
    if as_json:
        print_json(chosen.to_json())
    else:
        say(as_toml(chosen).rstrip("\n"))


def _show_candidate(record: RunRecord, judged: CandidateJudged, call: CallRecord | None) -> None:
    from vulcan.cli.explain import print_findings
    from vulcan.results.candidate import findings_about, lineage, metric_rows

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
    found = sorted(findings_about(record, judged.candidate), key=lambda one: -one.content.weight)
    if found:
        say("\nWhat models were told of it")
        for instance in dict.fromkeys(one.instance for one in found):
            say(f"\n{instance}")
            print_findings([one.content for one in found if one.instance == instance])


def _show_metrics(rows: list[InstanceMetricsRow]) -> None:
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


def repair(
    run: RunName,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Rebuild a run whose file is damaged from its journal of replies, so that `vulcan resume` can continue it.

    The damaged file is set aside. What a search computes is made again by `vulcan resume`, out of the replies that
    models gave; only a reply that is lost from the journal and from the file is asked for again. A journal that is
    missing or damaged is written again from the file.

    \b
    Examples:
      vulcan repair cache_eviction-20260101-120000-ab12
    """
    import shlex

    from vulcan.results.run import check_scores
    from vulcan.store.recovery import repair as repair_file
    from vulcan.store.runs import FILE, find_run, lock_run

    path = find_run(run, runs_dir)
    with lock_run(path):
        one = repair_file(path / FILE, check_scores)
    if as_json:
        document: RepairDocument = {"run": str(path), "repaired": [] if one is None else [one]}
        print_json(document)
        return
    if one is None:
        say(f"nothing is wrong with {path}")
    else:
        _show_repair(one)
        say(f"Continue with `vulcan resume {shlex.quote(str(path))}`.")


def _show_repair(one: RepairedFile) -> None:
    say(f"{one.file} was damaged: {one.damage}.")
    say(f"  replies: {one.replies} in the run now; {one.lines_lost} lines of the journal cannot be read")
    if one.replies_left_out:
        say(f"  {one.replies_left_out} replies behind the first that is lost are left out, and asked for again")
    if one.kept_as is not None:
        say(f"  the damaged file is kept as {one.kept_as}")


def report(
    runs: RunNames,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Output file. Default: report.html, or standard output for json."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", "-f", metavar="html|json", help="Output format. Default: by the file name, else html."
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(min=0.0, help="Timeout in seconds to prove each property of the winner; 0 leaves them `unknown`."),
    ] = 5.0,
    runs_dir: RunsDirectory = RUNS,
) -> None:
    """Write a full report of a run, or a comparison of several: a self-contained HTML page, or JSON.

    \b
    Examples:
      vulcan report cache_eviction-20260101-120000-ab12 -o report.html
      vulcan report ab12 c0de latest -o seeds.html
    """
    from vulcan.results.report.data import Report
    from vulcan.results.report.formats import form_of, report_text
    from vulcan.store.runs import find_run

    form = form_of(output, format)
    paths = list(dict.fromkeys(find_run(run, runs_dir) for run in runs))
    if len(paths) == 1:
        text = report_text(Report.of(paths[0]), form, seconds)
    else:
        from vulcan.results.report.comparison import comparison_text

        text = comparison_text([Report.of(path) for path in paths], form)
    if output is None and form != "html":
        sys.stdout.write(text)
        return
    output = output or Path("report.html")
    write_output(output, text)
    tell(f"wrote {output}: {', '.join(path.name for path in paths)}")
