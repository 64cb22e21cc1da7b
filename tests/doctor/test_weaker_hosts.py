"""Hosts that give less than root of a full Linux has: each is made of this one, which drops what that one lacks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from console import COMMAND
from effort import slow
from locations import TESTS

from vulcan.paths import keep_compiled_kernels_in_cache
from vulcan.scoring.sandbox.layers import Layer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="hosts are made weaker by Linux's means")

TRACE = "zipf:requests=600,objects=150,alpha=0.9,seed=3"
SEARCH = (
    "search", "--task", "cache_eviction", "--trace", TRACE, "--budget-candidates", "3", "--tune", "0",
    "--simplify", "0", "--executor", "local", "--workers", "1", "--json",
)  # fmt: skip


@dataclass(frozen=True)
class Weaker:
    """A host on which commands run behind `prefix`, and what may not hold there."""

    name: str
    prefix: tuple[str, ...]
    may_lack: frozenset[str] = frozenset()
    has_free_programs: bool = True


CGROUP_V2 = ("unshare", "--mount", "sh", "-c", 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"', "sh")
NOT_ROOT = (  # but may read what the checkout and its Python need, wherever they are
    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
    "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search",
)  # fmt: skip

HOSTS = (
    Weaker("cgroup v2, not root", (*CGROUP_V2, *NOT_ROOT)),
    slow(Weaker("cgroup v2", CGROUP_V2)),
    slow(Weaker("not root", NOT_ROOT)),
    slow(
        Weaker(
            "not root, no mapped user",  # to the kernel it still is root, whose processes are not counted
            ("unshare", "--user"),
            frozenset(
                {Layer.NETWORK.value, Layer.EMPTY_ROOT.value, Layer.PROCESS_NAMESPACE.value, Layer.PROCESSES.value}
            ),
        )
    ),
    Weaker(
        "no seccomp",
        (sys.executable, str(TESTS / "python_policy" / "weak_host.py")),
        frozenset({Layer.SECCOMP.value}),
        has_free_programs=False,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Shell:
    host: Weaker
    place: Path

    def document(self, *arguments: str) -> Any:
        """What a command prints with --json."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("VULCAN_", "RAY_", "NUMBA_"))}
        # a search here runs without Ray, and the doctor need not wait for one
        own |= {"HOME": str(self.place), "VULCAN_CACHE_DIR": str(self.place / "cache"), "RAY_ADDRESS": "127.0.0.1:1"}
        own["NUMBA_CACHE_DIR"] = str(self.place / "kernels")
        done = subprocess.run(
            [*self.host.prefix, COMMAND, *arguments], cwd=self.place, env=own, capture_output=True, text=True,
            check=False, timeout=200,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stderr[-2000:]}\n{done.stdout[-1500:]}"
        return json.loads(done.stdout)


_STARTS = "import subprocess, sys, vulcan.cli.main; subprocess.run([sys.executable, '-c', ''], check=True)"


@pytest.fixture(params=HOSTS, ids=lambda host: host.name.replace(" ", "-"))
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    host: Weaker = request.param
    tried = subprocess.run([*host.prefix, sys.executable, "-c", _STARTS], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no such host can be made here: {tried.stderr.strip()[-200:]}")
    keep_compiled_kernels_in_cache()
    kernels = Path(os.environ["NUMBA_CACHE_DIR"])
    if kernels.is_dir():
        shutil.copytree(kernels, tmp_path / "kernels")
    for place in (tmp_path, *tmp_path.rglob("*")):
        place.chmod(0o777 if place.is_dir() else 0o666)
    for above in tmp_path.parents:  # pytest keeps its directories to the user
        if above.stat().st_uid == os.getuid() and above.stat().st_mode & 0o011 != 0o011:
            above.chmod(above.stat().st_mode | 0o011)
    yield Shell(host, tmp_path)


def test_the_doctor_says_what_holds_there(shell: Shell) -> None:
    document = shell.document("doctor", "--json")
    assert document["ok"]
    assert document["free_programs"] == shell.host.has_free_programs
    missing = {defence["defence"] for defence in document["defences"] if not defence["holds"]}
    assert missing <= shell.host.may_lack, [d for d in document["defences"] if not d["holds"]]
    if not shell.host.has_free_programs:
        assert missing == shell.host.may_lack
        assert [p["blocks"] for p in document["problems"] if p["blocks"] != "nothing"] == ["policies in free Python"]


@pytest.mark.slow
def test_a_search_comes_to_its_end_there(shell: Shell) -> None:
    found = shell.document(*SEARCH)
    assert found["candidates"]["scored"] >= 3
