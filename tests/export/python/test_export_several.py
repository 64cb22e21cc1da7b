"""A module exported from a policy of several functions has them all, and tells one object of events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from anvil_flow import TASK as FLOW_TASK
from anvil_flow import WINDOW, policy
from anvil_toy import NOW
from anvil_two import TWO, defining
from exported import load, provenance
from exported_run import module_of

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.export import find_exporter
from vulcan.export.python.module import python_module
from vulcan.export.template import CUT, Template
from vulcan.task import Feature, Scalar, Task, Value

TEMPLATE = f'''
def window(now: float, level: float, state: "_State") -> float:
    return 1.0


def pace(now: float, state: "_State") -> float:
    return 2.0


class _Statistics:
    def observe(self, now: float, level: float) -> None:
        """An event."""


_USES = frozenset()


{CUT}


class Sender(_Statistics):
    def step(self, now: float, level: float) -> tuple[float, float]:
        self.observe(now, level)
        return window(now, level, self), pace(now, self)
'''

LEVEL = Scalar(Feature("level", "float", "units", 0.0, 9.0, "how high it is"))
VALUES = replace(
    TWO,
    name="toy_values",
    signature=Value("window", (NOW, LEVEL), "a window"),
    others=(Value("pace", (NOW,), "a pace"),),
    properties=(),
)
POLICY = "def window(now, level):\n    return level.ewma(0.5)\n\n\ndef pace(now):\n    return now.recent(2)\n"


def test_all_functions_are_in_the_module_under_their_names() -> None:
    text, module = module_of(check(defining("now", "level", "wind.turn"), TWO))
    assert module.rate(7.0, None, None, None) == 7.0
    assert module.admit(None, None, 3.0, 7.0) == 3.0
    assert text.index("def rate(") < text.index("def admit(") < text.index("def steer(")
    assert not hasattr(module, "_Statistics")


def test_only_a_function_that_asks_for_statistics_of_the_system_takes_their_state() -> None:
    text, _ = module_of(check(defining("now.ewma(0.5)", "level.ewma(0.25)", "wind.turn"), TWO))
    assert "def rate(now: float, item, world, past) -> float:" in text
    assert "def admit(past, item, level: float, now: float, world) -> float:" in text
    assert "def steer(wind, now: float, world, tide) -> float:" in text
    assert "def enter(self, now: float, item, level: float, wind, tide) -> None:" in text


@pytest.fixture
def task(tmp_path: Path) -> Task:
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "python.py").write_text(TEMPLATE)
    return replace(VALUES, directory=tmp_path)


def test_a_template_uses_all_functions(task: Task) -> None:
    (text,) = find_exporter("python").export(check(POLICY, task), provenance()).values()
    sender = load(text).Sender()
    assert [sender.step(float(n), 4.0 * n) for n in range(3)] == [(0.0, 0.0), (2.0, 0.0), (5.0, 1.0)]
    assert '_USES = frozenset({"level", "now"})' in text
    plain = POLICY.replace("now.recent(2)", "now")  # which needs no statistics, and is called with them all the same
    (text,) = find_exporter("python").export(check(plain, task), provenance()).values()
    assert load(text).Sender().step(3.0, 1.0) == (1.0, 3.0)


def test_a_template_that_cannot_give_a_function_its_statistics_is_refused(task: Task) -> None:
    path = task.directory / "export" / "python.py"
    path.write_text(path.read_text().replace('def pace(now: float, state: "_State")', "def pace(now: float)"))
    with pytest.raises(UserError, match=r"pace asks for statistics of the whole system.*one more argument"):
        find_exporter("python").export(check(POLICY, task), provenance())


def test_what_was_exported_is_read_back(task: Task) -> None:
    from vulcan.export.source import policy_source

    (text,) = find_exporter("python").export(check(POLICY, task), provenance()).values()
    assert check(policy_source(text), task).fingerprint == check(POLICY, task).fingerprint


def test_the_exported_module_has_a_method_for_each_occasion() -> None:
    text = python_module(check(defining(steer="wind.turn.ewma(0.5)"), TWO), provenance(), Template())
    assert "    def observe_gust(self, wind) -> None:" in text
    assert "    def observe_high_water(self, wind, tide) -> None:" in text
    flow = python_module(policy("window.delivered.recent(2)"), provenance(), Template())
    assert "    def observe_round_trip(self, window) -> None:" in flow
    alone = replace(FLOW_TASK, signature=Value("cwnd", (WINDOW,), "a window"))
    own = python_module(check("def cwnd(window):\n    return window.lost.max()\n", alone), provenance(), Template())
    assert "    def observe_round_trip(self) -> None:" in own and "self._times_round_trip == 1" in own
