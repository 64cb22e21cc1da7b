"""Translation of a program by RestrictedPython, narrowed to allow-lists.

RestrictedPython rejects what is known to be dangerous; this module accepts only what is listed. Attribute names always
appear in the source, because nothing available takes one as a string (no `getattr`, no `format`). So attribute reads
are checked statically and cost nothing at run time. Writes are guarded at run time by `_write_`, which allows the
program's own objects and containers, not modules or classes.
"""

# ruff: noqa: N802, N815 - `ast` calls these names

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Collection, Mapping
from typing import cast

from RestrictedPython.transformer import INSPECT_ATTRIBUTES, RestrictingNodeTransformer

from vulcan.anvil.rejection import violation
from vulcan.documents.policy import Remark
from vulcan.errors import did_you_mean
from vulcan.python_policy.allowed import METHODS, MODULES, NAMES, NO_MEANING_AT_RUN_TIME

MAX_SOURCE_BYTES = 32 * 1024
"""Maximum size of a source in bytes."""
MAX_TREE_NODES = 5_000
"""Maximum number of syntax nodes."""
MAX_TREE_DEPTH = 60
"""Maximum nesting of syntax nodes, on which Python's own compiler recurses."""

RULES: Mapping[str, str] = {
    "too-long": f"write a shorter program: {MAX_SOURCE_BYTES // 1024} KB of source at the most",
    "too-large": f"write a smaller program: {MAX_TREE_NODES:,} syntax nodes at the most",
    "too-deep": "give parts of the expression names of their own",
    "syntax": "write one complete Python module",
    "no-class": "define the class that the task names, at the top level",
    "no-hook": "define every hook that is not optional",
    "arguments": "give the method `self` and exactly the arguments that the task names",
    "import": "import only math, collections, heapq, bisect and random, and of these what is listed",
    "name": "use names that the program defines, and the functions that are offered",
    "reserved-name": "choose a name that does not begin with two underscores, nor begin and end with one",
    "attribute": "use attributes that the program itself defines, the fields of what a hook is given, and the ordinary "
    "methods of lists, dicts, sets and deques",
    "statement": "use assignments, if, for, while, try, raise, assert, del, functions and classes",
    "expression": "use numbers, texts, names, calls, containers, comprehensions and operators",
    "decorator": "write plain functions and methods",
    "class": "write plain classes, which may extend others of the program",
    "ascii": "write names in plain ASCII letters, digits and underscores",
}
"""The hints by rule, in the order of the checks."""


def broken(rule: str, line: int, column: int, message: str, hint: str | None = None) -> Remark:
    """Create a violation of a rule, with the rule's hint unless another is given."""
    return violation(rule, line, column, message, hint or RULES[rule])


_METHODS_OF_CLASSES = frozenset(
    {"__init__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__contains__", "__len__", "__slots__"}
)
_FORBIDDEN_ATTRIBUTES = INSPECT_ATTRIBUTES | {
    *("format", "format_map", "mro", "with_traceback", "f_lineno", "tb_lasti"),
    "args",  # the text of an error may tell an address, as in "<function f at 0x7f...> is not in deque"
}
_FORBIDDEN_BEGINNINGS = ("ag_", "co_", "cr_", "gi_", "tb_")


def is_sound(name: str) -> bool:
    """Check whether a program may define the name; names of guards and of Python's internals are reserved."""
    return not name.startswith("__") and not (name.startswith("_") and name.endswith("_") and name != "_")


def is_sound_attribute(name: str) -> bool:
    """Check whether a program may define an attribute of this name; introspection attributes are reserved."""
    return is_sound(name) and name not in _FORBIDDEN_ATTRIBUTES and not name.startswith(_FORBIDDEN_BEGINNINGS)


class Restricted(RestrictingNodeTransformer):
    """A translator that changes a tree in place and records every violation.

    `fields` are the attributes of the records that hooks receive.
    """

    def __init__(self, tree: ast.Module, fields: Collection[str]) -> None:
        super().__init__()
        self.violations: list[Remark] = []
        self._names = own_names(tree)
        self._modules = _modules_named(tree)
        self._attributes = {name for name in own_attributes(tree) if is_sound_attribute(name)} | METHODS | set(fields)
        self._classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    # Violations

    def _note(self, rule: str, node: ast.AST, message: str, hint: str | None = None) -> None:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
        self.violations.append(broken(rule, line, column, message, hint))

    def error(self, node: ast.AST, info: str) -> None:
        """Record a violation found by RestrictedPython itself."""
        super().error(node, info)
        self._note("expression" if isinstance(node, ast.expr) else "statement", node, info.rstrip("."))

    def not_allowed(self, node: ast.AST) -> None:
        """Record a node that neither this class nor RestrictedPython allows."""
        what = {"With": "`with`", "Match": "`match`", "AsyncFunctionDef": "`async def`"}.get(
            type(node).__name__, type(node).__name__
        )
        self._note("expression" if isinstance(node, ast.expr) else "statement", node, f"{what} is not offered")

    def _left_out(self, node: ast.AST) -> ast.AST:
        self.not_allowed(node)
        return node

    visit_JoinedStr = visit_FormattedValue = visit_TemplateStr = visit_Interpolation = _left_out
    visit_Yield = visit_YieldFrom = visit_With = _left_out

    def _contents(self, node: ast.AST) -> ast.AST:
        return self.node_contents_visit(node)

    visit_Nonlocal = visit_Call = visit_Starred = _contents
    visit_Assign = visit_For = visit_comprehension = visit_GeneratorExp = _contents

    # Texts made of objects, which would tell their addresses

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        node = self.node_contents_visit(node)
        if isinstance(node.op, ast.Mod):
            if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str | bytes):
                self._note("expression", node, "texts cannot be formatted")
            node.right = _guarded_divisor(node.right)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        node = self.node_contents_visit(node)
        if isinstance(node.op, ast.Mod):
            node.value = _guarded_divisor(node.value)
        return node

    # Names

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = False) -> None:
        """Record a violation if the program may not define the name."""
        if name is None or (allow_magic_methods and name in _METHODS_OF_CLASSES):
            return
        if not is_sound(name):
            self._note("reserved-name", node, f"the name {name!r} is not for programs")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id not in self._names and node.id not in NAMES:
            known = [*self._names, *NAMES]
            self._note("name", node, f"{node.id!r} is neither defined nor offered{did_you_mean(node.id, known)}")
        else:
            self.check_name(node, node.id, allow_magic_methods=node.id == "__slots__")
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        for name in node.names:
            self.check_name(node, name)
        return node

    # Attributes and items

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        base = node.value
        module = self._modules.get(base.id) if isinstance(base, ast.Name) else None
        offered = MODULES[module] if module is not None else self._attributes
        if node.attr not in offered:
            what = f"{module} offers no {node.attr!r}" if module else f"the attribute {node.attr!r} cannot be used"
            why = "" if module or is_sound_attribute(node.attr) else ": it leads out of the program"
            self._note("attribute", _at_attribute(node), f"{what}{why or did_you_mean(node.attr, offered)}")
        node = self.node_contents_visit(node)
        return self._guarded(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self._guarded(self.node_contents_visit(node))

    def _guarded(self, node: ast.Attribute | ast.Subscript) -> ast.AST:
        """Pass the target of a store or deletion through `_write_`, which returns it or raises TypeError."""
        if not isinstance(node.ctx, ast.Load):
            guarded = ast.Call(ast.Name("_write_", ast.Load()), [node.value], [])
            node.value = ast.fix_missing_locations(ast.copy_location(guarded, node.value))
        return node

    # Definitions

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.check_name(node, node.name, allow_magic_methods=node.col_offset > 0)
        self.check_function_argument_names(node)
        self._no_decorators(node)
        return self.node_contents_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.check_name(node, node.name)
        self._no_decorators(node)
        for base in node.bases:
            if not (isinstance(base, ast.Name) and base.id in self._classes):
                self._note("class", base, "a class extends nothing, or another class of the program")
        for keyword in node.keywords:
            self._note("class", keyword.value, f"a class takes no {keyword.arg or '**'}")
        made = self.node_contents_visit(node)
        metaclass = ast.keyword("metaclass", ast.Name("__metaclass__", ast.Load()))
        made.keywords = [ast.fix_missing_locations(ast.copy_location(metaclass, node))]
        return made

    def _no_decorators(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self._note("decorator", decorator, "decorators are not offered")

    # Imports become assignments from the names available; those without effect at run time are dropped

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for alias in node.names:
            self.check_name(node, alias.asname)
            if alias.name not in MODULES and alias.name not in NO_MEANING_AT_RUN_TIME:
                self._note("import", node, f"there is no module {alias.name!r}")
            elif alias.name in MODULES and alias.asname is not None:
                made.append(_assignment(node, alias.asname, ast.Name(alias.name, ast.Load())))
        return made or [ast.copy_location(ast.Pass(), node)]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        offered = MODULES.get(node.module or "", ()) if not node.level else ()
        if not offered and (node.level or node.module not in NO_MEANING_AT_RUN_TIME):
            self._note("import", node, f"there is no module {'.' * node.level + (node.module or '')!r}")
        for alias in node.names if offered else ():
            self.check_name(node, alias.asname)
            if alias.name not in offered:
                self._note("import", node, f"{node.module} offers no {alias.name!r}{did_you_mean(alias.name, offered)}")
            else:
                value = ast.Attribute(ast.Name(cast(str, node.module), ast.Load()), alias.name, ast.Load())
                made.append(_assignment(node, alias.asname or alias.name, value))
        return made or [ast.copy_location(ast.Pass(), node)]


def _guarded_divisor(node: ast.expr) -> ast.expr:
    """Pass the right side of `%` through `_divisor_`, unless it is a number as written."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node
    made = ast.Call(ast.Name("_divisor_", ast.Load()), [node], [])
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _assignment(where: ast.stmt, name: str, value: ast.expr) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, where))


def _at_attribute(node: ast.Attribute) -> ast.AST:
    """Return a node at the position of the attribute's name; the whole expression may begin far before it."""
    location = ast.Pass()
    location.lineno = node.end_lineno or node.lineno
    location.col_offset = max(0, (node.end_col_offset or len(node.attr)) - len(node.attr))
    return location


def _modules_named(tree: ast.Module) -> Mapping[str, str]:
    """Map the program's names for modules to the modules, except names that it also gives another meaning."""
    named = {module: module for module in MODULES}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.asname: alias.name for alias in node.names if alias.asname and alias.name in MODULES}
    taken = own_names(tree, imports=False)
    return {name: module for name, module in named.items() if name not in taken}


def own_names(tree: ast.Module, *, imports: bool = True) -> set[str]:
    """Return every name that the program binds, in any scope."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases) if imports:
                found |= {alias.asname or alias.name for alias in aliases}
    return found


def own_attributes(tree: ast.Module) -> set[str]:
    """Return every attribute that the program defines, by assignment, as a method or as a name in a class."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.ClassDef(body=body):
                for statement in body:
                    found |= _named_in_class(statement)
    return {unicodedata.normalize("NFKC", name) for name in found}


def _named_in_class(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.FunctionDef(name=name):
            return {name}
        case ast.Assign(targets=targets, value=value):
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            return names | _texts(value) if "__slots__" in names else names
        case _:
            return set()


def _texts(value: ast.expr) -> set[str]:
    return {node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
