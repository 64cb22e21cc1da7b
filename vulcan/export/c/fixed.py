"""C code in scaled 64-bit integers for a policy's functions, and its own state in them.

`vulcan.export.c.fixed_point` defines the scales.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vulcan.anvil import Policy, ir
from vulcan.anvil.analysis.intervals import OPERATION_BOUNDS, point
from vulcan.anvil.grammar import grammar
from vulcan.export.c.fixed_point import (
    BITS,
    MAX,
    MIN,
    NumberFormat,
    NumberFormats,
    beyond,
    integer_bits,
    quantised,
    refusal,
    scale_of_number,
    typical_of_operation,
)
from vulcan.export.c.fixed_statistics import FixedStatistics
from vulcan.export.c.header import each, function
from vulcan.export.c.naming import helper_name, member_of, parameter_names
from vulcan.export.c.own_state import GENERATOR, OwnState
from vulcan.export.c.statements import Statements

RESULT_SCALE = 16
"""Scale of the result of `policy_score`."""
_UNIT = 60
_DRAWN = 62
"""Scale of a random number."""
_FACTORS = {"log": 799144290325165979, "log1p": 799144290325165979, "log2": 1 << 60, "log10": 347063955532709821}
"""Factors that convert the binary logarithm to each of the others, at scale 60."""
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_REFUSED = {"sin": "math.sin", "cos": "math.cos", "atan": "math.atan"}


@dataclass(frozen=True, slots=True)
class Fixed:
    """A C expression that holds a value times 2**scale; `constant` is the value itself if it is a number."""

    text: str
    scale: int
    kind: NumberFormat
    constant: float | None = None

    def at(self, scale: int) -> str:
        """Return the expression at another scale."""
        if self.constant is not None:
            return integer(quantised(self.constant, scale), self.constant if scale else None)
        return self.text if scale == self.scale else f"policy_scaled({self.text}, {scale - self.scale})"


def integer(value: int, meaning: float | None = None) -> str:
    text = f"{value}LL" if abs(value) >= 2**31 else str(value)
    text = f"({text})" if value < 0 else text
    return text if meaning is None else f"{text} /* {meaning:g} */"


class FixedState(OwnState):
    """The policy's own state in scaled integers."""

    def __init__(self, policy: Policy, kinds: NumberFormats) -> None:
        super().__init__(policy, "policy_fixed", "policy_word")
        self.kinds = kinds
        self.initial = lambda v: integer(quantised(v.value(kinds.parameters), kinds.variable(v.name).scale))
        self.remark = lambda v: f" /* {remark(kinds.variable(v.name))} */"
        self.lengths = {v.name: v.length for v in self.registers if v.length is not None}

    def initialised(self) -> Iterator[str]:
        yield from super().initialised()
        if self.draws:
            yield f"state->policy.{GENERATOR} = 0;"

    def filled(self, length: int, statement: str) -> Iterator[str]:
        return each(length, statement)

    def entity(self) -> Iterator[str]:
        """Yield the function that begins an entity's fields, if there are any."""
        if self.fields:
            yield function(
                "POLICY_FUNCTION int policy_entity_init(struct policy_entity *entity)",
                ["if (!entity)", "    return 0;", *self.fields_initialised(), "return 0;"],
            )


class FixedProgram:
    """The context shared by the functions of one program."""

    def __init__(
        self, program: ir.Module, kinds: NumberFormats, statistics: FixedStatistics, own_state: FixedState
    ) -> None:
        self.program = program
        self.kinds = kinds
        self.statistics = statistics
        self.own_state = own_state
        self.readers = own_state.readers()
        self.parameters = parameter_names(program)

    def functions(self, openings: Mapping[str, str]) -> Iterator[str]:
        """Yield the text of each parameter and function.

        `openings` are the first lines of the entry function and of the handlers by name.
        """
        for name, value in self.program.parameters:
            made = self.number(value)
            held = integer(quantised(value, made.scale))
            yield f"#define {self.parameters[name]} {held} /* {value:g}, scale {made.scale} */"
        for helper in self.program.functions:
            writer = _Function(self, helper, "return 0;" if helper in self.program.handlers else None)
            if helper.name in openings:
                opening = openings[helper.name]
                used_names = re.findall(r"(\w+)[,)]", opening.rpartition("\n")[2])
                guard = " || ".join(f"!{name}" for name in used_names)
                yield "\n".join(writer.lines(opening, used_names, (f"if ({guard})", "    return 0;")))
                continue
            scales = [self.kinds.local(name, helper.name) for name in helper.arguments]
            names = [writer.names[name] for name in helper.arguments]
            arguments = [f"policy_fixed {name} /* {remark(kind)} */" for name, kind in zip(names, scales, strict=True)]
            if helper.name in self.readers:
                arguments.insert(0, "const struct policy_state *state")
                names.insert(0, "state")
            first = f"POLICY_INLINE policy_fixed {helper_name(helper.name)}({', '.join(arguments) or 'void'})"
            yield "\n".join(writer.lines(f"/* returns {remark(self.result(helper.name))} */\n{first}", names))

    def result(self, function: str) -> NumberFormat:
        return self.kinds.results.get(function, NumberFormat(self.kinds.number(0.0).bounds, 0.0))

    def number(self, value: float) -> Fixed:
        scale = scale_of_number(value)
        if scale < MIN or (scale > MAX and abs(value) < 2.0 ** (8 - MAX)):
            raise refusal(f"the number {value:g} is beyond what 64-bit integers hold beside others")
        scale = min(scale, MAX)
        return Fixed(integer(quantised(value, scale), value if scale else None), scale, self.kinds.number(value), value)


def remark(kind: NumberFormat) -> str:
    """Return a comment on a number: its scale and bounds."""
    return f"scale {kind.scale}, {kind.bounds.low:.3g} to {kind.bounds.high:.3g}"


class _Function(Statements):
    def __init__(self, shared: FixedProgram, function: ir.Function, nothing: str | None) -> None:
        super().__init__(function, nothing)
        self.shared = shared
        self.kinds = shared.kinds
        self.is_entry = function is shared.program.entry

    # Statements

    def declaration(self, name: str) -> str:
        return f"policy_fixed {self.names[name]} = 0; /* {remark(self.kinds.local(name, self.function.name))} */"

    def scale_of(self, name: str) -> int:
        return self.kinds.local(name, self.function.name).scale

    def assigned(self, name: str, value: ir.Expression) -> str:
        return self.value(value).at(self.scale_of(name))

    def turn(self, name: str, counter: str) -> str:
        scale = self.scale_of(name)
        return f"(policy_fixed)({counter})" if scale == 0 else f"policy_scaled({counter}, {scale})"

    def returned(self, value: ir.Expression) -> str:
        scale = RESULT_SCALE if self.is_entry else self.shared.result(self.function.name).scale
        return self.value(value).at(scale)

    def written(self, write: ir.Write) -> tuple[str, str]:
        own_state = self.shared.own_state
        if write.name not in own_state.members:
            return own_state.lvalue(write.name), self.value(write.value).at(RESULT_SCALE)
        text = self.value(write.value).at(self.kinds.variable(write.name).scale)
        if write.index is None:
            return own_state.lvalue(write.name), text
        return f"policy_put({own_state.lvalue(write.name)}, {self.place(write.name, write.index)}, ", text

    def place(self, array: str, index: ir.Expression) -> str:
        """Return the place of an index in an array, and the array's length."""
        value, length = self.value(index), self.shared.own_state.lengths[array]
        factor = pow(2, -value.scale, length) if value.scale < 0 else 1 % length
        return f"policy_index({value.text}, {max(value.scale, 0)}, {factor}, {length}), {length}"

    def compared(self, comparison: ir.Compare) -> Iterator[str]:
        values = [self.value(operand) for operand in comparison.operands]
        for operator, a, b in zip(comparison.operators, values, values[1:], strict=False):
            yield _compared(a, operator, b)

    def nonzero(self, value: ir.Expression) -> str:
        return f"{self.value(value).text} != 0"

    # Expressions

    def value(self, e: ir.Expression) -> Fixed:
        kind = self.kinds.of(e, self.function.name)
        match e:
            case ir.Number(value):
                return self.shared.number(value)
            case ir.Parameter(name):
                value = self.kinds.parameters[name]
                made = self.shared.number(value)
                return Fixed(self.shared.parameters[name], made.scale, kind, value)
            case ir.Local(name):
                return Fixed(self.names[name], kind.scale, kind)
            case ir.Read(feature):
                return Fixed(f"features->{member_of(feature)}", kind.scale, kind)
            case ir.Query(history, query):
                return Fixed(f"features->{member_of(f'{history}.{query}')}", kind.scale, kind)
            case ir.Statistic():
                text, scale = self.shared.statistics.answer(e)
                return Fixed(text, scale, kind)
            case ir.Occurrences(statistic, value):
                looked_for = self.value(value)
                return Fixed(
                    self.shared.statistics.occurrences(statistic, looked_for.text, looked_for.scale, e.at), 0, kind
                )
            case ir.Cell(name):
                return Fixed(self.shared.own_state.lvalue(name), kind.scale, kind)
            case ir.Element(name, index):
                array = self.shared.own_state.lvalue(name)
                return Fixed(f"policy_at({array}, {self.place(name, index)})", kind.scale, kind)
            case ir.Draw():
                return Fixed(f"policy_draw({self.shared.own_state.generator})", _DRAWN, kind)
            case ir.Compare() | ir.Operate("not" | "truth"):
                return Fixed(f"({self.truth(e)} ? 1 : 0)", 0, kind)
            case ir.Choose(test, then, otherwise):
                a, b = self.value(then).at(kind.scale), self.value(otherwise).at(kind.scale)
                return Fixed(f"({self.truth(test)} ? {a} : {b})", kind.scale, kind)
            case ir.Call(function, arguments):
                wanted = self.shared.kinds.functions[function].arguments
                values = [
                    self.value(value).at(self.kinds.local(name, function).scale)
                    for name, value in zip(wanted, arguments, strict=True)
                ]
                if function in self.shared.readers:
                    values.insert(0, "state")
                return Fixed(f"{helper_name(function)}({', '.join(values)})", kind.scale, kind)
            case ir.Operate(operation, operands):
                return self.operation(e, operation, operands, kind)

    def operation(
        self, e: ir.Operate, operation: str, operands: tuple[ir.Expression, ...], kind: NumberFormat
    ) -> Fixed:
        if operation in _REFUSED:
            raise refusal(f"{_REFUSED[operation]} has no form in integers here", e.at)
        if operation in ("and", "or"):
            return self.folded(operation, operands, kind)
        values = [self.value(operand) for operand in operands]
        constants = [value.constant for value in values if value.constant is not None]
        if len(constants) == len(values):
            return self.shared.number(grammar.OPERATIONS[operation].evaluate(*constants))
        first, last = values[0], values[-1]
        scale = kind.scale
        match operation:
            case "add" | "subtract":
                scale = min(scale, *map(_finest, values))
                text = f"policy_{operation}({first.at(scale)}, {last.at(scale)})"
            case "multiply":
                text = f"policy_multiply({first.text}, {last.text}, {first.scale + last.scale - scale})"
            case "divide":
                text = f"policy_divide({first.text}, {last.text}, {scale - first.scale + last.scale})"
            case "floor_divide":
                text = f"policy_floor_divide({first.text}, {last.text}, {last.scale - first.scale})"
                return Fixed(text, 0, kind)
            case "modulo":
                scale = min(max(first.scale, last.scale), *map(_room, values))
                text = f"policy_modulo({first.at(scale)}, {last.at(scale)})"
            case "min" | "max":
                text = first.at(scale)
                for value in values[1:]:
                    text = f"policy_{operation}({text}, {value.at(scale)})"
            case "hash":
                return Fixed(f"policy_hash({first.text}, {first.scale}, {last.text}, {last.scale})", 0, kind)
            case "negate":
                return Fixed(f"(-{first.text})", first.scale, kind)
            case "plus":
                return Fixed(first.text, first.scale, kind, first.constant)
            case "abs":
                return Fixed(f"policy_abs({first.text})", first.scale, kind)
            case "floor" | "ceil" | "trunc" | "round":
                if first.scale <= 0:
                    return Fixed(first.text, first.scale, kind)
                held = min(first.scale, BITS)
                return Fixed(f"policy_{operation}({first.at(held)}, {held})", 0, kind)
            case _:
                return self.called(operation, values, kind)
        return Fixed(text, scale, kind)

    def called(self, operation: str, values: list[Fixed], kind: NumberFormat) -> Fixed:
        first, scale = values[0], min(kind.scale, _UNIT)
        shown = f"{first.text}, {first.scale}"
        match operation:
            case "sqrt":
                text = f"policy_sqrt({shown}, {scale})"
            case "exp":
                text = f"policy_exp({shown}, {scale})"
            case "expm1":
                one = integer(quantised(1.0, scale), 1.0)
                text = f"policy_subtract(policy_exp({shown}, {scale}), {one})"
            case "tanh":
                return Fixed(f"policy_tanh({shown})", _UNIT, kind)
            case "log1p":
                held = min(first.scale, _UNIT, _room(first, 1.0))
                shifted = f"policy_add({first.at(held)}, {integer(quantised(1.0, held), 1.0)})"
                text = f"policy_log({shifted}, {held}, {_FACTORS[operation]}LL, {scale})"
            case "log" | "log2" | "log10":
                text = f"policy_log({shown}, {_FACTORS[operation]}LL, {scale})"
            case "power":
                return self.power(first, values[1], kind)
            case _:
                raise AssertionError(operation)
        return Fixed(text, scale, kind)

    def power(self, base: Fixed, exponent: Fixed, kind: NumberFormat) -> Fixed:
        scale = min(kind.scale, _UNIT)
        match exponent.constant:
            case 0.5:
                text = f"policy_sqrt({base.text}, {base.scale}, {scale})"
            case 1.0:
                return base
            case 2.0:
                text = f"policy_square({base.text}, {2 * base.scale - scale})"
            case 3.0:
                square = self.power(base, Fixed("2", 0, exponent.kind, 2.0), self.square_of(base))
                rights = f"{2 * base.scale - square.scale}, {square.scale + base.scale - scale}"
                text = f"policy_cube({base.text}, {rights})"
            case -1.0:
                text = f"policy_divide(1, {base.text}, {scale + base.scale})"
            case _:
                text = f"policy_power({base.text}, {base.scale}, {exponent.text}, {exponent.scale}, {scale})"
        return Fixed(text, scale, kind)

    def square_of(self, base: Fixed) -> NumberFormat:
        bounds = OPERATION_BOUNDS["power"](base.kind.bounds, point(2.0))
        return NumberFormat(bounds, typical_of_operation("multiply", [base.kind, base.kind], bounds))

    def folded(self, operation: str, operands: tuple[ir.Expression, ...], kind: NumberFormat) -> Fixed:
        *others, last = operands
        text = self.value(last).at(kind.scale)
        if operation == "and":
            tests = " && ".join(f"({self.truth(operand)})" for operand in others)
            return Fixed(f"({tests} ? {text} : 0)", kind.scale, kind)
        for operand in reversed(others):
            value = self.value(operand)
            text = f"policy_either({value.text}, {kind.scale - value.scale}, {text})"
        return Fixed(text, kind.scale, kind)


def _finest(value: Fixed) -> int:
    """Return the finest scale at which a value does not saturate unless it already did."""
    return max(value.scale, BITS - integer_bits(value.kind.bounds.magnitude))


def _room(value: Fixed, added: float = 0.0) -> int:
    """Return the finest scale that holds a value, with what is added to it; its own where it is not bounded."""
    bounds = value.kind.bounds
    return value.scale if beyond(bounds) else BITS - integer_bits(bounds.magnitude + added)


def _compared(a: Fixed, operator: str, b: Fixed) -> str:
    if a.text == b.text:  # which compilers warn about where they see it
        return f"policy_order({a.text}, {b.text}, 0) {operator} 0"
    if a.scale == b.scale or b.constant == 0.0 or a.constant == 0.0:
        return f"{a.text} {operator} {b.text}"
    if a.scale > b.scale:
        return f"policy_order({a.text}, {b.text}, {a.scale - b.scale}) {operator} 0"
    return f"policy_order({b.text}, {a.text}, {b.scale - a.scale}) {_FLIPPED[operator]} 0"
