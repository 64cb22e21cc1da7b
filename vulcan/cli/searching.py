"""What `vulcan search` and `vulcan resume` share: run it, show it, say what to type next."""

from __future__ import annotations

import shlex

from vulcan.api.running import Running
from vulcan.cli.output import say, tell
from vulcan.cli.summary import print_run
from vulcan.displays.choice import check_form, open_display
from vulcan.errors import UserError


def progress_form(progress: str | None, *, quiet: bool, as_json: bool) -> str:
    """How progress is shown: not at all with --quiet, nor with --json unless it is asked for. Raises UserError."""
    if progress is None:
        return "none" if quiet or as_json else "auto"
    check_form(progress)
    if quiet and progress != "none":
        raise UserError(f"--quiet shows no progress: leave it out, or --progress {progress}")
    if as_json and progress == "json":
        raise UserError("--json and --progress json both write to standard output: leave one out (the last line of "
                        "--progress json has the document of --json)")  # fmt: skip
    return progress


def search_in(running: Running, form: str, *, as_json: bool) -> None:
    """Search in a run's directory to the end. Raises UserError; an interruption leaves the run to be resumed."""
    named = shlex.quote(str(running.place))
    try:
        record, costs = running.search(open_display(form))
    except KeyboardInterrupt:
        tell(f"interrupted; nothing is lost: go on with `vulcan resume {named}`")
        raise
    if form == "json":
        return
    if as_json or not running.asks:
        print_run(running.place, record, costs, as_json=as_json)
    if as_json:
        return
    if running.asks:
        say(f"The run is in {running.place}. `vulcan ask {named}` prints the next prompt, "
            f"`vulcan tell {named} --proposal ID --file reply.md` takes the reply to it.")  # fmt: skip
        return
    say(f"\nThe run is in {running.place}. Look at the winner with `vulcan show {named}`, "
        f"take it with `vulcan export {named} --format python -o best.py`.")  # fmt: skip
