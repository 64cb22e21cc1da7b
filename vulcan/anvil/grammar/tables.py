"""Reasons to reject a program, each with a hint; read as `grammar.RULES`.

Derived statistics; read as `grammar.STATISTICS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vulcan.anvil.grammar.limits import MAX_KEPT_OF_ENTITY, MAX_KEPT_OF_SYSTEM


@dataclass(frozen=True, slots=True)
class Rule:
    """A reason to reject a program, and a hint what to write instead.

    A rule about state is only ever broken in tasks with events.
    """

    name: str
    hint: str
    of_state: bool = False


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("too-long", "write a shorter program: 16 KB of source at the most"),
        Rule("too-large", "write a smaller program: 1,000 syntax nodes at the most"),
        Rule("too-deep", "give parts of the expression names of their own"),
        Rule("syntax", "write one complete Python module"),
        Rule("no-function", "define the function that the task names"),
        Rule("arguments", "give the function exactly the arguments that the task names"),
        Rule("top-level", "at the top level write only parameters (NAME = number), functions and `import math`"),
        Rule("import", "only `import math` is there; use what the task offers"),
        Rule("decorator", "write plain functions"),
        Rule("default-argument", "write functions with plain positional arguments"),
        Rule("annotation", "leave annotations out, or use int, float or bool"),
        Rule("parameter", "a parameter is one number: NAME = 0.5"),
        Rule("statement", "use assignments, if, `for i in range(8)`, break, continue, pass and return"),
        Rule("expression", "use numbers, names, arithmetic, comparisons, and/or/not and `a if b else c`"),
        Rule("operator", "use + - * / // % ** and the comparisons < <= > >= == !="),
        Rule("constant", "use finite numbers, True and False"),
        Rule("name", "assign a name before using it; functions cannot see each other's names"),
        Rule("unassigned", "assign the name on every path before using it, say at the start"),
        Rule("shadowing", "choose another name: this one is taken"),
        Rule("ascii", "write names in plain ASCII letters, digits and underscores"),
        Rule("function", "call only the functions of the language and your own helpers"),
        Rule("call", "give the function the arguments it takes, by position"),
        Rule("recursion", "functions may not call themselves, directly or in a circle"),
        Rule("argument-use", "read a feature of it, such as a number to compute with"),
        Rule("feature", "read only the features that the task declares"),
        Rule("statistic", "use only the statistics that the task offers, on its features"),
        Rule("statistic-argument", "write the statistic's argument as a number within its bounds"),
        Rule("history", "ask the history with the entity's key, and only what it answers"),
        Rule("loop-bounds", "write the bounds of range as integer literals, the step not 0"),
        Rule("loop-depth", "nest loops at most 3 deep"),
        Rule("loop-else", "write the else part after the loop"),
        Rule("return", "end every path of a function with `return` and a number"),
        Rule("operations", "use fewer or shorter loops, and call helpers less often"),
        Rule(
            "state",
            "declare state in `class policy:`, as `x = 0.5` or `a = [0.0] * 64`, and read it as `policy.x`",
            of_state=True,
        ),
        Rule("state-write", "write state in the handlers of events only; decisions and helpers read it", of_state=True),
        Rule(
            "random",
            "draw random numbers in the handlers of events, and write them to state that the decision reads",
            of_state=True,
        ),
        Rule("state-limit", "use fewer registers, fields and elements", of_state=True),
    )
}


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
    """

    name: str
    arguments: tuple[StatisticArgument, ...]
    meaning: str
    scopes: tuple[Scope, ...]
    looks_for: bool = False

    @property
    def short(self) -> str:
        """Notation after the feature: `ewma(alpha)`."""
        names = [*(["value"] if self.looks_for else []), *(argument.name for argument in self.arguments)]
        return f"{self.name}({', '.join(names)})"


_OBSERVED: tuple[Scope, ...] = ("entity", "system")
_ALPHA = StatisticArgument("alpha", 0.001, 0.999)  # with 1, rounding could move the average out of its range
_SHARE = StatisticArgument("p", 0.0, 1.0)
_LAST = StatisticArgument("n", 1, MAX_KEPT_OF_SYSTEM, whole=True, entity_high=MAX_KEPT_OF_ENTITY)
_KTH = StatisticArgument("k", 1, MAX_KEPT_OF_SYSTEM, whole=True, entity_high=MAX_KEPT_OF_ENTITY)

STATISTICS: dict[str, StatisticKind] = {
    kind.name: kind
    for kind in (
        StatisticKind("latest", (), "the latest observation", _OBSERVED),
        StatisticKind("avg", (), "the mean of all observations", _OBSERVED),
        StatisticKind("min", (), "the smallest observation", _OBSERVED),
        StatisticKind("max", (), "the largest observation", _OBSERVED),
        StatisticKind(
            "ewma",
            (_ALPHA,),
            "exponentially weighted moving average: the first observation starts it, each later one x moves it by "
            "alpha * (x - average)",
            _OBSERVED,
        ),
        StatisticKind(
            "recent",
            (_KTH,),
            "the k-th most recent observation, `recent(1)` being the latest; unknown while there are fewer than k",
            _OBSERVED,
        ),
        StatisticKind("window_avg", (_LAST,), "the mean of the last n observations, of all while fewer", _OBSERVED),
        StatisticKind(
            "window_percentile",
            (_SHARE, _LAST),
            "the value that a share p of the last n observations does not exceed (nearest rank), of all while fewer",
            _OBSERVED,
        ),
        StatisticKind(
            "count",
            (_LAST,),
            "how many of the last n observations are equal to the value",
            _OBSERVED,
            looks_for=True,
        ),
        StatisticKind(
            "contains",
            (_LAST,),
            "1 where one of the last n observations is equal to the value, else 0",
            _OBSERVED,
            looks_for=True,
        ),
        StatisticKind(
            "percentile",
            (_SHARE,),
            "the value that a share p of all live entities does not exceed (nearest rank), rounded towards zero to the "
            "feature's resolution",
            ("population",),
        ),
    )
}
