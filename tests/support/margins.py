"""The reference, noting how near it came to deciding otherwise: what a rounding could have tipped."""

from __future__ import annotations

import math
from collections.abc import Hashable
from itertools import pairwise

from vulcan.anvil import Policy, ir
from vulcan.anvil.interpreter import Features, Reference
from vulcan.anvil.policy import interface_of

_STEPS = ("floor_divide", "modulo", "floor", "ceil", "trunc", "round")


class Margined(Reference):
    """`margin` is the least distance, in the latest call, of two numbers that were compared, of a number from 0 that
    was tested, or of one from a step of a rounding; as a share of their magnitude, if that is above 1.

    Where `exact_integers`, what is a whole number is taken to be one in integers too, and not to be tipped."""

    def __init__(self, policy: Policy, seed: int = 0, exact_integers: bool = False) -> None:
        super().__init__(policy.program, policy.plan, interface_of(policy.task, policy.program), seed)
        self.margin = math.inf
        self.exact_integers = exact_integers

    def __call__(self, features: Features, key: Hashable = None) -> float:
        self.margin = math.inf
        return super().__call__(features, key)

    def _block(self, body: tuple[ir.Statement, ...], names: dict[str, float], *shown: object) -> None:
        for statement in body:
            if isinstance(statement, ir.If):
                self._tested(statement.test, names, *shown)
            elif isinstance(statement, ir.Write) and statement.index is not None:
                self._stepped(self._value(statement.index, names, *shown))
            super()._block((statement,), names, *shown)

    def _tested(self, test: ir.Expression, names: dict[str, float], *shown: object) -> None:
        if not isinstance(test, ir.Compare):
            value = self._value(test, names, *shown)
            if value != 0.0:
                self._note(value, 0.0)

    def _value(self, e: ir.Expression, names: dict[str, float], *shown: object) -> float:
        match e:
            case ir.Compare(_, operands):
                values = [self._value(operand, names, *shown) for operand in operands]
                for a, b in pairwise(values):
                    self._note(a, b)
            case ir.Choose(test=test):
                self._tested(test, names, *shown)
            case ir.Operate("and" | "or" | "not" | "truth", operands):
                for operand in operands:
                    self._tested(operand, names, *shown)
            case ir.Operate(operation, operands) if operation in _STEPS:
                values = [self._value(operand, names, *shown) for operand in operands]
                steps = values[0] / values[1] if len(values) == 2 and values[1] else values[0]
                self._stepped(steps + (0.5 if operation == "round" else 0.0))
            case ir.Operate("hash", operands):  # of what may be rounded it is another number
                if not all(self._value(operand, names, *shown).is_integer() for operand in operands):
                    self.margin = 0.0
            case ir.Element(index=index):
                self._stepped(self._value(index, names, *shown))
            case _:
                pass
        return super()._value(e, names, *shown)

    def _stepped(self, steps: float) -> None:
        if abs(steps) < 2.0**52:
            self._note(steps, float(round(steps)))

    def _note(self, a: float, b: float) -> None:
        if self.exact_integers and a.is_integer() and b.is_integer():
            return
        self.margin = min(self.margin, abs(a / 2 - b / 2) / max(abs(a) / 2, abs(b) / 2, 0.5))
