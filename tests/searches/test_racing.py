"""The rules that stop a candidate: what they let pass, how often they are wrong, and that they repeat."""

from __future__ import annotations

import numpy as np
import pytest

from vulcan.searches.evaluation import MIN_EARLIER, MIN_PAIRS, WINDOW, passes, stages, will_not_reach


def test_the_best_share_of_a_rung_goes_on() -> None:
    earlier = [n / 30 for n in range(30)]
    kept = [score for score in np.linspace(-0.5, 1.5, 401) if passes(float(score), earlier, 1 / 3)]
    # ten of the thirty, 20/30 and up, have fewer than ten that are better
    assert min(kept) == pytest.approx(20 / 30, abs=0.005)
    assert len(kept) == sum(score >= min(kept) for score in np.linspace(-0.5, 1.5, 401))


def test_about_its_share_of_a_stream_of_equals_passes() -> None:
    scores = list(np.random.RandomState(1).randn(2000))
    for keep in (0.1, 0.3, 1 / 3):
        passed = [passes(score, scores[:n], keep) for n, score in enumerate(scores)]
        assert np.mean(passed[100:]) == pytest.approx(keep, abs=0.03)


def test_ties_pass() -> None:
    assert passes(1.0, [1.0] * 50, 0.01)
    assert passes(0.5, [1.0] * 3 + [0.5] * 27, 0.11)
    assert not passes(0.5, [1.0] * 4 + [0.5] * 26, 0.11)


def test_the_best_so_far_always_passes_and_with_few_to_compare_all_do() -> None:
    assert passes(2.0, [1.0] * 1000, 1e-9)
    assert passes(-9.0, [1.0] * (MIN_EARLIER - 1), 0.1)
    assert not passes(-9.0, [1.0] * MIN_EARLIER, 0.1)


def test_only_the_latest_count() -> None:
    once, now = [9.0] * 500, [1.0] * WINDOW
    assert passes(1.0, once + now, 0.3)
    assert not passes(1.0, now + once, 0.3)


def test_one_that_is_clearly_worse_is_given_up() -> None:
    incumbent = [0.1 * n for n in range(12)]
    worse = [score - 0.2 - 0.01 * (n % 3) for n, score in enumerate(incumbent)]
    assert will_not_reach(worse[:6], incumbent)
    assert not will_not_reach(incumbent[:6], incumbent)
    assert not will_not_reach([score + 0.2 for score in incumbent[:6]], incumbent)


def test_pairing_sees_through_differences_between_instances() -> None:
    """The spread between instances is a hundred times the difference, and the same for both."""
    incumbent = list(100 * np.random.RandomState(3).randn(12))
    assert will_not_reach([s - 1 - 0.1 * (n % 2) for n, s in enumerate(incumbent[:6])], incumbent)


def test_one_great_gain_keeps_a_candidate_that_loses_most_instances() -> None:
    """The archive ranks by the mean: a test of how many instances are lost would give this one up."""
    incumbent = [0.0] * 12
    assert not will_not_reach([-0.01, -0.01, -0.01, -0.01, -0.01, -0.01, 0.5], incumbent)
    assert not will_not_reach([-0.02, -0.01, -0.03, -0.01, -0.02, 0.08], incumbent)


def test_few_instances_decide_nothing_and_all_of_them_everything() -> None:
    assert not will_not_reach([-1.0] * (MIN_PAIRS - 1), [0.0] * 12)
    assert will_not_reach([-1.0] * MIN_PAIRS, [0.0] * 12)
    assert will_not_reach([0.1, -0.2], [0.0, 0.0])
    assert not will_not_reach([0.1, -0.1], [0.0, 0.0])
    assert not will_not_reach([], [0.0])


def simulated(rng: np.random.RandomState, gap: float, skewed: bool) -> tuple[list[float], list[float]]:
    """Scores on 12 instances; the candidate is better by `gap` in the mean of all that could be drawn."""
    noise = rng.lognormal(0, 0.8, 12) - np.exp(0.32) if skewed else rng.randn(12)
    incumbent = rng.randn(12)
    return list(incumbent + gap + noise), list(incumbent)


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_of_those_that_would_reach_few_are_given_up(skewed: bool, confidence: float) -> None:
    rng = np.random.RandomState(5)
    reaching = [(c, i) for c, i in (simulated(rng, 0.0, skewed) for _ in range(600)) if np.mean(c) >= np.mean(i)]
    lost = np.mean([will_not_reach(c[:6], i, confidence) for c, i in reaching])
    # rare large gains are what the first instances may not show
    assert lost < (1.5 if skewed else 1.0) * (1 - confidence)


def test_the_answer_repeats() -> None:
    rng = np.random.RandomState(7)
    cases = [simulated(rng, -0.8, False) for _ in range(60)]
    answers = [will_not_reach(c[:6], i) for c, i in cases]
    assert answers == [will_not_reach(c[:6], i) for c, i in cases]
    assert 5 < sum(answers) < 55


@pytest.mark.parametrize("count", range(0, 40))
def test_stages_have_every_instance_once_and_the_first_is_enough_for_the_test(count: int) -> None:
    parts = stages(count, seed=3)
    assert sorted(n for part in parts for n in part) == list(range(count))
    assert len(parts) == (1 if count < MIN_PAIRS + 2 else 2)
    if len(parts) == 2:
        assert len(parts[0]) == max(MIN_PAIRS, (count + 1) // 2)


def test_stages_are_shuffled_by_the_seed() -> None:
    assert stages(20, 1) == stages(20, 1)
    assert len({stages(20, seed) for seed in range(10)}) == 10
    firsts = [n for seed in range(400) for n in stages(20, seed)[0]]
    assert min(np.bincount(firsts)) > 150
