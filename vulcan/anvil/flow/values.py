"""What is known of the value of an expression, and what its operations are asked for."""

from __future__ import annotations

from vulcan.anvil import program as p
from vulcan.anvil.flow.conditions import Conditions
from vulcan.anvil.flow.intervals import ANYTHING, OPERATION_BOUNDS, TRUTH, Interval, point
from vulcan.anvil.flow.known import UNKNOWN, Known, Source, State, meet
from vulcan.anvil.semantics import LARGEST


class Values(Conditions):
    """The half of a walk that evaluates."""

    def value(self, e: p.Expression, state: State) -> Known:
        self.shared.steps += 1
        self.shared.depth += 1
        known = self.computed(e, state)
        self.shared.depth -= 1
        if state.facts and e in state.facts:
            fact = state.facts[e]
            known = known.narrowed(fact.bounds, fact.nonzero) or known
        if (values := self.findings.values) is not None:
            values[id(e)] = values[id(e)] | known.bounds if id(e) in values else known.bounds
        return Known(known.bounds, known.nonzero) if known.is_one_value else known

    def computed(self, e: p.Expression, state: State) -> Known:
        match e:
            case p.Local(name):
                return state.names.get(name, UNKNOWN)
            case p.Number() | p.Parameter():
                return Known(self.shared.bounds.of(e, {}))
            case p.Read() | p.Statistic() | p.Query():
                return Known(self.shared.bounds.of(e, {}), depends=frozenset((e,)))
            case p.Occurrences(statistic, value):
                depends = self.value(value, state).depends | {statistic}
                return Known(self.shared.bounds.of(e, {}), depends=depends)
            case p.Choose(test, then, otherwise):
                return self.choice(e, test, then, otherwise, state)
            case p.Operate("and" | "or" as operation, operands):
                return self.sequence(operands, operation == "and", state)
        parts = []
        for part in p.children(e):
            parts.append(self.value(part, state))
        match e:
            case p.Compare():
                return self.comparison(e, parts, state)
            case p.Call(function):
                return self.shared.call(function, parts)
            case p.Operate():
                return self.operation(e, parts)
        raise AssertionError(e)

    def choice(
        self, e: p.Choose, test: p.Expression, then: p.Expression, otherwise: p.Expression, state: State
    ) -> Known:
        yes, no, depends = self.fork(test, state, e.at)
        a = self.value(then, yes) if yes is not None else None
        b = self.value(otherwise, no) if no is not None else None
        known = a | b if a is not None and b is not None else a or b or UNKNOWN
        return Known(known.bounds, known.nonzero, known.depends | depends)

    def sequence(self, operands: tuple[p.Expression, ...], is_and: bool, state: State) -> Known:
        """`and` gives its first operand that is 0, `or` its first that is not, else the last; each operand is looked at
        where those before it did not decide."""
        result: Known | None = None
        depends: frozenset[Source] = frozenset()
        rest: State | None = state
        for number, operand in enumerate(operands, start=1):
            if rest is None:
                break
            known = self.value(operand, rest)
            depends |= known.depends
            last = number == len(operands)
            decided = known if last else self.part(known, not is_and)
            if decided is not None:
                result = decided if result is None else result | decided
            if not last:
                goes_on = known.may_be_other_than_zero if is_and else known.may_be_zero
                rest = self.where(operand, is_and, rest) if goes_on else None
        result = result or UNKNOWN
        return Known(result.bounds, result.nonzero, depends)

    @staticmethod
    def part(known: Known, nonzero: bool) -> Known | None:
        """The part of its values that is 0, or that is not; None where there is none."""
        if nonzero:
            return known.narrowed(ANYTHING, True)
        return Known(point(0.0), False, known.depends) if known.may_be_zero else None

    def comparison(self, e: p.Compare, operands: list[Known], state: State) -> Known:
        truth = [
            _compared(op, a, b) if e.operands[i] != e.operands[i + 1] else op in ("<=", ">=", "==")
            for i, (op, a, b) in enumerate(zip(e.operators, operands, operands[1:], strict=False))
        ]
        known: bool | None = None
        if False in truth:
            known = False
        elif None not in truth:
            known = True
        elif state.facts and self.where(e, True, state) is None:
            known = False
        elif state.facts and self.where(e, False, state) is None:
            known = True
        self.findings.outcomes.setdefault((e.at, e), set()).update((True, False) if known is None else (known,))
        if known is not None:
            return Known(point(float(known)))
        return Known(TRUTH, depends=frozenset().union(*(operand.depends for operand in operands)))

    def operation(self, e: p.Operate, operands: list[Known]) -> Known:
        operation = e.operation
        self.doubt(e, operands)
        first = operands[0]
        depends: frozenset[Source] = frozenset().union(*(operand.depends for operand in operands))
        if operation in ("not", "truth") and not (first.may_be_zero and first.may_be_other_than_zero):
            return Known(point(float(first.may_be_zero == (operation == "not"))))
        bounds = OPERATION_BOUNDS[operation](*(operand.bounds for operand in operands))
        if operation == "multiply" and e.operands[0] == e.operands[1]:
            bounds = meet(bounds, Interval(0.0, LARGEST)) or bounds  # a square
        nonzero = operation in ("abs", "negate", "plus", "truth") and not first.may_be_zero
        return Known(bounds, nonzero, depends)

    def doubt(self, e: p.Operate, operands: list[Known]) -> None:
        """Note an operation that has no value for some of its operands."""
        culprit: Known | None = None
        first, second = operands[0], operands[-1]
        match e.operation:
            case "divide" | "floor_divide" | "modulo":
                culprit = second if second.may_be_zero else None
            case "log" | "log2" | "log10":
                culprit = first if first.bounds.low < 0.0 or first.may_be_zero else None
            case "log1p":
                culprit = first if first.bounds.low <= -1.0 else None
            case "sqrt":
                culprit = first if first.bounds.low < 0.0 else None
            case "power":
                of_zero = first.may_be_zero and second.bounds.low < 0.0
                culprit = first if of_zero or (first.bounds.low < 0.0 and not second.bounds.whole) else None
        if culprit is not None:
            before = self.findings.doubts.get((e.at, e))
            self.findings.doubts[e.at, e] = culprit.bounds if before is None else before | culprit.bounds


def _compared(op: str, a: Known, b: Known) -> bool | None:
    """Whether the comparison holds for all values, for none (False), or for some (None)."""
    if op in (">", ">="):
        op, a, b = {">": "<", ">=": "<="}[op], b, a
    x, y = a.bounds, b.bounds
    match op:
        case "<":
            return True if x.high < y.low else False if x.low >= y.high else None
        case "<=":
            return True if x.high <= y.low else False if x.low > y.high else None
    apart = x.high < y.low or y.high < x.low
    apart = apart or (a.nonzero and y.low == y.high == 0.0) or (b.nonzero and x.low == x.high == 0.0)
    same = x.low == x.high == y.low == y.high
    if op == "==":
        return False if apart else True if same else None
    return True if apart else False if same else None
