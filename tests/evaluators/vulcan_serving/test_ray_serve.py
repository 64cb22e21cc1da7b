"""Exported routers choose, in Ray Serve's own class of routers, the replicas that the policy prefers.

The replicas are stand-ins, as in Ray's own tests of routers. These need ray[serve], and are skipped without; `make
test-serving` runs them.
"""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task

TASK = find_task("request_routing")
HAS_SERVE = importlib.util.find_spec("starlette") is not None and importlib.util.find_spec("fastapi") is not None


def exported(name: str) -> str:
    policy = check(TASK.seed_policies().get(name, name), TASK)
    return next(iter(find_exporter("ray-serve", TASK).export(policy, Provenance(TASK.name, "", "", "", "")).values()))


@pytest.mark.parametrize("name", ["kv_cost", "weighted_scorers", "prefix_affinity"])
def test_policies_that_need_what_ray_serve_does_not_know_are_refused_by_name(name: str) -> None:
    with pytest.raises(UserError, match=r"the policy uses .*replica\.[a-z_]+"):
        exported(name)


@pytest.mark.parametrize("read", ["replica.mine.ewma(0.5)", "router.mine.max()"])
def test_statistics_of_reports_are_refused_by_name(read: str) -> None:
    with pytest.raises(UserError, match=r"the policy uses (replica|router)\.mine\.\w+: ray-serve keeps no such"):
        exported(f"def score(now, replica, router, request):\n    return {read}")
    assert exported("def score(now, replica, router, request):\n    return request.prompt.avg() * replica.mine")


@pytest.mark.skipif(not HAS_SERVE, reason="ray[serve] is not installed: make test-serving")
@pytest.mark.parametrize("name", ["least_loaded", "round_robin", "power_of_two"])
def test_an_exported_router_sends_requests_that_come_at_once_where_the_policy_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ray.serve._private.common import DeploymentHandleSource, DeploymentID, ReplicaID, RequestMetadata
    from ray.serve.request_router import PendingRequest

    (tmp_path / f"ray_{name}.py").write_text(exported(name))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(f"ray_{name}")

    class Replica:
        max_ongoing_requests = 100

        def __init__(self, number: int) -> None:
            self.replica_id = ReplicaID(str(number), DeploymentID(name="model"))

        async def get_queue_len(self, *, deadline_s: float) -> int:
            return 0

    async def routed() -> tuple[list[str], Any]:
        router = module.PolicyRouter(
            DeploymentID(name="model"), DeploymentHandleSource.UNKNOWN, use_replica_queue_len_cache=True
        )
        router.initialize_state()
        replicas = [Replica(number) for number in range(3)]
        router.update_replicas(replicas)
        await asyncio.sleep(0.05)
        chosen = []

        async def sent(number: str) -> None:  # as Ray's own `assign_request` does
            request = PendingRequest(args=[], kwargs={}, metadata=RequestMetadata(number, number))
            best = (await router._choose_replica_for_request(request)).replica_id
            router.on_send_request(best)
            chosen.append(best)
            await asyncio.sleep(0.01)
            router.on_request_routed(request, best, None)

        await asyncio.gather(*map(sent, map(str, range(9))))
        router.on_request_completed(chosen[-1], "8")
        router.update_replicas(replicas[:2])
        await asyncio.sleep(0.05)
        return [each.unique_id for each in chosen], router._policy.router

    chosen, seen = asyncio.run(routed())
    assert (seen.replicas, seen.unfinished) == (2.0, 8.0)
    if name == "power_of_two":
        assert max(map(chosen.count, "012")) <= 5
    else:
        assert all(set(chosen[at : at + 3]) == set("012") for at in (0, 3, 6))
