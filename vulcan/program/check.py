"""From source text to a checked program. Nothing of it runs here."""

from __future__ import annotations

import ast
import copy
import marshal
import warnings
from collections.abc import Iterator
from dataclasses import replace

from vulcan.anvil.parse import Bounds, parse
from vulcan.anvil.rejection import Rejected, Violation
from vulcan.program.parameters import parameters_of
from vulcan.program.plain import fingerprint_of, plain, size_of
from vulcan.program.policy import ProgramPolicy
from vulcan.program.restrict import Restricted
from vulcan.program.rules import DEEPEST_TREE, LARGEST_SOURCE, LARGEST_TREE, RULES, broken
from vulcan.program.runner import FILE
from vulcan.task import Program, Record, Task

BOUNDS = Bounds(LARGEST_SOURCE, LARGEST_TREE, DEEPEST_TREE)


def check_program(source: str, task: Task) -> ProgramPolicy:
    """The policy that the source defines for a task that takes PROGRAM. Raises Rejected, saying where and why."""
    interface = task.signature
    assert isinstance(interface, Program)
    try:
        tree = parse(source, BOUNDS)
    except Rejected as rejected:
        raise Rejected(tuple(replace(v, hint=RULES[v.rule].hint) for v in rejected.violations)) from None
    tunable = parameters_of(tree) if source.isascii() and "\r" not in source else ()
    tree = plain(tree)
    hooks, violations = _hooks(tree, interface)
    kept = _kept(interface)
    fingerprint, size = fingerprint_of(copy.deepcopy(tree), kept), size_of(tree)
    restricted = Restricted(tree, kept)
    tree = restricted.visit(tree)
    violations += restricted.violations
    if violations:
        raise Rejected(tuple(sorted(dict.fromkeys(violations), key=lambda v: (v.line, v.column))))
    return ProgramPolicy(source, task, _compiled(tree), hooks, fingerprint, size, tunable)


def _compiled(tree: ast.Module) -> bytes:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return marshal.dumps(compile(tree, FILE, "exec", dont_inherit=True, optimize=0))
    except SyntaxError as error:  # such as a `return` outside of a function
        where = (error.lineno or 1, max(error.offset or 1, 1))
        raise Rejected((broken("syntax", *where, error.msg),)) from None
    except (RecursionError, MemoryError):
        raise Rejected((broken("too-deep", 1, 1, "nested too deeply for Python's own compiler"),)) from None


def _kept(interface: Program) -> frozenset[str]:
    """The names that the declaration gives a meaning."""
    names = {interface.function, *(hook.name for hook in interface.hooks)}
    for hook in interface.hooks:
        for argument in hook.arguments:
            if isinstance(argument, Record):
                names |= {feature.name for feature in argument.features}
    return frozenset(names)


def _hooks(tree: ast.Module, interface: Program) -> tuple[frozenset[str], list[Violation]]:
    """Which hooks the class defines, and what is wrong with them."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    made = classes.get(interface.function)
    if made is None:
        return frozenset(), [broken("no-class", 1, 1, f"no class {interface.function} is defined at the top level")]
    methods: dict[str, ast.FunctionDef] = {}
    for each in _lineage(made, classes):
        for node in each.body:
            if isinstance(node, ast.FunctionDef):
                methods.setdefault(node.name, node)
    wanted = [("__init__", tuple(a.name for a in interface.arguments), False)]
    wanted += [(hook.name, tuple(a.name for a in hook.arguments), hook.optional) for hook in interface.hooks]
    violations = []
    for name, arguments, optional in wanted:
        spelled = f"def {name}({', '.join(('self', *arguments))}):"
        if name not in methods:
            if not optional:
                message = f"class {made.name} has no `{spelled}`"
                violations.append(broken("no-hook", made.lineno, made.col_offset + 1, message))
        elif not _takes(methods[name].args, 1 + len(arguments)):
            method = methods[name]
            message = f"{name} has to be `{spelled}`"
            violations.append(broken("arguments", method.lineno, method.col_offset + 1, message))
    return frozenset(hook.name for hook in interface.hooks if hook.name in methods), violations


def _lineage(made: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> Iterator[ast.ClassDef]:
    """The class and those that it extends, each once."""
    waiting, seen = [made], {made.name}
    while waiting:
        each = waiting.pop(0)
        yield each
        for base in each.bases:
            if isinstance(base, ast.Name) and base.id in classes and base.id not in seen:
                seen.add(base.id)
                waiting.append(classes[base.id])


def _takes(arguments: ast.arguments, count: int) -> bool:
    """Whether a call with so many positional arguments, `self` among them, fits."""
    positional = len(arguments.posonlyargs) + len(arguments.args)
    least = positional - len(arguments.defaults)
    needs_keyword = any(default is None for default in arguments.kw_defaults)
    return not needs_keyword and least <= count and (arguments.vararg is not None or count <= positional)
