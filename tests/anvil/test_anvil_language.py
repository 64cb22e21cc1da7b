"""The language in words says what the checker does."""

import re

import pytest
from anvil_toy import TOY

from vulcan.anvil import check
from vulcan.anvil.grammar import grammar
from vulcan.anvil.prompt_section import describe_language
from vulcan.registry import find_task

CACHE = find_task("cache_eviction")


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
