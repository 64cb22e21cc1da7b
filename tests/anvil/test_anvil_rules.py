"""Every rule rejects what it is for, at the place where it stands; test_anvil_table runs every entry of the grammar."""

# ruff: noqa: E501 (short programs are shown on one line each)

import math
from random import Random

import pytest
from anvil_toy import HEAD, TOY, TOY_LAYOUT, returning
from anvil_twin import Twin
from anvil_values import values_for

from vulcan.anvil import Rejected, check
from vulcan.anvil.grammar import grammar

# `«` stands before the place that the violation must name; it is no part of the program.
BAD: dict[str, list[str]] = {
    "too-long": ["«" + HEAD + "    return 1" + " " * grammar.MAX_SOURCE_BYTES],
    "too-large": [HEAD + "    x = 1\n" * 329 + "    x = «1\n" + "    x = 1\n" * 3 + "    return x\n"],
    "too-deep": [
        HEAD + "    return " + "-" * 97 + "«-1\n",
        "def f0(x):\n    return x\n"
        + "def f1(x):\n    return " + "-" * 90 + "f0(x)\n"
        + "def f2(x):\n    return " + "-" * 90 + "f1(x)\n" + HEAD + "    return 1 + «f2(1)\n",
        "«" + HEAD + "    return " + "-" * 15_000 + "1\n",
    ],
    "syntax": ["def rate(«:\n", HEAD + "    return «(1 + \n", HEAD + "    if x«\n", "«\0"],
    "no-function": ["«def worth(now, item, world, past):\n    return item.size + past.count(item.id)\n", "«def other(a):\n    return a\n", "«", "«A = 1\n"],
    "arguments": ["«def rate(a):\n    return 1\n", "«def rate(item, now, world, past):\n    return 1\n"],
    "top-level": [
        "«print(1)\n" + returning("1"),
        returning("1") + "«if 1:\n    pass\n",
        "«A = B = 1\n" + returning("1"),
        "«class A:\n    pass\n" + returning("1"),
        "«A += 1\n" + returning("1"),
        returning("1") + "«'text'\n",
    ],
    "import": [
        "«import os\n" + returning("1"), "«from math import log\n" + returning("1"), "«import math as m\n" + returning("1"),
        HEAD + "    «import math\n    return 1\n",
    ],
    "decorator": ["@«cache\n" + returning("1")],
    "default-argument": [
        "«def f(x=1):\n    return x\n" + returning("f(1)"), "«def f(*x):\n    return 1\n" + returning("1"),
        "«def f(x, /):\n    return 1\n" + returning("1"),
    ],
    "annotation": [
        "def f(x: «list):\n    return x\n" + returning("1"), HEAD + "    x: «str = 1\n    return x\n",
        "A: «print(1) = 2\n" + returning("A"), "def rate(now, item, world, past) -> «None:\n    return 1\n",
    ],
    "parameter": ["«A = 2 * 3\n" + returning("A"), "«A = 'x'\n" + returning("A"), "«A = B\n" + returning("A")],
    "statement": [
        HEAD + "    «while True:\n        pass\n    return 1\n", HEAD + "    «del now\n    return 1\n",
        HEAD + "    «break\n    return 1\n", HEAD + "    «x, y = 1, 2\n    return 1\n", HEAD + "    «x = y = 1\n    return x\n",
        HEAD + "    «def g():\n        return 1\n    return 1\n", HEAD + "    «item.size = 1\n    return 1\n",
        HEAD + "    «global X\n    return 1\n", HEAD + "    «max(1, 2)\n    return 1\n",
        HEAD + "    for «(i, j) in range(3):\n        pass\n    return 1\n", HEAD + "    «x: int\n    return 1\n",
        HEAD + "    «try:\n        return 1\n    finally:\n        pass\n", HEAD + "    «assert now\n    return 1\n",
    ],
    "expression": [
        returning("«[1, 2][0]"), returning("1 + («x := 1)"), returning("(«lambda: 1)").replace("(", "(", 1),
        returning("max(1, «[1])"), returning("«(1, 2)"), returning("1 + «{}"), returning("«f'{now}'"), returning("«xyz.size"),
        returning("«[i for i in range(3)]"),
    ],
    "operator": [
        returning("«1 << 2"), returning("«now is 1"), returning("1 + «~now"), returning("«now in 1"),
        HEAD + "    x = 1\n    «x |= 2\n    return x\n", returning("«now @ 2"),
    ],
    "constant": [
        returning("«'text'"), returning("1 + «None"), returning("«1e400"), returning("«2j"), returning("«..."),
        returning("«0x" + "f" * 5000), "A = «1e999\n" + returning("A"),
    ],
    "name": [returning("«unknown_name"), "def f(x):\n    return «y\n" + returning("1"), "def f(x):\n    return «now\n" + returning("1")],
    "unassigned": [
        HEAD + "    if now:\n        x = 1\n    return «x\n", HEAD + "    «x += 1\n    return x\n",
        HEAD + "    for i in range(0):\n        pass\n    return «i\n",
        HEAD + "    for i in range(3):\n        x = 1\n    return «x\n",
        HEAD + "    if now:\n        x = 1\n    elif item.flag:\n        pass\n    else:\n        x = 2\n    return «x\n",
    ],
    "shadowing": [
        HEAD + "    «item = 1\n    return item\n", "«math = 1\n" + returning("1"), "«def min(a, b):\n    return a\n" + returning("1"),
        "A = 1\n«A = 2\n" + returning("A"), "A = 1\n" + HEAD + "    «A = 2\n    return A\n",
        "def f(«past):\n    return past\n" + returning("f(1)"), "«def f(x, x):\n    return x\n" + returning("f(1, 2)"),
        "f = 1\n«def f(x):\n    return x\n" + returning("f(1)"), "def f(x):\n    return x\n«f = 1\n" + returning("f(1)"),
        "«__debug__ = 1\n" + returning("1"), returning("1") + "«" + returning("2"),
        HEAD + "    for «range in range(3):\n        pass\n    return 1\n",
    ],
    "ascii": ["«é = 1\n" + returning("1"), HEAD + "    «größe = 1\n    return 1\n", "def «ƒ(x):\n    return x\n" + returning("1"), returning("item.«ѕigned"), returning("item.c«ｏunt".replace("c«", "«c"))],
    "function": [
        returning("«print(1)"), returning("«math.inf"), returning("«math.gamma(3)"), returning("«sum(1, 2)"), returning("«(1)(2)"),
        returning("«item(1)"), returning("«item.whole.avg().avg()"),
    ],
    "call": [
        returning("«min(1)"), returning("«abs()"), returning("«max(*now)"), "def f(x):\n    return x\n" + returning("«f()"),
        "def f(x):\n    return x\n" + returning("«f(x=1)"), returning("«round(1.5, 1)"), returning("«min(0x" + "f" * 5000 + ")"),
    ],
    "recursion": [
        "def f(x):\n    return «f(x)\n" + returning("f(1)"), HEAD + "    return «rate(now, item, world, past)\n",
        "def f(x):\n    return g(x)\ndef g(x):\n    return «f(x)\n" + returning("f(1)"),
    ],
    "argument-use": [returning("«item"), "def f(x):\n    return x\n" + returning("f(«item)"), returning("1 + «past")],
    "feature": [returning("«item.colour"), returning("«world.whole"), returning("«item.__class__")],
    "statistic": [
        returning("«item.whole.median()"), returning("«item.whole.percentile(0.5)"), returning("«world.colour.ewma(0.5)"),
        returning("«world.load.percentile(0.5)"), returning("«item.id.ewma(0.5)"), returning("«now.percentile(0.5)"),
        returning("«world.id.latest()"), returning("«world.id.percentile(0.5)"), returning("«item.id.contains(1, 2)"),
        returning("«item.avg()"), returning("«world.avg()"),
    ],
    "statistic-argument": [
        returning("«item.whole.ewma(item.whole)"), returning("«item.whole.ewma(0)"), returning("«item.whole.ewma(1)"),
        returning("«item.whole.ewma()"), returning("«world.whole.percentile(-1)"), returning("«world.whole.percentile(50)"),
        returning("«item.whole.ewma(True)"), returning("«item.whole.ewma(0.1, 0.2)"), returning("«item.whole.avg(1)"),
        returning("«item.whole.recent(65)"), returning("«world.whole.recent(4097)"), returning("«now.window_avg(1.5)"),
        returning("«item.whole.count(3)"), returning("«item.whole.contains(now, now)"), returning("«world.id.count(1, 2, 3)"),
    ],
    "history": [
        returning("«past.contains(3)"), returning("«past.contains(item.whole)"), returning("«past.forget(item.id)"),
        returning("«past.age()"), returning("«past.count(item.id, 1)"),
    ],
    "loop-bounds": [
        HEAD + "    for i in range(«now):\n        pass\n    return 1\n", "N = 3\n" + HEAD + "    for i in range(«N):\n        pass\n    return 1\n",
        HEAD + "    for i in «now:\n        pass\n    return 1\n", HEAD + "    for i in «range():\n        pass\n    return 1\n",
        HEAD + "    for i in «range(1, 5, 0):\n        pass\n    return 1\n", HEAD + "    for i in range(«2.0):\n        pass\n    return 1\n",
        HEAD + "    for i in range(«True):\n        pass\n    return 1\n", HEAD + "    for i in range(«99999999999):\n        pass\n    return 1\n",
        HEAD + "    for i in range(«0x" + "f" * 5000 + "):\n        pass\n    return 1\n",
    ],
    "loop-depth": [
        HEAD + "".join(f"{'    ' * (i + 1)}{'«' if i == 3 else ''}for i{i} in range(2):\n" for i in range(4)) + " " * 20 + "pass\n    return 1\n"
    ],
    "loop-else": [HEAD + "    for i in range(3):\n        pass\n    else:\n        «pass\n    return 1\n"],
    "return": [
        HEAD + "    «return\n", "«" + HEAD + "    pass\n", "«" + HEAD + "    if now:\n        return 1\n",
        "«def f(x):\n    'only a text'\n" + returning("1"), "«" + HEAD + "    for i in range(3):\n        return 1\n",
    ],
    "operations": [
        HEAD + "    «for i in range(4000):\n        for j in range(4000):\n            pass\n    return 1\n",
        "def f(x):\n    «for i in range(30000):\n        x += 1\n    return x\n" + HEAD + "    for i in range(2):\n        pass\n    return f(1)\n",
    ],
}  # fmt: skip

CASES = [
    pytest.param(rule, source, id=f"{rule}-{number}")
    for rule, sources in BAD.items()
    for number, source in enumerate(sources)
]


def test_the_examples_are_of_exactly_the_rules_of_the_table():
    assert set(BAD) == {name for name, rule in grammar.RULES.items() if not rule.of_state}  # see test_anvil_state


@pytest.mark.parametrize(("rule", "marked"), CASES)
def test_a_rule_rejects_at_the_right_place_and_says_what_to_write_instead(rule, marked):
    before, _, after = marked.partition("«")
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    with pytest.raises(Rejected) as caught:
        check(before + after, TOY)
    found = [(v.rule, v.line, v.column) for v in caught.value.violations]
    assert (rule, line, column) in found
    if rule not in ("arguments", "shadowing", "annotation"):  # where what follows from the fault is said too
        assert {name for name, *_ in found} - {"no-function"} <= {rule}
    for violation in caught.value.violations:
        assert violation.rule in grammar.RULES
        assert violation.hint
        assert len(str(violation)) < 600


def test_several_faults_are_reported_at_once():
    source = (
        "import os\n" + HEAD + "    x = item.colour + item.shape\n    y = [1]\n    while x:\n        pass\n"
        "    if z > 'a':\n        return lambda: 1\n    return y + x\n"
    )
    with pytest.raises(Rejected) as caught:
        check(source, TOY)
    assert [(v.rule, v.line, v.column) for v in caught.value.violations] == [
        ("import", 1, 1), ("feature", 3, 9), ("feature", 3, 23), ("expression", 4, 9), ("statement", 5, 5), ("name", 7, 8),
        ("constant", 7, 12),
    ]  # fmt: skip


def test_columns_count_characters_not_bytes():
    with pytest.raises(Rejected) as caught:
        check(HEAD + "    'çà €𝄞'; x = [1]\n    return 1\n", TOY)
    (violation,) = caught.value.violations
    assert (violation.line, violation.column) == (2, 18)


VALUES = values_for(TOY.signature, Random(7)) | {
    "item.id": 3.0, "item.whole": -7.0, "item.positive": 8.0, "item.signed": 2.5, "item.flag": 1.0, "now": 100.0,
    "past.contains": 1.0, "past.count": 12.0, "past.age": 30.0,
}  # fmt: skip


def outcome(source: str) -> float:
    twin = Twin(check(source, TOY), TOY_LAYOUT)
    twin.observe(3.0, VALUES)
    return twin.score(3.0, VALUES)


@pytest.mark.parametrize(
    ("expression", "sign"),
    [
        ("min(item.flag - 1, -(item.flag - 1))", 1.0),
        ("max(-(item.flag - 1), item.flag - 1)", -1.0),
        ("(item.flag - 1) or -(item.flag - 1)", -1.0),
        ("(item.flag - 1) and -(item.flag - 1)", 1.0),
    ],
)
def test_of_equals_the_first_is_taken_even_of_zeros(expression, sign):
    result = outcome(returning(expression))
    assert result == 0.0
    assert math.copysign(1.0, result) == sign


def test_dividing_by_one_rounds_down():
    for number in ("item.flag - 1", "-(item.flag - 1)", "-item.signed", "item.whole / 1e300", "now * 9e15 / 7"):
        result, exact = outcome(returning(f"({number}) // 1")), outcome(returning(number)) // 1
        assert (result, math.copysign(1.0, result)) == (exact, math.copysign(1.0, exact))


WITHOUT_A_VALUE = {
    "1 / (item.flag - 1)": 0.0, "1 // (item.flag - 1)": 0.0, "1 % (item.flag - 1)": 0.0, "(item.flag - 1) ** -1": 0.0,
    "item.whole ** 0.5": 0.0, "math.sqrt(item.whole)": 0.0, "math.log(item.whole)": 0.0, "math.log2(item.flag - 1)": 0.0,
    "math.log10(item.whole)": 0.0, "math.log1p(item.whole)": 0.0, "math.exp(now * 100)": 1.7976931348623157e308,
    "math.expm1(now * 100)": 1.7976931348623157e308, "item.whole ** 999": -1.7976931348623157e308,
    "item.whole ** 1000": 1.7976931348623157e308, "1e300 * now ** 9": 1.7976931348623157e308,
    "-1e308 - 1e307 * now": -1.7976931348623157e308, "1e300 / item.flag / 1e-300": 1.7976931348623157e308,
}  # fmt: skip


@pytest.mark.parametrize("expression", WITHOUT_A_VALUE)
def test_what_has_no_value_in_python_has_one_here(expression):
    assert outcome(returning(expression)) == WITHOUT_A_VALUE[expression]


# What each construct does not take


@pytest.mark.parametrize("name", sorted(grammar.FUNCTIONS))
def test_a_function_takes_no_other_number_of_arguments(name):
    least, most = grammar.FUNCTIONS[name].arguments
    wrong = [least - 1] if most is None else [least - 1, most + 1]
    for count in wrong:
        with pytest.raises(Rejected) as caught:
            check(returning(f"{name}({', '.join(['1'] * count)})"), TOY)
        assert [v.rule for v in caught.value.violations] == ["call"]


SCOPES = [(kind, scope) for kind in grammar.STATISTICS.values() for scope in kind.scopes]


@pytest.mark.parametrize(("kind", "scope"), SCOPES, ids=[f"{kind.name}-{scope}" for kind, scope in SCOPES])
def test_a_statistic_s_arguments_stay_within_their_bounds(kind, scope):
    owner = "item.whole" if scope == "entity" else "world.whole"

    def asked(arguments: list[float]) -> str:
        spelled = [*(["now"] if kind.looks_for else []), *(f"{a:g}" for a in arguments)]
        return returning(f"{owner}.{kind.name}({', '.join(spelled)})")

    least = [argument.low for argument in kind.arguments]
    most = [argument.most(scope) for argument in kind.arguments]
    for accepted in (least, most):
        (statistic,) = check(asked(accepted), TOY).plan.statistics
        assert (statistic.scope, statistic.feature, list(statistic.arguments)) == (scope, "item.whole", accepted)
    wrong = [[*most, 1], *([least[:-1]] if least else [])]
    for number, argument in enumerate(kind.arguments):
        beyond = [least[number] - 0.0001, most[number] + (1 if argument.whole else 0.0001)]
        beyond += [least[number] + 0.5] if argument.whole else []
        wrong += [[*least[:number], value, *least[number + 1 :]] for value in beyond]
    for arguments in wrong:
        with pytest.raises(Rejected, match=r"\[statistic-argument\]"):
            check(asked(arguments), TOY)


@pytest.mark.parametrize(
    "source",
    [
        'def rate(now: int, item: float, world, past) -> bool:\n    """A text."""\n    "another"\n    return 1\n',
        "import math\nimport math\n" + returning("math.pi"),
        "A = --1_000\n" + returning("A"),
        "x = 1\ndef f(y):\n    return y * x\n" + returning("f(x)"),
        HEAD + "    if now:\n        return 1\n    else:\n        return 2\n    x = 1\n",
        HEAD + "    for i in range(3):\n        pass\n    for i in range(2):\n        i = i + 1\n    return i\n",
        "def unused(x):\n    return x\n" + returning("1"),
        "\n\n# a remark\n" + returning("1  # ünïcödé"),
        returning("1").replace("\n", "\r\n"),
    ],
)
def test_these_are_accepted(source):
    outcome(source)
