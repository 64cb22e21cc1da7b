"""Reasons to reject a program, each with an example that breaks it and a hint; read as `grammar.RULES`.

Derived statistics, each with its examples; read as `grammar.STATISTICS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vulcan.anvil.grammar.examples import HEAD, Example, Frame, RejectedExample, body, framed, module, no, stateful, top
from vulcan.anvil.grammar.limits import LIMITS, MAX_ELEMENTS, MAX_KEPT_OF_ENTITY, MAX_KEPT_OF_SYSTEM


@dataclass(frozen=True, slots=True)
class Rule:
    """A reason to reject a program, with an example that breaks it, an accepted alternative, and a hint.

    A rule about state is only ever broken in tasks with events.
    """

    name: str
    violates: RejectedExample
    instead: Example
    hint: str
    of_state: bool = False


def _rule(name: str, violates: str, instead: Example, hint: str, frame: Frame = "expression", shown: str = "") -> Rule:
    return Rule(name, no(violates, name, frame, shown), instead, hint)


def _limit(name: str, limit: str, hint: str) -> Rule:
    return Rule(name, LIMITS[limit].counterexample, LIMITS[limit].example, hint)


def _state(name: str, violates: str, instead: Example, hint: str, frame: Frame = "expression") -> Rule:
    return Rule(name, no(violates, name, frame), instead, hint, of_state=True)


_CALLS_HELPER = f"def f(x):\n    return x + 1\n{HEAD}    return f(obj.size)\n"
_MODULE: Frame = "module"

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        _limit("too-long", "source", "write a shorter program: 16 KB of source at the most"),
        _limit("too-large", "nodes", "write a smaller program: 1,000 syntax nodes at the most"),
        _limit("too-deep", "nesting", "give parts of the expression names of their own"),
        _rule("syntax", "obj.size +", Example("obj.size + 1"), "write one complete Python module"),
        _rule(
            "no-function", "def other(x):\n    return x\n", module(framed("1", "expression")),
            "define the function that the task names", _MODULE,
        ),
        _rule(
            "arguments", "def score(a):\n    return 1\n", module(framed("now", "expression")),
            "give the function exactly the arguments that the task names", _MODULE,
        ),
        _rule(
            "top-level", "print(1)", top("LIMIT = 1"),
            "at the top level write only parameters (NAME = number), functions and `import math`", "top",
        ),
        _rule(
            "import", "import os", top("import math"), "only `import math` is there; use what the task offers", "top"
        ),
        _rule(
            "decorator", "@cache\ndef f(x):\n    return x", top("def f(x):\n    return x"), "write plain functions",
            "top",
        ),
        _rule(
            "default-argument", "def f(x=1):\n    return x", top("def f(x):\n    return x"),
            "write functions with plain positional arguments", "top",
        ),
        _rule(
            "annotation", "def f(x: list):\n    return 1", top("def f(x: float):\n    return 1"),
            "leave annotations out, or use int, float or bool", "top",
        ),
        _rule("parameter", "A = 2 * 3", top("A = 6"), "a parameter is one number: NAME = 0.5", "top"),
        _rule(
            "statement", "while obj.size > 1:\n    pass\nreturn 1", body("for i in range(8):\n    pass\nreturn 1"),
            "use assignments, if, `for i in range(8)`, break, continue, pass and return", "statements",
        ),
        _rule(
            "expression", "[obj.size, 1][0]", Example("obj.size if now else 1"),
            "use numbers, names, arithmetic, comparisons, and/or/not and `a if b else c`",
        ),
        _rule(
            "operator", "obj.size << 2", Example("obj.size * 4"),
            "use + - * / // % ** and the comparisons < <= > >= == !=",
        ),
        _rule("constant", "'text'", Example("1e9"), "use finite numbers, True and False"),
        _rule(
            "name", "size + 1", body("size = obj.size\nreturn size + 1"),
            "assign a name before using it; functions cannot see each other's names",
        ),
        _rule(
            "unassigned", "if now > 9:\n    x = 1\nreturn x", body("x = 0\nif now > 9:\n    x = 1\nreturn x"),
            "assign the name on every path before using it, say at the start", "statements",
        ),
        _rule(
            "shadowing", "obj = 1\nreturn 1", body("o = 1\nreturn o"), "choose another name: this one is taken",
            "statements",
        ),
        _rule(
            "ascii", "größe = 1\nreturn größe", body("groesse = 1\nreturn groesse"),
            "write names in plain ASCII letters, digits and underscores", "statements",
        ),
        _rule(
            "function", "sum(now, 1)", Example("now + 1"),
            "call only the functions of the language and your own helpers",
        ),
        _rule("call", "min(now)", Example("min(now, 1)"), "give the function the arguments it takes, by position"),
        _rule(
            "recursion", f"def f(x):\n    return f(x)\n{HEAD}    return f(1)\n", module(_CALLS_HELPER),
            "functions may not call themselves, directly or in a circle", _MODULE,
        ),
        _rule(
            "argument-use", f"def f(x):\n    return x + 1\n{HEAD}    return f(obj)\n", module(_CALLS_HELPER),
            "read a feature of it, such as a number to compute with", _MODULE,
        ),
        _rule("feature", "obj.colour", Example("obj.size"), "read only the features that the task declares"),
        _rule(
            "statistic", "obj.size.median()", Example("obj.size.window_percentile(0.5, 9)"),
            "use only the statistics that the task offers, on its features",
        ),
        _rule(
            "statistic-argument", "obj.size.ewma(now)", Example("obj.size.ewma(0.3)"),
            "write the statistic's argument as a number within its bounds",
        ),
        _rule(
            "history", "past.contains(3)", Example("past.contains(obj.id)"),
            "ask the history with the entity's key, and only what it answers",
        ),
        _rule(
            "loop-bounds", "for i in range(now):\n    pass\nreturn 1",
            body("for i in range(10):\n    if i >= now:\n        break\nreturn 1"),
            "write the bounds of range as integer literals, the step not 0", "statements",
        ),
        _limit("loop-depth", "loops", "nest loops at most 3 deep"),
        _rule(
            "loop-else", "for i in range(3):\n    pass\nelse:\n    pass\nreturn 1",
            body("for i in range(3):\n    pass\nreturn 1"), "write the else part after the loop", "statements",
        ),
        _rule(
            "return", "if now:\n    return 1", body("if now:\n    return 1\nreturn 0"),
            "end every path of a function with `return` and a number", "statements",
        ),
        _limit("operations", "operations", "use fewer or shorter loops, and call helpers less often"),
        _state(
            "state", "class policy:\n    best = 2 * 3", stateful("policy.best", 6.0, "best = 6"),
            "declare state in `class policy:`, as `x = 0.5` or `a = [0.0] * 64`, and read it as `policy.x`", "top",
        ),
        _state(
            "state-write", f"class policy:\n    best = 6\n{HEAD}    policy.best = 7\n    return 1\n",
            stateful("policy.best", 7.0, "best = 6", "policy.best = 7"),
            "write state in the handlers of events only; decisions and helpers read it", _MODULE,
        ),
        _state(
            "random", "random()", stateful("policy.u < 1", 1.0, "u = 0", "policy.u = random()"),
            "draw random numbers in the handlers of events, and write them to state that the decision reads",
        ),
        _state(
            "state-limit", f"class policy:\n    a = [0] * {MAX_ELEMENTS + 1}",
            stateful("policy.a[5]", 0.0, f"a = [0] * {MAX_ELEMENTS}"), "use fewer registers, fields and elements",
            "top",
        ),
    )
}  # fmt: skip


Scope = Literal["entity", "system", "population"]
"""Scope of a statistic.

An entity's own observations of a feature; the observations of the whole system, which are those of all entities in
turn; or the latest observation of every live entity.
"""


@dataclass(frozen=True, slots=True)
class StatisticArgument:
    """A literal argument, with its inclusive bounds; `entity_high` is the upper bound for statistics of an entity."""

    name: str
    low: float
    high: float
    whole: bool = False
    entity_high: float | None = None

    def most(self, scope: Scope) -> float:
        return self.entity_high if scope == "entity" and self.entity_high is not None else self.high


@dataclass(frozen=True, slots=True)
class StatisticKind:
    """A derived statistic: a call on a feature, as `obj.count.ewma(0.3)`, with literal arguments.

    Before the first observation it is the feature's `unknown`. If `looks_for` is set, the first argument is any
    expression: a value that is looked for among the observations, and the statistic of no observations is 0.
    `examples` has an accepted and a rejected one for each scope.
    """

    name: str
    arguments: tuple[StatisticArgument, ...]
    meaning: str
    examples: dict[Scope, tuple[Example, RejectedExample]]
    looks_for: bool = False

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return tuple(self.examples)

    @property
    def short(self) -> str:
        """Notation after the feature: `ewma(alpha)`."""
        names = [*(["value"] if self.looks_for else []), *(argument.name for argument in self.arguments)]
        return f"{self.name}({', '.join(names)})"


def _streams(
    entity: tuple[str, float, str, str], system: tuple[str, float, str, str]
) -> dict[Scope, tuple[Example, RejectedExample]]:
    """Make the examples of each scope of a stream from accepted text, its result, rejected text, and the rule."""
    return {
        "entity": (Example(*entity[:2]), no(*entity[2:])),
        "system": (Example(*system[:2]), no(*system[2:])),
    }


_ALPHA = StatisticArgument("alpha", 0.001, 0.999)  # with 1, rounding could move the average out of its range
_SHARE = StatisticArgument("p", 0.0, 1.0)
_LAST = StatisticArgument("n", 1, MAX_KEPT_OF_SYSTEM, whole=True, entity_high=MAX_KEPT_OF_ENTITY)
_KTH = StatisticArgument("k", 1, MAX_KEPT_OF_SYSTEM, whole=True, entity_high=MAX_KEPT_OF_ENTITY)

# fmt: off
STATISTICS: dict[str, StatisticKind] = {
    kind.name: kind
    for kind in (
        StatisticKind("latest", (), "the latest observation", _streams(
            ("obj.size.latest()", 4.0, "obj.size.latest(1)", "statistic-argument"),
            ("pool.size.latest()", 4.0, "pool.id.latest()", "statistic"),
        )),
        StatisticKind("avg", (), "the mean of all observations", _streams(
            ("obj.size.avg()", 5.0, "obj.id.avg()", "statistic"),
            ("pool.size.avg()", 7.75, "pool.size.mean()", "statistic"),
        )),
        StatisticKind("min", (), "the smallest observation", _streams(
            ("obj.size.min()", 2.0, "obj.size.min(3)", "statistic-argument"),
            ("pool.size.min()", 2.0, "past.min()", "history"),
        )),
        StatisticKind("max", (), "the largest observation", _streams(
            ("obj.size.max()", 9.0, "obj.max()", "statistic"),
            ("pool.size.max()", 16.0, "pool.load.max(0)", "statistic-argument"),
        )),
        StatisticKind(
            "ewma", (_ALPHA,),
            "exponentially weighted moving average: the first observation starts it, each later one x moves it by "
            "alpha * (x - average)",
            _streams(
                ("obj.size.ewma(0.5)", 4.75, "obj.size.ewma(obj.drift)", "statistic-argument"),
                ("now.ewma(0.5)", 100.0, "pool.size.ewma(0)", "statistic-argument"),
            ),
        ),
        StatisticKind(
            "recent", (_KTH,),
            "the k-th most recent observation, `recent(1)` being the latest; unknown while there are fewer than k",
            _streams(
                ("obj.size.recent(3)", 2.0, "obj.size.recent(65)", "statistic-argument"),
                ("pool.size.recent(4)", 16.0, "pool.size.recent(0)", "statistic-argument"),
            ),
        ),
        StatisticKind("window_avg", (_LAST,), "the mean of the last n observations, of all while fewer", _streams(
            ("obj.size.window_avg(2)", 6.5, "obj.size.window_avg(1.5)", "statistic-argument"),
            ("pool.size.window_avg(4096)", 7.75, "pool.size.window_avg(4097)", "statistic-argument"),
        )),
        StatisticKind(
            "window_percentile", (_SHARE, _LAST),
            "the value that a share p of the last n observations does not exceed (nearest rank), of all while fewer",
            _streams(
                ("obj.size.window_percentile(0.5, 3)", 4.0, "obj.size.window_percentile(50, 3)", "statistic-argument"),
                ("pool.size.window_percentile(0.75, 4)", 9.0, "pool.size.window_percentile(1)", "statistic-argument"),
            ),
        ),
        StatisticKind(
            "count", (_LAST,), "how many of the last n observations are equal to the value",
            _streams(
                ("obj.size.count(9, 3)", 1.0, "obj.size.count(9)", "statistic-argument"),
                ("pool.id.count(obj.id, 4)", 3.0, "pool.id.count(obj, 4)", "argument-use"),
            ),
            looks_for=True,
        ),
        StatisticKind(
            "contains", (_LAST,), "1 where one of the last n observations is equal to the value, else 0",
            _streams(
                ("obj.size.contains(5, 3)", 0.0, "obj.size.contains(5, now)", "statistic-argument"),
                ("pool.id.contains(2, 4)", 1.0, "obj.id.contains(2, 4)", "statistic"),
            ),
            looks_for=True,
        ),
        StatisticKind(
            "percentile", (_SHARE,),
            "the value that a share p of all live entities does not exceed (nearest rank), rounded towards zero to the "
            "feature's resolution",
            {"population": (Example("pool.size.percentile(0.9)", 16.0), no("obj.size.percentile(0.9)", "statistic"))},
        ),
    )
}
