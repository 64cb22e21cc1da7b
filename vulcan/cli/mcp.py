"""`vulcan mcp`"""

from __future__ import annotations

from vulcan.cli.options import RUNS, AllowUnsandboxed, RunsDirectory


def mcp(runs_dir: RunsDirectory = RUNS, allow_unsandboxed: AllowUnsandboxed = False) -> None:
    """Serve searches to an agent, over the Model Context Protocol on standard input and output.

    The agent is the model: it opens a study, is asked for policies, and is told how they score. No key is needed.

    \b
    Examples, for a client that is configured by a command line:
      vulcan mcp --runs-dir runs
    """
    from vulcan.mcp.server import serve

    serve(runs_dir, allow_unsandboxed=allow_unsandboxed)
