"""An accepted and a rejected example of each entry of Anvil's grammar table, for the language page and the tests."""

from __future__ import annotations

from anvil_fragments import Example, RejectedExample, body, module, no, top

from vulcan.anvil.grammar.tables import Scope

Pair = tuple[Example, RejectedExample]

OPERATIONS: dict[str, Pair] = {
    "a + b": (Example("7 + 2", 9.0), no("obj + 2", "argument-use")),
    "a - b": (Example("7 - 2", 5.0), no("7 - past", "argument-use")),
    "a * b": (Example("1e300 * 1e300", 1.7976931348623157e308), no("'-' * 20", "constant")),
    "a / b": (Example("7 / 2 + 7 / 0", 3.5), no("7 / None", "constant")),
    "a // b": (Example("-7 // 2", -4.0), no("7 // [2]", "expression")),
    "a % b": (Example("-7 % 4", 1.0), no("'%d' % 7", "constant")),
    "a ** b": (Example("2 ** 0.5 ** 2 + 0 ** -1", 1.189207115002721), no("2 ** pool", "argument-use")),
    "-a": (Example("-obj.drift", 2.5), no("-obj", "argument-use")),
    "+a": (Example("+obj.drift", -2.5), no("+'7'", "constant")),
    "not a": (Example("not obj.drift", 0.0), no("not past", "argument-use")),
    "a and b": (Example("obj.size and obj.drift", -2.5), no("obj and obj.drift", "argument-use")),
    "a or b": (Example("0 or obj.drift or 1", -2.5), no("obj.drift or 'none'", "constant")),
    "min(a, b, ...)": (Example("min(7, 2, 5)", 2.0), no("min(7)", "call")),
    "max(a, b, ...)": (Example("max(7, 2)", 7.0), no("max(7, 2, key=abs)", "call")),
    "abs(a)": (Example("abs(-7)", 7.0), no("abs(obj)", "argument-use")),
    "round(a)": (Example("round(2.5)", 2.0), no("round(2.567, 2)", "call")),
    "int(a)": (Example("int(-2.5)", -2.0), no("int('2')", "constant")),
    "float(a)": (Example("float(7)", 7.0), no("float('inf')", "constant")),
    "bool(a)": (Example("bool(-7)", 1.0), no("bool()", "call")),
    "math.sqrt(a)": (Example("math.sqrt(9) + math.sqrt(-9)", 3.0), no("sqrt(9)", "function")),
    "math.exp(a)": (Example("math.exp(1000)", 1.7976931348623157e308), no("math.exp()", "call")),
    "math.expm1(a)": (Example("math.expm1(0)", 0.0), no("math.expm1(0, 0)", "call")),
    "math.log(a)": (Example("math.log(1) + math.log(0)", 0.0), no("math.log(8, 2)", "call")),
    "math.log1p(a)": (Example("math.log1p(-5)", 0.0), no("math.log1p(x=1)", "call")),
    "math.log2(a)": (Example("math.log2(8)", 3.0), no("math.log2(*now)", "call")),
    "math.log10(a)": (Example("math.log10(1000)", 3.0), no("math.log10", "function")),
    "math.pow(a, b)": (Example("math.pow(2, 10)", 1024.0), no("pow(2, 10)", "function")),
    "math.floor(a)": (Example("math.floor(-2.5)", -3.0), no("math.floor('2')", "constant")),
    "math.ceil(a)": (Example("math.ceil(2.1)", 3.0), no("math.ceil(pool)", "argument-use")),
    "math.trunc(a)": (Example("math.trunc(-2.5)", -2.0), no("math.trunc(2, 5)", "call")),
    "math.fabs(a)": (Example("math.fabs(-7)", 7.0), no("math.fabs()", "call")),
    "math.tanh(a)": (Example("math.tanh(99)", 1.0), no("math.sinh(99)", "function")),
    "math.atan(a)": (Example("math.atan(1) * 4", 3.141592653589793), no("math.atan2(1, 1)", "function")),
    "math.sin(a)": (Example("math.sin(0)", 0.0), no("math.sin()", "call")),
    "math.cos(a)": (Example("math.cos(0)", 1.0), no("cos(0)", "function")),
    "hash(a, k)": (Example("hash(obj.id, 1) % 16", 14.0), no("hash(obj, 1)", "argument-use")),
}
"""By the notation of an operation."""

COMPARISONS: dict[str, Pair] = {
    "<": (Example("2 < 2", 0.0), no("obj < 2", "argument-use")),
    "<=": (Example("1 <= 2 <= 2", 1.0), no("1 <= '2'", "constant")),
    ">": (Example("obj.size > 3", 1.0), no("obj.size > None", "constant")),
    ">=": (Example("obj.size >= 5", 0.0), no("obj.size >= [5]", "expression")),
    "==": (Example("obj.size == 4.0", 1.0), no("obj.size is 4", "operator")),
    "!=": (Example("obj.size != 4", 0.0), no("obj.size not in (4, 5)", "operator")),
}
"""By symbol."""

CONSTANTS: dict[str, Pair] = {
    "math.pi": (Example("math.pi", 3.141592653589793), no("math.tau", "function")),
    "math.e": (Example("math.e", 2.718281828459045), no("math.inf", "function")),
}
"""By name."""

HISTORY_QUERIES: dict[str, Pair] = {
    "contains": (Example("past.contains(obj.id)", 1.0), no("obj.id in past", "operator")),
    "count": (Example("past.count(obj.id)", 12.0), no("past.count(7)", "history")),
    "age": (Example("past.age(obj.id)", 30.0), no("past.age(obj.size)", "history")),
}
"""By name."""

STATEMENTS: dict[str, Pair] = {
    "x = a": (
        body("x = 2\ny: float = x\ny *= 4\nreturn y", 8.0),
        no("x, y = 1, 2\nreturn x", "statement", "statements"),
    ),
    "if a: ... elif b: ... else: ...": (
        body("if obj.drift > 0:\n    x = 1\nelif obj.drift:\n    x = 2\nelse:\n    x = 3\nreturn x", 2.0),
        no("if obj.drift > 0:\n    x = 1\nreturn x", "unassigned", "statements"),
    ),
    "for i in range(8): ...": (
        body("s = 0\nfor i in range(1, 9, 2):\n    s += i\nreturn s", 16.0),
        no("s = 0\nfor i in range(obj.size):\n    s += i\nreturn s", "loop-bounds", "statements"),
    ),
    "break, continue, pass": (
        body(
            "s = 0\nfor i in range(9):\n    if i == 5:\n        break\n    if i % 2:"
            "\n        continue\n    s += i\n    pass\nreturn s",
            6.0,
        ),
        no("break\nreturn 1", "statement", "statements"),
    ),
    "return a": (
        body("for i in range(5):\n    if i == 3:\n        return i\nreturn 9", 3.0),
        no("if obj.drift:\n    return 1", "return", "statements"),
    ),
    "def helper(x, y): ...": (
        module("def half(x):\n    return x / 2\ndef score(now, obj, pool, past):\n    return half(obj.size)\n", 2.0),
        no("def half(x):\n    return half(x) / 2", "recursion", "top"),
    ),
    "NAME = 0.5": (
        module("WEIGHT = -0.5\ndef score(now, obj, pool, past):\n    return WEIGHT * obj.size\n", -2.0),
        no("WEIGHT = 2 * 3", "parameter", "top"),
    ),
    "import math": (top("import math", 3.0), no("import os", "import", "top")),
    '"text"': (
        body('"""The larger, the better."""\nreturn obj.size  # in units', 4.0),
        no('return "obj.size"', "constant", "statements"),
    ),
    "a if b else c": (
        Example("obj.size if obj.drift < 0 else now", 4.0),
        no("obj.size if obj else now", "argument-use"),
    ),
    "2, 0.5, 1e-3, True, False": (Example("0x10 + 1_000 + 5e-1 + True", 1017.5), no("1e999", "constant")),
    "argument.feature, argument": (Example("obj.size + now", 104.0), no("obj.weight", "feature")),
}
"""By notation."""

STATISTICS: dict[str, dict[Scope, Pair]] = {
    "latest": {
        "entity": (Example("obj.size.latest()", 4.0), no("obj.size.latest(1)", "statistic-argument")),
        "system": (Example("pool.size.latest()", 4.0), no("pool.id.latest()", "statistic")),
    },
    "avg": {
        "entity": (Example("obj.size.avg()", 5.0), no("obj.id.avg()", "statistic")),
        "system": (Example("pool.size.avg()", 7.75), no("pool.size.mean()", "statistic")),
    },
    "min": {
        "entity": (Example("obj.size.min()", 2.0), no("obj.size.min(3)", "statistic-argument")),
        "system": (Example("pool.size.min()", 2.0), no("past.min()", "history")),
    },
    "max": {
        "entity": (Example("obj.size.max()", 9.0), no("obj.max()", "statistic")),
        "system": (Example("pool.size.max()", 16.0), no("pool.load.max(0)", "statistic-argument")),
    },
    "ewma": {
        "entity": (Example("obj.size.ewma(0.5)", 4.75), no("obj.size.ewma(obj.drift)", "statistic-argument")),
        "system": (Example("now.ewma(0.5)", 100.0), no("pool.size.ewma(0)", "statistic-argument")),
    },
    "recent": {
        "entity": (Example("obj.size.recent(3)", 2.0), no("obj.size.recent(65)", "statistic-argument")),
        "system": (Example("pool.size.recent(4)", 16.0), no("pool.size.recent(0)", "statistic-argument")),
    },
    "window_avg": {
        "entity": (Example("obj.size.window_avg(2)", 6.5), no("obj.size.window_avg(1.5)", "statistic-argument")),
        "system": (Example("pool.size.window_avg(4096)", 7.75), no("pool.size.window_avg(4097)", "statistic-argument")),
    },
    "window_percentile": {
        "entity": (
            Example("obj.size.window_percentile(0.5, 3)", 4.0),
            no("obj.size.window_percentile(50, 3)", "statistic-argument"),
        ),
        "system": (
            Example("pool.size.window_percentile(0.75, 4)", 9.0),
            no("pool.size.window_percentile(1)", "statistic-argument"),
        ),
    },
    "count": {
        "entity": (Example("obj.size.count(9, 3)", 1.0), no("obj.size.count(9)", "statistic-argument")),
        "system": (Example("pool.id.count(obj.id, 4)", 3.0), no("pool.id.count(obj, 4)", "argument-use")),
    },
    "contains": {
        "entity": (Example("obj.size.contains(5, 3)", 0.0), no("obj.size.contains(5, now)", "statistic-argument")),
        "system": (Example("pool.id.contains(2, 4)", 1.0), no("obj.id.contains(2, 4)", "statistic")),
    },
    "percentile": {
        "population": (Example("pool.size.percentile(0.9)", 16.0), no("obj.size.percentile(0.9)", "statistic")),
    },
}
"""By name and scope."""
