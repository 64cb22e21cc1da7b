"""C code in doubles for a policy's functions, bit-identical to the reference.

Guards of total arithmetic are omitted where value analysis of the program proves them redundant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from vulcan.anvil import ir, log_buckets
from vulcan.anvil.analysis.abstract_interpreter import follow
from vulcan.anvil.analysis.intervals import ANYTHING, OPERATION_BOUNDS, Interval
from vulcan.anvil.semantics import MAX
from vulcan.anvil.state_layout import OBSERVATIONS, Part, PopulationShape
from vulcan.export.c.naming import helper_name, member_of, parameter_names
from vulcan.export.c.own_state import OwnState
from vulcan.export.c.statements import Statements
from vulcan.export.c.statistic_groups import Group, group_of
from vulcan.task import Signature

_SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_EXACT = {"round": "rint", "trunc": "trunc", "floor": "floor", "ceil": "ceil", "abs": "fabs"}
_FOLDED = {"min": "policy_min", "max": "policy_max", "and": "policy_both", "or": "policy_either"}


class Doubles:
    """The context shared by the functions of one program."""

    def __init__(
        self,
        program: ir.Module,
        signature: Signature,
        groups: tuple[Group, ...],
        shapes: Mapping[str, PopulationShape],
        own_state: OwnState,
    ) -> None:
        self.program = program
        self.signature = signature
        self.groups = groups
        self.shapes = shapes
        self.own_state = own_state
        self.generator = own_state.generator
        self.readers = own_state.readers()
        self.parameters = parameter_names(program)
        self.lengths = {v.name: v.length for v in program.variables}
        self.values: Mapping[int, Interval] = follow(program, signature, keep_values=True).values or {}

    # How C spells what other languages spell otherwise

    def number(self, value: float) -> str:
        """Return the exact literal of a number."""
        return repr(value) if math.copysign(1.0, value) > 0.0 else f"({value!r})"

    def whole(self, value: float) -> str:
        """Return the literal of a count."""
        return str(int(value))

    def kept(self, group: Group, part: Part) -> str:
        """Return the place of a part of the statistics."""
        return f"{group.owner}->{group.member(part, self.signature)}"

    def feature(self, name: str) -> str:
        """Return the value of a feature, or of a history's answer."""
        return f"features->{member_of(name)}"

    def variable(self, name: str) -> str:
        """Return the place of a register, an array, a field or a control."""
        return self.own_state.lvalue(name)

    def element(self, array: str, index: str) -> str:
        return f"{array}[{index}]"

    def passed(self, array: str, changed: bool = False) -> str:
        """Return an array as the argument of a function, which may change it."""
        return array

    def choice(self, test: str, then: str, otherwise: str) -> str:
        return f"({test} ? {then} : {otherwise})"

    def product(self, a: str, b: str) -> str:
        return f"{a} * {b}"

    def count(self, name: str, value: str) -> str:
        """Return the declaration of a count."""
        return f"const int64_t {name} = {value};"

    def scale(self, shape: PopulationShape) -> str:
        """Return what tells the bucket of a value: the resolution, and the first and the lowest bucket."""
        return f"{shape.resolution}, {log_buckets.first_bucket(shape.resolution)}, {shape.lowest}"

    def size(self, shape: PopulationShape) -> str:
        """Return what functions of a population have to know of its size."""
        return str(shape.buckets)

    # What all languages spell alike

    def bucket(self, value: str, shape: PopulationShape) -> str:
        """Return the number of a value's bucket in a population."""
        return f"policy_bucket({value}, {self.scale(shape)}, {self.whole(shape.buckets)})"

    def population(self, feature: str, changed: bool = False) -> str:
        """Return the tree of a feature's population as the argument of a function, and its size."""
        tree = Part("population", feature)
        place = self.passed(self.kept(Group("system", None, {tree: 1}), tree), changed)
        return f"{place}, {self.size(self.shapes[feature])}"

    def percentile(self, feature: str, share: float) -> str:
        """Return the percentile over all live entities."""
        shape = self.shapes[feature]
        numbers = f"{self.number(share)}, {self.scale(shape)}, {self.number(shape.unknown)}"
        return f"policy_population_percentile({self.population(feature)}, {numbers})"

    def constants(self) -> Iterator[str]:
        """Yield the text of each parameter."""
        for name, value in self.program.parameters:
            yield f"static const double {self.parameters[name]} = {self.number(value)};"

    def functions(self, openings: Mapping[str, str]) -> Iterator[str]:
        """Yield the text of each function.

        `openings` are the first lines of the entry functions and handlers by name.
        """
        for function in self.program.functions:
            is_handler = function in self.program.handlers
            writer = FunctionInDoubles(self, function, "return;" if is_handler else None)
            if function.name in openings:
                first = openings[function.name]
                names = re.findall(r"(\w+)[,)]", first.rpartition("\n")[2])
            else:
                names = [writer.names[name] for name in function.arguments]
                arguments = [f"double {name}" for name in names]
                if function.name in self.readers:
                    arguments.insert(0, "const struct policy_state *state")
                    names.insert(0, "state")
                first = f"static inline double {helper_name(function.name)}({', '.join(arguments) or 'void'})"
            yield "\n".join(writer.lines(first, names))


class FunctionInDoubles(Statements):
    def __init__(self, shared: Doubles, function: ir.Function, nothing: str | None) -> None:
        super().__init__(function, nothing)
        self.shared = shared

    def declaration(self, name: str) -> str:
        return f"double {self.names[name]} = 0.0;"

    def assigned(self, name: str, value: ir.Expression) -> str:
        return self.value(value)

    def turn(self, name: str, counter: str) -> str:
        return f"(double)({counter})"

    def returned(self, value: ir.Expression) -> str:
        return self.value(value)

    def written(self, write: ir.Write) -> tuple[str, str]:
        return self.place(write.name, write.index), self.value(write.value)

    def place(self, name: str, index: ir.Expression | None) -> str:
        """Return the lvalue of a register, a field, a control or an array's element."""
        place = self.shared.variable(name)
        if index is None:
            return place
        return f"{place}[policy_index({self.value(index)}, {self.shared.lengths[name]})]"

    def compared(self, comparison: ir.Compare) -> Iterator[str]:
        values = [self.value(operand) for operand in comparison.operands]
        for operator, a, b in zip(comparison.operators, values, values[1:], strict=False):
            yield f"{a} {operator} {b}"

    def nonzero(self, value: ir.Expression) -> str:
        return f"{self.value(value)} != 0.0"

    def value(self, e: ir.Expression) -> str:
        match e:
            case ir.Number(value):
                return self.shared.number(value)
            case ir.Parameter(name):
                return self.shared.parameters[name]
            case ir.Local(name):
                return self.names[name]
            case ir.Read(feature):
                return self.shared.feature(feature)
            case ir.Query(history, query):
                return self.shared.feature(f"{history}.{query}")
            case ir.Statistic():
                return self.statistic(e)
            case ir.Occurrences(statistic, value):
                return self.occurrences(statistic, self.value(value))
            case ir.Cell(name):
                return self.place(name, None)
            case ir.Element(name, index):
                return self.place(name, index)
            case ir.Draw():
                return f"policy_draw({self.shared.generator})"
            case ir.Compare() | ir.Operate("not" | "truth"):
                return self.shared.choice(self.truth(e), "1.0", "0.0")
            case ir.Choose(test, then, otherwise):
                return self.shared.choice(self.truth(test), self.value(then), self.value(otherwise))
            case ir.Call(function, arguments):
                values = [self.value(argument) for argument in arguments]
                if function in self.shared.readers:
                    values.insert(0, "state")
                return f"{helper_name(function)}({', '.join(values)})"
            case ir.Operate(operation, operands):
                return self.operation(operation, operands)

    def bounds(self, e: ir.Expression) -> Interval:
        return self.shared.values.get(id(e), ANYTHING)

    def operation(self, operation: str, operands: tuple[ir.Expression, ...]) -> str:
        values = self.operands(operands)
        if operation in _SYMBOLS and (operation != "divide" or not self.bounds(operands[1]).has_zero):
            a, b = values
            text = self.shared.product(a, b) if operation == "multiply" else f"{a} {_SYMBOLS[operation]} {b}"
            most = OPERATION_BOUNDS[operation](*map(self.bounds, operands)).magnitude
            return f"({text})" if most < MAX else f"policy_saturate({text})"
        if operation == "negate":
            return f"(-{values[0]})"
        if operation == "plus":
            return values[0]
        if operation in _EXACT:
            return f"{_EXACT[operation]}({values[0]})"
        if operation in _FOLDED:
            text = values[0]
            for other in values[1:]:
                text = f"{_FOLDED[operation]}({text}, {other})"
            return text
        return f"policy_{operation}({', '.join(values)})"

    def operands(self, operands: tuple[ir.Expression, ...]) -> list[str]:
        return [self.value(operand) for operand in operands]

    def statistic(self, statistic: ir.Statistic) -> str:
        shared, feature, arguments = self.shared, statistic.feature, statistic.arguments
        if statistic.scope == "population":
            return shared.percentile(feature, arguments[0])
        group = group_of(statistic, shared.groups, shared.signature)
        observations = shared.kept(group, OBSERVATIONS) if OBSERVATIONS in group.parts else ""
        match statistic.kind:
            case "recent":
                ring = Part("ring", feature)
                back = f"policy_back({observations}, {shared.whole(arguments[0])}, {shared.whole(group.parts[ring])})"
                return shared.element(shared.kept(group, ring), back)
            case "window_avg":
                count = f"policy_at_least_one(policy_at_most({observations}, {shared.whole(arguments[0])}))"
                return f"({shared.kept(group, Part('sum', feature, arguments[0]))} / {count})"
            case "window_percentile":
                window = shared.passed(shared.kept(group, Part("sorted", feature, arguments[1])))
                count = f"policy_at_most({observations}, {shared.whole(arguments[1])})"
                return f"policy_sorted_percentile({window}, {shared.number(arguments[0])}, {count})"
            case kind:
                return shared.kept(group, Part(kind, feature, *arguments))  # type: ignore[arg-type]  # the others

    def occurrences(self, statistic: ir.Statistic, value: str) -> str:
        shared, ring = self.shared, Part("ring", statistic.feature)
        group = group_of(statistic, shared.groups, shared.signature)
        numbers = f"{shared.whole(statistic.arguments[-1])}, {shared.whole(group.parts[ring])}, {value}"
        place = shared.passed(shared.kept(group, ring))
        found = f"policy_ring_count({place}, {shared.kept(group, OBSERVATIONS)}, {numbers})"
        return found if statistic.kind == "count" else shared.choice(f"{found} != 0.0", "1.0", "0.0")
