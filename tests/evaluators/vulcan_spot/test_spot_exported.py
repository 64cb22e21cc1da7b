"""An exported policy for one region runs what the simulator runs, in every tick; in SkyPilot too.

What runs in SkyPilot's own code needs the package skypilot and is skipped without; `make test-skypilot` runs it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import spot_cases
from exported import imported
from locations import DATA, ROOT

from vulcan.anvil import check
from vulcan.export import Provenance
from vulcan.export.formats import export_policy
from vulcan.registry import find_task
from vulcan_spot.job import SpotJob
from vulcan_spot.simulate import simulate
from vulcan_traces.spot import load_spot

TASK = find_task("spot_single")
WATCHING = """
def decide(job, spot, vm):
    share = spot.available.avg()
    return 1 if spot.available else 2 if share < 0.4 and job.slack_s < 3600 * share + spot.spell_s.max() else 0
"""
POLICIES = {**TASK.seed_policies(), "watching": WATCHING}
HAS_SKYPILOT = importlib.util.find_spec("sky") is not None


def exported(source: str, format: str, folder: Path, name: str) -> ModuleType:
    (text,) = export_policy(check(source, TASK), format, Provenance("spot_single", "", "", "", "")).values()
    path = folder / f"{name}.py"
    path.write_text(text)
    return imported(path)


def ticks(module: Any, case: spot_cases.Case) -> list[int]:
    job = case.job
    run = module.SpotRun(job.duration, job.deadline, job.overhead, case.gap, 0.9731 / 3.06)
    found: list[int] = []
    while not run.is_done:
        found.append(run.tick(len(found) < len(case.available) and bool(case.available[len(found)])))
    return found[:-1]


@pytest.mark.parametrize("name", [*POLICIES, *range(20)])
def test_each_tick_runs_what_the_simulator_runs(name: str | int, tmp_path: Path) -> None:
    source = spot_cases.policy(name) if isinstance(name, int) else POLICIES[name]
    module, policy = exported(source, "python", tmp_path, "spot_policy"), check(source, TASK)
    for seed in range(30):
        case = spot_cases.case(seed)
        runs = simulate(policy, spot_cases.windows(case.available, case.gap), case.job)
        found = ticks(module, case)
        assert (found.count(1), found.count(2)) == (runs.spot_ticks[0], runs.on_demand_ticks[0])


def test_the_example_does(tmp_path: Path) -> None:
    for seed in range(3):
        case = spot_cases.case(seed)
        exported(POLICIES["greedy"], "python", tmp_path, "spot_policy")
        runs = simulate(check(POLICIES["greedy"], TASK), spot_cases.windows(case.available, case.gap), case.job)
        hours = {
            "hours": case.job.duration / 3600,
            "deadline": case.job.deadline / 3600,
            "overhead": case.job.overhead / 3600,
        }
        options = [f"--{name}={value!r}" for name, value in {**hours, "gap": case.gap}.items()]
        done = subprocess.run(
            [sys.executable, ROOT / "examples" / "spot_job.py", tmp_path / "spot_policy.py", *options], text=True,
            input="".join(f"{there}\n" for there in map(int, case.available)), capture_output=True, check=True,
        )  # fmt: skip
        told = f"ticks: {runs.spot_ticks[0]} of spot, {runs.on_demand_ticks[0]} on demand, "
        assert done.stdout.startswith(told)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose time passes when nobody has anything to do."""

    def __init__(self) -> None:
        super().__init__()
        self.now, select = 0.0, self._selector.select  # type: ignore[attr-defined]

        def passed(timeout: float | None = None) -> Any:
            self.now += timeout or 0.0
            return select(0)

        self._selector.select = passed  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now


class Cloud:
    """Recorded availability in place of a cloud, and what ran on it when."""

    def __init__(self, loop: VirtualLoop, available: Any, gap: int) -> None:
        self.loop, self.available, self.gap = loop, available, gap
        self.changes: list[tuple[float, int]] = [(0.0, 0)]

    @property
    def kind(self) -> int:
        return self.changes[-1][1]

    def has_spot(self) -> bool:
        tick = int(self.loop.now / self.gap + 1e-6)
        return tick < len(self.available) and bool(self.available[tick])

    async def launch(self, executor: Any, max_retry: int | None = 3, **_: Any) -> float | None:
        (wanted,) = executor.dag.tasks[0].resources
        if wanted.use_spot and not self.has_spot():
            return None
        self.changes.append((self.loop.now, 1 if wanted.use_spot else 2))
        return self.loop.now

    def stop(self) -> None:
        self.changes.append((self.loop.now, 0))

    def ticks(self, count: int) -> list[int]:
        """What ran in the middle of each tick."""
        return [[kind for at, kind in self.changes if at <= (tick + 0.5) * self.gap][-1] for tick in range(count)]


@pytest.mark.skipif(not HAS_SKYPILOT, reason="skypilot is not installed: make test-skypilot")
@pytest.mark.parametrize("name", ["greedy", "uniform_progress", "uniform_progress_memory"])
def test_in_skypilot_a_job_runs_what_the_simulator_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = DATA / "spot" / "skypilot-spot-traces"
    files = sorted(folder.rglob("*.json"))[:6] if folder.exists() else []
    cases = [(trace.available, trace.gap) for file in files for trace in load_spot(str(file))[:1]]
    rng = np.random.default_rng(5)
    cases += [(np.repeat(rng.random(60) < 0.5, rng.integers(1, 30, 60)), 600) for _ in range(3)]
    for available, gap in cases:
        job = SpotJob.of_hours(20, 30, 0.2)
        expected = simulate(check(POLICIES[name], TASK), spot_cases.windows(available[:5000], gap), job)
        cost, late = in_skypilot(POLICIES[name], available, gap, job, tmp_path, monkeypatch)
        print(f"{name}: ${cost:.2f} in SkyPilot, ${expected.cost[0]:.2f} in the simulator")
        assert not late
        if name == "greedy":  # which never leaves on-demand
            assert cost == pytest.approx(expected.cost[0])


def in_skypilot(
    source: str, available: Any, gap: int, job: SpotJob, folder: Path, patch: pytest.MonkeyPatch
) -> tuple[float, bool]:
    """Run a job with SkyPilot's own strategies, plug-ins and resources; return its cost, and whether it was late."""
    import sky
    from sky.jobs.recovery_strategy import FailoverStrategyExecutor, StrategyExecutor
    from sky.server import plugins
    from sky.utils.registry import JOBS_RECOVERY_STRATEGY_REGISTRY

    JOBS_RECOVERY_STRATEGY_REGISTRY.pop("vulcan", None)
    exported(source, "skypilot", folder, "spot_plugin")
    (folder / "plugins.yaml").write_text("plugins:\n- class: spot_plugin.PolicyPlugin\n")
    patch.setenv("SKYPILOT_SERVER_PLUGINS_CONFIG", str(folder / "plugins.yaml"))
    plugins.load_plugins(plugins.ExtensionContext())

    async def at_once(function: Any, *arguments: Any) -> Any:
        return function(*arguments)

    loop = VirtualLoop()
    cloud = Cloud(loop, available, gap)
    patch.setattr(asyncio, "to_thread", at_once)
    patch.setattr(FailoverStrategyExecutor, "_launch", lambda executor, **given: cloud.launch(executor, **given))  # noqa: PLW0108
    patch.setattr(StrategyExecutor, "_cleanup_cluster", lambda executor: cloud.stop())
    hours = {"duration_hours": job.duration / 3600, "deadline_hours": job.deadline / 3600}
    recovery = {"strategy": "VULCAN", **hours, "overhead_hours": job.overhead / 3600, "gap_seconds": gap}
    task = sky.Task(run="train").set_resources(sky.Resources(use_spot=True, job_recovery=recovery))
    backend = object.__new__(sky.backends.CloudVmRayBackend)

    async def controlled() -> int:
        executor = StrategyExecutor.make(
            "cluster", backend, task, 1, 0, None, set(), asyncio.Lock(), asyncio.Condition()
        )
        await executor.launch()
        while not executor.run.is_done:  # as its controller does: look now and then, and recover what was lost
            await asyncio.sleep(gap - loop.now % gap - 1e-4)
            if cloud.kind == 1 and not cloud.has_spot():
                cloud.stop()
            if cloud.kind == 0:
                await executor.recover()
            await asyncio.sleep(2e-4)
        executor._watching.cancel()
        return int(executor.run.job.elapsed_s / gap)

    asyncio.set_event_loop(loop)
    count = loop.run_until_complete(controlled())
    price = {0: 0.0, 1: 0.9731, 2: 3.06}
    return sum(price[kind] for kind in cloud.ticks(count)) * gap / 3600, (count - 1) * gap > job.deadline
