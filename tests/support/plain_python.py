"""The source of a policy run by CPython as it stands, on objects that keep every observation in a list.

Statistics are computed from those lists by the definitions in `docs/anvil.md`, without the code that the reference
interpreter computes them with. Where plain Python has no result that the language could share (it raises, overflows,
gives a complex number or an integer beyond 2**53), `Parted` is raised.
"""

from __future__ import annotations

import ast
import math
import struct
from collections.abc import Hashable, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from vulcan.anvil import log_buckets
from vulcan.task import Entity, Feature, Global, History, Scalar, Task

_SEE, _POWER = "$see", "$power"
"""Names that no source can spell."""


class Parted(Exception):
    """Plain Python computes something here that is outside ordinary arithmetic."""


class Plain:
    """A policy with the observations it was told of, driven as `Policy.reference()` is."""

    def __init__(self, source: str, task: Task) -> None:
        self.task = task
        self.declared = dict(task.interface.features())
        self.occasions = task.interface.occasions
        self.of_system: dict[str, list[float]] = {name: [] for name in self.declared}
        self.of_entity: dict[Hashable, dict[str, list[float]]] = {}
        module: dict[str, Any] = {_SEE: _see, _POWER: _power, "math": math}
        watched = ast.fix_missing_locations(_Watched().visit(ast.parse(source)))
        with suppress(Parted):  # a parameter is beyond 2**53
            exec(compile(watched, "<policy>", "exec"), module)
        self.functions = {declared.function: module.get(declared.function, _parted) for declared in task.functions}

    def observe(self, key: Hashable, values: Mapping[str, float]) -> None:
        own = self.of_entity.setdefault(key, {name: [] for name in self.declared})
        for name in self.declared:
            own[name].append(values[name])
            if name not in self.occasions:
                self.of_system[name].append(values[name])

    def occur(self, occasion: str, values: Mapping[str, float]) -> None:
        for name in self.declared:
            if self.occasions.get(name) == occasion:
                self.of_system[name].append(values[name])

    def leave(self, key: Hashable) -> None:
        del self.of_entity[key]

    def ask(self, function: str, values: Mapping[str, float], key: Hashable) -> float:
        """Return the number of a function. Raises Parted."""
        signature = self.task.function(function)
        arguments = [self._shown(argument, values, key) for argument in signature.arguments]
        try:
            result = float(self.functions[function](*arguments))
        except (ArithmeticError, ValueError) as error:
            raise Parted from error
        if not math.isfinite(result):
            raise Parted
        return result

    def _shown(self, argument: Scalar | Entity | Global | History, values: Mapping[str, float], key: Hashable) -> Any:
        match argument:
            case Scalar(feature):
                return _Number(values[argument.name], feature, self.of_system[argument.name])
            case Entity(name=name, features=features):
                own = self.of_entity.get(key, {})
                read = {
                    f.name: _Number(values[f"{name}.{f.name}"], f, own.get(f"{name}.{f.name}", [])) for f in features
                }
                return SimpleNamespace(**read)
            case Global(name=name, features=features):
                read = {
                    f.name: _Number(values[f"{name}.{f.name}"], f, self.of_system[f"{name}.{f.name}"]) for f in features
                }
                entity = self.task.interface.entity
                if entity is not None and entity.population == name:
                    for f in entity.features:
                        spelled = f"{entity.name}.{f.name}"
                        live = [lists[spelled][-1] for lists in self.of_entity.values()]
                        read[f.name] = _Number(math.nan, f, self.of_system[spelled], live)
                return SimpleNamespace(**read)
            case History(name=name):
                answers = {query: values[f"{name}.{query}"] for query in ("contains", "count", "age")}
                return SimpleNamespace(**{query: lambda _, answer=answer: answer for query, answer in answers.items()})


class _Number(float):
    """The value of a feature, which answers about its observations."""

    def __new__(cls, value: float, *_: object) -> _Number:
        return super().__new__(cls, value)

    def __init__(self, _value: float, feature: Feature, seen: list[float], live: list[float] | None = None) -> None:
        self.feature, self.seen, self.live = feature, seen, live

    def latest(self) -> float:
        return self.seen[-1] if self.seen else self.feature.unknown

    def avg(self) -> float:
        mean = self.feature.unknown
        for count, value in enumerate(self.seen, 1):
            mean = value if count == 1 else mean + (value - mean) / count
        return mean

    def min(self) -> float:
        return min(self.seen, default=self.feature.unknown)

    def max(self) -> float:
        return max(self.seen, default=self.feature.unknown)

    def ewma(self, alpha: float) -> float:
        average = self.feature.unknown
        for count, value in enumerate(self.seen, 1):
            average = value if count == 1 else average + alpha * (value - average)
        return average

    def recent(self, back: float) -> float:
        return self.seen[-int(back)] if len(self.seen) >= back else self.feature.unknown

    def window_avg(self, window: float) -> float:
        n, total = int(window), 0.0
        for index, value in enumerate(self.seen):
            total = total - (self.seen[index - n] if index >= n else 0.0) + value
            if (index + 1) % n == 0:
                total = 0.0
                for each in self.seen[index + 1 - n : index + 1]:
                    total += each
        return total / min(n, len(self.seen)) if self.seen else self.feature.unknown

    def window_percentile(self, share: float, window: float) -> float:
        last = sorted(self.seen[-int(window) :])
        return _ranked(last, share) if last else self.feature.unknown

    def count(self, value: float, window: float) -> int:
        return self.seen[-int(window) :].count(float(value))

    def contains(self, value: float, window: float) -> bool:
        return float(value) in self.seen[-int(window) :]

    def percentile(self, share: float) -> float:
        resolution = self.feature.resolution
        live = sorted(log_buckets.bucket_of(value, resolution) for value in self.live or ())
        return _value_of(int(_ranked(live, share)), resolution) if live else self.feature.unknown


def _value_of(bucket: int, resolution: int) -> float:
    """Return the value in the bucket that is nearest to zero."""
    bits = (abs(bucket) + log_buckets.first_bucket(resolution)) << (52 - resolution)
    (magnitude,) = struct.unpack("<d", struct.pack("<q", bits))
    return math.copysign(magnitude, bucket) if bucket else 0.0


def _ranked(values: list[Any], share: float) -> Any:
    """Return the nearest-rank percentile of sorted values."""
    return values[max(1, math.ceil(share * len(values))) - 1]


def _parted(*_: object) -> float:
    raise Parted


class _Watched(ast.NodeTransformer):
    """Passes every result on to `_see`, and powers to `_power`, which would not end on huge integers."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
            return ast.Assign([node.target], self._seen(value), lineno=0)
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Call | ast.Constant | ast.IfExp | ast.BoolOp):
            return self._seen(node)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node

    @staticmethod
    def _seen(node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return ast.Call(ast.Name(_POWER, ast.Load()), [node.left, node.right], [])
        return ast.Call(ast.Name(_SEE, ast.Load()), [node], [])


def _see(value: Any) -> Any:
    if isinstance(value, complex) or not abs(value) < math.inf or (isinstance(value, int) and abs(value) > 2**53):
        raise Parted
    return value


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and (abs(a) > 2**53 or b * abs(a).bit_length() > 64):
        raise Parted
    return _see(a**b)
