"""Whatever the text, the checker accepts it as a program that runs or raises Rejected, and nothing else."""

# ruff: noqa: E501 (short programs are shown on one line each)

import ast
import inspect
import statistics as some_module
from pathlib import Path
from random import Random

import pytest
from anvil_allowed import why_not
from anvil_programs import random_program
from anvil_toy import HEAD, TOY, TOY_LAYOUT
from anvil_twin import Twin
from anvil_values import values_for
from effort import examples, slow
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from vulcan.anvil import Policy, Rejected, check
from vulcan.anvil.grammar import grammar

QUICK = {
    "deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck), "database": None
}  # fmt: skip


def verdict(source: str) -> Policy | None:
    """The policy, or None where it was rejected with located violations of known rules."""
    try:
        return check(source, TOY)
    except Rejected as rejected:
        assert rejected.violations
        lines = source.count("\n") + source.count("\r") + source.count("\f") + 1
        for violation in rejected.violations:
            assert violation.rule in grammar.RULES
            assert 1 <= violation.line <= lines + 1
            assert violation.column >= 1
        return None


def accepted_is_harmless(source: str) -> None:
    """What is accepted compiles under CPython, holds only what the table allows, and both back ends run it alike."""
    policy = verdict(source)
    if policy is None:
        return
    compile(source, "<policy>", "exec")
    assert why_not(ast.parse(source), TOY.signature) == "", source
    twin = Twin(policy, TOY_LAYOUT)
    values = values_for(TOY.signature, Random(1)) | {"item.id": 1.0}
    twin.observe(1.0, values)
    twin.score(1.0, values)


FRAGMENTS = (
    "[1]", "(1, 2)", "{}", "{1: 2}", "lambda: 1", "x[0]", "yield", "await x", "f'{now}'", "'text'", "b'x'", "None", "...", "1j", "1e999",
    "0xffffffffffffffffffffff", "item", "item.id", "item.nothing", "item.signed.ewma", "item.signed.ewma(0.5).ewma(0.5)", "past",
    "past.contains(item)", "math", "math.inf", "math.sqrt", "print(1)", "__import__('os')", "().__class__", "now.real", "rate",
    "rate(1, 2, 3, 4)", "f0", "f0(f0)", "x0 := 1", "*now", "1 if now", "not", "~1", "1 << 2", "now is 1", "now in item", "i", "True", "-1",
    "min(1)", "min()", "max(1, key=2)", "range(3)", "float", "float('1')", "int(1, 2)", "__debug__", "__name__", "self", "item.signed = 1",
    "world.signed.percentile(0.5)", "world.signed.percentile(now)", "item.signed.ewma(-1)", "[i for i in range(3)]", "2 ** 2 ** 2",
)  # fmt: skip

STATEMENTS = (
    "while True: pass", "del x0", "global P0", "nonlocal x0", "import os", "import math", "from math import *", "try: pass\nexcept: pass",
    "with now: pass", "raise now", "assert now", "class A: pass", "def g(): return 1", "async def g(): return 1", "return", "break", "continue",
    "yield 1", "x0, x1 = 1, 2", "x0 = x1 = 1", "x0: str = 1", "x0: int", "item.signed = 2", "item = 1", "rate = 1", "math = 1", "min = 1",
    "for i in range(now): pass", "for i in item: pass", "for i, j in range(3): pass", "for i in range(3): pass\nelse: pass", "match now:\n case 1: pass",
    "print(1)", "'a text'", "1", "f0 = 1", "P0 = 1", "P0 += 1", "if now: pass", "for f0 in range(2): pass", "lambda: 1", "x0 @= 1", "__debug__ = 1",
)  # fmt: skip


@settings(max_examples=examples(400), **QUICK)
@given(st.text(max_size=80))
@example("\ud800")
@example("def rate(now, item, world, past):\n\treturn 1\x00")
@example("def rate(now, item, world, past):\n  return 1\\")
def test_arbitrary_text(text):
    accepted_is_harmless(text)
    accepted_is_harmless(HEAD + "    return " + text)
    accepted_is_harmless(HEAD + "    " + text + "\n    return 1\n")


PIECES = st.sampled_from(
    [*FRAGMENTS, *STATEMENTS, "if ", "for i in range(2):", "else:", "return ", "=", "(", ")", ":", "\n", "\n    ", "\n        ",
     ",", "+", "def ", "x0", "now", "item.signed", "\\", "#", '"""', "'", "\t", "\r", "\f", "\0", "é", "½", "ſ", "𝄞"]
)  # fmt: skip


@settings(max_examples=examples(600), **QUICK)
@given(st.lists(PIECES, max_size=12))
def test_arbitrary_pieces_of_python(pieces):
    accepted_is_harmless(" ".join(pieces))
    accepted_is_harmless(HEAD + "    " + "".join(pieces) + "\n    return 1\n")


def mutated(source: str, random: Random) -> str:
    """The program with one thing of another kind put, left out, doubled or swapped somewhere in it."""
    match random.randrange(6):
        case 0:
            tokens = [i for i, c in enumerate(source) if c in " ()"]
            at = random.choice(tokens)
            return source[:at] + " " + random.choice(FRAGMENTS) + " " + source[at:]
        case 1:
            lines = source.splitlines()
            at = random.randrange(len(lines))
            indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
            new = [indent + line for line in random.choice(STATEMENTS).split("\n")]
            return "\n".join([*lines[:at], *new, *lines[at:]]) + "\n"
        case 2:
            start = random.randrange(len(source))
            return source[:start] + source[start + random.randrange(1, 12) :]
        case 3:
            lines = source.splitlines()
            a, b = random.randrange(len(lines)), random.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            return "\n".join(lines) + "\n"
        case 4:
            tree = ast.parse(source)
            places = [n for n in ast.walk(tree) if isinstance(n, ast.Constant | ast.Name) and hasattr(n, "lineno")]
            node = random.choice(places)
            lines = source.splitlines()
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line[: node.col_offset] + random.choice(FRAGMENTS) + line[node.end_col_offset :]
            return "\n".join(lines) + "\n"
        case _:
            at = random.randrange(len(source))
            return source[:at] + random.choice("()[]{}:=.,@~^&|<>!\"'\\#\0\n\t0a_é½") + source[at + 1 :]


@pytest.mark.parametrize("programs", [400, slow(20_000)])
def test_mutations_of_valid_programs(programs):
    random = Random(programs)
    accepted = 0
    for _ in range(programs // 4):
        source = random_program(TOY.signature, random)
        for _ in range(4):
            changed = mutated(source, random)
            if verdict(changed) is not None:
                accepted += 1
                assert why_not(ast.parse(changed), TOY.signature) == "", changed
                if accepted % 4 == 0:
                    accepted_is_harmless(changed)
    assert programs * 0.05 < accepted < programs * 0.8


def test_real_python_modules_are_rejected():
    modules = [p for p in sorted(Path(inspect.getfile(some_module)).parent.glob("*.py")) if p.stat().st_size < 16_384]
    assert len(modules) > 50
    for path in modules:
        assert verdict(path.read_text(encoding="utf-8", errors="replace")) is None
