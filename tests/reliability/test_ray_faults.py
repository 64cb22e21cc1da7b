"""Ray's parts die under a search: a worker, a node with its workers, and the head of the cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from chat_server import ChatServer
from console import Console
from disturbed import RESUME, WHOLE, Model, descendants, held, only_run
from locations import TESTS

CLUSTER = """
import os, sys, time
import ray
from ray.cluster_utils import Cluster
from scoring_toys import Toy
from vulcan.scoring.ray_executor import RayExecutor
from vulcan.scoring.ray_runtime import RayRuntime

memory = 80 << 20
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": memory})
node = cluster.add_node(num_cpus=1, object_store_memory=memory)
cluster.wait_for_nodes()
toy = Toy("doze")
with RayRuntime(2, cluster.address, limit=240.0) as runtime, RayExecutor(toy.setup, 2, runtime) as executor:
    pids = [actor.processes()[0] for actor in executor.actors]
    futures = [executor.submit(toy.job("doze", id=number)) for number in range(8)]
    futures[0].result()
    cluster.remove_node(node, allow_graceful=False)
    outcomes = [future.result() for future in futures]
    later = executor.submit(toy.job("honest")).result()
print([outcome.status for outcome in outcomes] + [later.status], {outcome.metrics[0][1]["sum"] for outcome in outcomes})
print("gone" if len(executor._working) == 1 else "still there")
"""


@pytest.mark.ray
@pytest.mark.slow
def test_the_jobs_of_a_node_that_is_lost_are_run_on_another() -> None:
    """A cluster of two nodes with a worker each, of which one is killed in the midst of its jobs."""
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER], cwd=TESTS / "support", text=True,
        capture_output=True, check=False, timeout=580, env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    said, standing = done.stdout.splitlines()[-2:]
    assert said == f"{['scored'] * 9} {{25.0}}"
    assert standing == "gone"


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.parametrize("part", ["gcs_server", "raylet/raylet"])
def test_a_search_whose_ray_loses_its_head_ends_as_it_would_have(vulcan: Console, calm: list[Any], part: str) -> None:
    """Jobs travel between the search and its workers directly, and it may come to its end without a head.

    Ray itself ends a process that has not reached the head for a minute: where the head's server is killed, scoring
    goes on without Ray before that; where its node is, the run may have to be resumed.
    """
    model = Model(9)
    with ChatServer(model) as server:
        on_ray = ("--executor", "ray", "--workers", "1")
        search = vulcan.start(*WHOLE, *on_ray, "--api-base", server.url)
        assert model.halted.wait(240)
        heads = [pid for pid, line in descendants(search.pid) if part in line.split()[0]]
        assert len(heads) == 1
        os.kill(heads[0], signal.SIGKILL)
        model.goes_on.set()
        _, errors = search.communicate(timeout=300)
        if part == "gcs_server":
            assert search.returncode == 0, errors
            assert "Ray's head is gone; scoring continues in processes of this host" in errors
        if search.returncode != 0:
            assert "Traceback" not in errors
            vulcan.good("resume", only_run(vulcan), *RESUME)
    assert held(only_run(vulcan)) == calm
