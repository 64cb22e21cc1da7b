"""`vulcan check`: what it prints of a policy it accepts and of one it rejects."""

from __future__ import annotations

import json

from console import Console

HEAD = "def priority(now, obj, cache, ghost):\n"
DOUBTFUL = (
    HEAD + "\tage = now - obj.last_access; 'größe'; x = age * (obj.size > 0)\n"
    "\tif obj.size > 0:\n\t\tx += obj.count.ewma(0.3) + obj.size.window_percentile(0.5, 9)\n"
    "\treturn x + cache.size.percentile(0.5)\n"
)


def test_a_policy_that_is_accepted_is_described_and_its_warnings_shown_in_its_lines(vulcan: Console) -> None:
    (vulcan.directory / "doubtful.py").write_text(DOUBTFUL)
    lines = vulcan.good("check", "doubtful.py", "--task", "cache_eviction").stdout.splitlines()
    assert lines[:2] == ["accepted: doubtful.py", "  operations  at most 19 per call (limit 10,000)"]
    assert "  features    now, obj.last_access, obj.size" in lines
    assert "    obj.count.ewma(0.3) of the entity: 8 bytes per entity, 0 bytes of the system" in lines
    assert any(
        line.startswith("    obj.size.percentile(0.5) of the population: 8 bytes per entity, ") for line in lines
    )
    assert [line for line in lines if line.startswith("  line ")] == [
        "  line 2, column 51: [constant-condition] `obj.size > 0` always holds (`obj.size` is from 1 to 2^48)",
        "  line 3, column 2: [constant-condition] `obj.size > 0` always holds (`obj.size` is from 1 to 2^48), so its "
        "other branch is never taken",
    ]
    caret = lines.index("          age = now - obj.last_access; 'größe'; x = age * (obj.size > 0)") + 1
    assert lines[caret].index("^") == lines[caret - 1].index("obj.size > 0")
    assert lines[caret + 1].startswith("    hint: ")


def test_a_rejected_policy_is_shown_with_carets_and_hints(vulcan: Console) -> None:
    (vulcan.directory / "bad.py").write_text(HEAD + "\tx = obj.colour; '漢字'; y = [1]\n\treturn x + y\n")
    result = vulcan("check", "bad.py", "--task", "cache_eviction")
    assert (result.returncode, result.stderr) == (1, "")
    document = json.loads(vulcan("check", "bad.py", "--task", "cache_eviction", "--json").stdout)
    assert (document["accepted"], [v["rule"] for v in document["violations"]]) == (False, ["feature", "expression"])
    assert result.stdout.splitlines() == [
        "rejected: bad.py",
        "  line 2, column 6: [feature] `obj.colour` is not declared; did you mean 'obj.count'?",
        "          x = obj.colour; '漢字'; y = [1]",
        "              ^",
        "    hint: read one of obj.id, obj.size, obj.count, obj.last_access, obj.insertion",
        "  line 2, column 28: [expression] list is not in the language",
        "          x = obj.colour; '漢字'; y = [1]",
        "                                      ^",  # two characters above are two columns wide
        "    hint: use numbers, names, arithmetic, comparisons, and/or/not and `a if b else c`",
    ]
