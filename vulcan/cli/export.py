"""`vulcan export`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.files import write_text
from vulcan.cli.options import RUNS, AsJson, RunsDirectory
from vulcan.cli.output import print_json, tell
from vulcan.errors import UserError

if TYPE_CHECKING:
    from vulcan.store import RunRecord
    from vulcan.store.events import Judged


def export(
    run: Annotated[str, typer.Argument(help="A run's directory, or its name in --runs-dir.")],
    format: Annotated[str, typer.Option("--format", "-f", help="What to write: python.")] = "python",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; default: named after the task, here.")
    ] = None,
    candidate: Annotated[int | None, typer.Option(help="Which candidate; default: the winner.")] = None,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Write a run's winner as a module that runs without Vulcan."""
    from vulcan.anvil import check
    from vulcan.cli.summary import SPLITS, score_of
    from vulcan.export import Provenance, find_exporter
    from vulcan.registry import find_task
    from vulcan.store import RunRecord
    from vulcan.store.runs import find_run, open_store

    exporter = find_exporter(format)
    place = find_run(run, runs_dir)
    store = open_store(place)
    record, date = RunRecord.of(store.events()), store.begun()
    chosen = _chosen(record, place, candidate)
    call = store.call(chosen.proposal, chosen.turn)
    store.close()
    task = find_task(record.config["task"])
    provenance = Provenance(
        task=task.name,
        run=place.name,
        candidate=str(chosen.candidate),
        proposer=call.model if call else "the task's author",
        date=date,
        seed=record.config["seed"],
        objective=record.config["objective"],
        scores={split: score for split in SPLITS if (score := score_of(record, chosen.candidate, split)) is not None},
        instances=[f"{instance.name}, {instance.split}" for instance in record.instances],
        settings=record.config["settings"],
        version=record.version,
    )
    files = exporter.export(check(chosen.source, task), provenance)
    main = output or Path(next(iter(files)))
    written = [main if number == 0 else main.parent / name for number, name in enumerate(files)]
    for path, text in zip(written, files.values(), strict=True):
        write_text(path, text)
    if as_json:
        print_json(
            {"run": str(place), "candidate": chosen.candidate, "format": format, "files": [str(p) for p in written]}
        )
        return
    tell(f"wrote {', '.join(map(str, written))}: candidate {chosen.candidate} of {place.name}")


def _chosen(record: RunRecord, place: Path, candidate: int | None) -> Judged:
    """The candidate of that number, the winner, or the best so far of a run that has none yet."""
    if candidate is None:
        ranked = record.ranked()
        if not ranked:
            raise UserError(f"{place} has no scored candidate yet: go on with `vulcan resume {place}`")
        return record.candidates[record.chosen.candidate] if record.chosen else ranked[0]
    judged = record.candidates.get(candidate)
    if judged is None or judged.fingerprint is None:
        raise UserError(f"{place} has no policy of number {candidate} (`vulcan show {place}` lists what it has)")
    return judged
