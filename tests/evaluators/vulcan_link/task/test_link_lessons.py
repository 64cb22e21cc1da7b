"""What lessons say of a link is what a sender knows and what the link then carries, by other means."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator
from vulcan.generator.fits import fitted_programs
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split, StateLimits
from vulcan_link import lessons
from vulcan_link.simulate import simulate

TASK = find_task("congestion_control")
RAW = ("now_us", "delivery_rate_bps", "rtt_us", "min_rtt_us", "acked_packets", "in_flight_packets", "smoothed_rtt_us")
PAYLOAD = 1448


def trained_on(**settings: Any) -> tuple[Any, Any]:
    evaluator: Any = load_evaluator(TASK)
    return evaluator, evaluator.instances(complete_settings(TASK, settings), Split(by="time"))[0]


def carried(opportunities: list[float], period: float, begin: float, end: float) -> int:
    """Packets, one an opportunity, of a link that repeats; times in ms."""
    cycles = range(int(end / period) + 1)
    return sum(begin < at + period * cycle <= end for cycle in cycles for at in opportunities)


def test_a_situation_is_what_a_sender_knows_and_the_packets_what_the_link_then_carries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = np.random.default_rng(1)
    opportunities = sorted({int(at) for at in np.cumsum(drawn.choice([1, 2, 9], 600, p=[0.7, 0.2, 0.1]))})
    (tmp_path / "link").write_text("".join(f"{at}\n" for at in opportunities))
    evaluator, train = trained_on(link=[str(tmp_path / "link")], duration_s=3.0, delay_ms=[15.0], buffer=["60"])
    spec, link = evaluator.at(train)
    found = lessons.lesson_of(spec, link)
    with monkeypatch.context() as other:
        other.setattr(lessons, "_FIELDS", tuple(f"state.{name}" for name in RAW))
        elements = lessons.SITUATIONS * len(RAW)
        policy = check(lessons._recorder(1), replace(TASK, state_limits=StateLimits(64, elements, 0)))
        rows = simulate(spec.scenario(link, "policy"), policy).states[0, -elements:].reshape(-1, len(RAW))
    part = (link.times / 1e6).tolist()
    recent = usual = largest = older = newer = turned = 0.0
    situations, ratios = [], []
    for now, bits, rtt, least, acked, flying, smoothed in rows[rows[:, 0] > 0].tolist():
        rate = bits * least / (8e6 * PAYLOAD)
        fade = 1 - math.exp(-acked / max(flying, 1))
        recent, usual = (recent, usual) if usual else (rate, rate)
        recent += min(1, 2 * fade) * (rate - recent)
        usual += fade / 8 * (rate - usual)
        largest = max(rate, largest * (1 - fade / 8))
        queue = max(rtt - least, 0) / least
        if now - turned > smoothed / 2:
            older, newer, turned = newer, queue, now
        newer, older = min(newer, queue), min(older, queue)
        per = max(recent, 0.1)
        situations.append((rate / per, usual / per, largest / per, 20 * older, flying / per))
        ratios.append(carried(part, link.period / 1e6, now / 1e3 + 15, now / 1e3 + 45) * 1504 / 1500 / per)
    assert len(situations) > 500
    assert found.situations == pytest.approx(np.array(situations))
    assert found.gains / found.costs == pytest.approx(np.array(ratios))
    assert found.gains.mean() == pytest.approx(lessons.WEIGHT)


def test_what_follows_the_training_part_of_a_link_changes_nothing(tmp_path: Path) -> None:
    found = []
    for later in (1, 7):
        drawn = np.random.default_rng(2)
        times = np.cumsum(np.repeat(drawn.choice([1, 2, 8], 45), 200))
        times = np.where(times < 0.6 * times[-1], times, times // later * later)
        (tmp_path / f"{later}").write_text("".join(f"{at}\n" for at in times))
        evaluator, train = trained_on(link=[str(tmp_path / f"{later}")], duration_s=6.0, windows=1)
        found.append(evaluator.lessons(train, "power")[0])
    assert np.array_equal(found[0].situations, found[1].situations)
    assert np.array_equal(found[0].gains, found[1].gains)


def test_the_program_that_fits_the_built_in_links_best_is_ahead_of_every_algorithm_there() -> None:
    evaluator: Any = load_evaluator(TASK)
    instances = evaluator.instances(complete_settings(TASK, {}), Split())
    train = [instance for instance in instances if instance.split == "train"]
    program, *_ = fitted_programs(TASK, [one for instance in train for one in evaluator.lessons(instance, "power")])

    def power(who: Any) -> float:
        return fmean(evaluator.run(who, *evaluator.at(instance)).metrics()["power"] for instance in train)

    assert power(check(program, TASK)) > 0.05 + max(map(power, evaluator.baselines_on(train).keys() - {"bdp-oracle"}))


@pytest.mark.parametrize(
    "settings", [{"competing": ["cubic"]}, {"flows": 2}, {"application": "20/100"}, {"policer": "8/64"}]
)
def test_of_a_link_that_one_flow_cannot_have_there_is_no_lesson(settings: dict[str, Any]) -> None:
    evaluator, train = trained_on(link=["constant:rate=12"], **settings)
    assert list(evaluator.lessons(train, "power")) == []
