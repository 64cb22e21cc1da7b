"""A spot policy under the public evaluator of "Can't Be Late", run unchanged: its score, beside this simulator's.

    python -m benchmarks.spot_public POLICY.py --task spot_multi --leaderboard ADRS-Leaderboard

The leaderboard is a checkout of github.com/UCB-ADRS/ADRS-Leaderboard with the traces of both problems unpacked, as its
README says. Its evaluator is started by this Python, so that needs what its simulator imports (configargparse, tqdm,
wandb, pyyaml). It loads a strategy that asks the policy, run by CPython, in each tick.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

PROBLEMS = {"spot_single": "cant_be_late", "spot_multi": "cant_be_late_multi"}
BASES = {
    "spot_single": "from sky_spot.strategies.strategy import Strategy as Base",
    "spot_multi": "from sky_spot.strategies.multi_strategy import MultiRegionStrategy as Base",
}

STRATEGY = '''
"""Asks a policy of Vulcan what to do."""
import math

from sky_spot.utils import ClusterType
{base}
from vulcan.anvil import check
from vulcan.registry import find_task

POLICY = check({source!r}, find_task({task!r}))
KINDS = {{ClusterType.NONE: 0, ClusterType.SPOT: 1, ClusterType.ON_DEMAND: 2}}
REQUESTS = (ClusterType.NONE, ClusterType.SPOT, ClusterType.ON_DEMAND, ClusterType.ON_DEMAND)
SEVERAL = {several}


class AsksVulcan(Base):
    NAME = "asks_vulcan"

    def reset(self, env, task):
        super().reset(env, task)
        self.asked = POLICY.reference()
        self.held, self.before, self.spell = 0, None, 0
        self.running = self.preemptions = self.tick = self.came = 0
        self.seen, self.ticks_seen, self.visits = {{}}, {{}}, {{0: 1}}

    def _step(self, last_cluster_type, has_spot):
        gap = round(self.env.gap_seconds)
        left = round(self.task_duration - sum(self.task_done_time))
        if left <= 0:
            return ClusterType.NONE
        last, elapsed = KINDS[last_cluster_type], self.tick * gap
        if last:
            self.running = gap if last != self.held else self.running + gap
        self.held = 0 if last == 1 and not has_spot else last
        if not self.held:
            self.running = 0
            self.preemptions += last == 1
        self.spell = self.spell + gap if has_spot == self.before else 0
        self.before = has_spot
        duration, deadline, overhead = map(round, (self.task_duration, self.deadline, self.restart_overhead))
        features = {{
            "job.duration_s": duration, "job.deadline_s": deadline, "job.overhead_s": overhead, "job.gap_s": gap,
            "job.elapsed_s": elapsed, "job.progress_s": duration - left, "job.work_left_s": left,
            "job.time_left_s": deadline - elapsed, "job.slack_s": deadline - elapsed - left - overhead,
            "spot.available": float(has_spot), "spot.spell_s": self.spell, "spot.price_ratio": 0.9731 / 3.06,
            "vm.last": last, "vm.held": self.held, "vm.overhead_left_s": round(self.remaining_restart_overhead),
            "vm.running_s": self.running, "vm.preemptions": self.preemptions,
        }}
        region = self.env.get_current_region() if SEVERAL else 0
        if SEVERAL:
            traces = [one.trace for one in self.env.envs]
            self.ratios = [(trace.get_price(self.tick) or 0.9731) / 3.06 for trace in traces]
            features["spot.price_ratio"] = self.ratios[region]
        if SEVERAL:
            self.seen[region] = (self.tick, int(has_spot), self.spell)
            self.ticks_seen[region] = self.ticks_seen.get(region, 0) + 1
        known = self.known(features, region)
        self.asked.observe(region if SEVERAL else None, known)
        self.asked.handle("on_tick", known, region if SEVERAL else None)
        value = self.asked.ask("decide", known, region if SEVERAL else None)
        decision = 0 if value < 0.5 else 1 if value < 1.5 else 2 if value < 2.5 else 3
        forced = math.ceil((left + overhead) / gap) >= (deadline - elapsed) // gap
        if SEVERAL and decision in (0, 3) and not forced and self.env.get_num_regions() > 1:
            others = [other for other in range(self.env.get_num_regions()) if other != region]
            to = max(others, key=lambda other: self.asked.ask("prefer", self.known(features, other), other))
            self.env.switch_region(to)
            self.visits[to] = self.visits.get(to, 0) + 1
            self.came, self.before = self.tick + 1, None
        self.tick += 1
        return REQUESTS[decision]

    def known(self, features, region):
        if not SEVERAL:
            return features
        tick, available, spell = self.seen.get(region, (-1, -1, 0))
        gap = features["job.gap_s"]
        return {{
            **features,
            "regions.count": self.env.get_num_regions(), "regions.seen": len(self.seen),
            "regions.here_s": (self.tick - self.came) * gap,
            "region.id": region, "region.available": available, "region.age_s": (self.tick - tick) * gap,
            "region.ticks_seen": self.ticks_seen.get(region, 0), "region.spell_s": spell,
            "region.visits": self.visits.get(region, 0),
            "region.price_ratio": self.ratios[region], "regions.lowest_price_ratio": min(self.ratios),
        }}

    @classmethod
    def _from_args(cls, parser):
        {options}
'''
"""The strategy file, in the evaluator's terms."""

OPTIONS = {
    "spot_single": "args, _ = parser.parse_known_args()\n        return cls(args)",
    "spot_multi": "return super()._from_args(parser)",
}
SOLUTION = "class Solution:\n    def solve(self, spec_path=None):\n        return {{'program_path': {path!r}}}\n"


def strategy_of(source: str, task: str) -> str:
    """Return the strategy file of a policy."""
    several = task == "spot_multi"
    return STRATEGY.format(base=BASES[task], source=source, task=task, several=several, options=OPTIONS[task])


def public_result(source: str, task: str, leaderboard: Path) -> dict[str, float]:
    """Return what the public evaluator prints for a policy. Raises CalledProcessError where it fails."""
    evaluator = (leaderboard / "problems" / PROBLEMS[task] / "evaluator.py").resolve()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "strategy.py").write_text(strategy_of(source, task), encoding="utf-8")
        solution = place / "solution.py"
        solution.write_text(SOLUTION.format(path=str(place / "strategy.py")), encoding="utf-8")
        simulator = evaluator.parent / "resources" / "cant-be-late-simulator"
        found = os.pathsep.join(filter(None, (str(simulator), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": found, "WANDB_MODE": "disabled", "CBL_LOG_LEVEL": "ERROR"}
        command = [sys.executable, str(evaluator), "--solution", str(solution)]
        done = subprocess.run(command, cwd=place, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", type=Path)
    parser.add_argument("--task", choices=PROBLEMS, required=True)
    parser.add_argument("--leaderboard", type=Path, required=True)
    given = parser.parse_args(arguments)
    print(json.dumps(public_result(given.policy.read_text(encoding="utf-8"), given.task, given.leaderboard), indent=2))


if __name__ == "__main__":
    main()
