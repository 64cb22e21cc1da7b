"""Sums of decisions; and, where a policy asks for it, all that a policy can do to its evaluator."""

import hashlib
import os

from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, Instance, Rung

FULL = 5


def grid(parameters):
    """25 loads and rooms; a cheaper instance has one in five of them for each of its `points`."""
    first, points = parameters.get("from", 0), parameters.get("points", FULL)
    return [(float(first + x), float(y)) for x in range(5) for y in range(5) if (x + 2 * y) % FULL < points]


def total(decide, parameters):
    taken = sum(min(max(decide(load, room), 0.0), room) for load, room in grid(parameters))
    return parameters["weight"] * taken


class MoodEvaluator(Evaluator):
    compares = False

    def instances(self, settings, split):
        train = settings["instance"] or ["light", "heavy"]
        weights = {"light": 1.0, "heavy": settings["weight"]}
        plan = [("train", name, {}) for name in train]
        plan += [("train", f"crowd {n}", {"from": n}) for n in range(1, settings["crowd"] + 1)]
        if split.by == "time":
            plan += [("validation", "light", {}), ("validation", "heavy", {}), ("test", "heavy", {})]
        cheap = {"cheap": True} if settings["cheap"] else {}
        return [Instance(name, part, {"weight": weights.get(name, 1.0), **more, **cheap}) for part, name, more in plan]

    def rungs(self, instances):
        if not any(instance.parameters.get("cheap") for instance in instances):
            return []
        return [
            Rung(
                name,
                tuple(Instance(f"{i.name} {name}", "train", {**i.parameters, "points": points}) for i in instances),
                keep,
            )
            for name, points, keep in (("R=0.2", 1, 0.4), ("R=0.4", 2, 0.5))
        ]

    def prepare(self, instances):
        self.compares = any(instance.parameters.get("cheap") for instance in instances)

    def decisions(self, policy):
        if not self.compares:
            return policy.fingerprint
        reference = policy.reference()
        decided = [reference({"load": load, "room": room}) for load, room in grid({"from": 1})]
        return hashlib.sha256(repr(decided).encode()).hexdigest()

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
        return {"sum": total(decide, instance.parameters), "weight": instance.parameters["weight"]}

    def baselines(self):
        return {"none": "baseline", "half": "baseline", "all": "oracle"}

    def evaluate_baseline(self, name, instance):
        policies = {
            "none": lambda load, room: 0.0,
            "half": lambda load, room: min(load, room) / 2,
            "all": lambda load, room: room,
        }
        if name not in policies:
            raise UserError(f"no baseline is called {name!r}")
        return {"sum": total(policies[name], instance.parameters), "weight": instance.parameters["weight"]}
