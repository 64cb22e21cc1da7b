"""Legal and hostile policies of cache eviction, each with the verdict that the language gives it."""

import pytest

from vulcan.anvil import Rejected, check
from vulcan.registry import find_task

CACHE = find_task("cache_eviction")
HEAD = "def priority(now, obj, cache, ghost):\n"

LEGAL = {
    "plain": HEAD + "    return obj.last_access\n",
    "statistics": HEAD
    + "    a = obj.count.ewma(0.3) / (1 + obj.size)\n    return a * (2 if ghost.contains(obj.id) else 1)\n",
    "percentile": HEAD + "    return -1 if obj.size > cache.size.percentile(0.9) else obj.last_access\n",
    "loop": HEAD + "    s = 0.0\n    for i in range(8):\n        s += obj.count / (i + 1)\n    return s\n",
    "helper": "A = 0.5\ndef f(x):\n    return x * A\n" + HEAD + "    return f(obj.count)\n",
    "division by zero": HEAD + "    return 1 / 0 + 1 % 0\n",
}

HOSTILE = {
    "while": (HEAD + "    while True:\n        pass\n", "statement"),
    "import": ("import os\n" + HEAD + "    return 1\n", "import"),
    "recursion": ("def f(x):\n    return f(x)\n" + HEAD + "    return f(1)\n", "recursion"),
    "attribute": (HEAD + "    return obj.__class__\n", "feature"),
    "subscript": (HEAD + "    return [1][0]\n", "expression"),
    "lambda": (HEAD + "    return (lambda: 1)()\n", "function"),
    "endless sum": (HEAD + "    return " + "1+" * 400_000 + "1\n", "too-long"),
    "parentheses": (HEAD + "    return " + "(" * 20_000 + "1" + ")" * 20_000 + "\n", "too-long"),
    "digits": (HEAD + "    return " + "9" * 1_000_000 + "\n", "too-long"),
    "nested loops": (
        HEAD + "    for a in range(4000):\n        for b in range(4000):\n            for c in range(4000):\n"
        "                pass\n    return 1\n",
        "operations",
    ),
    "unassigned": (HEAD + "    if obj.size > 1:\n        x = 1\n    return x\n", "unassigned"),
    "walrus": (HEAD + "    return (x := 1)\n", "expression"),
    "global": ("X = 1\n" + HEAD + "    global X\n    X = 2\n    return X\n", "statement"),
    "no function": ("def other(a):\n    return a\n", "no-function"),
    "arguments": ("def priority(a):\n    return a\n", "arguments"),
    "a Cyrillic letter": (HEAD + "    return obj.ѕize\n", "ascii"),
    "a computed argument": (HEAD + "    return obj.count.ewma(obj.size)\n", "statistic-argument"),
    "a computed bound": (HEAD + "    for i in range(int(obj.size)):\n        pass\n    return 1\n", "loop-bounds"),
    "text": (HEAD + "    return 'a'\n", "constant"),
    "syntax": ("def priority(:\n", "syntax"),
    "nothing": ("", "no-function"),
    "NUL": (HEAD + "    return 1\0\n", "syntax"),
}


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_policy_is_accepted(name):
    assert check(LEGAL[name], CACHE).plan.operations <= CACHE.operations


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_policy_is_rejected_by_its_rule(name):
    source, rule = HOSTILE[name]
    with pytest.raises(Rejected) as caught:
        check(source, CACHE)
    assert rule in {v.rule for v in caught.value.violations}
