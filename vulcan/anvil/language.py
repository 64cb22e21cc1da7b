"""The language in words, written from the grammar table: for prompts, and for docs/anvil.md.

`python -m vulcan.anvil.language docs/anvil.md` writes the reference page anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from vulcan.anvil import grammar
from vulcan.anvil.grammar import Operation, StatisticKind
from vulcan.anvil.quantise import LEAST_EXPONENT
from vulcan.task import Entity, Feature, Global, History, Scalar, Task

_EXTREME = 1e300
_PLAIN_NUMBERS_UP_TO = 1e6


def describe_language(task: Task) -> str:
    """What a policy of the task may be made of, in Markdown: the language section of every prompt."""
    signature = task.signature
    arguments = ", ".join(argument.name for argument in signature.arguments)
    parts = [
        f"A policy is a Python module that defines `def {signature.function}({arguments}):` and returns "
        f"{signature.returns}.",
        "Only what is listed here is accepted. Every value is a float64 (True is 1, False is 0; integers are exact to "
        "2^53). There is no state between calls but the statistics below.",
        "### Statements\n\n" + _statements() + "\n\n" + _SCOPE,
        "### Operators and functions\n\n" + _operations(),
        _TOTALITY,
        "### What can be read\n\n" + _features(task),
    ]
    if statistics := _statistics(task):
        parts.append("### Statistics\n\n" + statistics)
    if histories := _histories(task):
        parts.append("### History\n\n" + histories)
    parts.append("### Limits\n\n" + _limits(task.operations))
    parts.append("### What is rejected, and what to write instead\n\n" + _rules_in_short())
    return "\n\n".join(parts) + "\n"


def describe_reference() -> str:
    """The language apart from any task, in Markdown: the page docs/anvil.md."""
    default = next(field.default for field in fields(Task) if field.name == "operations")
    assert isinstance(default, int)
    parts = [
        "# Anvil, the policy language",
        "<!-- Written by `python -m vulcan.anvil.language docs/anvil.md` from vulcan/anvil/grammar.py; do not edit. "
        "-->",
        "A policy is a plain Python module: parameters (numeric constants) at the top, helper functions, and the "
        "function that the task names, with the arguments that the task names. What the language does not list is "
        "rejected, with line, column, the rule's name and a hint. What it accepts is memory-safe, ends within a "
        "known number of operations, and has a finite result for every input.",
        "`vulcan task show TASK` prints what a policy of that task can read.",
        "## Values",
        "Every value is a float64. True is 1 and False is 0, a condition holds where its number is not 0, and "
        "integers are "
        "exact up to 2^53. " + _TOTALITY,
        "The parts of `and`, `or` and `a if b else c` are always all evaluated; since nothing has an effect and "
        "everything has a value, no program can tell.",
        "## Statements",
        _statements(),
        _SCOPE,
        "## Operators and functions",
        _operations(),
        "## Features",
        "A feature is a number that the evaluator shows, read as `obj.size` from an entity, as `cache.used` from a "
        "group of global features, or as `now` where the argument is itself one number. Its type, unit, range and "
        "meaning are declared by the task; interval analysis relies on the range.",
        "## Statistics",
        "A statistic is a call on a feature of the entity, with a number for its argument. What a program asks for "
        "is what is kept (its plan): nothing is set up by hand, and what is not asked for costs nothing. An entity "
        "that leaves takes its state with it. A statistic that has observed nothing gives the feature's declared "
        "`unknown`.",
        _table(
            ("written", "argument", "memory", "meaning"),
            (
                (_code(_generic(kind)), _bounds(kind), _memory(kind), kind.meaning)
                for kind in grammar.STATISTICS.values()
            ),
        ),
        "A percentile keeps of each value the bits behind its leading one that the feature's `resolution` names and "
        "cuts off the rest, so it errs towards zero by at most 2^-resolution of the value (7 bits unless declared: "
        "under 0.8 %); "
        f"integers below 2^(resolution + 1) are exact. What is smaller than 2^{LEAST_EXPONENT} counts as 0.",
        "## History",
        "A history, such as a ghost list, remembers the entities that left most recently, and is asked with the key "
        "of the entity at hand and nothing else.",
        _table(
            ("written", "meaning"),
            (
                (_code(f"HISTORY.{query}(ENTITY.KEY)"), meaning.format(count_of="declared feature", age_unit="time"))
                for query, meaning in grammar.HISTORY_QUERIES.items()
            ),
        ),
        "## Limits",
        _limits(default, "unless the task sets another limit"),
        "## Rules",
        "Each rule with an example of what breaks it, and what to write instead.",
        _table(
            ("rule", "example", "instead"),
            ((rule.name, _code(rule.example), rule.hint) for rule in grammar.RULES.values()),
        ),
    ]
    return "\n\n".join(parts) + "\n"


def write_reference(path: Path) -> None:
    """Write the reference page. Raises OSError where the path cannot be written."""
    path.write_text(describe_reference(), encoding="utf-8")


_TOTALITY = (
    "Arithmetic is total: nothing raises, and no result is infinite or NaN. What has no value is 0 (x / 0, x % 0, "
    "the log of 0 or of a negative number, the square root of a negative number), and what would overflow stays at "
    "the largest finite number of its sign. So no guards against them are needed."
)


_SCOPE = (
    "A helper sees its own arguments and the parameters, nothing else: pass it the features that it needs. The names "
    "of the task's arguments, of functions and of parameters are taken; no local name or helper's argument may "
    "repeat one."
)


def _statements() -> str:
    return "\n".join(f"- `{syntax}`: {meaning}" for syntax, meaning in grammar.STATEMENTS.items())


def _operations() -> str:
    """One line an operation; ways to write the same operation share it."""
    lines: dict[tuple[str, str], list[str]] = {}
    for operation in _listed():
        lines.setdefault((operation.name, operation.meaning), []).append(f"`{operation.syntax}`")
    made = [f"- {', '.join(syntax)}: {meaning}" for (_, meaning), syntax in lines.items()]
    comparisons = " ".join(grammar.COMPARISONS.values())
    made.append(f"- `{comparisons}`: comparisons, 1 where they hold, else 0; they chain (`a < b < c`)")
    made.append("- `a if b else c`: a where b is not 0, else c")
    made.append(f"- {', '.join(_code(name) for name in grammar.CONSTANTS)}: constants; `import math` may be left out")
    return "\n".join(made)


def _listed() -> Iterable[Operation]:
    for table in (grammar.BINARY, grammar.UNARY, grammar.BOOLEAN, grammar.FUNCTIONS):
        yield from table.values()


def _features(task: Task) -> str:
    about = []
    for argument in task.signature.arguments:
        if isinstance(argument, Entity | Global):
            about.append(f"`{argument.name}` is {argument.meaning}.")
    rows = (
        (_code(name), feature.type, feature.unit, _range(feature), feature.meaning)
        for name, feature in task.signature.features()
    )
    table = _table(("read", "type", "unit", "range", "meaning"), rows)
    return "\n\n".join((" ".join(about), table)) if about else table


def _range(feature: Feature) -> str:
    return f"{_number(feature.low)} to {_number(feature.high)}"


def _number(value: float) -> str:
    if abs(value) >= _EXTREME or not value.is_integer() or abs(value) < _PLAIN_NUMBERS_UP_TO:
        return f"{value:g}"
    exponent = abs(value).as_integer_ratio()[0].bit_length() - 1
    return f"{'-' if value < 0 else ''}2^{exponent}" if abs(value) == 2.0**exponent else f"{value:,.0f}"


def _statistics(task: Task) -> str:
    entity = task.signature.entity
    if entity is None:
        return ""
    names = ", ".join(f.name for f in entity.features if f.name != entity.key)
    lines = []
    for kind in grammar.STATISTICS.values():
        if kind.scope == "population" and entity.population is None:
            continue
        spelled = kind.syntax.format(entity=entity.name, population=entity.population, feature="FEATURE")
        lines.append(f"- `{spelled}`, {kind.argument} from {_bounds(kind)}: {kind.meaning}")
    scalars = [a.name for a in task.signature.arguments if isinstance(a, Scalar)]
    other = "no other value" + (f", such as `{scalars[0]}`," if scalars else "")
    return (
        f"Nothing has to be set up: what the code asks for is kept. FEATURE is one of {names}; {other} has statistics. "
        "The argument is written as a number.\n\n" + "\n".join(lines)
    )


def _histories(task: Task) -> str:
    entity = task.signature.entity
    parts = []
    for argument in task.signature.arguments:
        if not isinstance(argument, History) or entity is None:
            continue
        key = f"{argument.entity}.{entity.key}"
        lines = [
            f"- `{argument.name}.{query}({key})`: "
            + meaning.format(count_of=f"`{argument.entity}.{argument.count_of}`", age_unit=argument.age_unit)
            for query, meaning in grammar.HISTORY_QUERIES.items()
        ]
        parts.append(f"`{argument.name}` is {argument.meaning}. It is asked with `{key}` only.\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _limits(operations: int, unless: str = "") -> str:
    return "\n".join(
        (
            f"- {grammar.LARGEST_SOURCE // 1024} KB of source, {grammar.LARGEST_TREE:,} syntax nodes, nesting of "
            f"{grammar.DEEPEST_TREE} in a function and {grammar.DEEPEST_CALLS} through calls of helpers",
            f"- loops nested {grammar.DEEPEST_LOOPS} deep",
            f"- {operations:,} operations a call{', ' + unless if unless else ''}: each operation, comparison, choice, "
            "feature read, statistic and assignment counts one, loops multiply, helpers count where they are called",
        )
    )


def _rules_in_short() -> str:
    """Rules of one hint share a line."""
    lines: dict[str, list[str]] = {}
    for rule in grammar.RULES.values():
        lines.setdefault(rule.hint, []).append(rule.name)
    return "\n".join(f"- {', '.join(names)}: {hint}" for hint, names in lines.items())


def _generic(kind: StatisticKind) -> str:
    return kind.syntax.format(entity="ENTITY", population="POPULATION", feature="FEATURE")


def _bounds(kind: StatisticKind) -> str:
    return f"{kind.low:g} to {kind.high:g}"


def _memory(kind: StatisticKind) -> str:
    if kind.scope == "entity":
        return "8 bytes an entity for each argument"
    return "8 bytes an entity for each feature, and one histogram of the feature"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _code(text: str) -> str:
    """Inline code; several lines are shown as one."""
    return "`" + text.replace("\n", "; ") + "`"


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))
