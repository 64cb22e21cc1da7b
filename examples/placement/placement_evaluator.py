"""The simulator of model placement: the cases, the constraint and the score of the public benchmark's evaluator."""

import marshal
import struct

import numpy as np

from vulcan.evaluator import Evaluator, Instance
from vulcan.python_policy.policy import ProgramFailed

MEMORY = 80  # GB of a GPU
CASES = 12  # of an instance; the public one has 50

# This text runs in the program's process, so nothing that it says is believed.
LOOP = marshal.dumps(
    compile(
        """
import struct
class Loop:
    def __init__(self, hooks, records, given):
        self.hooks, self.model = hooks, records["add"]
    def decisions(self, message, whole):
        models = [self.model(row) for row in struct.iter_unpack("<4q", message)]
        for model in models:
            self.hooks["add"](model)
        return [whole(self.hooks["place"](model)) for model in models]
""",
        "<loop>",
        "exec",
    )
)


def cases_of(seed):
    """The public evaluator's cases, a number of GPUs and models of (size, rate, slo); 42 is its own seed."""
    draw = np.random.RandomState(seed)
    cases = []
    for _ in range(50 if seed == 42 else CASES):
        gpus = draw.randint(5, 10)
        cases.append(
            (gpus, [(draw.randint(10, 30), draw.randint(1, 10), draw.randint(5, 10)) for _ in range(2 * gpus)])
        )
    return cases


def pressure(gpus, models, placed):
    """The highest pressure on a GPU's memory: requests per second over their SLO, per GB that is left for caches."""
    if len(placed) != len(models):
        raise ProgramFailed("failed", f"{len(placed)} of {len(models)} models are placed")
    load, left = [0.0] * gpus, [MEMORY] * gpus
    for number, ((size, rate, slo), gpu) in enumerate(zip(models, placed, strict=True)):
        if not 0 <= gpu < gpus:
            raise ProgramFailed("failed", f"model {number} is placed on GPU {gpu}, of {gpus}")
        load[gpu], left[gpu] = load[gpu] + rate / slo, left[gpu] - size
        if left[gpu] < 0:
            raise ProgramFailed("failed", f"GPU {gpu} has {MEMORY - left[gpu]} GB of models, and {MEMORY} GB of memory")
    return max(used / rest if rest else 1e6 for used, rest in zip(load, left, strict=True))


def in_turn(gpus, models):
    return [number % gpus for number in range(len(models))]


def greedy(gpus, models):
    """Prism's own rule: the most demanding models first, each on the GPU that has least pressure so far."""
    load, left, placed = [0.0] * gpus, [MEMORY] * gpus, [0] * len(models)
    for number in sorted(range(len(models)), key=lambda n: -models[n][1] / models[n][2]):
        size, rate, slo = models[number]
        placed[number] = gpu = min((g for g in range(gpus) if size <= left[g]), key=lambda g: load[g] / left[g])
        load[gpu], left[gpu] = load[gpu] + rate / slo, left[gpu] - size
    return placed


def points(gpus, models, reached):
    """The public score: 0 for models in turn, 100 for equal pressure everywhere, if one could divide models."""
    plain = pressure(gpus, models, in_turn(gpus, models))
    equal = sum(rate / slo for _, rate, slo in models) / (gpus * MEMORY - sum(size for size, _, _ in models))
    return 100 * max(0.0, (plain - reached) / (plain - equal)) ** 0.5


class PlacementEvaluator(Evaluator):
    def instances(self, settings, split):
        seeds = {"train": (1, 2, 3), "validation": (4, 5, 6, 7), "test": (42, 8, 9, 10)}
        return [
            Instance(
                "public" if seed == 42 else f"seed-{seed}", part if split.by != "none" else "train", {"seed": seed}
            )
            for part in seeds
            for seed in seeds[part]
        ]

    def prepare(self, instances):
        pass

    def evaluate(self, policy, instance):
        def placed(gpus, models):
            rows = b"".join(struct.pack("<4q", number, *model) for number, model in enumerate(models))
            with policy.start(LOOP, gpus, MEMORY) as running:
                return [number for (number,) in struct.iter_unpack("<q", running.tell(rows))]

        return self._measured(placed, instance)

    def _measured(self, placed, instance):
        cases = cases_of(instance.parameters["seed"])
        reached = [pressure(*case, placed(*case)) for case in cases]
        scores = [points(*case, one) for case, one in zip(cases, reached, strict=True)]
        return {"points": sum(scores) / len(cases), "pressure": sum(reached) / len(cases)}

    def baselines(self):
        return {"greedy": "baseline", "in_turn": "baseline"}

    def evaluate_baseline(self, name, instance):
        return self._measured({"greedy": greedy, "in_turn": in_turn}[name], instance)
