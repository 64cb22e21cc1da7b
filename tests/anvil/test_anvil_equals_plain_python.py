"""A policy runs under CPython unchanged, and wherever that stays within ordinary numbers it gives Anvil's result."""

from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest
from anvil_programs import programs
from anvil_toy import TOY, TOY_LAYOUT, returning
from anvil_twin import Twin
from anvil_values import values_for
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_python import Parted, Plain

from vulcan.anvil import Rejected, check
from vulcan.registry import find_task
from vulcan_cache.layout import LAYOUT as CACHE_LAYOUT

CACHE = replace(find_task("cache_eviction"), operations=TOY.operations)


@pytest.mark.parametrize(("task", "layout"), [(TOY, TOY_LAYOUT), (CACHE, CACHE_LAYOUT)], ids=["toy", "cache_eviction"])
def test_native_code_gives_what_plain_python_gives(task, layout):
    compared = parted = 0

    @settings(
        max_examples=examples(150),
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
        database=None,
    )
    @given(
        source=programs(task.signature, statistics=False, extremes=False),
        seed=st.integers(0, 2**32),
    )
    def compare(source, seed):
        nonlocal compared, parted
        try:
            twin = Twin(check(source, task), layout)
            plainly = Plain(source, task)
        except Rejected as rejected:
            assert all(v.rule in ("operations", "too-large") for v in rejected.violations), source
            return
        random = Random(seed)
        for _ in range(6):
            values = values_for(task.signature, random, tame=True)
            key = values[f"{task.signature.entity.name}.id"]
            ours = twin.score(key, values)
            try:
                plain = plainly.ask(task.signature.function, values, key)
            except Parted:
                parted += 1
                continue
            compared += 1
            assert plain == ours, f"CPython {plain!r}, Anvil {ours!r} of {values} by\n{source}"

    compare()
    assert compared > parted > 0


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 // -2", -4.0), ("-7 % 3", 2.0), ("7 % -3", -2.0), ("2 and 3", 3.0), ("0 or 5", 5.0), ("0 and 1/0", 0.0),
        ("1 < 2 < 3", 1.0), ("3 > 2 > 2", 0.0), ("round(2.5) + round(3.5)", 6.0), ("int(-2.7)", -2.0),
        ("not 0.0", 1.0), ("True + True", 2.0), ("-2 ** 2", -4.0), ("2 ** 3 ** 2", 512.0),
        ("min(3, 1, 2) - max(3, 1, 2)", -2.0), ("4 if 0 else 5", 5.0),
    ],
)  # fmt: skip
def test_python_s_own_meaning_of_an_expression_is_kept(expression, value):
    values = values_for(TOY.signature, Random(1))
    source = returning(expression)
    with suppress(Parted):
        assert Plain(source, TOY).ask("rate", values, 1.0) == value
    assert Twin(check(source, TOY), TOY_LAYOUT).score(1.0, values) == value
