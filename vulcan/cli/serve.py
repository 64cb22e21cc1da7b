"""`vulcan ui`

`vulcan mcp`
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from vulcan.cli.options import RUNS, AllowUnsandboxed, RunsDirectory
from vulcan.cli.output import say


def ui(
    run: Annotated[
        str | None, typer.Argument(help="A run's directory, or its name in --runs-dir; default: the list of runs.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on this machine; 0: any that is free.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser at the page.")] = True,
    runs_dir: RunsDirectory = RUNS,
) -> None:
    """Watch searches in a browser, while they run and after: candidates, differences, budgets, and a playground.

    The page is for this machine alone: the address that is printed has a token in it, and nothing is asked of
    any other.

    \b
    Examples:
      vulcan ui
      vulcan ui cache_eviction-20260101-120000-ab12
      vulcan ui --no-browser --port 8765
    """
    from vulcan.dashboard.server import serve
    from vulcan.store.runs import find_run

    place = find_run(run, runs_dir) if run is not None else None
    serve(runs_dir, place, port, _tell, browser=browser)


def _tell(address: str) -> None:
    say(f"The live page is at {address}\nCtrl-C ends it; searches go on without it.")
    sys.stdout.flush()  # whoever reads it through a pipe waits for it


def mcp(runs_dir: RunsDirectory = RUNS, allow_unsandboxed: AllowUnsandboxed = False) -> None:
    """Serve searches to an agent, over the Model Context Protocol on standard input and output.

    The agent is the model: it opens a study, is asked for policies, and is told how they score. No key is needed.

    \b
    Examples, for a client that is configured by a command line:
      vulcan mcp --runs-dir runs
    """
    from vulcan.mcp.server import serve

    serve(runs_dir, allow_unsandboxed=allow_unsandboxed)
