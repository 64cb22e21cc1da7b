"""Attacks by the front door: sources that the checkers of both languages must turn away before anything is run."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from scoring_toys import TOY_TASK

from vulcan.anvil import Rejected
from vulcan.doctor.attacks.system import SYSTEM_ATTACKS
from vulcan.documents.host import AttackResult
from vulcan.python_policy.check import check_policy
from vulcan.registry import find_task
from vulcan.task import Feature, Hook, Program, Record, Scalar, Task

_ONLY_AT_RUN_TIME: Final = frozenset({"infinite loop", "100 GB of memory in steps", "100 GB of memory in one piece"})
"""Constructs that free Python may use; limits contain them."""

_HEADS = {
    "anvil": "def decide(load, room):\n",
    "program": "class Policy:\n    def __init__(self, room):\n        pass\n\n",
}

EXPRESSIONS = {
    "attributes by a format": '"{0.__class__}".format(load)',
    "attributes by an f-string": 'f"{load.__class__}"',
    "classes of a number": "load.__class__.__mro__",
    "subclasses of object": "().__class__.__base__.__subclasses__()",
    "globals of a function": "decide.__globals__",
    "frame of a generator": "(lambda: (g for g in [1]).gi_frame.f_back)()",
    "built-ins by name": "__builtins__",
    "import by a call": '__import__("os")',
    "getattr": 'getattr(load, "real")',
    "type of three arguments": 'type("X", (), {})',
    "eval": 'eval("1")',
    "name that looks like a dunder": "load.__ｃlass__",
    "name that looks like os": "ｏｓ",
    "name with an invisible mark": "lo\u200bad",
    "right-to-left override": "load \u202e+ room",
    "a million digits": "9" * 1_000_000,
    "ten thousand brackets": "(" * 10_000 + "1" + ")" * 10_000,
    "ten thousand minus signs": "-" * 10_000 + "1",
    "a hundred thousand terms": "1" + " + 1" * 100_000,
    "a text of 10 MB": '"' + "x" * 10_000_000 + '"',
    "a text times a billion": '"x" * 10 ** 9',
}
"""Expressions that must be rejected in both languages."""

# what free Python may say: limits see to it
_ALLOWED = frozenset({("program", "twenty nested loops"), ("program", "a text times a billion")})

STATEMENTS = {
    "import": "import os",
    "import of a name": "from os import system",
    "traceback of an error": "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_back.f_globals",
    "class pattern": "match load:\n    case int(real=x):\n        pass",
    "metaclass": "class M(metaclass=type):\n    pass",
    "decorator": "@print\ndef f():\n    pass",
    "guard by a walrus": "(_write_ := print)",
    "deleted guard": "del _write_",
    "global": "global load\nload = 1",
    "coroutine": "async def f():\n    await f()",
    "a thousand conditions": "".join(f"if load > {n}:\n    load = {n}\n" for n in range(3000)),
    "twenty nested loops": "".join("    " * n + f"for i{n} in range(10):\n" for n in range(20)) + "    " * 20 + "pass",
}
NOT_TEXT = {
    "null bytes": "\0" * 100,
    "lone surrogates": "x = '\ud800'",
    "other encoding": "# -*- coding: utf-7 -*-\n+AGk-",
}


def anvil_task() -> Task:
    return find_task(TOY_TASK)


def program_task() -> Task:
    """Return the same task, for a class of free Python."""
    whole = Feature("room", "int", "requests", 0.0, 1000.0, "how much more would fit")
    hook = Hook(
        "decide", (Record("load", "what came", (Feature("real", "int", "1", 0.0, 9.0, "it"),)),), "it comes", "int"
    )
    signature = Program("Policy", (Scalar(whole),), "a number", hooks=(hook,))
    return replace(anvil_task(), name="attack_program_target", signature=signature)


def sources() -> Iterator[tuple[str, str, str]]:
    """Language, name and source of every attack."""
    bodies = {a.name: a.code for a in SYSTEM_ATTACKS} | STATEMENTS
    bodies |= {name: f"return {expression}" for name, expression in EXPRESSIONS.items()}
    for language in ("anvil", "program"):
        for name, body in bodies.items():
            if (language, name) in _ALLOWED or (language == "program" and name in _ONLY_AT_RUN_TIME):
                continue
            yield language, name, _HEADS[language] + _function(language, body)
        for name, source in NOT_TEXT.items():
            yield language, name, source


def _function(language: str, body: str) -> str:
    if language == "anvil":
        return textwrap.indent(body.strip("\n"), "    ") + "\n"
    return "    def decide(self, load):\n" + textwrap.indent(body.strip("\n"), 8 * " ") + "\n"


def source_results() -> Iterator[AttackResult]:
    """Yield every source, in turn."""
    tasks = {"anvil": anvil_task(), "program": program_task()}
    for language, name, source in sources():
        title = f"{name} ({language})"
        try:
            check_policy(source, tasks[language])
        except Rejected as rejected:
            first = rejected.violations[0]
            yield AttackResult(title, f"language: {first.rule}", f"line {first.line}")
        else:
            yield AttackResult(title, None, "it was accepted")
