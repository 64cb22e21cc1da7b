"""Policies of the toy task whose verdicts were derived by hand, and why each is what it is.

`holds` is the truth; `verdict` differs from it only where it is `unknown`: the property holds, or is believed to, but
what is known of float64 and of the mathematical library does not say so, or rules and search are too weak for it.
"""

# ruff: noqa: E501 (a case a line, as far as it goes)

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent

from anvil_toy import HEAD

from vulcan.task import Property

HELPERS = """
def clamp(v, low, high):
    return max(low, min(v, high))
def bumped(v):
    if v > 3:
        return v + 10
    return v
def folded(v):
    if v < 0:
        return -v
    return v
"""


@dataclass(frozen=True)
class Case:
    name: str
    source: str
    property: Property
    verdict: str
    why: str


def up(subject: str, when: str | None = None) -> Property:
    return Property("up", "nondecreasing", "", subject=subject, when=when)


def down(subject: str, when: str | None = None) -> Property:
    return Property("down", "nonincreasing", "", subject=subject, when=when)


def blind(subject: str) -> Property:
    return Property("blind", "independent", "", subject=subject)


def within(low: float | None, high: float | None, when: str | None = None) -> Property:
    return Property("within", "bounded", "", low=low, high=high, when=when)


def claim(text: str, when: str | None = None) -> Property:
    return Property("claim", "holds", "", claim=text, when=when)


def program(text: str) -> str:
    """A policy that returns the expression, or has the body."""
    helpers = HELPERS if any(name in text for name in ("clamp(", "bumped(", "folded(")) else ""
    body = text if "return" in text else f"return {text}"
    return f"import math\n{helpers}{HEAD}{indent(body, '    ')}\n"


_TABLE: list[tuple[str, Property, str, str]] = [
    # Direction, and signs
    ("item.whole + now", up("item.whole"), "proved", "a sum rises with a summand"),
    ("item.whole - now", up("now"), "refuted", "it falls"),
    ("item.whole - now", down("now"), "proved", "it falls"),
    ("-item.signed", down("item.signed"), "proved", "negation turns the order round"),
    ("item.signed * 3", up("item.signed"), "proved", "rounding is monotone"),
    ("item.signed * item.whole", up("item.signed"), "refuted", "the factor may be negative"),
    ("item.signed * item.whole", up("item.signed", "item.whole >= 0"), "proved", "now it may not"),
    ("item.signed * item.below", down("item.signed"), "proved", "a negative factor turns the order round"),
    ("item.signed * item.signed", up("item.signed"), "refuted", "a parabola"),
    ("item.signed * item.signed", up("item.signed", "item.signed >= 0"), "proved", "its rising half"),
    ("item.signed * item.signed", down("item.signed", "item.signed <= 0"), "proved", "its falling half"),
    ("item.signed * item.signed", within(0.0, None), "proved", "a square, also rounded"),
    ("item.whole * item.whole * item.whole", up("item.whole"), "unknown", "a cube of small integers is exact"),
    ("item.signed - item.signed", blind("item.signed"), "proved", "0 whatever it is"),
    ("item.signed * 0.7 + item.signed * 0.3", up("item.signed"), "proved", "two rising summands, each rounded"),
    # Rounding decides
    ("(item.signed + 1e20) - 1e20", up("item.signed"), "proved", "it is 0 nearly always, but never falls"),
    ("(item.signed + 1e20) - 1e20", claim("result == item.signed"), "refuted", "the sum swallows it"),
    ("(item.whole + 1e20) - 1e20", blind("item.whole"), "proved", "up to 1000 is under half a unit of 1e20: always 0"),
    ("(item.positive + 1e20) - 1e20", blind("item.positive"), "refuted", "2**40 is over half a unit of 1e20"),
    ("item.signed * 0.1 * 10 - item.signed", within(0.0, 0.0), "refuted", "0.1 is no tenth"),
    ("item.signed * 3 - item.signed * 2", up("item.signed"), "refuted", "neighbours are rounded apart by less than they lie"),
    ("item.whole * 3 - item.whole * 2", up("item.whole"), "unknown", "of such integers every step is exact"),
    ("(item.signed + 0.1) - item.signed", blind("item.signed"), "refuted", "it is 0.1 only more or less"),
    ("item.signed / 3 * 3", up("item.signed"), "proved", "two roundings, both monotone"),
    ("item.id * 0.1 - item.id / 10", blind("item.id"), "refuted", "a tenth of it, rounded in two ways"),
    ("item.least * item.least", claim("result > 0"), "refuted", "1e-600 is 0"),
    ("item.least / 2", claim("result > 0"), "proved", "5e-301 is a float64"),
    ("item.tiny / 2", claim("result < item.tiny or item.tiny == 0"), "unknown", "it holds: half of the smallest number is rounded to 0"),
    ("item.positive * 1.0000000001", claim("result > item.positive"), "unknown", "a share of 1e-10 outlasts the rounding"),
    ("item.positive * 1.0000000000000001", claim("result > item.positive"), "refuted", "that factor is 1"),
    # Integers beyond 2**53
    ("item.positive + 9007199254740992", up("item.positive"), "proved", "rounding is monotone"),
    ("item.positive + 9007199254740992", claim("result > 9007199254740992"), "refuted", "2**53 + 1 is rounded to 2**53"),
    ("(item.whole + 9007199254740992) - item.whole", blind("item.whole"), "refuted", "2**53 + 1 - 1 is 2**53 - 1"),
    ("(item.positive * 1048576 + 1) - item.positive * 1048576", claim("result == 1"), "refuted", "2**60 + 1 is 2**60"),
    ("(item.whole * 1048576 + 1) - item.whole * 1048576", claim("result == 1"), "unknown", "1000 * 2**20 + 1 is exact"),
    # Saturation
    ("item.huge * 1e300", up("item.huge"), "proved", "what saturates does not fall"),
    ("item.huge * 1e300", within(-1e300, 1e300), "refuted", "it is the largest number there"),
    ("item.huge * 1e300", within(-1.7976931348623157e308, 1.7976931348623157e308), "proved", "never infinite"),
    ("item.huge * 1e300 - item.huge * 1e299", up("item.huge"), "refuted", "both saturate, and the difference is 0"),
    ("item.huge * 1e300 / 1e300", claim("result == item.huge"), "refuted", "saturated it does not come back"),
    ("math.exp(item.positive)", up("item.positive"), "unknown", "it saturates; that exp is monotone is not promised"),
    # x / 0 = 0
    ("1 / item.whole", up("item.whole"), "refuted", "from 1 to 1/2"),
    ("1 / item.whole", down("item.whole"), "refuted", "from -1 to 0 at 0"),
    ("1 / item.positive", down("item.positive"), "proved", "never 0"),
    ("1 / item.below", down("item.below"), "proved", "always negative"),
    ("item.positive / item.whole", up("item.positive", "item.whole >= 0"), "proved", "a divisor 0 gives 0 for both"),
    ("item.positive / item.whole", up("item.positive"), "refuted", "a negative divisor"),
    ("item.positive / world.load", down("world.load"), "refuted", "from 0 at 0 to very much"),
    ("item.positive / world.load", down("world.load", "world.load > 0"), "proved", "without the 0"),
    ("item.positive / world.load", within(0.0, 1e300), "refuted", "a load of 1e-300"),
    ("1 / (item.signed - item.signed)", within(0.0, 0.0), "proved", "1 / 0"),
    ("(item.id + 1) / (item.id + 1)", blind("item.id"), "unknown", "1, for it is never 0"),
    ("item.id / item.id", blind("item.id"), "refuted", "0 / 0 is 0"),
    ("item.whole % item.whole", within(0.0, 0.0), "proved", "0, also at 0"),
    ("1 / (item.signed.ewma(0.3) - now + 1)", within(-1e17, 1e17), "proved", "a difference does not cancel below a unit"),
    ("1 / item.tiny", within(0.0, 1e300), "refuted", "5e-324 saturates"),
    ("1 / (item.signed - 3)", within(-1e15, 1e15), "unknown", "the neighbour of 3 is 4.4e-16 away"),
    ("1 / (item.signed - 3)", within(-1e17, 1e17), "proved", "and no number is nearer"),
    # Branches at boundaries
    ("5 if item.whole < 5 else item.whole", up("item.whole"), "proved", "5, 5, 6"),
    ("6 if item.whole < 5 else item.whole", up("item.whole"), "refuted", "6 at 4, 5 at 5"),
    ("item.whole if item.whole < 5 else item.whole - 1", up("item.whole"), "proved", "3, 4, 4, 5: integers only"),
    ("item.signed if item.signed < 5 else item.signed - 1", up("item.signed"), "refuted", "4.5 at 4.5, 4 at 5"),
    ("item.whole if item.whole < 5 else item.whole - 2", up("item.whole"), "refuted", "4 at 4, 3 at 5"),
    ("item.signed if item.whole > 3 else item.signed - 1", up("item.whole"), "proved", "a step up"),
    ("item.signed if item.whole > 3 else item.signed - 1", up("item.signed"), "proved", "both branches rise"),
    ("item.signed if item.whole > 3 else item.signed + 1", up("item.whole"), "refuted", "a step down"),
    ("item.signed if item.signed > world.load else world.load", up("item.signed"), "proved", "max in other words"),
    ("item.signed if item.signed < world.load else world.load", up("world.load"), "proved", "min in other words"),
    ("0 if item.whole == 123 else 1", blind("item.whole"), "refuted", "one of 2,001 values"),
    ("1 if item.id == 77777 else 0", blind("item.id"), "refuted", "one of four thousand million"),
    ("1 if item.id + 1 > item.id else 0", blind("item.id"), "unknown", "always 1 below 2**53; what rounding may make equal is not proved to differ"),
    ("1 if item.huge + 1 > item.huge else 0", blind("item.huge"), "refuted", "1e300 + 1 is 1e300"),
    ("1 if item.whole * 2 == 7 else 0", blind("item.whole"), "unknown", "no integer is 3.5"),
    ("1 if item.signed * 2 == 7 else 0", blind("item.signed"), "refuted", "3.5 is a number"),
    # min, max, abs, round
    ("min(item.signed, 2)", up("item.signed"), "proved", "min rises"),
    ("abs(item.signed)", up("item.signed"), "refuted", "it falls below 0"),
    ("abs(item.signed)", up("item.signed", "item.signed >= 0"), "proved", "it is the number itself"),
    ("max(item.whole, -item.whole)", claim("result >= 0"), "unknown", "the absolute value"),
    ("max(item.signed, world.load) - min(item.signed, world.load)", within(0.0, 20.0), "proved", "a distance"),
    ("min(item.signed, 1) - max(item.signed, 1)", up("item.signed"), "refuted", "it falls above 1"),
    ("min(item.whole, 3) + max(item.whole, 3)", up("item.whole"), "proved", "both rise"),
    ("max(item.signed, 2) - min(item.signed, 2)", up("item.signed", "item.signed > 2"), "proved", "its right half"),
    ("round(item.signed)", up("item.signed"), "proved", "rounding is monotone, also half to even"),
    ("round(item.signed) - item.signed", up("item.signed"), "refuted", "a saw"),
    ("math.floor(item.signed)", claim("result <= item.signed"), "proved", "the floor is below"),
    ("int(item.signed)", claim("result <= item.signed"), "refuted", "int(-0.5) is 0"),
    ("int(item.signed)", up("item.signed"), "proved", "towards 0, still rising"),
    ("item.positive // 3", up("item.positive"), "proved", "the quotient is small enough to be exact"),
    ("item.positive % 3", up("item.positive"), "refuted", "2, 0"),
    ("item.positive % 3", within(0.0, 2.0), "proved", "of integers"),
    ("item.signed % 1.0", within(0.0, 1.0), "proved", "up to the divisor"),
    ("item.signed % 1.0", claim("result < 1"), "unknown", "-1e-20 % 1.0 is 1.0: 1 - 1e-20, rounded"),
    ("item.id % 1", blind("item.id"), "proved", "an integer has no fraction"),
    ("item.positive * 1e6 // 0.7", up("item.positive"), "unknown", "beyond 2**49 floor division rounds, and how is not modelled"),
    ("item.id // 4294967297", blind("item.id"), "proved", "it is smaller than that"),
    # Truth
    ("item.whole > 3", up("item.whole"), "proved", "0, then 1"),
    ("not item.whole > 3", down("item.whole"), "proved", "1, then 0"),
    ("0 < item.whole < 5", up("item.whole"), "refuted", "0, 1, 0"),
    ("(item.whole > 3) * 10 + (item.whole > 7)", up("item.whole"), "proved", "two steps up"),
    ("(item.whole > 3) - (item.whole > 7)", up("item.whole"), "refuted", "a step down at 8"),
    ("item.whole or 1", up("item.whole"), "proved", "-1, 1, 1, 2: integers only"),
    ("item.signed or 1", up("item.signed"), "refuted", "1 at 0, 0.5 at 0.5"),
    ("item.whole and 5", claim("result == 0 or result == 5"), "proved", "`and` gives an operand"),
    ("bool(item.whole)", up("item.whole"), "refuted", "1 at -1, 0 at 0"),
    # Loops and helpers
    ("t = 0\nfor i in range(5):\n    t += item.whole\nreturn t", up("item.whole"), "proved", "five times it"),
    ("t = 0\nfor i in range(8):\n    if i >= item.whole:\n        break\n    t += 1\nreturn t", up("item.whole"), "proved", "min(8, max(0, it))"),
    ("t = 0\nfor i in range(8):\n    if i == item.whole:\n        continue\n    t += 1\nreturn t", up("item.whole"), "refuted", "7 where it is one of them"),
    ("t = item.signed\nfor i in range(3):\n    t = t * 2 - 1\nreturn t", up("item.signed"), "proved", "a rising step, three times"),
    ("for i in range(4):\n    if item.whole > i:\n        return 4 - i\nreturn 0", up("item.whole"), "proved", "4 as soon as it is above 0"),
    ("for i in range(4):\n    if item.whole <= i:\n        return i\nreturn 4", down("item.whole"), "refuted", "0, 1, 2"),
    ("t = item.signed\nfor i in range(2000):\n    t = t * 0.5 + item.signed\nreturn t", up("item.signed"), "unknown", "too long to unroll"),
    ("t = item.signed\nfor i in range(2000):\n    t = t * 0.5 - item.signed\nreturn t", up("item.signed"), "unknown", "too long to unroll, so not tried"),
    ("clamp(item.huge, 2, 1e6)", within(2.0, 1e6), "proved", "clamped"),
    ("clamp(item.huge, 2, 1e6)", up("item.huge"), "proved", "clamping is monotone"),
    ("clamp(item.huge, 1e6, 2)", within(2.0, 2.0), "refuted", "clamped the wrong way round: 1e6"),
    ("bumped(item.whole) - bumped(now)", up("item.whole"), "proved", "a step up"),
    ("folded(item.whole)", claim("result == abs(item.whole)"), "proved", "abs in other words"),
    # The history, and statistics
    ("past.count(item.id)", blind("item.id"), "proved", "its answer is held equal"),
    ("past.contains(item.id) * item.id", blind("item.id"), "refuted", "the number itself"),
    ("past.age(item.id) / (past.count(item.id) + 1)", within(0.0, 2.0**53), "proved", "from the bounds of the answers"),
    ("item.signed.ewma(0.3) * item.positive", up("item.positive"), "refuted", "the average may be negative"),
    ("item.positive.ewma(0.3) * item.signed", up("item.signed"), "proved", "this one may not"),
    ("item.below.min()", within(-1000.0, -1.0), "refuted", "1e6 is what it is while nothing was observed"),
    ("item.below.min()", within(-1000.0, 1e6), "proved", "or within the range"),
    ("world.whole.percentile(0.5)", blind("item.whole"), "proved", "statistics are held equal"),
    ("item.whole.count(item.whole, 8)", within(0.0, 8.0), "proved", "of eight observations"),
    ("item.whole.count(item.whole, 8)", up("item.whole"), "refuted", "an unknown function of the value"),
    ("item.whole.count(3, 8) + item.whole", up("item.whole"), "proved", "the same question in both inputs"),
    ("item.whole.count(item.id * 0, 8)", blind("item.id"), "proved", "the same value in both inputs"),
    ("world.id.contains(item.id, 10)", blind("item.id"), "proved", "about the entity itself: held equal"),
    ("world.id.contains(item.id + 1, 10)", blind("item.id"), "refuted", "about another one"),
    # The mathematical library
    ("math.log(item.positive)", up("item.positive"), "unknown", "it rises, but that log is monotone is not promised"),
    ("math.log(item.signed)", up("item.signed"), "refuted", "0 at 0, negative just above"),
    ("math.log(item.signed)", up("item.signed", "item.signed > 0"), "unknown", "of neighbours the library promises nothing"),
    ("math.log1p(item.positive) / math.sqrt(item.positive + now)", down("now"), "proved", "only the root falls, and it is monotone"),
    ("math.sqrt(item.signed)", up("item.signed"), "proved", "0 below 0, and correctly rounded"),
    ("item.positive ** -0.5", down("item.positive"), "unknown", "nor that pow is"),
    ("item.whole ** 2", up("item.whole"), "refuted", "a parabola"),
    ("item.signed ** 2", up("item.signed", "item.signed >= 0"), "unknown", "pow of neighbours"),
    ("math.exp(item.whole)", up("item.whole", "abs(item.whole) < 600"), "unknown", "nor that exp is"),
    ("math.exp(item.signed)", up("item.signed"), "unknown", "exp of neighbours"),
    ("math.exp(-item.positive)", down("item.positive"), "unknown", "results near 5e-324 keep few bits"),
    ("math.exp(item.signed)", within(0.0, 1409.0), "proved", "e to the 7.25 is 1408.1"),
    ("math.tanh(item.huge)", within(-1.0, 1.0), "proved", "never beyond"),
    ("math.sin(item.whole)", up("item.whole"), "refuted", "it falls too"),
    ("math.cos(item.huge)", within(-1.0, 1.0), "proved", "never beyond"),
    ("math.log(item.whole + 1001) * 0", blind("item.whole"), "proved", "0 times anything finite"),
    # Claims with conditions
    ("item.positive * 0.9 if world.load > 0.5 else item.positive + 1", claim("result <= item.positive", "world.load > 0.5"), "proved", "it shrinks there"),
    ("item.positive * 0.9 if world.load > 0.6 else item.positive + 1", claim("result <= item.positive", "world.load > 0.5"), "refuted", "it grows between 0.5 and 0.6"),
    ("item.positive if world.load > 0.5 and not item.flag else item.positive + 1", claim("result <= item.positive", "world.load > 0.5 and not item.flag"), "proved", "the condition itself"),
    ("max(2, item.positive * 0.5)", claim("result <= item.positive"), "refuted", "2 for 1"),
    ("max(1, item.positive * 0.5)", claim("result <= item.positive"), "proved", "1 for 1"),
    ("max(2, min(1e6, item.positive * (1 + world.load)))", within(2.0, 1e6), "proved", "clamped"),
    ("item.positive / (now - item.whole + 1)", up("item.positive"), "refuted", "the divisor may be negative"),
    ("item.positive / (now - item.whole + 1)", up("item.positive", "item.whole <= now"), "proved", "now it may not"),
    ("item.positive / (now - item.whole + 1)", up("item.whole", "item.whole <= now"), "proved", "a smaller positive divisor"),
    ("item.positive / (now - item.whole)", up("item.whole", "item.whole <= now"), "refuted", "0 where they are equal"),
    ("-item.whole", up("item.whole", "item.whole > 2000"), "proved", "of no input at all"),
    # Bounds, to the last bit
    ("item.whole", within(-1000.0, 1000.0), "proved", "its range"),
    ("item.whole", within(-1000.0, 999.0), "refuted", "but for its end"),
    ("item.signed * 2", within(-11.0, 14.5), "proved", "exactly twice the range"),
    ("item.signed * 2", within(-11.0, 14.499999999999998), "refuted", "one unit less"),
    ("item.flag * 3 + 1", claim("result == 1 or result == 4"), "unknown", "a truth is 0 or 1"),
]  # fmt: skip

CASES = [
    Case(f"{number:03d} {text.splitlines()[0]} | {declared.name}", program(text), declared, verdict, why)
    for number, (text, declared, verdict, why) in enumerate(_TABLE)
]
