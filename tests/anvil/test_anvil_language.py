"""The language in words: it is written from the table, says what the checker does, and docs/anvil.md is current."""

import re
from typing import get_args, get_type_hints

import anvil_examples
import pytest
from anvil_page import describe_reference
from anvil_toy import TOY
from locations import ROOT

from vulcan.anvil import check
from vulcan.anvil.grammar import grammar
from vulcan.anvil.prompt_section import describe_language
from vulcan.registry import find_task
from vulcan.task import Property

PAGE = ROOT / "docs" / "anvil.md"
CACHE = find_task("cache_eviction")


def test_the_page_in_docs_is_current():
    assert PAGE.read_text(encoding="utf-8") == describe_reference(), "docs/anvil.md is stale: run `make docs`"


def entries() -> list[str]:
    tables = (grammar.BINARY, grammar.UNARY, grammar.BOOLEAN, grammar.FUNCTIONS)
    syntax = [operation.syntax for table in tables for operation in table.values()]
    return [f"`{text}`" for text in (*syntax, *grammar.STATEMENTS, *grammar.CONSTANTS)]


@pytest.mark.parametrize(
    ("text", "of_state"),
    [(describe_language(CACHE), True), (describe_language(TOY), False), (describe_reference(), True)],
)
def test_every_entry_of_the_table_is_described(text, of_state):
    of_state_functions = [f"`{operation.syntax}`" for operation in grammar.STATE_FUNCTIONS.values()]
    for entry in entries() + (of_state_functions if of_state else []):
        assert entry in text, entry
    for rule in grammar.RULES.values():
        if of_state or not rule.of_state:
            assert rule.name in text
            assert rule.hint in text


def test_the_page_names_every_warning_limit_and_kind_of_property():
    page = describe_reference()
    for name in grammar.WARNINGS:
        assert f"| {name} | {anvil_examples.WARNINGS[name][0]} |" in page
    for limit in grammar.LIMITS.values():
        assert f"| {limit.name} | {limit.most:,} | {limit.meaning} |" in page
    for kind in get_args(get_type_hints(Property)["kind"]):
        assert f"`{kind}`" in page.partition("## Proofs")[2]


@pytest.mark.parametrize("task", [CACHE.of_policy("heap"), TOY], ids=["cache_eviction", "toy"])
def test_every_feature_is_described_with_its_type_unit_range_and_meaning(task):
    text = describe_language(task)
    for name, feature in task.signature.features():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` ")]
        assert f"| {feature.type} | {feature.unit} |" in row
        assert f"| {feature.meaning} |" in row
    assert "0 to 2^40" in text


@pytest.mark.parametrize("task", [CACHE.of_policy("sample", ()), TOY], ids=["cache_eviction", "toy"])
def test_what_is_offered_is_accepted_as_it_is_spelled(task):
    text = describe_language(task)
    head = re.search(r"`(def [^`]*:)`", text)
    assert head is not None
    entity = task.signature.entity
    section = text.partition("### Statistics")[2].partition("###")[0]
    owners = re.findall(r"`([a-z_.]+(?:\.FEATURE)?)\.KIND`", section)
    features = re.search(r"FEATURE is one of ([a-z_, ]+)", section)
    assert features is not None
    assert features[1].split(", ") == [f.name for f in entity.features if f.name != entity.key]
    kinds = re.findall(r"^- `([a-z_]+\([a-z, ]*\))`:", section, flags=re.MULTILINE)
    assert len(kinds) == len(grammar.STATISTICS)
    assert len(owners) == 2 + sum(not name.startswith(f"{entity.name}.") for name, _ in task.signature.features())
    values = {"alpha": "0.5", "p": "0.5", "n": "3", "k": "3", "value": "now"}
    written = []
    for kind in kinds:
        called = re.sub(r"[a-z]+(?=[,)])", lambda name: values[name[0]], kind)
        where = [owners[1]] if kind.startswith("percentile") else owners
        written += [f"{owner}.{called}".replace("FEATURE", features[1].split(", ")[0]) for owner in where]
    queries = re.findall(rf"`([a-z]+\.[a-z]+\({entity.name}\.{entity.key}\))`", text)
    assert len(queries) == len(grammar.HISTORY_QUERIES)
    reads = [name for name, _ in task.signature.features()]
    for expression in (*written, *queries, *reads):
        check(f"{head[1]}\n    return {expression}\n", task)
