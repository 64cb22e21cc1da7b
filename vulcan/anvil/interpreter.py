"""Reference interpreter: runs a program under CPython by the definitions of `semantics`, slowly and plainly.

Every other back end is tested against it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from vulcan.anvil import ir
from vulcan.anvil import semantics as total
from vulcan.anvil.grammar import grammar
from vulcan.anvil.grammar.tables import Scope
from vulcan.anvil.plan import Plan
from vulcan.anvil.statistic_semantics import _Population, _Stream, kept_by_stream
from vulcan.task import Feature, Signature

Features = Mapping[str, float]
"""Values by the name they are read by; a history's answers under `ghost.contains` and the like."""


class _Returned(Exception):
    def __init__(self, value: float) -> None:
        self.value = value


class _Broken(Exception):
    pass


class _Continued(Exception):
    pass


class Reference:
    """A policy with its statistics, for one run.

    The evaluator reports events of entities (`observe` when one enters and whenever it is touched, `forget` when it
    leaves) and, where features are observed at occasions, these (`observe_occasion`). It gets numbers by calling the
    object, or by `ask` for functions other than the main one. It reports the task's events by `handle`, and by
    `release` that an entity has left for good: its fields are dropped. `seed` starts the random numbers.
    """

    def __init__(self, program: ir.Module, plan: Plan, signature: Signature, seed: int = 0) -> None:
        self._program = program
        self._plan = plan
        self._parameters = dict(program.parameters)
        self._functions = {f.name: f for f in program.functions}
        self._entries = {f.name: f for f in program.entries}
        self._declared: dict[str, Feature] = dict(signature.features())
        occasions = signature.occasions
        of_system = self._streams("system")
        self._system = {feature: stream for feature, stream in of_system.items() if feature not in occasions}
        self._occasions: dict[str, dict[str, _Stream]] = {occasion: {} for occasion in occasions.values()}
        for feature in of_system.keys() & occasions.keys():
            self._occasions[occasions[feature]][feature] = of_system[feature]
        self._of_system = of_system
        self._entities: dict[Hashable, dict[str, _Stream]] = {}
        self._never = self._streams("entity")
        shapes = plan.shapes(signature).items()
        self._populations = {f: _Population(s.lowest, s.buckets, s.resolution, s.unknown) for f, s in shapes}
        self._latest: dict[Hashable, dict[str, int]] = {}
        self._handlers = {f.name: f for f in program.handlers}
        self._variables = {variable.name: variable for variable in program.variables}
        self._arrays = {v.name: [v.value(self._parameters)] * v.length for v in program.variables if v.length}
        self._registers: dict[str, float] = {}
        self._fields: dict[Hashable, dict[str, float]] = {}
        self._controls: dict[str, float] = {}
        self._generator = seed

    def _streams(self, scope: Scope) -> dict[str, _Stream]:
        of = self._plan.of_scope(scope)
        return {
            feature: _Stream(self._declared[feature].unknown, **kept_by_stream([s for s in of if s.feature == feature]))
            for feature in {s.feature for s in of}
        }

    def observe(self, key: Hashable, features: Features) -> None:
        """Record an event: the entity entered or was touched. Updates its statistics and the system's.

        In a task without an entity, every event of the system has the key None.
        """
        if key not in self._entities:
            self._entities[key] = self._streams("entity")
        for streams in (self._entities[key], self._system):
            for feature, stream in streams.items():
                stream.append(float(features[feature]))
        latest = self._latest.setdefault(key, {})
        for feature, population in self._populations.items():
            known = latest.get(feature)
            value = float(features[feature])
            latest[feature] = population.add(value) if known is None else population.move(known, value)

    def observe_occasion(self, occasion: str, features: Features) -> None:
        """Record an occasion: update the statistics of the features observed at it.

        Raises KeyError for an occasion that the task does not name.
        """
        for feature, stream in self._occasions[occasion].items():
            stream.append(float(features[feature]))

    def forget(self, key: Hashable) -> None:
        """Record that the entity left, and drop its state; the system's observations remain."""
        self._entities.pop(key, None)
        for feature, bucket in self._latest.pop(key, {}).items():
            self._populations[feature].remove(bucket)

    def handle(self, event: str, features: Features, key: Hashable = None) -> dict[str, float]:
        """Run the policy's handler of the event, if it has one; return the controls that it has set, by name."""
        self._controls = {}
        if event in self._handlers:
            self._run(self._handlers[event], {}, features, key)
        return self._controls

    def release(self, key: Hashable) -> None:
        """Record that nothing is remembered of the entity any more, and drop its fields."""
        self._fields.pop(key, None)

    def __call__(self, features: Features, key: Hashable = None) -> float:
        """Return the policy's number for these features and, where it reads statistics of an entity, that entity."""
        return self._run(self._program.entry, {}, features, key)

    def ask(self, function: str, features: Features, key: Hashable = None) -> float:
        """Return the number of the named function. Raises KeyError for one that the task does not declare."""
        if function not in self._entries:
            raise KeyError(function)
        return self._run(self._entries[function], {}, features, key)

    def _run(self, function: ir.Function, names: dict[str, float], features: Features, key: Hashable) -> float:
        try:
            self._block(function.body, names, features, key)
        except _Returned as returned:
            return returned.value
        raise AssertionError(f"{function.name} did not return: the checker let it through")

    def _block(
        self, body: tuple[ir.Statement, ...], names: dict[str, float], features: Features, key: Hashable
    ) -> None:
        for statement in body:
            match statement:
                case ir.Assign(name, value):
                    names[name] = self._value(value, names, features, key)
                case ir.If(test, then, otherwise):
                    chosen = then if self._value(test, names, features, key) != 0.0 else otherwise
                    self._block(chosen, names, features, key)
                case ir.Loop(name, start, stop, step, inner):
                    for i in range(start, stop, step):
                        names[name] = float(i)
                        try:
                            self._block(inner, names, features, key)
                        except _Continued:
                            continue
                        except _Broken:
                            break
                case ir.Break():
                    raise _Broken
                case ir.Continue():
                    raise _Continued
                case ir.Return(value):
                    raise _Returned(self._value(value, names, features, key))
                case ir.Write(name):
                    *at, stored = (self._value(e, names, features, key) for e in statement.expressions)
                    self._store(name, at, stored, key)

    def _store(self, name: str, index: list[float], value: float, key: Hashable) -> None:
        if index:
            array = self._arrays[name]
            array[total.wrap(index[0], len(array))] = value
        elif name not in self._variables:
            self._controls[name] = value
        elif self._variables[name].is_field:
            self._fields.setdefault(key, {})[name] = value
        else:
            self._registers[name] = value

    def _element(self, name: str, index: int) -> float:
        return self._arrays[name][index]

    def _cell(self, name: str, key: Hashable) -> float:
        variable = self._variables[name]
        stored = self._fields.get(key, {}) if variable.is_field else self._registers
        return stored[name] if name in stored else variable.value(self._parameters)

    def _value(self, e: ir.Expression, names: dict[str, float], features: Features, key: Hashable) -> float:
        match e:
            case ir.Number(value):
                return value
            case ir.Parameter(name):
                return self._parameters[name]
            case ir.Local(name):
                return names[name]
            case ir.Read(feature):
                return float(features[feature])
            case ir.Query(history, query):
                return float(features[f"{history}.{query}"])
            case ir.Statistic():
                return self._statistic(e, key)
            case ir.Occurrences(statistic, value):
                return self._statistic(statistic, key, self._value(value, names, features, key))
            case ir.Cell(name):
                return self._cell(name, key)
            case ir.Element(name, index):
                wrapped = total.wrap(self._value(index, names, features, key), self._variables[name].length or 0)
                return self._element(name, wrapped)
            case ir.Draw():
                number, self._generator = total.draw(self._generator)
                return number
            case ir.Choose(test, then, otherwise):
                return self._value(then if self._value(test, names, features, key) != 0.0 else otherwise,
                                   names, features, key)  # fmt: skip
        operands = [self._value(part, names, features, key) for part in ir.children(e)]
        match e:
            case ir.Compare(operators):
                pairs = zip(operators, operands, operands[1:], strict=False)
                return 1.0 if all(total.COMPARE[op](a, b) for op, a, b in pairs) else 0.0
            case ir.Call(function):
                helper = self._functions[function]
                return self._run(helper, dict(zip(helper.arguments, operands, strict=True)), features, key)
            case ir.Operate("and" | "or" as operation):
                result = operands[0]
                for operand in operands[1:]:
                    result = total.both(result, operand) if operation == "and" else total.either(result, operand)
                return result
            case ir.Operate(operation):
                return grammar.OPERATIONS[operation].evaluate(*operands)
        raise AssertionError(e)

    def _statistic(self, statistic: ir.Statistic, key: Hashable, value: float = 0.0) -> float:
        numbers = grammar.STATISTICS[statistic.kind].arguments
        arguments = [int(x) if kind.whole else x for x, kind in zip(statistic.arguments, numbers, strict=True)]
        if statistic.scope == "population":
            return self._populations[statistic.feature].percentile(*arguments)
        streams = self._entities.get(key, self._never) if statistic.scope == "entity" else self._of_system
        looked_for = [value] if grammar.STATISTICS[statistic.kind].looks_for else []
        answer: float = getattr(streams[statistic.feature], statistic.kind)(*looked_for, *arguments)
        return answer
