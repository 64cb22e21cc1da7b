"""A first search measures the oracle, says so, and ends at once where it is told to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

HEAVY = ("--trace", "markov:hours=1000,gap=60", "--windows", "40", "--deadline", "70", "--overhead", "0.0035")
"""An instance whose oracle takes a minute or so, which a process that does not heed the signal has to wait for."""


def test_a_search_that_measures_the_oracle_says_so_and_ends_at_a_signal(tmp_path: Path) -> None:
    vulcan = Path(sys.executable).with_name("vulcan")
    command = [vulcan, "search", "--task", "spot_single", *HEAVY, "--split", "none", "--executor", "local"]
    with subprocess.Popen([*command, "--progress", "json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as search:
        assert search.stdout is not None
        said = ""
        while "least_cost" not in said:
            said = search.stdout.readline()
            assert said, "the search ended before its oracle was measured"
        assert json.loads(said)["kind"] == "Preparing"
        search.send_signal(signal.SIGTERM)
        assert search.wait(timeout=30) == 143
