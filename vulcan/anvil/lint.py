"""Lint of accepted programs: conditions with one outcome, reads without influence, and results that never change.

A warning is a help, not a verdict. Nothing is reported that the analysis cannot prove for every input and, but for a
constant result, for whatever a tuner sets the parameters to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from vulcan.anvil import ir
from vulcan.anvil.analysis.abstract_interpreter import follow
from vulcan.anvil.analysis.facts import AbstractValue
from vulcan.anvil.grammar import grammar
from vulcan.anvil.parse import dotted, parse, position, within
from vulcan.anvil.unparse import expression_source
from vulcan.documents.policy import Remark
from vulcan.task import Signature
from vulcan.terminal_text import format_number

_MAX_TEXT = 60
_MAX_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class LintResult:
    """A program's warnings; `constant` says why its result is the same for every input, None where it may differ."""

    warnings: tuple[Remark, ...]
    constant: str | None


def lint(source: str, program: ir.Module, signature: Signature) -> LintResult:
    """Lint a checked program: return warnings in line order, at most 20.

    The signature has the arguments of every function that the task names.
    """
    return _Doubts(source, program, signature).all()


class _Doubts:
    def __init__(self, source: str, program: ir.Module, signature: Signature) -> None:
        self.source = source
        self.program = program
        self.signature = signature
        self.as_it_is = follow(program, signature)
        self.however_tuned = follow(program, signature, any_parameters=True) if program.parameters else self.as_it_is
        self.settled: set[int] = set()
        """Identities of expressions in conditions already warned of, which are not reported again."""

    def all(self) -> LintResult:
        made = list(self.conditions())
        declared = {variable.name for variable in self.program.variables}
        sets_controls = any(ir.stored_names(handler.body) - declared for handler in self.program.handlers)
        reasons: dict[str, str] = {}
        for entry in reversed(self.program.entries):
            # handlers that set controls decide something too
            why = None if sets_controls else self.constant(entry.name)
            if why is None:
                made += self.without_influence(entry.name)
            else:
                reasons[entry.name] = why
                at = position(self.definition(entry.name))
                made.append(self.warning("constant-result", at, f"the result is the same for every input: {why}"))
        unique = sorted(set(made), key=lambda w: (w.line, w.column, w.rule, w.message))
        said = list(reasons.values()) if len(reasons) < 2 else [f"{name}: {why}" for name, why in reasons.items()]
        constant = "; ".join(said) if len(said) == len(self.program.entries) else None
        return LintResult(tuple(unique[:_MAX_WARNINGS]), constant)

    def warning(self, name: str, at: ir.Position, message: str) -> Remark:
        return Remark(name, *at, message, grammar.WARNINGS[name])

    def text(self, expression: ir.Expression) -> str:
        """Return the expression as source."""
        text = expression_source(expression, self.signature)
        return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."

    # Conditions

    def conditions(self) -> Iterator[Remark]:
        """Yield warnings of tests first, then of comparisons that are no part of an earlier warning."""
        constant = {place: seen for place, seen in self.however_tuned.outcomes.items() if len(seen) == 1}
        for tests in (True, False):
            for (at, e), (outcome,) in constant.items():
                is_comparison = isinstance(e, ir.Compare) and e.at == at
                if tests != is_comparison and id(e) not in self.settled:
                    self.settled.update(map(id, ir.parts(e)))
                    effect = f", so its {'other branch' if outcome else 'branch'} is never taken" if tests else ""
                    said = f"`{self.text(e)}` {'always' if outcome else 'never'} holds{self.compared(e)}{effect}"
                    yield self.warning("constant-condition", at, said)

    def compared(self, e: ir.Expression) -> str:
        """Return the declared range of a feature compared with a number."""
        features = dict(self.signature.features())
        for part in e.operands if isinstance(e, ir.Compare) else ():
            if isinstance(part, ir.Read):
                feature = features[part.feature]
                low, high = format_number(feature.low), format_number(feature.high)
                return f" (`{part.feature}` is from {low} to {high})"
        return ""

    # Reads without influence

    def without_influence(self, function: str) -> Iterator[Remark]:
        result = self.however_tuned.results[function]
        for leaf, at in self.leaves(function).items():
            if leaf not in result.depends:
                yield self.warning(
                    "no-influence", at, f"`{self.text(leaf)}` is read, but has no influence on the result"
                )

    def leaves(self, name: str) -> dict[ir.Expression, ir.Position]:
        """Return everything that a function named by the task reads, with the position of the first read."""
        found: dict[ir.Expression, ir.Position] = {}
        for function in self.program.alone(name).functions:
            for e in ir.expressions(function.body):
                match e:
                    case _ if id(e) in self.settled:
                        pass
                    case ir.Read() | ir.Statistic():
                        found.setdefault(e, e.at)
                    case ir.Occurrences(statistic, _):
                        found.setdefault(statistic, e.at)
                    case ir.Query(history, query):
                        found.setdefault(e, self.place_of(f"{history}.{query}", name))
                    case _:
                        pass
        return found

    @cached_property
    def tree(self) -> ast.Module:  # which few warnings need
        return parse(self.source)

    def place_of(self, name: str, function: str) -> ir.Position:
        read = within(self.definition(function))
        return min(position(n) for n in read if isinstance(n, ast.Attribute) and dotted(n) == name)

    def definition(self, function: str) -> ast.FunctionDef:
        found = (node for node in self.tree.body if isinstance(node, ast.FunctionDef))
        return next(node for node in found if node.name == function)

    # Constant results

    def constant(self, function: str) -> str | None:
        """Return the reason why a function's result is constant; None where it may differ."""
        for findings, why in ((self.however_tuned, ""), (self.as_it_is, " with the parameters as they are")):
            if (reason := _constant(findings.results[function])) is not None:
                return reason + why
        return None


def _constant(result: AbstractValue) -> str | None:
    if result.is_one_value:
        return f"it is always {format_number(result.bounds.low)}"
    return None if result.depends else "it depends on nothing that the function is shown"
