"""The commands `vulcan ask`, `tell` and `finish` (external model), and `vulcan steer`, `ui` and `mcp`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.options import RUNS, AllowUnsandboxed, AsJson, RunName, RunsDirectory
from vulcan.cli.output import number, print_json, say
from vulcan.cli.output import tell as tell_aside

if TYPE_CHECKING:
    from vulcan.documents.conversation import SteerDocument
    from vulcan.searches.interactive import InteractiveSearch
    from vulcan.searches.proposal import Proposal


def ask(
    run: RunName,
    proposal: Annotated[str | None, typer.Option(help="Print this open proposal again instead of a new one.")] = None,
    allow_unsandboxed: AllowUnsandboxed = False,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Print the next prompt of a search started with `--model ask`.

    Several proposals may be open at once. Exit code 1 if no new one is available until an open
    one is answered.

    \b
    Examples:
      vulcan ask cache_eviction-20260101-120000-ab12 > prompt.md
      vulcan ask cache_eviction-20260101-120000-ab12 --json
      vulcan ask cache_eviction-20260101-120000-ab12 --proposal 12
    """
    from vulcan.searches.interactive import ask_document

    with _conversation(run, runs_dir, allow_unsandboxed) as (path, conversation):
        given = conversation.find(proposal) if proposal is not None else conversation.ask()
        document = ask_document(conversation, given)
    if as_json:
        print_json(document)
    elif given is not None:
        _show(path, given, given.name)
    elif document["done"]:
        say(f"Every proposal has its verdict: `vulcan finish {shlex.quote(str(path))}` chooses the winner.")
    else:
        again = f"vulcan ask {shlex.quote(str(path))} --proposal {document['open'][0]}"
        say(f"Open proposals wait for their replies: {', '.join(document['open'])}. `{again}` prints one again.")
    if given is None and not document["done"]:
        raise typer.Exit(1)


def tell(
    run: RunName,
    proposal: Annotated[str, typer.Option(help="Proposal to answer.")],
    file: Annotated[
        Path, typer.Option(help="File with the reply, exactly as the model wrote it; - for standard input.")
    ],
    model: Annotated[str, typer.Option(help="Name of the model to record.")] = "ask",
    allow_unsandboxed: AllowUnsandboxed = False,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Submit the reply to a proposal, and print its verdict, score and feedback. Each proposal takes one reply.

    A rejected program is offered again by `vulcan ask` for repair, as a further turn: 12.1 after 12.

    \b
    Examples:
      vulcan tell cache_eviction-20260101-120000-ab12 --proposal 12 --file reply.md
      vulcan tell cache_eviction-20260101-120000-ab12 --proposal 12.1 --file - --model me < reply.md
    """
    text = _read(file, "reply")
    with _conversation(run, runs_dir, allow_unsandboxed) as (path, conversation):
        told = conversation.tell(proposal, text, model)
    if as_json:
        print_json(told)
        return
    named = _named(told["candidate"], told["proposal"])
    scored = f", score {number(told['score'])}" if told["score"] is not None else ""
    say(f"{named}: {told['verdict'] or 'taken'}{scored}")
    for line in (told["feedback"], *told["warnings"]):
        if line:
            say(line)
    if told["repair"] and told["verdict"] is not None:
        say(f"`vulcan ask {shlex.quote(str(path))}` gives it back for repair.")
    if (best := told["best"]) is not None:
        who = _named(best["candidate"], best["proposal"])
        say(f"best so far, open drafts aside: {who}, score {number(best['score'])}")


def _named(candidate: int | None, proposal: str) -> str:
    """Name a candidate, which has a number once the replies before it are judged."""
    return f"proposal {proposal}" if candidate is None else f"candidate {candidate}"


def finish(
    run: RunName,
    allow_unsandboxed: AllowUnsandboxed = False,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """End a search now: choose the winner among its candidates, and evaluate it on the held-out splits.

    Proposals that are open have no reply. Nothing can be asked or told afterwards. A search that a language model
    answers is ended too, without a call of it.

    \b
    Examples:
      vulcan finish cache_eviction-20260101-120000-ab12
    """
    from vulcan.cli.summary import print_run
    from vulcan.searches.costs import Costs
    from vulcan.searches.interactive import finish_run
    from vulcan.store import RunRecord
    from vulcan.store.runs import find_run, open_store

    path = find_run(run, runs_dir)
    if not finish_run(path, allow_unsandboxed=allow_unsandboxed) and not as_json:
        tell_aside(f"{path} was finished before")
    with closing(open_store(path)) as store:
        record, costs = RunRecord.of(store.events()), Costs.of(store.calls())
    print_run(path, record, costs, as_json=as_json)


@contextmanager
def _conversation(run: str, runs: Path, allow_unsandboxed: bool) -> Iterator[tuple[Path, InteractiveSearch]]:
    from vulcan.searches.interactive import open_interactive_search
    from vulcan.store.runs import find_run

    path = find_run(run, runs)
    with open_interactive_search(path, allow_unsandboxed=allow_unsandboxed) as conversation:
        yield path, conversation


_MAX_TEXT = 16 << 20


def _read(file: Path, what: str) -> str:
    from vulcan.errors import UserError
    from vulcan.inputs import read_input

    hint = "give its path, or - for standard input"
    try:
        data = sys.stdin.buffer.read(_MAX_TEXT) if str(file) == "-" else read_input(file, what, _MAX_TEXT, hint)
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"the {what} {file} is not UTF-8 text: {error}") from error


def _show(path: Path, given: Proposal, name: str) -> None:
    """Print the prompt to standard output, which can be piped, and instructions for the reply to standard error."""
    if len(given.messages) == 1:
        say(given.messages[0].content.rstrip())
    else:
        say("\n\n".join(f"[{message.role}]\n{message.content.rstrip()}" for message in given.messages))
    tell_aside(f"\nproposal {name}: `vulcan tell {shlex.quote(str(path))} --proposal {name} --file reply.md`")


def steer(
    run: RunName,
    hint: Annotated[list[str] | None, typer.Option(help="Sentence to show in the following prompts.")] = None,
    add: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Score this policy as a candidate; - for standard input.")
    ] = None,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Steer a search while it runs: a hint to the model, a policy of your own.

    The search takes an instruction with its next proposal, or once it is resumed, and records it: `vulcan resume` and
    `vulcan search --replay` repeat it. Both options may be repeated; without any, the instructions given are listed.
    The prompts show the latest ten hints. An added policy takes the place of one proposal.

    \b
    Examples:
      vulcan steer latest --hint "Objects are often read exactly twice."
      vulcan steer latest --add mine.py
      vulcan steer latest
    """
    from contextlib import closing

    from vulcan.searches.steering import instruction_documents
    from vulcan.searches.steering import steer as leave
    from vulcan.store import RunRecord
    from vulcan.store.events import SearchSteered
    from vulcan.store.runs import find_run, open_store

    path = find_run(run, runs_dir)
    with closing(open_store(path)) as store:
        record, taken = RunRecord.of(store.events()), list(store.instructions())
    hints = [SearchSteered(0, "", "hint", text) for text in hint or ()]
    policies = [SearchSteered(0, "", "add", _read(file, "policy")) for file in add or ()]
    given = leave(path, record, [*hints, *policies])
    document: SteerDocument = {"run": str(path), "instructions": instruction_documents(path, record, taken)}
    if as_json:
        print_json(document)
        return
    for one in document["instructions"][-len(given) :] if given else document["instructions"]:
        first, *more = one["text"].strip().splitlines() or [""]
        since = f"from proposal {one['proposal']}" if one["state"] == "applied" else one["state"]
        say(f"{one['act']:4}  {since:18} {first}{' ...' if more else ''}".rstrip())
    if not document["instructions"]:
        say("no instructions so far")
    elif given and record.stopped is not None:
        say(f"They apply once the search is resumed: `vulcan resume {shlex.quote(str(path))}`.")


def ui(
    run: Annotated[
        str | None, typer.Argument(help="Run directory, or its name in --runs-dir. Default: the list of runs.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Local port; 0: any free port.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    runs_dir: RunsDirectory = RUNS,
) -> None:
    """Follow searches in a browser, live or afterwards: programs, charts, diffs and findings.

    The server listens on localhost only, the printed URL contains an access token, and the page loads nothing from
    other hosts.

    \b
    Examples:
      vulcan ui
      vulcan ui cache_eviction-20260101-120000-ab12
      vulcan ui --no-browser --port 8765
    """
    from vulcan.dashboard.server import serve
    from vulcan.store.runs import find_run

    path = find_run(run, runs_dir) if run is not None else None
    serve(runs_dir, path, port, _tell, browser=browser)


def _tell(address: str) -> None:
    say(f"The live page is at {address}\nCtrl-C ends it; searches continue without it.")
    sys.stdout.flush()  # a reader on a pipe is waiting for it


def mcp(runs_dir: RunsDirectory = RUNS, allow_unsandboxed: AllowUnsandboxed = False) -> None:
    """Serve searches to an agent over the Model Context Protocol (MCP) on standard input and output.

    The agent acts as the model: it opens a study, writes policies and receives their scores. No key is needed. It needs
    the extra `mcp`: pip install "vulcan-policies[mcp]".

    \b
    Examples, for a client configured with a command line:
      vulcan mcp --runs-dir runs
    """
    from vulcan.errors import UserError

    try:
        from vulcan.mcp.server import serve
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise UserError(f'{package} is not installed: pip install "vulcan-policies[mcp]"') from error
    serve(runs_dir, allow_unsandboxed=allow_unsandboxed)
