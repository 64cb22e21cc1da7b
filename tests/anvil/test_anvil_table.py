"""Every entry of the grammar table has an example that runs and one that is rejected; they do what the table says."""

import ast
from collections.abc import Iterator

import anvil_entries
import anvil_examples
import pytest
from anvil_fragments import Example, RejectedExample
from anvil_page import EVENTS, EXAMPLE_TASK, SHOWN, outcome
from anvil_twin import Twin

from vulcan.anvil import HistorySlots, Layout, Rejected, Slot, check
from vulcan.anvil.grammar import grammar

OPERATIONS = [
    operation
    for table in (grammar.BINARY, grammar.UNARY, grammar.BOOLEAN, grammar.FUNCTIONS, grammar.STATE_FUNCTIONS)
    for operation in table.values()
]


EXAMPLE_LAYOUT = Layout(
    features={
        "now": Slot("globals", 0), "pool.load": Slot("globals", 1), "pool.members": Slot("globals", 2),
        "obj.id": Slot("key"), "obj.size": Slot("entity", 1), "obj.count": Slot("entity", 2),
        "obj.last_seen": Slot("entity", 3), "obj.drift": Slot("entity", 4),
    },
    global_slots=4,
    histories={
        "past": HistorySlots(
            left=Slot("entity", 0),
            oldest=Slot("globals", 3),
            count=Slot("entity", 5),
            left_at=Slot("entity", 6),
            now=Slot("globals", 0),
        )
    },
)  # fmt: skip


def entries() -> Iterator[tuple[str, Example, RejectedExample]]:
    """Every entry with its name, what is accepted and what is rejected."""
    for table in ("OPERATIONS", "COMPARISONS", "CONSTANTS", "HISTORY_QUERIES", "STATEMENTS"):
        for key, (example, counterexample) in getattr(anvil_entries, table).items():
            yield f"{table} {key}", example, counterexample
    for name, scopes in anvil_entries.STATISTICS.items():
        for scope, (example, counterexample) in scopes.items():
            yield f"STATISTICS {name} of the {scope}", example, counterexample
    for name, (example, counterexample) in anvil_examples.LIMITS.items():
        yield f"LIMITS {name}", example, counterexample
    for name, (violates, instead) in anvil_examples.RULES.items():
        yield f"RULES {name}", instead, violates


ENTRIES = {name: (example, counterexample) for name, example, counterexample in entries()}


def rules_broken(source: str) -> set[str]:
    with pytest.raises(Rejected) as caught:
        check(source, EXAMPLE_TASK)
    return {violation.rule for violation in caught.value.violations}


def test_each_entry_of_the_table_has_examples() -> None:
    assert list(anvil_entries.OPERATIONS) == [operation.syntax for operation in OPERATIONS]
    assert list(anvil_entries.COMPARISONS) == list(grammar.COMPARISONS.values())
    assert {name: kind.scopes for name, kind in grammar.STATISTICS.items()} == {
        name: tuple(scopes) for name, scopes in anvil_entries.STATISTICS.items()
    }
    for name in ("CONSTANTS", "HISTORY_QUERIES", "STATEMENTS"):
        assert getattr(anvil_entries, name).keys() == getattr(grammar, name).keys()
    for name in ("RULES", "WARNINGS"):
        assert getattr(anvil_examples, name).keys() == getattr(grammar, name).keys()
    assert anvil_examples.LIMITS.keys() == anvil_examples.MOST.keys()


@pytest.mark.parametrize("name", ENTRIES)
def test_what_an_entry_accepts_runs_in_the_reference_and_natively_with_the_result_that_it_says(name):
    example, _ = ENTRIES[name]
    twin = Twin(check(example.source, EXAMPLE_TASK), EXAMPLE_LAYOUT)
    for event in EVENTS:
        twin.observe(event["obj.id"], event)
        twin.handle("on_touch", event["obj.id"], event)
    result = twin.score(SHOWN["obj.id"], SHOWN)  # which compares the two, bit for bit
    twin.check_memory()
    assert result == outcome(example.source)
    assert example.gives is None or result == example.gives


@pytest.mark.parametrize("name", ENTRIES)
def test_what_an_entry_rejects_is_rejected_by_the_rule_that_it_names_and_by_no_other(name):
    _, counterexample = ENTRIES[name]
    assert rules_broken(counterexample.source) == {counterexample.rule}
    assert counterexample.rule in grammar.RULES


def test_the_examples_of_an_entry_are_about_it():
    """An example holds what its entry offers; those of operations, statistics and queries say the result."""
    for operation in OPERATIONS:
        spelled = operation.syntax.partition("(")[0] if "(" in operation.syntax else operation.syntax.strip("ab ")
        example, _ = anvil_entries.OPERATIONS[operation.syntax]
        assert spelled in example.text
        assert example.gives is not None
    for name, scopes in anvil_entries.STATISTICS.items():
        for scope, (example, _) in scopes.items():
            (statistic,) = check(example.source, EXAMPLE_TASK).plan.statistics
            assert (statistic.kind, statistic.scope) == (name, scope)
            assert example.gives is not None
    for query, (example, _) in anvil_entries.HISTORY_QUERIES.items():
        (used,) = check(example.source, EXAMPLE_TASK).plan.queries
        assert used.query == query
    for symbol, (example, _) in anvil_entries.COMPARISONS.items():
        assert f" {symbol} " in example.text


@pytest.mark.parametrize("name", grammar.RULES)
def test_a_rule_rejects_its_example(name):
    assert anvil_examples.RULES[name][0].rule == grammar.RULES[name].name == name


def nodes(source: str) -> list[ast.AST]:
    without = (ast.expr_context, ast.operator, ast.unaryop)
    return [node for node in ast.walk(ast.parse(source)) if not isinstance(node, without)]


def depth(node: ast.AST) -> int:
    return 1 + max((depth(child) for child in ast.iter_child_nodes(node)), default=0)


def test_a_limit_is_exactly_where_the_table_says():
    """The accepted examples are as large as can be, the rejected ones one step larger."""
    source, counted, nested, _, looped, operations, *kept = (
        (most, *(example.source for example in anvil_examples.LIMITS[name]))
        for name, (most, _) in anvil_examples.MOST.items()
    )
    assert [len(text.encode()) for text in source[1:]] == [source[0], source[0] + 1]
    assert [len(nodes(text)) for text in counted[1:]] == [counted[0], counted[0] + 3]
    assert [depth(ast.parse(text)) for text in nested[1:]] == [
        nested[0],
        nested[0] + 1,
    ]  # the name's context counts not
    assert [text.count("for ") for text in looped[1:]] == [looped[0], looped[0] + 1]
    assert 0 <= operations[0] - check(operations[1], EXAMPLE_TASK).plan.operations < 3
    assert operations[0] == EXAMPLE_TASK.operations
    for most, accepted, rejected in kept:
        assert f"({most})" in accepted
        assert f"({most + 1})" in rejected


@pytest.mark.parametrize("name", grammar.WARNINGS)
def test_a_warning_is_given_for_its_example_and_not_for_what_is_to_be_written_instead(name):
    _, warned, instead = anvil_examples.WARNINGS[name]
    policy = check(warned.source, EXAMPLE_TASK)
    assert name in {warning.rule for warning in policy.warnings}
    assert all(warning.hint == grammar.WARNINGS[warning.rule] for warning in policy.warnings)
    assert check(instead.source, EXAMPLE_TASK).warnings == ()
    outcome(warned.source)
    outcome(instead.source)
