"""The functions of `fixed.h` against exact arithmetic, on random, extreme and close operands."""

from __future__ import annotations

import ctypes
import math
from fractions import Fraction
from random import Random

import pytest
from compiled import SANITISED, library
from effort import examples

from vulcan.export.c.fixed_header import TYPES
from vulcan.export.c.header import functions_of

MAX = 2**63 - 1
COUNT = examples(20_000)
_TAKES = {
    "multiply": "llI", "divide": "llI", "floor_divide": "llI", "modulo": "ll", "add": "ll", "subtract": "ll",
    "scaled": "lI", "order": "llI", "sqrt": "lII", "log2": "lI", "exp2": "lI", "power": "lIlII", "exp": "lII",
    "log": "lIlI", "tanh": "lI", "floor": "lI", "ceil": "lI", "trunc": "lI", "round": "lI", "exactly": "lI",
}  # fmt: skip


@pytest.fixture(scope="module")
def fixed() -> ctypes.CDLL:
    text = "\n\n".join((TYPES, *functions_of("fixed.h").values()))
    calls = []
    for name, takes in _TAKES.items():
        arguments = ", ".join(f"{'policy_fixed' if t == 'l' else 'int'} a{i}" for i, t in enumerate(takes))
        passed = ", ".join(f"a{i}" for i in range(len(takes)))
        calls.append(
            f"long long {name}({arguments});\nlong long {name}({arguments}) {{ return policy_{name}({passed}); }}"
        )
    source = '#include "policy.h"\n' + "\n".join(calls)
    made = library({"policy.h": text, "functions.c": source}, "functions.c", (*SANITISED, "-fno-builtin"))
    for name, takes in _TAKES.items():
        function = getattr(made, name)
        function.restype = ctypes.c_longlong
        function.argtypes = [ctypes.c_longlong if t == "l" else ctypes.c_int for t in takes]
    return made


def operand(random: Random) -> int:
    """Of any magnitude; often an extreme, a power of two, or next to one."""
    match random.randrange(4):
        case 0:
            value = random.choice((0, 1, 2, 3, MAX, MAX - 1, 2**62, 2**32, 2**32 - 1, 10**6))
        case 1:
            value = min(max((1 << random.randrange(63)) + random.randrange(-2, 3), 0), MAX)
        case _:
            value = random.getrandbits(random.randrange(1, 64))
    return -value if random.random() < 0.5 else value


def saturated(value: int) -> int:
    return min(max(value, -MAX), MAX)


def nearest(value: Fraction) -> int:
    """Halves go away from zero."""
    magnitude = math.floor(abs(value) + Fraction(1, 2))
    return saturated(-magnitude if value < 0 else magnitude)


def power_of_two(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def test_products_and_shifts_are_exact_but_for_the_last_rounding(fixed: ctypes.CDLL) -> None:
    random = Random(1)
    for _ in range(COUNT):
        a, b, right, by = operand(random), operand(random), random.randrange(-70, 132), random.randrange(-70, 70)
        assert fixed.multiply(a, b, right) == nearest(a * b / power_of_two(right)), (a, b, right)
        assert fixed.scaled(a, by) == nearest(a * power_of_two(by)), (a, by)
        assert fixed.add(a, b) == saturated(a + b)
        assert fixed.subtract(a, b) == saturated(a - b)


def test_quotients_are_exact_but_for_the_last_rounding(fixed: ctypes.CDLL) -> None:
    random = Random(2)
    for _ in range(COUNT):
        a, b, left = operand(random), operand(random), random.randrange(-10, 127)
        if b == 0:
            assert fixed.divide(a, b, left) == 0
            continue
        exact = a * power_of_two(left) / b
        got = fixed.divide(a, b, left)
        if left >= 0:
            assert got == nearest(exact), (a, b, left)
        else:  # a quotient cut off before it is rounded
            assert abs(got - exact) <= Fraction(1, 2) + power_of_two(left), (a, b, left)


def test_whole_quotients_and_remainders_are_those_of_python(fixed: ctypes.CDLL) -> None:
    random = Random(3)
    for _ in range(COUNT):
        a, b, left = operand(random), operand(random), random.randrange(-70, 127)
        if random.random() < 0.3 and b != 0:
            a, left = saturated(b * random.randrange(-5, 6) + random.randrange(-1, 2)), 0
        if b == 0:
            assert fixed.floor_divide(a, b, left) == fixed.modulo(a, b) == 0
            continue
        expected = saturated(math.floor(a * power_of_two(left) / b))
        assert fixed.floor_divide(a, b, left) == expected, (a, b, left)
        assert fixed.modulo(a, b) == a % b if b > 0 else fixed.modulo(a, b) == -((-a) % -b), (a, b)


def test_comparisons_are_exact_at_any_scale(fixed: ctypes.CDLL) -> None:
    random = Random(4)
    for _ in range(COUNT):
        by = random.randrange(0, 150)
        b = operand(random) >> random.choice((0, 30, 60))
        a = saturated((b << by) + random.randrange(-1, 2)) if random.random() < 0.5 else operand(random)
        exact = Fraction(a) / power_of_two(by) - b
        assert fixed.order(a, b, by) == (exact > 0) - (exact < 0), (a, b, by)


def test_roundings_are_those_of_python(fixed: ctypes.CDLL) -> None:
    random = Random(5)
    for _ in range(COUNT):
        scale = random.randrange(0, 63)
        x = operand(random)
        if random.random() < 0.3:  # a half
            x = saturated(random.randrange(-9, 10) * 2**scale // 2)
        value = x / power_of_two(scale)
        for name, function in (("floor", math.floor), ("ceil", math.ceil), ("trunc", math.trunc), ("round", round)):
            assert getattr(fixed, name)(x, scale) == function(value), (name, x, scale)
        by = random.randrange(-62, 62)
        moved = x * power_of_two(by)
        found = fixed.exactly(x, by)
        assert found == (int(moved) if moved.denominator == 1 and abs(moved) <= MAX else -MAX - 1), (x, by)


def relative(got: int, expected: float, scale: int) -> float:
    """The error of a number at a scale, less its rounding, as a share of what is expected."""
    error = max(abs(Fraction(got) - Fraction(expected) * power_of_two(scale)) - 1, 0)
    return float(error / (Fraction(abs(expected)) * power_of_two(scale))) if expected else float(error)


def test_roots_logarithms_and_exponentials_err_as_little_as_they_say(fixed: ctypes.CDLL) -> None:
    """Beside doubles, which err by 2**-53 themselves."""
    random = Random(6)
    worst: dict[str, float] = {}

    def note(name: str, error: float) -> None:
        worst[name] = max(worst.get(name, 0.0), error)

    for _ in range(COUNT):
        x, scale = abs(operand(random)) or 1, random.randrange(-20, 80)
        value = float(Fraction(x) / power_of_two(scale))
        wanted = random.randrange(0, 61)
        if 2**-60 < math.sqrt(value) < 2.0 ** (62 - wanted):
            note("sqrt", relative(fixed.sqrt(x, scale, wanted), math.sqrt(value), wanted))
        note("log2", abs(fixed.log2(x, scale) / 2.0**52 - math.log2(x) + scale))
        y = random.randrange(-60 * 2**52, (61 - wanted) * 2**52)
        power = float(2.0 ** (y / 2.0**52))
        note("exp2", relative(fixed.exp2(y, wanted), power, wanted) if power * 2**wanted > 2**40 else 0.0)
        z = random.uniform(-20.0, 20.0)
        note("tanh", abs(fixed.tanh(round(z * 2**40), 40) / 2.0**60 - math.tanh(round(z * 2**40) / 2**40)))
        note("exp", relative(fixed.exp(round(z * 2**40), 40, 30), math.exp(round(z * 2**40) / 2**40), 30)
             if z > 0 else 0.0)  # fmt: skip
        base, exponent = random.uniform(0.01, 100.0), random.uniform(-4.0, 4.0)
        a, b = round(base * 2**50), round(exponent * 2**50)
        expected = (a / 2**50) ** (b / 2**50)
        note("power", relative(fixed.power(a, 50, b, 50, 30), expected, 30) if expected > 2**-4 else 0.0)
    print("largest errors, as powers of two:", {name: round(math.log2(e or 2**-99), 1) for name, e in worst.items()})
    allowed = {"sqrt": -51, "log2": -44, "exp2": -48, "tanh": -51, "exp": -46, "power": -42}
    assert all(worst[name] <= 2.0**bound for name, bound in allowed.items()), worst


def test_powers_of_what_has_none_are_as_anvil_has_them(fixed: ctypes.CDLL) -> None:
    one = 1 << 20
    assert fixed.power(0, 20, -one, 20, 30) == 0  # 0 to a negative power
    assert fixed.power(-4 * one, 20, one // 2, 20, 30) == 0  # a negative number to a fraction
    assert fixed.power(-2 * one, 20, 3, 0, 30) == -8 << 30
    assert fixed.power(-2 * one, 20, 2 * one, 20, 30) == 4 << 30
    assert fixed.power(7, 0, 0, 0, 30) == 1 << 30
    assert fixed.log2(0, 5) == fixed.log2(-3, 5) == fixed.sqrt(-9, 0, 30) == 0
    assert fixed.exp(MAX, 0, 30) == MAX
    assert fixed.exp(-MAX, 0, 30) == 0
