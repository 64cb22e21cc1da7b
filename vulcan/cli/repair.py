"""`vulcan repair`"""

from __future__ import annotations

from typing import Any

from vulcan.cli.options import RUNS, AsJson, RunName, RunsDirectory
from vulcan.cli.output import print_json, say


def repair(
    run: RunName,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Save what can be read of a run whose file is damaged, so that `vulcan resume` can go on with it.

    A damaged file is written anew with all that could be saved, and kept beside it. What is lost of a search is made
    again by `vulcan resume`; only a model's answer that is lost is asked for again.

    \b
    Examples:
      vulcan repair cache_eviction-20260101-120000-ab12
    """
    import shlex

    from vulcan.store.repair import Repaired
    from vulcan.store.repair import repair as repair_file
    from vulcan.store.runs import CONTROL, FILE, alone_in, find_run

    place = find_run(run, runs_dir)
    with alone_in(place):
        files = [place / name for name in (FILE, CONTROL) if (place / name).is_file()]
        done: list[Repaired] = [repaired for file in files if (repaired := repair_file(file)) is not None]
    if as_json:
        print_json({"run": str(place), "repaired": [_document(repaired) for repaired in done]})
        return
    for one in done:
        saved = one.saved
        say(
            f"{one.file} was damaged: {one.damage}.\n"
            f"  events: {saved.events} of {saved.events_seen} kept; those behind are made again from the answers\n"
            f"  answers of models: {saved.calls} kept, {saved.calls_lost} lost\n"
            f"  the damaged file is kept as {one.kept_as}"
        )
    if done:
        say(f"Go on with `vulcan resume {shlex.quote(str(place))}`.")
    else:
        say(f"nothing is wrong with {place}")


def _document(repaired: Any) -> dict[str, Any]:
    saved = repaired.saved
    return {
        "file": str(repaired.file),
        "damage": repaired.damage,
        "kept_as": str(repaired.kept_as),
        "events": saved.events,
        "events_seen": saved.events_seen,
        "answers": saved.calls,
        "answers_lost": saved.calls_lost,
    }
