"""Statistics of entities and of the system: native, reference, and what pandas and numpy say."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from anvil_toy import FIXED, HEAD, NOW, TOY, TOY_LAYOUT, returning
from anvil_twin import Twin
from anvil_values import values_for
from effort import ALL, few

from vulcan.anvil import Layout, Slot, check
from vulcan.anvil.grammar.grammar import MAX_KEPT_OF_SYSTEM, STATISTICS
from vulcan.task import Feature, Global, Value

SHARES = (0.0, 0.07, 0.5, 0.9, 1.0)
ALPHAS = (0.001, 0.3, 0.999)
TASK = replace(TOY, operations=10**6)


def asking(questions: Sequence[str]) -> str:
    """A program whose answer to the i-th question is given where `now` is i."""
    lines = [f"    if now == {i}:\n        return {question}" for i, question in enumerate(questions)]
    return HEAD + "\n".join(lines) + "\n    return 0\n"


def questions(owner: str, windows: Sequence[int], wanted: Sequence[str]) -> list[str]:
    """Every statistic of a stream (`item.whole`), over these windows; `wanted` are values that are looked for."""
    asked = [f"{owner}.{kind}()" for kind in ("latest", "avg", "min", "max")]
    asked += [f"{owner}.ewma({alpha})" for alpha in ALPHAS]
    for n in windows:
        asked += [f"{owner}.recent({n})", f"{owner}.window_avg({n})"]
        asked += [f"{owner}.window_percentile({share}, {n})" for share in SHARES]
        asked += [f"{owner}.{kind}({value}, {n})" for kind in ("count", "contains") for value in wanted]
    return asked


def answers(observed: Sequence[float], windows: Sequence[int], wanted: Sequence[float]) -> list[float]:
    """What pandas and numpy say of the same questions, in the same order, of at least one observation."""
    series = pd.Series(observed, dtype=float)
    made = [series.iloc[-1], series.expanding().mean().iloc[-1], series.min(), series.max()]
    made += [series.ewm(alpha=alpha, adjust=False).mean().iloc[-1] for alpha in ALPHAS]
    for n in windows:
        window = series.iloc[-n:].to_numpy()
        made += [series.iloc[-n] if len(series) >= n else math.nan, series.rolling(n, min_periods=1).mean().iloc[-1]]
        made += [float(np.quantile(window, share, method="inverted_cdf")) for share in SHARES]
        made += [float((window == value).sum()) for value in wanted]
        made += [float((window == value).any()) for value in wanted]
    return [float(value) for value in made]


def ask_all(twin: Twin, asked: list[str], key: float, values: dict[str, float]) -> list[float]:
    """The twin asserts that native and reference agree on each."""
    return [twin.score(key, values | {"now": float(i)}) for i in range(len(asked))]


@pytest.mark.parametrize("window", few([1, 2, 64, 65, 1000, 4095, MAX_KEPT_OF_SYSTEM], 2))
def test_a_window_of_the_system_wraps_around_again_and_again(window):
    owner = "world.whole"
    asked = [*questions(owner, (window,), ("item.whole", "0", "-7")), f"world.id.count(3, {window})"]
    random = Random(window)
    twin = Twin(check(asking(asked), TASK), TOY_LAYOUT)
    steps = 2 * window + 1_500
    for step in range(steps):
        key = float(random.randrange(9))
        if key in twin.live and random.random() < 0.1:
            twin.leave(key)
        values = FIXED | {"item.id": key, "item.whole": float(random.randrange(-40, 40) * random.choice((1, 1, 25)))}
        twin.observe(key, values)
        if step % (steps // 40) == 0 or abs(step - window) < 3:
            ask_all(twin, asked, key, values)
    twin.check_memory()


def test_many_values_that_come_and_go_leave_the_hash_table_true():
    # far more distinct values than places, so that places are emptied and moved up all the time
    twin = Twin(check(asking([f"world.id.count(world.members, {n})" for n in (1, 5, 97)]), TASK), TOY_LAYOUT)
    random = Random(3)
    for step in range(3_000 if ALL else 1_000):
        key = float(random.choice((random.randrange(60), random.randrange(2**32))))
        twin.observe(key, FIXED | {"item.id": key})
        if step % 5 == 0:
            for looked_for in (key, float(random.randrange(60))):
                ask_all(twin, ["", "", ""], key, FIXED | {"item.id": key, "world.members": looked_for})


@pytest.mark.parametrize("scale", few([1e-300, 1.0, 1e300], 2))
@pytest.mark.parametrize("owner", ["item.huge", "world.huge"])
def test_statistics_are_those_of_pandas_and_numpy(owner, scale):
    windows, looked_for = (1, 2, 5, 64), (0.0, 0.25 * scale)
    asked = questions(owner, windows, [repr(value) for value in looked_for])
    twin = Twin(check(asking(asked), TASK), TOY_LAYOUT)
    random, observed = Random(8), []
    for step in range(300):
        observed.append(scale * random.choice((random.uniform(-1.0, 1.0), 0.25, -0.0, 0.0)))
        values = FIXED | {"item.id": 5.0, "item.huge": observed[-1]}
        twin.observe(5.0, values)
        if step < 8 or step % 37 == 0:
            found = ask_all(twin, asked, 5.0, values)
            for question, ours, theirs in zip(asked, found, answers(observed, windows, looked_for), strict=True):
                wanted = 0.0 if math.isnan(theirs) else theirs  # `unknown` of the feature
                assert ours == pytest.approx(wanted, rel=1e-12, abs=1e-14 * scale), (question, step)


ALL_OF_AN_ENTITY = questions("item.signed", (1, 3, 64), ("0", "1.5"))
OF_ITS_POPULATION = [f"world.signed.percentile({share})" for share in (0, 0.3, 1)]


@pytest.mark.parametrize("others", [True, False], ids=["among others", "after an earlier life"])
def test_an_entity_sees_nothing_of_another_one_or_of_an_earlier_life(others):
    asked = [*ALL_OF_AN_ENTITY, *([] if others else OF_ITS_POPULATION)]
    policy = check(asking(asked), TASK)
    one, new = Twin(policy, TOY_LAYOUT), Twin(policy, TOY_LAYOUT)
    random = Random(6)
    if not others:
        for _ in range(150):
            one.observe(1.0, values_for(TOY.signature, random) | {"item.id": 1.0})
        one.leave(1.0)
    for step in range(240 if ALL else 90):
        other = float(random.randrange(2, 9))
        if others and other in one.live and random.random() < 0.3:
            one.leave(other)
        else:
            values = values_for(TOY.signature, random) | {"item.id": other}
            for twin in [one] if others else [one, new]:
                twin.observe(other, values)
        if step % 3 == 0:
            values = values_for(TOY.signature, random) | {"item.id": 1.0}
            for twin in (one, new):
                twin.observe(1.0, values)
            assert ask_all(one, asked, 1.0, values) == ask_all(new, asked, 1.0, values)
    assert one.statistics(1.0).tobytes() == new.statistics(1.0).tobytes()


def test_the_system_observes_the_events_of_all_entities_and_forgets_none_that_left():
    asked = ["world.whole.avg()", "world.whole.recent(3)", "world.id.contains(1, 3)", "world.id.contains(1, 2)"]
    twin = Twin(check(asking(asked), TOY), TOY_LAYOUT)
    for key, value in ((1.0, 10.0), (2.0, 20.0), (2.0, 60.0)):
        twin.observe(key, FIXED | {"item.id": key, "item.whole": value})
        twin.leave(key)
    assert ask_all(twin, asked, 9.0, FIXED) == [30.0, 10.0, 1.0, 0.0]


LINK = Value(
    function="window",
    arguments=(
        NOW,
        Global(
            "link", "a connection",
            (
                Feature("delay", "float", "ms", 0.0, 1e6, "its delay", unknown=-1.0),
                Feature("lost", "bool", "truth", 0.0, 1.0, "whether one was"),
            ),
        ),
    ),
    returns="packets",
)  # fmt: skip
LINK_TASK = replace(TOY, name="link", signature=LINK, operations=10**6, directory=Path(__file__).parent)
LINK_LAYOUT = Layout(
    features={"now": Slot("globals", 0), "link.delay": Slot("globals", 1), "link.lost": Slot("globals", 2)},
    global_slots=3,
)


def test_where_there_is_no_entity_each_update_is_an_observation():
    asked = questions("link.delay", (1, 4, 100), ("link.delay", "2")) + questions("link.lost", (5,), ("1",))
    source = asking(asked).replace("rate(now, item, world, past)", "window(now, link)")
    twin = Twin(check(source, LINK_TASK), LINK_LAYOUT)
    assert (twin.native.enter, twin.native.leave, twin.native.entity_slots) == (0, 0, 0)
    assert ask_all(twin, asked, None, {"now": 0.0, "link.delay": 2.0, "link.lost": 1.0})[:3] == [-1.0, -1.0, -1.0]
    random = Random(2)
    for step in range(350):
        values = {"now": float(step), "link.delay": random.choice((2.0, random.random())), "link.lost": step % 2.0}
        twin.observe(None, values)
        if step % 18 == 0:
            found = ask_all(twin, asked, None, values)
            assert found[0] == values["link.delay"]


@pytest.mark.parametrize("name", STATISTICS)
def test_an_address_is_0_only_where_nothing_needs_the_call(name):
    kind = STATISTICS[name]
    written = ", ".join([*(["1"] if kind.looks_for else []), *("3" if a.whole else "0.5" for a in kind.arguments)])
    for scope in kind.scopes:
        native = check(returning(f"{'item' if scope == 'entity' else 'world'}.whole.{name}({written})"), TOY).native(
            TOY_LAYOUT
        )
        assert native.enter != 0
        assert native.update != 0
        assert (native.leave != 0) == (scope != "system")
        assert (native.entity_slots != 0) == (scope != "system")
