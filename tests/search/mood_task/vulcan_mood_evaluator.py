"""Sums of decisions; and, where a policy asks for it, all that a policy can do to its evaluator."""

import os

from vulcan.errors import UserError
from vulcan.evaluator import Instance

GRID = [(float(load), float(room)) for load in range(5) for room in range(5)]


def total(decide, weight):
    return weight * sum(min(max(decide(load, room), 0.0), room) for load, room in GRID)


class MoodEvaluator:
    def instances(self, settings, split):
        train = settings["instance"] or ["light", "heavy"]
        weights = {"light": 1.0, "heavy": settings["weight"]}
        plan = [("train", name) for name in train]
        if split.by == "time":
            plan += [("validation", "light"), ("validation", "heavy"), ("test", "heavy")]
        return [Instance(name, part, {"weight": weights.get(name, 1.0)}) for part, name in plan]

    def prepare(self, instances):
        pass

    def evaluate(self, policy, instance):
        reference = policy.reference()

        def decide(load, room):
            return reference({"load": load, "room": room})

        match decide(0.0, 0.0):
            case 101.0:
                while True:
                    pass
            case 102.0:
                os.abort()
            case 103.0:
                bytearray(100 << 30)
            case 104.0:
                raise LookupError("no such mood")
            case 105.0 if instance.name == "heavy":
                raise LookupError("too heavy")
            case 106.0 if instance.split == "validation":
                raise LookupError("not here")
            case 107.0:
                return {"sum": float("nan")}
        return {"sum": total(decide, instance.parameters["weight"]), "weight": instance.parameters["weight"]}

    def baselines(self):
        return {"none": "baseline", "half": "baseline", "all": "bound"}

    def evaluate_baseline(self, name, instance):
        policies = {
            "none": lambda load, room: 0.0,
            "half": lambda load, room: min(load, room) / 2,
            "all": lambda load, room: room,
        }
        if name not in policies:
            raise UserError(f"no baseline is called {name!r}")
        weight = instance.parameters["weight"]
        return {"sum": total(policies[name], weight), "weight": weight}
