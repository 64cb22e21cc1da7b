"""The language in words: it is written from the table, says what the checker does, and docs/anvil.md is current."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from anvil_toy import TOY

from vulcan.anvil import Rejected, check, grammar
from vulcan.anvil.language import describe_language, describe_reference, write_reference
from vulcan.registry import find_task
from vulcan.task import Feature, Objective, Scalar, Task, Value

PAGE = Path(__file__).resolve().parents[2] / "docs" / "anvil.md"
CACHE = find_task("cache_eviction")


def test_the_page_in_docs_is_current(tmp_path):
    write_reference(tmp_path / "anvil.md")
    assert PAGE.read_bytes() == (tmp_path / "anvil.md").read_bytes(), (
        "docs/anvil.md is stale: run `python -m vulcan.anvil.language docs/anvil.md`"
    )


def entries() -> list[str]:
    tables = (grammar.BINARY, grammar.UNARY, grammar.BOOLEAN, grammar.FUNCTIONS)
    syntax = [operation.syntax for table in tables for operation in table.values()]
    return [f"`{text}`" for text in (*syntax, *grammar.STATEMENTS, *grammar.CONSTANTS)]


@pytest.mark.parametrize("text", [describe_language(CACHE), describe_language(TOY), describe_reference()])
def test_every_entry_of_the_table_is_described(text):
    for entry in entries():
        assert entry in text, entry
    for rule in grammar.RULES.values():
        assert rule.name in text
        assert rule.hint in text


@pytest.mark.parametrize("task", [CACHE, TOY], ids=["cache_eviction", "toy"])
def test_every_feature_is_described_with_its_type_unit_range_and_meaning(task):
    text = describe_language(task)
    for name, feature in task.signature.features():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` ")]
        assert f"| {feature.type} | {feature.unit} |" in row
        assert row.endswith(f"| {feature.meaning} |")
    assert "0 to 2^40" in text


@pytest.mark.parametrize("task", [CACHE, TOY], ids=["cache_eviction", "toy"])
def test_what_is_offered_is_accepted_as_it_is_spelled(task):
    text = describe_language(task)
    head = re.search(r"`(def [^`]*:)`", text)
    assert head is not None
    entity = task.signature.entity
    offered = re.findall(r"`([a-z_.]+FEATURE\.[a-z]+\((?:alpha|p)\))`", text)
    assert len(offered) == len(grammar.STATISTICS)
    feature = next(f.name for f in entity.features if f.name != entity.key)
    written = [re.sub(r"\((alpha|p)\)", "(0.5)", each.replace("FEATURE", feature)) for each in offered]
    queries = re.findall(rf"`([a-z]+\.[a-z]+\({entity.name}\.{entity.key}\))`", text)
    assert len(queries) == len(grammar.HISTORY_QUERIES)
    reads = [name for name, _ in task.signature.features()]
    for expression in (*written, *queries, *reads):
        check(f"{head[1]}\n    return {expression}\n", task)


def test_the_language_section_of_cache_eviction_is_short():
    assert len(describe_language(CACHE).split()) <= 1_500


def test_a_task_without_entity_is_offered_no_statistics():
    task = Task(
        name="plain",
        summary="One number from one number.",
        signature=Value("decide", (Scalar(Feature("load", "float", "share", 0.0, 1.0, "how full it is")),), "a number"),
        evaluator="nowhere:Nothing",
        objectives=(Objective("only", "number", "itself", lambda metrics, references: metrics["number"]),),
        directory=Path(__file__).parent,
        operations=77,
    )
    text = describe_language(task)
    assert "### Statistics" not in text
    assert "### History" not in text
    assert "77 operations" in text
    check("def decide(load):\n    return load * 2\n", task)
    with pytest.raises(Rejected, match=r"\[function\]"):
        check("def decide(load):\n    return load.ewma(0.5)\n", task)


def test_a_task_without_population_is_offered_no_percentiles():
    entity = replace(TOY.signature.entity, population=None)
    arguments = tuple(entity if a.name == "item" else a for a in TOY.signature.arguments)
    task = replace(TOY, signature=replace(TOY.signature, arguments=arguments))
    assert "percentile" not in describe_language(task).partition("### Limits")[0]
    with pytest.raises(Rejected) as caught:
        check("def rate(now, item, world, past):\n    return world.whole.percentile(0.5)\n", task)
    (violation,) = caught.value.violations
    assert violation.rule == "statistic"
    assert violation.hint == "there are item.FEATURE.ewma(alpha)"


def test_the_seed_policies_are_accepted():
    sources = CACHE.seed_policies()
    assert {"fifo", "gdsf", "lfu", "lru"} <= set(sources)
    for source in sources.values():
        check(source, CACHE)
