"""An expression means what it means in Python, by the reference and as machine code."""

from contextlib import suppress
from random import Random

import pytest
from anvil_toy import TOY, TOY_LAYOUT, returning
from anvil_twin import Twin
from anvil_values import values_for
from plain_python import Parted, Plain

from vulcan.anvil import check


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
