"""A ferry in plain Python: it asks the functions of one policy as ordinary callables."""

import random

from vulcan.evaluator import Evaluator, Instance

DECK = 60.0
CROSSING = 12


class Built:
    """The baselines, called as a policy's reference is."""

    def __init__(self, patience):
        self.patience = patience

    def observe(self, key, features):
        pass

    def forget(self, key):
        pass

    def __call__(self, features, key):
        return -features["car.arrived"]

    def ask(self, function, features):
        assert function == "leave"
        return float(features["ferry.room"] < 4.0 or features["ferry.waited"] >= self.patience)


def of_car(key, car, now):
    length, fare, arrived = car
    paid = fare * 0.99 ** (now - arrived)
    return {"car.id": key, "car.length": length, "car.fare": paid, "car.arrived": float(arrived)}


def sail(policy, parameters):
    """Return a day: cars come at random, and what one pays falls by a hundredth with every minute that it waits."""
    rng = random.Random(parameters["seed"])
    waiting = {}
    room, berthed, away, fares, trips, cars = DECK, 0, 0, 0.0, 0, 0
    for now in range(parameters["minutes"]):
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            cars += 1
            waiting[float(cars)] = (rng.choice((4.0, 5.0, 6.0, 15.0)), rng.uniform(5.0, 100.0), now)
        clock = {"now": float(now), "ferry.waited": float(now - berthed)}
        shown = clock | {"ferry.room": room, "ferry.queue": float(len(waiting))}
        for key, car in waiting.items():
            policy.observe(key, shown | of_car(key, car, now))
        if away > 0:
            away -= 1
            berthed = now
            continue
        while fitting := [key for key, (length, _, _) in waiting.items() if length <= room]:
            shown = clock | {"ferry.room": room, "ferry.queue": float(len(waiting))}
            ranked = {key: policy(shown | of_car(key, waiting[key], now), key) for key in fitting}
            chosen = max(fitting, key=lambda key, ranked=ranked: (ranked[key], -key))
            fares += of_car(chosen, waiting[chosen], now)["car.fare"]
            room -= waiting.pop(chosen)[0]
            policy.forget(chosen)
        shown = clock | {"ferry.room": room, "ferry.queue": float(len(waiting))}
        if policy.ask("leave", shown) >= 1.0:
            room, away, trips = DECK, CROSSING, trips + 1
    return {"fares": fares, "trips": float(trips), "left": float(len(waiting))}


class FerryEvaluator(Evaluator):
    def instances(self, settings, split):
        parts = ("train",) if split.by == "none" else ("train", "validation", "test")
        return [
            Instance(f"day {day}", part, {"seed": 10 * day + number, "minutes": settings["minutes"]})
            for number, part in enumerate(parts)
            for day in (1, 2)
        ]

    def prepare(self, instances):
        """There is nothing to load."""

    def evaluate(self, policy, instance):
        return sail(policy.reference(), instance.parameters)

    def baselines(self):
        return {"patient": "baseline", "hasty": "baseline"}

    def evaluate_baseline(self, name, instance):
        return sail(Built({"patient": 30, "hasty": 5}[name]), instance.parameters)
