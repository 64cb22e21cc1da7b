"""Which model is asked, simulated with models whose worth is known, and who answers in its place."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import pytest
from effort import ALL
from hypothesis import given
from hypothesis import strategies as st

from vulcan.models.base import Message, ModelUnavailable, Reply, Request
from vulcan.models.ensemble import ArmOutcome, Ensemble, choose_model, gain_of


@dataclass(frozen=True)
class Worth:
    """How often a model gains, how much on average where it does, and the mean dollars of a call."""

    often: float
    gain: float
    dollars: float | None

    def try_once(self, name: str, rng: random.Random) -> ArmOutcome:
        gain = rng.expovariate(1 / self.gain) if rng.random() < self.often else 0.0
        return ArmOutcome(name, gain, None if self.dollars is None else self.dollars * rng.uniform(0.7, 1.3))


def simulate(worths: Mapping[str, Worth], count: int, seed: int, batch: int = 1) -> list[ArmOutcome]:
    """A search: each batch is chosen from what settled before it."""
    rng = random.Random(seed)
    history: list[ArmOutcome] = []
    models = sorted(worths)
    while len(history) < count:
        numbers = range(len(history), len(history) + batch)
        chosen = [choose_model(models, history, random.Random(f"{seed}:{n}")) for n in numbers]
        history += [worths[model].try_once(model, rng) for model in chosen]
    return history


SEEDS = range(8 if ALL else 3)
CHEAP_IS_BETTER = {"cheap": Worth(0.3, 1.0, 0.01), "dear": Worth(0.5, 1.0, 0.10)}
DEAR_IS_BETTER = {"cheap": Worth(0.05, 1.0, 0.01), "dear": Worth(0.5, 2.0, 0.03)}


@pytest.mark.parametrize(("worths", "better"), [(CHEAP_IS_BETTER, "cheap"), (DEAR_IS_BETTER, "dear")])
@pytest.mark.parametrize("batch", [1, 25])
def test_the_model_of_more_gain_a_dollar_is_found(worths: Mapping[str, Worth], better: str, batch: int) -> None:
    late = [Counter(t.arm for t in simulate(worths, 400, seed, batch)[200:])[better] / 200 for seed in SEEDS]
    assert median(late) >= 0.75
    assert min(late) >= 0.6


def test_a_model_that_becomes_the_better_one_is_found_again() -> None:
    rng = random.Random(3)
    history = simulate({"a": Worth(0.3, 1.0, 0.01), "b": Worth(0.02, 1.0, 0.01)}, 900, seed=3)
    assert Counter(t.arm for t in history[700:])["a"] > 150
    later = {"a": Worth(0.01, 1.0, 0.01), "b": Worth(0.3, 1.0, 0.01)}
    for number in range(400):
        model = choose_model(["a", "b"], history, random.Random(number))
        history.append(later[model].try_once(model, rng))
    assert Counter(t.arm for t in history[-100:])["b"] > 75


def test_the_proposals_of_a_round_are_spread_while_little_is_known() -> None:
    history = [ArmOutcome(model, gain, 0.01) for model in ("a", "b") for gain in (0.0, 1.0, 0.0)]
    chosen = Counter(choose_model(["a", "b"], history, random.Random(n)) for n in range(200))
    assert min(chosen.values()) > 70


trials = st.builds(
    ArmOutcome, st.sampled_from(["a", "b", "c", "gone"]), st.floats(0, 1e6), st.none() | st.floats(0, 10)
)


@given(st.lists(trials, max_size=40), st.integers())
def test_the_choice_is_a_function_of_the_history_and_the_seed(history: list[ArmOutcome], seed: int) -> None:
    chosen = choose_model(["a", "b", "c"], history, random.Random(seed))
    assert chosen in ("a", "b", "c")
    assert choose_model(["a", "b", "c"], tuple(history), random.Random(seed)) == chosen


def test_a_gain_is_what_passes_the_best_before() -> None:
    assert gain_of(0.75, [0.5, 0.25]) == 0.25
    assert gain_of(0.25, [0.5, 0.125]) == 0.0
    assert gain_of(None, [0.5]) == 0.0
    assert gain_of(0.5, []) == 0.0


# Who answers


class Named:
    """A model that answers with its name, or is not available."""

    def __init__(self, name: str, there: bool = True) -> None:
        self.name, self.there = name, there

    def propose(self, request: Request) -> Reply:
        if not self.there:
            raise ModelUnavailable("gone")
        return Reply(self.name, self.name, "stop", 1, 1, None, 0.1)

    def close(self) -> None: ...


@pytest.mark.parametrize(("asked", "answers"), [("b", "b"), ("c", "a"), ("left", "a"), ("", "a")])
def test_the_next_answers_for_one_that_is_not_there(asked: str, answers: str) -> None:
    ensemble = Ensemble([Named("a"), Named("b"), Named("c", there=False)])
    reply = ensemble.propose(Request(1, 0, (Message("user", "Write one."),), (), 1, model=asked))
    assert (reply.text, reply.by) == (answers, answers)


# With the offline generator, whose replies cost time alone

OFFLINE, MODEL = "offline/evolve", "openai/some-model"
ARMS = (OFFLINE, MODEL)


def late_share(often: dict[str, float], dollars: float, seconds: dict[str, float], hour: float = 1.0) -> float:
    """How often the model is asked in the second half of a search, as the median of several searches."""
    shares = []
    for seed in SEEDS:
        rng = random.Random(seed)
        history: list[ArmOutcome] = []
        for number in range(300):
            arm = choose_model(ARMS, history, random.Random(f"{seed}:{number}"), hour)
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
    often, seconds = {OFFLINE: 0.1, MODEL: 0.4}, {OFFLINE: 60.0, MODEL: 60.0}
    assert late_share(often, 0.10, seconds, hour=0.1) < 0.1  # $0.0017 a minute: the model costs 61 times as much
    assert late_share(often, 0.10, seconds, hour=100.0) > 0.8  # $1.67 a minute: it costs 1.06 times as much
