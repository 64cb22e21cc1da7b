"""The functions of an exported module give the bits that the reference gives, at the edges of each operation."""

from __future__ import annotations

from random import Random

import pytest
from anvil_toy import TOY, returning
from anvil_values import values_for
from exported_run import compare, life

from vulcan.anvil import check


@pytest.mark.parametrize(
    "expression",
    [
        "item.signed / item.signed", "1 / 0", "1 // item.whole", "item.whole % item.signed", "0 ** -1",
        "item.below ** 0.5", "item.huge * item.huge", "item.huge * item.huge - item.huge * item.huge",
        "math.log(item.whole)", "math.log1p(item.below)", "math.sqrt(item.signed)", "math.exp(item.huge)",
        "math.expm1(item.huge)", "item.below ** 1001", "int(item.signed)", "int(-item.tiny)", "round(item.signed)",
        "math.floor(-item.tiny)", "math.ceil(item.signed)", "-0.0", "not item.whole", "bool(item.tiny)",
        "item.whole and item.flag or item.below", "1 < item.positive <= 3 < 5", "min(item.flag, 0.0, -0.0)",
        "(item.signed if item.flag else item.below) ** 2", "-item.whole ** 2", "2 ** -item.whole", "(-2) ** 3",
        "math.pi * math.e", "True + True", "math.atan(item.huge) + math.tanh(item.signed)", "item.huge % 7",
    ],
)  # fmt: skip
def test_each_operation_gives_the_same_bits_at_its_edges(expression: str) -> None:
    policy = check(returning(expression), TOY)
    assert compare(policy, life(TOY, Random(3), 150, values_for)) > 100
