"""The choice between the offline generator and models, simulated with arms whose worth is known."""

from __future__ import annotations

import random
from collections import Counter
from statistics import median

import pytest
from effort import ALL, few

from vulcan.models.ensemble import ArmOutcome, choose_source

OFFLINE, MODEL = "offline/evolve", "openai/some-model"
ARMS = (OFFLINE, MODEL)


def late_share(often: dict[str, float], dollars: float | None, seconds: dict[str, float], hour: float = 1.0) -> float:
    """How often the model is asked in the second half of a search, as the median of several searches."""
    shares = []
    for seed in range(8 if ALL else 3):
        rng = random.Random(seed)
        history: list[ArmOutcome] = []
        for number in range(300):
            arm = choose_source(ARMS, history, random.Random(f"{seed}:{number}"), dollars_per_hour=hour)
            gain = rng.expovariate(1.0) if rng.random() < often[arm] else 0.0
            paid = 0.0 if arm == OFFLINE else dollars
            history.append(ArmOutcome(arm, gain, paid, seconds[arm] * rng.uniform(0.8, 1.2)))
        shares.append(Counter(trial.arm for trial in history[150:])[MODEL] / 150)
    return median(shares)


def test_the_model_is_asked_where_it_gains_more_for_what_it_costs() -> None:
    # 5 s at $1 an hour are $0.0014; 15 s and $0.01 are $0.0142, ten times as much
    assert late_share({OFFLINE: 0.02, MODEL: 0.6}, 0.01, {OFFLINE: 5.0, MODEL: 15.0}) > 0.5  # of the cost: nine tenths
    assert late_share({OFFLINE: 0.2, MODEL: 0.6}, 0.01, {OFFLINE: 5.0, MODEL: 15.0}) < 0.1


def test_what_time_is_worth_decides_between_slow_and_dear() -> None:
    often = {OFFLINE: 0.1, MODEL: 0.4}
    seconds = {OFFLINE: 60.0, MODEL: 60.0}
    assert late_share(often, 0.10, seconds, hour=0.1) < 0.1  # $0.0017 a minute: the model costs 61 times as much
    assert late_share(often, 0.10, seconds, hour=100.0) > 0.8  # $1.67 a minute: it costs 1.06 times as much


@pytest.mark.parametrize("seed", few(range(5), 1))
def test_recorded_seconds_give_the_same_choices_and_others_may_not(seed: int) -> None:
    rng = random.Random(seed)
    history = [
        ArmOutcome(rng.choice(ARMS), rng.choice([0.0, rng.random()]), None, rng.uniform(1.0, 30.0)) for _ in range(60)
    ]

    def choices(trials: list[ArmOutcome]) -> list[str]:
        return [choose_source(ARMS, trials[:n], random.Random(f"{seed}:{n}")) for n in range(len(trials))]

    assert choices(history) == choices(list(history))
    slower = [ArmOutcome(t.arm, t.gain, t.dollars, t.seconds * (9 if t.arm == MODEL else 1)) for t in history]
    assert choices(history) != choices(slower)
