"""Generator of docs/anvil.md: a task-independent reference of the language, from the grammar table.

Its examples are about a task made up for the purpose: a pool of objects that grow and shrink.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import anvil_entries
import anvil_examples
from anvil_fragments import Example, RejectedExample

from vulcan.anvil.grammar import grammar
from vulcan.anvil.grammar.tables import StatisticKind
from vulcan.anvil.log_buckets import MIN_EXPONENT
from vulcan.anvil.policy import check
from vulcan.anvil.prompt_section import (
    RANDOM_MEANING,
    SCOPE,
    SEVERAL,
    STATE_RULES,
    TOTALITY,
    bounds_of_arguments,
    code,
    limits,
    table,
)
from vulcan.task import (
    Argument,
    Entity,
    Feature,
    Global,
    History,
    Mechanism,
    Objective,
    Rank,
    Scalar,
    Task,
    event,
)

ARGUMENTS: tuple[Argument, ...] = (
    Scalar(Feature("now", "int", "ticks", 0.0, 2.0**40, "the time")),
    Entity(
        name="obj",
        meaning="the object at hand",
        features=(
            Feature("id", "int", "identity", 0.0, 2.0**32, "identifies the object and means nothing else"),
            Feature("size", "int", "units", 1.0, 2.0**32, "how large it is"),
            Feature("count", "int", "events", 1.0, 2.0**40, "events of it"),
            Feature("last_seen", "int", "ticks", 0.0, 2.0**40, "the time of its latest event"),
            Feature("drift", "float", "units", -1000.0, 1000.0, "how far it is from where it should be"),
        ),
        key="id",
        population="pool",
    ),
    Global(
        name="pool",
        meaning="all objects",
        features=(
            Feature("load", "float", "share", 0.0, 1.0, "how full it is"),
            Feature("members", "int", "objects", 0.0, 2.0**32, "how many objects there are"),
        ),
    ),
    History("past", "the objects that left most recently", entity="obj", count_of="count", age_unit="ticks"),
)

EXAMPLE_TASK = Task(
    name="example",
    summary="The task of the language's examples.",
    signature=Rank(
        function="score",
        arguments=ARGUMENTS,
        returns="the object's score",
        mechanisms=(Mechanism("once", "it is called once"),),
    ),
    evaluator="nowhere:Nothing",
    objectives=(Objective("score", "score", "the score itself", lambda metrics, references: metrics["score"]),),
    directory=Path(__file__).parent,
    events=(event("on_touch", ARGUMENTS, "An object was observed: it entered, or something happened to it."),),
)

SHOWN: dict[str, float] = {
    "now": 100.0, "obj.id": 1.0, "obj.size": 4.0, "obj.count": 3.0, "obj.last_seen": 90.0, "obj.drift": -2.5,
    "pool.load": 0.5, "pool.members": 2.0, "past.contains": 1.0, "past.count": 12.0, "past.age": 30.0,
}  # fmt: skip
"""Features shown to the function when an example runs."""

EVENTS: tuple[dict[str, float], ...] = tuple(
    SHOWN | {"obj.id": key, "obj.size": size} for key, size in ((2.0, 16.0), (1.0, 2.0), (1.0, 9.0), (1.0, 4.0))
)
"""Earlier observations: an object of size 16, and the current one with sizes 2, 9 and 4."""


def outcome(source: str) -> float:
    """Return the reference result of a program of the example task after the events. Raises Rejected."""
    from vulcan.anvil.policy import check  # reads the grammar table, and with it the examples

    reference = check(source, EXAMPLE_TASK).reference()
    for shown in EVENTS:
        reference.observe(shown["obj.id"], shown)
        reference.handle("on_touch", shown, shown["obj.id"])
    return reference(SHOWN, SHOWN["obj.id"])


def describe_reference() -> str:
    """Return the task-independent language reference in Markdown: the page docs/anvil.md."""
    sections = (
        "# Anvil, the policy language",
        "<!-- Written by `make docs` from the code (docs/generators/anvil_page.py); do not edit. -->",
        _INTRODUCTION, "## See for yourself", _COMMANDS, "## The examples", _examples(), "## Values", _VALUES,
        "## Totality", _TOTALITY_OF_BACK_ENDS, "## Statements and expressions", _statements(), SCOPE,
        "## Operators and functions", _operations(), "## Features", _FEATURES, "## Several functions",
        _SEVERAL, "## Statistics", _statistics(),
        "## History", _HISTORY, _histories(), "## State and events", _STATE, _state(),
        "## Bounds", _BOUNDS, _limits(), "## Rules", _RULES, _rules(),
        "## Warnings", _WARNINGS, _warnings(), "## Proofs", _PROOFS,
    )  # fmt: skip
    return "\n\n".join(sections) + "\n"


_INTRODUCTION = (
    "A policy is a plain Python module: parameters (numeric constants) at the top, helper functions, and the function "
    "that the task names, with the arguments that the task names. What the language does not list is rejected, with "
    "line, column, the rule's name and a hint. What it accepts is memory-safe, ends within a known number of "
    "operations, and has a finite result for every input. `vulcan task show TASK` prints what a policy of that task "
    "can read."
)

_COMMANDS = """\
<!-- page: the checkout -->
```sh
vulcan check tasks/cache_eviction/policies/gdsf.py --task cache_eviction         # what it needs, its bound, warnings
vulcan check tasks/cache_eviction/policies/gdsf.py --task cache_eviction --json  # the same for programs
vulcan verify tasks/cache_eviction/policies/lru.py --task cache_eviction         # prove or refute its properties
```

<!-- test: not run: it is a test suite or a benchmark, run by itself -->
```sh
python -m pytest tests/anvil -m "not slow"                                   # the claims of this page, some programs
python -m pytest tests/anvil -m slow                                         # the same with 20,000 programs
python -m benchmarks.cache_engine                                            # the speed of native policies
```

`tests/anvil/test_anvil_table.py` walks the table and runs every example of this page: what is said to be accepted \
runs in the reference and natively with the result given here, what is said to be rejected is, by the rule named."""


def _examples() -> str:
    arguments = ", ".join(argument.name for argument in EXAMPLE_TASK.signature.arguments)
    shown = ", ".join(f"`{name}` {value:g}" for name, value in SHOWN.items() if not name.startswith("past."))
    past = ", ".join(f"{name.partition('.')[2]} {value:g}" for name, value in SHOWN.items() if name.startswith("past."))
    sizes = [f"{event['obj.size']:g}" for event in EVENTS]
    function = EXAMPLE_TASK.signature.function
    return (
        f"Each entry below has an example that is accepted, with what it gives, and one that is rejected, with the "
        f"rule that rejects it. They are about a task whose function is `{function}({arguments})`: an expression"
        f" stands for `return` and the expression. What it is shown: {shown}; `past` has {past}. Before, "
        f"an object of size {sizes[0]} was observed, and then the one at hand with the sizes {', '.join(sizes[1:])}."
    )


_VALUES = (
    "Every value is a float64. True is 1 and False is 0, a condition holds where its number is not 0, and integers are "
    "exact up to 2^53. The parts of `and`, `or` and `a if b else c` are always all evaluated; since nothing has an "
    "effect and everything has a value, no program can tell."
)

_TOTALITY_OF_BACK_ENDS = (
    TOTALITY + "\n\n"
    "Every back end computes the same bits: the reference under CPython, by the definitions in "
    "`vulcan/anvil/semantics.py`, native code, and the exported Python module. Generated programs and extreme inputs "
    "compare them (`tests/fuzz/test_differential.py`), and arbitrary Python shows that the checker accepts "
    "only what the table allows and never raises anything but its own error ("
    "`tests/anvil/test_anvil_arbitrary_python.py`)."
)

_FEATURES = (
    "A feature is a number that the evaluator shows, read as `obj.size` from an entity, as `pool.load` from a group of "
    "global features, or as `now` where the argument is itself one number. Its type, unit, range and meaning are "
    "declared by the task; the warnings, the native code and the proofs rely on the range."
)

_SEVERAL = (
    "A task may name several functions, such as a RANK and a VALUE (`Task.others`); a policy then defines them all in "
    "one module. " + SEVERAL + " Each has the limit on operations for itself; source and syntax nodes are counted over "
    "the module. Simulators call `Native.scores[name]` or `Reference.ask(name, ...)`, and tell of an event once."
)

_HISTORY = (
    "A history, such as a ghost list, remembers the entities that left most recently, and is asked with the key of the "
    "entity at hand and nothing else."
)

_STATE = f"""\
A policy of a task with events may keep *state*, and define *handlers* of the events, which change it. A task names \
its events, with the arguments that their handlers see; `vulcan task show` lists them. A policy defines a handler for \
any of them, or for none: then it has no state, and is no slower for it.

```python
START = 0.5


class policy:
    weight = START  # a register: one number of the whole policy
    sketch = [0.0] * 256  # an array


class obj:
    tag = 0.0  # a field of each entity, whose name the class has


def on_touch(now, obj, pool, past):
    obj.tag = now
    policy.weight = 0.9 * policy.weight + 0.1
    policy.sketch[hash(obj.id, 1)] += 1


def score(now, obj, pool, past):
    return policy.weight * obj.tag + policy.sketch[hash(obj.id, 1)]
```

{STATE_RULES} A field is kept as long as the entity's record: an object that comes back while a history remembers it \
has the fields that it left with, and else the initial ones.

The functions below are there only in such tasks. The random numbers are those of splitmix64, started by the run's \
seed: the same run draws the same numbers. `hash(a, k)` is `mix(mix(bits(k)) ^ bits(a)) >> 11`, where `mix` is \
splitmix64's output function and `bits` the 64 bits of a float64; see `vulcan/anvil/semantics.py`.

Names that state takes (`policy`, `hash`, `random`) are free for locals in a policy that has none. A module runs in \
CPython as it stands, with `from vulcan.anvil import hash, random` for these two, where its indices are integers \
within the array."""


def _state() -> str:
    operations = [
        (code(o.syntax), o.meaning, *_pair(*anvil_entries.OPERATIONS[o.syntax]))
        for o in grammar.STATE_FUNCTIONS.values()
    ]
    undrawn, drawn = anvil_examples.RULES["random"]
    operations.append(
        (
            code(f"{grammar.RANDOM}()"),
            RANDOM_MEANING,
            _accepted(drawn),
            _rejected(undrawn),
        )
    )
    return table(("written", "meaning", "accepted", "rejected"), operations)


_BOUNDS = (
    "A program beyond any of these is rejected before it can cost time: a megabyte of source, 10,000 parentheses or a "
    "number of a million digits end in a located rejection. Operations are counted by the text alone: "
    + limits(anvil_examples.MOST["operations"][0], "unless the task sets another limit").rpartition(": ")[2]
    + ". `vulcan check` prints the count and the limit; where it is too high, the loop that takes the most is named."
)

_RULES = "Each rule with what breaks it, and what to write instead."

_WARNINGS = (
    "A program that is accepted may still be doubtful. Interval analysis follows every way through it at once, with "
    "the declared ranges for what it reads, and with conditions narrowing what is known behind them. `vulcan check` "
    "shows each warning with its line; they change neither the verdict nor the exit code, and hold whatever a tuner "
    "sets the parameters to. A policy whose result is the same for every input decides nothing: a search need not "
    "score it."
)

_PROOFS = (
    "A task declares properties of its policies, and `vulcan verify POLICY --task TASK` proves or refutes each for "
    "every input within the declared ranges. What can be claimed of the number that the function returns: `bounded` "
    "(it stays within two numbers, or on one side of one), `nondecreasing` and `nonincreasing` (it does not fall, or "
    "rise, when one feature grows, all else equal), `independent` (it is the same for every value of a feature, all "
    "else equal) and `holds` (a condition is true of it, written in Anvil with `result` for the number); each for all "
    "inputs or for those of which another condition is true. Statistics and histories may answer "
    "anything within their bounds.\n\n"
    "The verdicts are *proved*; *refuted*, with a concrete input on which the reference interpreter confirms it; and "
    "*unknown*, where neither was found in the time given (`--seconds`), with the reason. Every verdict is about exact "
    "float64, as the line of each says: rounding and saturation included. The exit code is 0 when all required "
    "properties are proved and none is refuted, else 1. A search can reject what refutes a required property, and show "
    "the model the input. `vulcan task show TASK` lists a task's properties; how proofs are found: "
    "`vulcan/anvil/proofs`."
)


def _pair(example: Example, counterexample: RejectedExample) -> tuple[str, str]:
    return _accepted(example), _rejected(counterexample)


def _accepted(example: Example) -> str:
    text = example.shown or _fragment(example)
    return text if example.gives is None or example.frame == "top" else f"{text} gives {_exact(example.gives)}"


def _rejected(counterexample: RejectedExample) -> str:
    return f"{counterexample.shown or _fragment(counterexample)} ({counterexample.rule})"


def _fragment(example: Example | RejectedExample) -> str:
    """Format the text for one table cell, preserving line breaks and indentation."""
    lines = example.text.rstrip("\n").split("\n")
    return "<br>".join(f"`{line}`" if not line.startswith(" ") else _indented(line) for line in lines)


def _indented(line: str) -> str:
    depth = len(line) - len(line.lstrip(" "))
    return "&nbsp;" * depth + f"`{line.lstrip(' ')}`"


def _exact(value: float) -> str:
    if value > 1e308:
        return "the largest number"
    return f"{value:,.0f}" if value.is_integer() else repr(value) if len(repr(value)) < 10 else f"{value:.4f}..."


def _statements() -> str:
    return table(
        ("written", "meaning", "accepted", "rejected"),
        (
            (code(syntax), meaning, *_pair(*anvil_entries.STATEMENTS[syntax]))
            for syntax, meaning in grammar.STATEMENTS.items()
        ),
    )


def _operations() -> str:
    rows: list[tuple[str, ...]] = [
        (code(o.syntax), o.meaning, *_pair(*anvil_entries.OPERATIONS[o.syntax]))
        for operations in (grammar.BINARY, grammar.UNARY, grammar.BOOLEAN, grammar.FUNCTIONS)
        for o in operations.values()
    ]
    for symbol in grammar.COMPARISONS.values():
        meaning = "1 where it holds, else 0; comparisons chain"
        rows.append((code(f"a {symbol} b"), meaning, *_pair(*anvil_entries.COMPARISONS[symbol])))
    for name in grammar.CONSTANTS:
        rows.append((code(name), "constant", *_pair(*anvil_entries.CONSTANTS[name])))
    return table(("written", "meaning", "accepted", "rejected"), rows)


def _statistics() -> str:
    return "\n\n".join(
        (
            "A statistic is a call on a feature. What a program asks for is what is kept (its plan): nothing is set up "
            "by hand, and what is not asked for costs nothing.",
            "**Scopes.** Asked of an entity (`obj.size.avg()`), it is about that entity's own observations, one at "
            "each event of it; an entity that leaves takes them with it. Asked of the population (`pool.size.avg()`), "
            "of a global feature or of a scalar (`now.avg()`), it is about the observations of the system, which are "
            "those of all entities in turn; nothing is taken from them when an entity leaves. `percentile` is about "
            "the latest observation of every live entity, and of an entity that leaves nothing stays in it. The key of "
            "an entity (`pool.id`) means nothing but itself and can only be looked for: `pool.id.contains(obj.id, n)` "
            "is a list of what came last.",
            "**Occasions.** A group of global features, or some of its features, may be observed on an occasion that "
            "the task names, such as each round trip or each tenth of a second, instead of at every event. Then "
            "`window.delivered.recent(3)` is what it was at the last but two of them, and "
            "`window.delivered.window_avg(8)` the mean over eight. So statistics over time are those of intervals: "
            "of n tenths of a second, `window_percentile(1, n)` has the largest and `window_percentile(0, n)` the "
            "smallest.",
            f"**Arguments.** {bounds_of_arguments('entity')} So the plan of a program is known from its text.",
            table(("written", "scope", "meaning", "accepted", "rejected"), _statistic_rows()),
            "**Unknown and empty.** Before the first observation a statistic is the feature's declared `unknown` (0 "
            "unless declared), and so is `recent(k)` while there are fewer than k observations, and a `percentile` of "
            "no entity. `count` and `contains` of no observations are 0. A window that is not full yet is as long as "
            "there are observations. The meaning of each, in plain Python: `vulcan/anvil/statistic_semantics.py`.",
            "**The error of a percentile.** It keeps of each value the bits behind its leading one that the feature's "
            "`resolution` names and cuts off the rest, so it errs towards zero by at most 2^-resolution of the value "
            "(7 bits unless declared: under 0.8 %); integers below 2^(resolution + 1) are exact. What is smaller than "
            f"2^{MIN_EXPONENT} counts as 0. All other statistics are computed "
            "in float64 in the order of observations, and `window_percentile` is one of the observations.",
            "**Memory** of each example above, by the plan. Statistics of one feature share what they can; `vulcan "
            "check` prints the sums of a program.",
            table(("asked", "bytes an entity", "bytes of the system"), _memory()),
        )
    )


def _statistic_rows() -> Iterator[tuple[str, ...]]:
    for kind in grammar.STATISTICS.values():
        for scope in kind.scopes:
            yield code(kind.short), scope, kind.meaning, *_pair(*anvil_entries.STATISTICS[kind.name][scope])


def _memory() -> Iterator[tuple[str, ...]]:
    for kind in grammar.STATISTICS.values():
        for example, _ in anvil_entries.STATISTICS[kind.name].values():
            entity, system = _bytes(example, kind)
            yield code(example.text), f"{entity:,}", f"{system:,}"


def _bytes(example: Example, kind: StatisticKind) -> tuple[int, int]:
    memory = check(example.source, EXAMPLE_TASK).plan.memory(EXAMPLE_TASK.signature)
    assert {used.statistic.kind for used in memory} == {kind.name}
    return sum(used.entity for used in memory), sum(used.system for used in memory)


def _histories() -> str:
    return table(
        ("written", "meaning", "accepted", "rejected"),
        (
            (
                code(f"HISTORY.{query}(ENTITY.KEY)"),
                meaning.format(count_of="declared feature", age_unit="time"),
                *_pair(*anvil_entries.HISTORY_QUERIES[query]),
            )
            for query, meaning in grammar.HISTORY_QUERIES.items()
        ),
    )


def _limits() -> str:
    return table(
        ("limit", "at most", "of", "accepted", "rejected"),
        (
            (name, f"{most:,}", meaning, *_pair(*anvil_examples.LIMITS[name]))
            for name, (most, meaning) in anvil_examples.MOST.items()
        ),
    )


def _rules() -> str:
    return table(
        ("rule", "violated by", "instead", "hint"),
        (
            (name, violates.shown or _fragment(violates), _accepted(instead), grammar.RULES[name].hint)
            for name, (violates, instead) in anvil_examples.RULES.items()
        ),
    )


def _warnings() -> str:
    rows: Iterable[tuple[str, ...]] = (
        (name, meaning, _accepted(example), _accepted(instead), grammar.WARNINGS[name])
        for name, (meaning, example, instead) in anvil_examples.WARNINGS.items()
    )
    return table(("warning", "meaning", "warned of", "instead", "hint"), rows)
