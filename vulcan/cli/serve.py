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
        str | None, typer.Argument(help="Run directory, or its name in --runs-dir. Default: the list of runs.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Local port; 0: any free port.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    runs_dir: RunsDirectory = RUNS,
) -> None:
    """Follow searches in a browser, live or afterwards: candidates, diffs, budgets, and a playground.

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

    place = find_run(run, runs_dir) if run is not None else None
    serve(runs_dir, place, port, _tell, browser=browser)


def _tell(address: str) -> None:
    say(f"The live page is at {address}\nCtrl-C ends it; searches go on without it.")
    sys.stdout.flush()  # whoever reads it through a pipe waits for it


def mcp(runs_dir: RunsDirectory = RUNS, allow_unsandboxed: AllowUnsandboxed = False) -> None:
    """Serve searches to an agent over the Model Context Protocol (MCP) on standard input and output.

    The agent acts as the model: it opens a study, writes policies and receives their scores. No key is needed.

    \b
    Examples, for a client configured with a command line:
      vulcan mcp --runs-dir runs
    """
    from vulcan.mcp.server import serve

    serve(runs_dir, allow_unsandboxed=allow_unsandboxed)
