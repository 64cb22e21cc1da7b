"""The example tasks whose policies are free programs: their promises, and their simulators beside plain references."""

import importlib
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from locations import ROOT

EXAMPLES = ROOT / "examples"
VULCAN = str(Path(sys.executable).parent / "vulcan")


@pytest.fixture(params=["placement", "transactions"])
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    place: Path = EXAMPLES / request.param
    monkeypatch.syspath_prepend(str(place))
    return place


def test_an_example_task_keeps_its_promises(example: Path) -> None:
    done = subprocess.run([VULCAN, "task", "validate", str(example)], capture_output=True, text=True, check=True)
    assert "promises" in done.stdout and "FAILED" not in done.stdout


def test_the_published_rule_has_the_published_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "placement"))
    placement = importlib.import_module("placement_evaluator")

    cases = placement.cases_of(42)
    points = [placement.points(*case, placement.pressure(*case, placement.greedy(*case))) for case in cases]
    assert sum(points) / len(points) == pytest.approx(
        60.817400988386495
    )  # of the public evaluator, for its first program


def test_a_transaction_begins_at_the_first_step_at_which_no_lock_forbids_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "transactions"))
    transactions = importlib.import_module("transactions_evaluator")

    def reference(of: list[tuple[int, list[tuple[int, int, bool]]]], order: list[int]) -> int:
        locks: list[tuple[int, int, bool]] = []
        last = 0
        for length, steps in (of[number] for number in order):
            start = 1
            while any(
                key == other and start + step - 1 <= at and (write or written)
                for key, step, write in steps
                for other, at, written in locks
            ):
                start += 1
            locks += [(key, start + step - 1, write) for key, step, write in steps]
            last = max(last, start + length - 1)
        return last

    for seed, shape in enumerate(transactions.SHAPES):
        of = transactions.operations(transactions.workload_of(shape, seed)[:25])
        for draw in range(5):
            order = Random(draw).sample(range(len(of)), len(of))
            assert transactions.makespan(of, order) == reference(of, order)
