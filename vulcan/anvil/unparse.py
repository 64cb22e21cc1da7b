"""Unparser: a program as Anvil source, the inverse of the checker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.task import Signature

_CHOOSE, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(10)
"""Python's operator precedences, loosest first."""

_BINARY: Mapping[str, tuple[str, int]] = {
    operation.name: (operation.syntax.split()[1], level)
    for kind, operation in grammar.BINARY.items()
    for level in (
        {"Add": _SUM, "Sub": _SUM, "Pow": _POWER}.get(kind.__name__, _PRODUCT),
    )
}  # fmt: skip
_UNARY: Mapping[str, tuple[str, int]] = {
    operation.name: (operation.syntax.removesuffix("a"), _NOT if operation.name == "not" else _SIGN)
    for operation in grammar.UNARY.values()
}
_BOOLEAN: Mapping[str, int] = {"and": _AND, "or": _OR}
_FUNCTIONS: Mapping[str, str] = {
    operation.name: spelled
    for spelled, operation in reversed([*grammar.FUNCTIONS.items(), *grammar.STATE_FUNCTIONS.items()])
}

_INDENT = "    "


def emit_source(program: ir.Module, signature: Signature) -> str:
    """Return the source of a program: docstring, parameters, state, helpers, handlers and the task's functions.

    Every name is preserved. The signature has the arguments of all functions that the task names (`Task.interface`).

    `check` turns it into a policy with the same fingerprint and docstrings, for every program that `check` returned.
    (In other programs, a negative number becomes the negation of a positive one. A program nested dozens of levels deep
    could exceed the language's limit on source, since each level is indented by four.)
    """
    return _Writer(program, signature).module()


def expression_source(e: ir.Expression, signature: Signature) -> str:
    """Return the source of an expression."""
    return _Writer(ir.Module((), ()), signature).text(e)


def statistic_source(statistic: ir.Statistic, signature: Signature, *before: str) -> str:
    """Return the source of a statistic; `before` is the value that it looks for, if any."""
    entity, name = signature.entity, statistic.feature
    owner, _, feature = name.partition(".")
    if entity is not None and owner == entity.name and statistic.scope != "entity":
        name = f"{entity.population}.{feature}"
    return f"{name}.{statistic.kind}({', '.join((*before, *map(number_source, statistic.arguments)))})"


def key_of(signature: Signature) -> str | None:
    """Return the feature that identifies the entity, by the name it is read by."""
    entity = signature.entity
    return f"{entity.name}.{entity.key}" if entity is not None else None


def number_source(value: float) -> str:
    """Return the shortest text that is exactly this number: 3, 0.5, 1e+300."""
    return repr(value).removesuffix(".0")


class _Writer:
    def __init__(self, program: ir.Module, signature: Signature) -> None:
        self.program = program
        self.signature = signature
        self.handles = False
        """Whether the function at hand is a handler."""

    def module(self) -> str:
        program = self.program
        in_order = (*program.helpers, *program.handlers, program.entry, *program.entries[:-1])
        functions = ["\n".join(self.function(function)) for function in in_order]
        head: list[str] = []
        if self.program.documentation:
            head.append(_docstring(self.program.documentation, ""))
        imports = ["import math"] if any(self.needs_math(function) for function in self.program.functions) else []
        if used := self.state_functions():
            imports.append(f"from {grammar.STATE_MODULE} import {', '.join(used)}")
        if imports:
            head.append("\n".join(imports))
        if self.program.chosen:
            head.append("\n".join(f'{name} = "{choice}"' for name, choice in self.program.chosen))
        if self.program.parameters:
            head.append("\n".join(f"{name} = {number_source(value)}" for name, value in self.program.parameters))
        head += self.declarations()
        return "\n\n\n".join(["\n\n".join(head), *functions] if head else functions) + "\n"

    def state_functions(self) -> list[str]:
        """Return the functions that CPython has to import for the program to run as it stands."""
        used = {
            e.operation for f in self.program.functions for e in ir.expressions(f.body) if isinstance(e, ir.Operate)
        }
        return sorted({*used & grammar.STATE_FUNCTIONS.keys(), *([grammar.RANDOM] if self.program.draws else [])})

    def declarations(self) -> Iterator[str]:
        """Yield the class of registers and arrays, and that of the entity's fields."""
        owners: dict[str, list[str]] = {}
        for variable in self.program.variables:
            owner, _, name = variable.name.partition(".")
            initial = self.text(variable.initial)
            value = initial if variable.length is None else f"[{initial}] * {variable.length}"
            owners.setdefault(owner, []).append(f"{_INDENT}{name} = {value}")
        for owner, lines in owners.items():
            yield "\n".join([f"class {owner}:", *lines])

    def function(self, function: ir.Function) -> Iterator[str]:
        yield f"def {function.name}({', '.join(function.arguments)}):"
        if function.documentation:
            yield _INDENT + _docstring(function.documentation, _INDENT)
        self.handles = function in self.program.handlers
        body = function.body
        if self.handles and body and isinstance(body[-1], ir.Return):
            body = body[:-1]  # which the checker puts there
        yield from self.block(body, _INDENT)

    def needs_math(self, function: ir.Function) -> bool:
        used = (e.operation for e in ir.expressions(function.body) if isinstance(e, ir.Operate))
        return any(_FUNCTIONS.get(name, "").startswith("math.") for name in used if name not in _BINARY)

    # Statements

    def block(self, body: tuple[ir.Statement, ...], indent: str) -> Iterator[str]:
        if not body:
            yield indent + "pass"
        for statement in body:
            yield from self.statement(statement, indent)

    def statement(self, statement: ir.Statement, indent: str) -> Iterator[str]:
        match statement:
            case ir.Assign(name, ir.Operate(operation, (ir.Local(left), right))) if (
                left == name and operation in _BINARY
            ):
                yield f"{indent}{name} {_BINARY[operation][0]}= {self.text(right)}"
            case ir.Assign(name, value):
                yield f"{indent}{name} = {self.text(value)}"
            case ir.Write(name):
                yield indent + self.store(statement)
            case ir.Return() if self.handles:
                yield f"{indent}return"
            case ir.Return(value):
                yield f"{indent}return {self.text(value)}"
            case ir.If():
                yield from self.branch(statement, indent)
            case ir.Loop(name, start, stop, step, body):
                bounds = [stop] if (start, step) == (0, 1) else [start, stop] if step == 1 else [start, stop, step]
                yield f"{indent}for {name} in range({', '.join(map(str, bounds))}):"
                yield from self.block(body, indent + _INDENT)
            case ir.Break():
                yield indent + "break"
            case ir.Continue():
                yield indent + "continue"

    def store(self, statement: ir.Write) -> str:
        """Return the text of a write of state."""
        old: ir.Expression = ir.Cell(statement.name)
        place = statement.name
        if statement.index is not None:
            old = ir.Element(statement.name, statement.index)
            place = f"{statement.name}[{self.text(statement.index)}]"
        match statement.value:
            case ir.Operate(operation, (left, right)) if left == old and operation in _BINARY:
                return f"{place} {_BINARY[operation][0]}= {self.text(right)}"
            case value:
                return f"{place} = {self.text(value)}"

    def branch(self, statement: ir.If, indent: str) -> Iterator[str]:
        word = "if"
        while True:
            yield f"{indent}{word} {self.text(statement.test)}:"
            yield from self.block(statement.then, indent + _INDENT)
            match statement.otherwise:
                case (ir.If() as following,):
                    word, statement = "elif", following
                case ():
                    return
                case otherwise:
                    yield indent + "else:"
                    yield from self.block(otherwise, indent + _INDENT)
                    return

    # Expressions

    def text(self, expression: ir.Expression, least: int = _CHOOSE) -> str:
        """Return the expression's text, in parentheses where it binds less tightly than `least`."""
        text, level = self.spelled(expression)
        return f"({text})" if level < least else text

    def spelled(self, e: ir.Expression) -> tuple[str, int]:
        """Return the expression's text and its precedence."""
        match e:
            case ir.Number(value):
                return number_source(value), _SIGN if value < 0.0 else _ATOM
            case ir.Parameter(name) | ir.Local(name) | ir.Read(name) | ir.Cell(name):
                return name, _ATOM
            case ir.Element(name, index):
                return f"{name}[{self.text(index)}]", _ATOM
            case ir.Draw():
                return f"{grammar.RANDOM}()", _ATOM
            case ir.Statistic():
                return statistic_source(e, self.signature), _ATOM
            case ir.Occurrences(statistic, value):
                return statistic_source(statistic, self.signature, self.text(value)), _ATOM
            case ir.Query(history, query):
                return f"{history}.{query}({key_of(self.signature)})", _ATOM
            case ir.Call(function, arguments):
                return f"{function}({self.listed(arguments)})", _ATOM
            case ir.Choose(test, then, otherwise):
                return f"{self.text(then, _OR)} if {self.text(test, _OR)} else {self.text(otherwise)}", _CHOOSE
            case ir.Compare(operators, operands):
                first, *others = (self.text(operand, _SUM) for operand in operands)
                chain = (f" {op} {other}" for op, other in zip(operators, others, strict=True))
                return first + "".join(chain), _COMPARE
            case ir.Operate():
                return self.operation(e)

    def operation(self, e: ir.Operate) -> tuple[str, int]:
        name, operands = e.operation, e.operands
        if name in _BOOLEAN:
            level = _BOOLEAN[name]
            return f" {name} ".join(self.text(operand, level + 1) for operand in operands), level
        if name in _UNARY:
            symbol, level = _UNARY[name]
            return symbol + self.text(operands[0], level), level
        if name in _BINARY:
            symbol, level = _BINARY[name]
            # Powers are right-associative, and the exponent may carry a sign: 2 ** -x
            left, right = (_ATOM, _SIGN) if level == _POWER else (level, level + 1)
            return f"{self.text(operands[0], left)} {symbol} {self.text(operands[1], right)}", level
        return f"{_FUNCTIONS[name]}({self.listed(operands)})", _ATOM

    def listed(self, expressions: tuple[ir.Expression, ...]) -> str:
        return ", ".join(self.text(expression) for expression in expressions)


def _docstring(text: str, indent: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if plain.endswith('"'):
        plain = plain[:-1] + '\\"'
    first, *others = printable(plain).split("\n")
    return "\n".join(['"""' + first, *(indent + line if line else line for line in others)]) + '"""'


def printable(text: str) -> str:
    """Return the text with escapes for what cannot be printed, such as NUL, which no source may hold."""
    return "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)
