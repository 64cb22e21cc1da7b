"""Checker of programs: source text to checked, translated and fingerprinted policy, without running any of it.

Dispatch by a task's interface, Anvil or PROGRAM: the checker, and the language section of prompts.
"""

from __future__ import annotations

import ast
import hashlib
import marshal
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from vulcan.anvil import Policy, check
from vulcan.anvil.parse import SizeLimits, parse
from vulcan.anvil.prompt_section import code, describe_language, table
from vulcan.anvil.rejection import Rejected
from vulcan.documents.policy import Remark
from vulcan.python_policy.allowed import EXCEPTIONS, FUNCTIONS, MODULES, WITHOUT_IMPORT
from vulcan.python_policy.policy import ProgramPolicy, parameters_of
from vulcan.python_policy.restrict import MAX_SOURCE_BYTES, MAX_TREE_DEPTH, MAX_TREE_NODES, RULES, Restricted, broken
from vulcan.python_policy.runner import FILE
from vulcan.task import Feature, Hook, Program, Record, Scalar, Task
from vulcan.terminal_text import format_number


def plain(tree: ast.Module) -> ast.Module:
    """Strip annotations and docstrings from the tree, in place, and return it."""
    return cast(ast.Module, ast.fix_missing_locations(_Plain().visit(tree)))


class _Plain(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        made = ast.Assign([self.visit(node.target)], self.visit(node.value))
        return ast.copy_location(made, node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._body(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._body(node)

    def _body(self, node: ast.FunctionDef | ast.ClassDef | ast.Module) -> ast.AST:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node.body[0])]
        return self.generic_visit(node)


def fingerprint_of(tree: ast.Module) -> str:
    """Return a digest of a plain tree, equal for programs that differ only in layout."""
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def size_of(tree: ast.AST) -> int:
    """Count the nodes of the tree, without contexts, operators and `pass`."""
    idle = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.Pass)
    return sum(not isinstance(node, idle) for node in ast.walk(tree))


BOUNDS = SizeLimits(MAX_SOURCE_BYTES, MAX_TREE_NODES, MAX_TREE_DEPTH)


def check_program(source: str, task: Task) -> ProgramPolicy:
    """Check the source of a policy for a PROGRAM task, and return the policy. Raises Rejected with the violations."""
    interface = task.signature
    assert isinstance(interface, Program)
    try:
        tree = parse(source, BOUNDS)
    except Rejected as rejected:
        raise Rejected(tuple(replace(v, hint=RULES[v.rule]) for v in rejected.violations)) from None
    tunable = parameters_of(tree) if source.isascii() and "\r" not in source else ()
    tree = plain(tree)
    hooks, violations = _hooks(tree, interface)
    fingerprint, size = fingerprint_of(tree), size_of(tree)
    restricted = Restricted(tree, _fixed_names(interface))
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
    except SyntaxError as error:  # for example a `return` outside a function
        where = (error.lineno or 1, max(error.offset or 1, 1))
        raise Rejected((broken("syntax", *where, error.msg),)) from None
    except (RecursionError, MemoryError):
        raise Rejected((broken("too-deep", 1, 1, "nested too deeply for Python's own compiler"),)) from None


def _fixed_names(interface: Program) -> frozenset[str]:
    """Return the names to which the declaration gives a meaning."""
    names = {interface.function, *(hook.name for hook in interface.hooks)}
    for hook in interface.hooks:
        for argument in hook.arguments:
            if isinstance(argument, Record):
                names |= {feature.name for feature in argument.features}
    return frozenset(names)


def _hooks(tree: ast.Module, interface: Program) -> tuple[frozenset[str], list[Remark]]:
    """Return the hooks that the class defines, and the violations in their declarations."""
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
    """Yield the class and its bases, each once, breadth-first."""
    waiting, seen = [made], {made.name}
    while waiting:
        each = waiting.pop(0)
        yield each
        for base in each.bases:
            if isinstance(base, ast.Name) and base.id in classes and base.id not in seen:
                seen.add(base.id)
                waiting.append(classes[base.id])


def _takes(arguments: ast.arguments, count: int) -> bool:
    """Check whether a call with `count` positional arguments, `self` included, is valid."""
    positional = len(arguments.posonlyargs) + len(arguments.args)
    least = positional - len(arguments.defaults)
    needs_keyword = any(default is None for default in arguments.kw_defaults)
    return not needs_keyword and least <= count and (arguments.vararg is not None or count <= positional)


_RETURNS = {"nothing": "", "int": "Returns a whole number (an `int`)", "bool": "Returns `True` or `False`"}


def describe_program(interface: Program) -> str:
    """Describe the class, its hooks and their arguments, and the Python available, in Markdown."""
    parts = [
        f"A policy is a Python module that defines `class {interface.function}:` with these methods:\n\n"
        + "\n".join(f"- {line}" for line in _methods(interface)),
        "### What the methods are given\n\n" + _given(interface),
        "### What Python there is\n\n" + _python(),
        f"### Limits\n\n- {MAX_SOURCE_BYTES // 1024} KB of source, {MAX_TREE_NODES:,} syntax nodes, "
        f"nesting of {MAX_TREE_DEPTH}\n- memory and time: a program that uses up either has failed, as has one that "
        "raises an error",
        "### What is rejected, and what to write instead\n\n"
        + "\n".join(f"- {rule}: {hint}" for rule, hint in RULES.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _methods(interface: Program) -> Iterator[str]:
    made_with = ", ".join(("self", *(a.name for a in interface.arguments)))
    yield (
        f"`def __init__(self, {made_with[6:]}):` makes an instance."
        if interface.arguments
        else ("`def __init__(self):` makes an instance.")
    )
    for hook in interface.hooks:
        may = " It may be left out." if hook.optional else ""
        yield f"`{head(hook)}` {hook.meaning}{_returned(hook)}{may}"


def head(hook: Hook) -> str:
    """Return the `def` line of a hook's method."""
    return f"def {hook.name}({', '.join(('self', *(a.name for a in hook.arguments)))}):"


def _returned(hook: Hook) -> str:
    if hook.returns == "nothing":
        return ""
    return f" {_RETURNS[hook.returns]}: {hook.result}."


def _given(interface: Program) -> str:
    records: dict[str, Record] = {}
    numbers: dict[str, Feature] = {a.name: a.feature for a in interface.arguments if isinstance(a, Scalar)}
    for hook in interface.hooks:
        for argument in hook.arguments:
            if isinstance(argument, Record):
                records[argument.name] = argument
            else:
                numbers[argument.name] = argument.feature
    about = " ".join(f"`{r.name}` is {r.meaning}; it cannot be changed, and may be kept." for r in records.values())
    rows = [(code(name), feature) for name, feature in numbers.items()]
    rows += [(code(f"{r.name}.{feature.name}"), feature) for r in records.values() for feature in r.features]
    listed = table(
        ("read", "unit", "range", "meaning"),
        (
            (name, feature.unit, f"{format_number(feature.low)} to {format_number(feature.high)}", feature.meaning)
            for name, feature in rows
        ),
    )
    return f"{about} All are whole numbers (`int`).\n\n{listed}" if about else f"All are whole numbers.\n\n{listed}"


def _python() -> str:
    modules = "\n".join(f"- `{module}`: {', '.join(names)}" for module, names in MODULES.items())
    return (
        "Functions, lambdas, classes of your own with attributes and `__slots__`, all operators, containers, slices, "
        "comprehensions, loops, recursion, `try` and texts as labels. Attributes are those that your program defines, "
        "the fields above, and the ordinary methods of lists, dicts, sets, deques and numbers. Objects of your own "
        "classes are compared with `is` and cannot be put into a set or be the key of a dict: use ids for that.\n\n"
        f"Functions: {', '.join(FUNCTIONS)}. Exceptions: {', '.join(EXCEPTIONS)}.\n\n"
        "Modules, of which nothing else is there and which need not be imported:\n\n"
        f"{modules}\n\n"
        f"{', '.join(map(code, WITHOUT_IMPORT))} can be used without their module's name too. `random` begins alike in "
        "every run. Numbers at the top of the module (`NAME = 0.5`) are parameters, which are tuned afterwards: give "
        "every magnitude such a name."
    )


AnyPolicy = Policy | ProgramPolicy


def check_policy(source: str, task: Task) -> AnyPolicy:
    """Check the source of a policy, in Anvil or a program, and return it. Raises Rejected with the violations."""
    if isinstance(task.signature, Program):
        return check_program(source, task)
    return check(source, task)


def describe_policy(task: Task) -> str:
    """Describe the language of the task's policies in Markdown, for the language section of every prompt."""
    if isinstance(task.signature, Program):
        return describe_program(task.signature)
    return describe_language(task)
