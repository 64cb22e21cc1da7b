"""Of programs with pieces of any Python the checker accepts what CPython computes alike, or raises its own error."""

import ast
import copy
import warnings
from collections import Counter
from contextlib import suppress
from random import Random

import pytest
from anvil_toy import TOY
from anvil_values import values_for
from effort import slow
from plain_python import Parted, Plain
from policy_trees import random_program

from vulcan.anvil import Rejected, check
from vulcan.anvil.diagnostics import explain
from vulcan.anvil.grammar import grammar

VALUES = values_for(TOY.signature, Random(1)) | {"item.id": 1.0}
ANY = r"""
async def f(x, /, y=1, *z, w, **v) -> int:
    global G
    nonlocal H
    async for x in y: await x
    async with x as y: yield
    yield from x
@f
class C(B, metaclass=M):
    n: int = 1
    def g(self): return lambda x, *y: x
del x, y[0]
x = y = (1, *z)
x += 1
for x, y in z: break
else: continue
while x: pass
if x: pass
elif y: pass
with x as y, z: pass
match x:
    case 1 | {"a": y} | [z, *_] | C(w, e=v) | None if x: pass
raise E from x
try: pass
except E as x: pass
finally: pass
try: pass
except* E: pass
assert x, "text"
import os.path as o
from .a import b as c
(x := 1), {1: x, **y}, {1, 2}, [x for x in y if x], {x for x in y}, {x: y for x in z}, (x for x in y)
f"{x!r:>{y}}", "\ud800", b"bytes", 1j, None, ..., 1e999, 0x1_0, 9007199254740993, "text" * 1000
x[1:2:3, 0], x.y.z, x @ y, x << 2 | ~y & 3 ^ 1, x // 2 % 3 ** -1, x is not y in z, not x and y or z
[x, y], x if y else z
print(*x, **y), open("/etc/passwd").read(), __import__("os"), eval("1"), item.__class__, self._x, item.size.ewma()
"""
NEWER = {"TypeAlias", "TemplateStr", "Interpolation"}


def pieces(tree: ast.AST) -> dict[type[ast.AST], list[ast.AST]]:
    """The statements and the expressions of a tree."""
    return {kind: [node for node in ast.walk(tree) if isinstance(node, kind)] for kind in (ast.stmt, ast.expr)}


FOREIGN = pieces(ast.parse(ANY))


class Graft(ast.NodeTransformer):
    """Puts another statement in the place of the n-th statement or expression, or another expression."""

    def __init__(self, random: Random, own: dict[type[ast.AST], list[ast.AST]]) -> None:
        self.random, self.own = random, own
        self.left = random.randrange(sum(map(len, own.values())))

    def visit(self, node: ast.AST) -> ast.AST:
        kind = next((kind for kind in FOREIGN if isinstance(node, kind)), None)
        if kind is not None:
            self.left -= 1
            if self.left == -1:
                return copy.deepcopy(self.random.choice(self.random.choice((FOREIGN, self.own))[kind]))
        return self.generic_visit(node)


def grafted(random: Random) -> str:
    tree = ast.parse(random_program(TOY, random))
    for _ in range(random.randint(1, 3)):
        tree = Graft(random, pieces(tree)).visit(tree)
    with suppress(ValueError):  # no text says this tree
        return ast.unparse(ast.fix_missing_locations(tree))
    return grafted(random)


def verdict(source: str) -> str:
    """The rule that rejects it, or "accepted"; nothing of what is accepted is left out: CPython runs it to the same."""
    try:
        policy = check(source, TOY)
    except Rejected as rejected:
        for violation in rejected.violations:
            assert violation.rule in grammar.RULES
            assert violation.hint
            assert violation.line >= 1 <= violation.column
        assert len(explain(source, rejected.violations)) < 20_000
        return rejected.violations[0].rule
    assert policy.warnings is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as `1 is 1`, which Python doubts
        plain = Plain(source, TOY)
    plain.observe(1.0, VALUES)
    reference = policy.reference()
    reference.observe(1.0, VALUES)
    with suppress(Parted):
        assert plain.ask("rate", VALUES, 1.0) == reference(VALUES, 1.0), source
    return "accepted"


@pytest.mark.parametrize("programs", [260, slow(20_000)])
def test_many_programs_with_pieces_of_any_python(programs):
    """Some are accepted, and many rules reject the others."""
    random = Random(programs)
    verdicts = Counter(verdict(grafted(random)) for _ in range(programs))
    assert verdicts["accepted"] > programs * 0.05
    assert verdicts["syntax"] < programs * 0.5
    assert len(verdicts) > 15


def test_the_pieces_are_of_every_kind():
    known = {node for kind in FOREIGN for node in kind.__subclasses__() if node.__module__ in ("ast", "_ast")}
    written = {type(node) for of in FOREIGN.values() for node in of}
    deprecated = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis"}
    assert {kind.__name__ for kind in known - written} <= {*NEWER, *deprecated}
