"""Description of the language in Markdown, from the grammar table: the language section of every prompt."""

from __future__ import annotations

from collections.abc import Iterable

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.grammar.grammar import Operation
from vulcan.anvil.grammar.tables import StatisticKind
from vulcan.task import MECHANISM, Entity, Event, Feature, Global, History, Signature, StateLimits, Task
from vulcan.terminal_text import format_number


def describe_language(task: Task) -> str:
    """Describe the language available to a task's policies, in Markdown: the language section of every prompt."""
    main, *others = task.kinds
    parts = [
        _functions(task),
        "Only what is listed here is accepted. Every value is a float64 (True is 1, False is 0; integers are exact to "
        f"2^53). There is no state between calls but the statistics{' and the state' if task.events else ''} below.",
        "### Statements\n\n" + _statements() + "\n\n" + SCOPE,
        "### Operators and functions\n\n" + _operations(),
        TOTALITY,
        f"### What can be read{_under(main) if others else ''}\n\n" + _features(main),
    ]
    if owners := _owners(main):
        parts.append("### Statistics\n\n" + _statistics(main, owners))
    if histories := _histories(main):
        parts.append("### History\n\n" + histories)
    if task.events:
        parts.append("### State and events\n\n" + _state(main))
    for kind in others:
        asked = f"A statistic is asked of\n\n{owners}" if (owners := _owners(kind)) else ""
        described = (_features(kind), asked, _histories(kind), _events(kind))
        parts.append(f"### What can be read{_under(kind)}\n\n" + "\n\n".join(filter(None, described)))
    parts.append("### Limits\n\n" + limits(task.operations, state=task.state_limits if task.events else None))
    parts.append("### What is rejected, and what to write instead\n\n" + _rules_in_short(of_state=bool(task.events)))
    return "\n\n".join(parts) + "\n"


def _functions(task: Task) -> str:
    if len(task.mechanisms) > 1:
        return _functions_by_mechanism(task)
    if not task.others:
        return f"A policy is a Python module that defines {_head(task.signature)} and returns {task.signature.returns}."
    listed = "\n".join(f"- {_head(declared)} which returns {declared.returns}." for declared in task.functions)
    return f"A policy is a Python module that defines each of these functions:\n\n{listed}\n\n{SEVERAL}"


def _functions_by_mechanism(task: Task) -> str:
    """Return the functions of policies, where these name the mechanism by which they are used."""
    returned: dict[str, str] = {}
    lines = []
    for name in task.mechanisms:
        functions = task.of_policy(name).functions
        needed, optional = ([_head(f) for f in functions if f.optional == wanted] for wanted in (False, True))
        may = f"; it may define {', '.join(optional)}" if optional else ""
        lines.append(f'- `{MECHANISM} = "{name}"`: it defines {", ".join(needed)}{may}')
        returned |= {f.function: f"- `{f.function}` returns {f.returns}." for f in functions}
    return (
        f"A policy is a Python module that names its mechanism in a line of its own, `{MECHANISM} = ...` (without it, "
        f'the mechanism is `"{task.mechanisms[0]}"`), and defines the functions of that mechanism:\n\n'
        + "\n".join(lines)
        + "\n\n"
        + "\n".join(returned.values())
        + f"\n\n{SEVERAL}"
    )


def _under(kind: Task) -> str:
    names = [mechanism.name for mechanism in kind.signature.mechanisms]
    return f" with the mechanism{'s' if len(names) > 1 else ''} " + " and ".join(f"`{name}`" for name in names)


def _head(declared: Signature) -> str:
    return f"`def {declared.function}({', '.join(argument.name for argument in declared.arguments)}):`"


SEVERAL = (
    "Each is called on its own, with the arguments written here and no others. None of them calls another: what "
    "several need is put into a helper. Helpers and parameters are common to all. An argument of one name is the same "
    "thing in each, and so is a statistic of it: it is kept once, whichever of them asks."
)


TOTALITY = (
    "Arithmetic is total: nothing raises, and no result is infinite or NaN. What has no value is 0 (x / 0, x % 0, "
    "the log of 0 or of a negative number, the square root of a negative number), and what would overflow stays at "
    "the largest finite number of its sign. So no guards against them are needed."
)


SCOPE = (
    "A helper sees its own arguments and the parameters, nothing else: pass it the features that it needs. The names "
    "of the task's arguments, of functions and of parameters are taken; no local name or helper's argument may "
    "repeat one."
)


def _statements() -> str:
    return "\n".join(f"- `{syntax}`: {meaning}" for syntax, meaning in grammar.STATEMENTS.items())


def _operations() -> str:
    """Return one line per operation; notations of the same operation share it."""
    lines: dict[tuple[str, str], list[str]] = {}
    for operation in _listed():
        lines.setdefault((operation.name, operation.meaning), []).append(f"`{operation.syntax}`")
    made = [f"- {', '.join(syntax)}: {meaning}" for (_, meaning), syntax in lines.items()]
    comparisons = " ".join(grammar.COMPARISONS.values())
    made.append(f"- `{comparisons}`: comparisons, 1 where they hold, else 0; they chain (`a < b < c`)")
    made.append(f"- {', '.join(code(name) for name in grammar.CONSTANTS)}: constants")
    return "\n".join(made)


def _listed() -> Iterable[Operation]:
    for operations in (grammar.BINARY, grammar.UNARY, grammar.BOOLEAN, grammar.FUNCTIONS):
        yield from operations.values()


def _features(task: Task) -> str:
    about = []
    for argument in task.whole_interface.arguments:
        if isinstance(argument, Entity | Global):
            about.append(f"`{argument.name}` is {argument.meaning}.")
    rows: list[tuple[str, ...]] = [
        (code(name), feature.type, feature.unit, _range(feature), feature.meaning)
        for name, feature in task.whole_interface.features()
    ]
    head: tuple[str, ...] = ("read", "type", "unit", "range", "meaning")
    if task.others or [*task.whole_interface.features()] != [*task.interface.features()]:
        head = (*head, "in")
        rows = [
            (*row, _shown_to(task, name)) for row, (name, _) in zip(rows, task.whole_interface.features(), strict=True)
        ]
    features = table(head, rows)
    return "\n\n".join((" ".join(about), features)) if about else features


def _shown_to(task: Task, feature: str) -> str:
    """Return the functions that are shown the feature."""
    return ", ".join(
        code(declared.function) for declared in (*task.functions, *task.events) if feature in dict(declared.features())
    )


def _range(feature: Feature) -> str:
    return f"{format_number(feature.low)} to {format_number(feature.high)}"


def _owners(task: Task) -> str:
    """List what statistics are asked of; empty where nothing has any."""
    signature = task.whole_interface
    owners = []
    entity = signature.entity
    if entity is not None:
        names = ", ".join(f.name for f in entity.features if f.name != entity.key)
        owners.append(
            f"`{entity.name}.FEATURE.KIND`: of this {entity.name}'s own observations; FEATURE is one of {names}"
        )
        if entity.population:
            owners.append(
                f"`{entity.population}.FEATURE.KIND`: of the observations of every {entity.name} in turn, and for "
                f"`percentile` of each live {entity.name}'s latest one; `{entity.population}.{entity.key}` has "
                f"{_listed_kinds(k for k in grammar.STATISTICS.values() if k.looks_for)} only"
            )
    occasions = signature.occasions
    others = [name for name, _ in signature.features() if entity is None or not name.startswith(entity.name + ".")]
    others = [name for name in others if name not in occasions]
    if others:
        spelled = ", ".join(f"`{name}.KIND`" for name in others)
        owners.append(f"{spelled}: of what it was at each event{' of any ' + entity.name if entity else ''}")
    for occasion in dict.fromkeys(occasions.values()):
        spelled = ", ".join(f"`{name}.KIND`" for name, observed in occasions.items() if observed == occasion)
        owners.append(f"{spelled}: of what it was at each {occasion.replace('_', ' ')}, and at no other event")
    return "\n".join(f"- {owner}" for owner in owners)


def _statistics(task: Task, owners: str) -> str:
    entity = task.whole_interface.entity
    kinds = []
    for kind in grammar.STATISTICS.values():
        if _offered(kind, task):
            kinds.append(f"- `{kind.short}`: {kind.meaning}")
    return (
        "Nothing has to be set up: what the code asks for is kept. A statistic, KIND, is asked of\n\n"
        + owners
        + "\n\nBefore the first observation it is the feature's value for unknown. "
        + bounds_of_arguments(entity.name if entity else None)
        + "\n\n"
        + "\n".join(kinds)
    )


def _offered(kind: StatisticKind, task: Task) -> bool:
    entity = task.whole_interface.entity
    return kind.scopes != ("population",) or (entity is not None and entity.population is not None)


def _listed_kinds(kinds: Iterable[StatisticKind]) -> str:
    return " and ".join(f"`{kind.name}`" for kind in kinds)


def bounds_of_arguments(entity: str | None) -> str:
    """Describe the bounds of statistics' arguments."""
    bounds: dict[str, list[str]] = {}
    for kind in grammar.STATISTICS.values():
        for a in kind.arguments:
            most = f"{a.high:g}" if a.entity_high is None or entity is None else f"{a.entity_high:g} ({a.high:g} where "
            most += "" if a.entity_high is None or entity is None else f"not of one {entity})"
            names = bounds.setdefault(f"from {a.low:g} to {most}", [])
            if a.name not in names:
                names.append(a.name)
    spelled = ", ".join(f"{' and '.join(names)} {bound}" for bound, names in bounds.items())
    return f"Arguments are written as numbers ({spelled}); only `value` is any expression."


def _histories(task: Task) -> str:
    entity = task.whole_interface.entity
    parts = []
    for argument in task.whole_interface.arguments:
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


def _state(task: Task) -> str:
    """Describe declarations of state, the events, and what only their handlers may do."""
    entity = task.whole_interface.entity
    fields = f"class {entity.name}:\n    tag = 0.0               # a field of each {entity.name}\n" if entity else ""
    first = task.events[0]
    head = f"def {first.function}({', '.join(a.name for a in first.arguments)}):"
    own = ir.STATE
    example = (
        f"START = 0.5                 # a parameter\n\nclass {own}:\n    weight = START          # a register\n"
        f"    sketch = [0.0] * 256    # an array\n\n{fields}\n{head}\n"
        f"    {own}.weight = 0.9 * {own}.weight + 0.1\n    {own}.sketch[hash(3, 1)] += 1"
    )
    functions = [f"- `{o.syntax}`: {o.meaning}" for o in grammar.STATE_FUNCTIONS.values()]
    return "\n\n".join(
        (
            "A policy may keep state, and define handlers of events, which change it; both may be left out.",
            f"```python\n{example}\n```",
            STATE_RULES
            + (f" A field of {entity.name} lasts as long as anything is remembered of it." if entity else ""),
            _events(task),
            "\n".join(
                (
                    *functions,
                    f"- `{grammar.RANDOM}()`: {RANDOM_MEANING}",
                )
            ),
        )
    )


def _events(task: Task) -> str:
    return "\n".join(
        f"- `{event.function}({', '.join(a.name for a in event.arguments)})`: {event.meaning}" + _controls(event)
        for event in task.events
    )


STATE_RULES = (
    "An index is rounded down and wrapped to the array's length, so every number is one. State starts with a number or "
    "a parameter. Handlers write state, and return nothing; the task's functions and helpers only read it. So it does "
    "not matter how often, or in what order, the functions are called."
)


RANDOM_MEANING = (
    "a random number from 0 to below 1, in handlers of events only; those of a statement are drawn before it"
)


def _controls(event: Event) -> str:
    """Describe what a handler may set besides the policy's state."""
    return "".join(f" It may set `{name}`: {f.meaning} ({f.unit}, {_range(f)})." for name, f in event.settable.items())


def limits(operations: int, unless: str = "", state: StateLimits | None = None) -> str:
    """List the limits on programs."""
    held = ""
    if state is not None:
        held = f"- {state.registers:,} registers, {state.elements:,} elements of arrays, {state.fields:,} fields"
    return "\n".join(
        (
            *filter(None, [held]),
            f"- {grammar.MAX_SOURCE_BYTES // 1024} KB of source, {grammar.MAX_TREE_NODES:,} syntax nodes, nesting of "
            f"{grammar.MAX_TREE_DEPTH} in a function and {grammar.MAX_CALL_DEPTH} through calls of helpers",
            f"- loops nested {grammar.MAX_LOOP_DEPTH} deep",
            f"- {operations:,} operations a call{', ' + unless if unless else ''}: each operation, comparison, choice, "
            "feature read, statistic and assignment counts one, loops multiply, helpers count where they are called",
        )
    )


def _rules_in_short(of_state: bool) -> str:
    """Return one line per hint, with the rules that share it; those about state only if the task has it."""
    lines: dict[str, list[str]] = {}
    for rule in (rule for rule in grammar.RULES.values() if of_state or not rule.of_state):
        lines.setdefault(rule.hint, []).append(rule.name)
    return "\n".join(f"- {', '.join(names)}: {hint}" for hint, names in lines.items())


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Format a Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: str) -> str:
    """Format inline code in Markdown; several lines become one."""
    return "`" + text.replace("\n", "; ") + "`"
