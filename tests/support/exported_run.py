"""Drives an exported policy through events as the reference is driven."""

from __future__ import annotations

from random import Random
from types import ModuleType, SimpleNamespace

from anvil_toy import HEAD
from anvil_values import value_of
from exported import load, provenance

from vulcan.anvil import Policy
from vulcan.anvil.grammar import grammar
from vulcan.export.python.module import python_module
from vulcan.export.python.state import has_state
from vulcan.export.python.statistic_names import state_argument
from vulcan.export.template import Template
from vulcan.task import Entity, Global, History, Scalar, Signature

Values = dict[str, float]


class Exported:
    """An exported policy with its statistics and state, driven as `Policy.reference()` is.

    Without an entity the key is None.
    """

    def __init__(self, policy: Policy, module: ModuleType, seed: int = 0) -> None:
        self.task = policy.task
        self.signature = policy.task.whole_interface if has_state(policy.program) else policy.task.interface
        self.functions = {declared.function: getattr(module, declared.function) for declared in policy.task.functions}
        self.counts = hasattr(module, "_Statistics")
        self.state_name = state_argument(policy.task.interface)
        self.groups = {
            a.name: SimpleNamespace() for a in self.signature.arguments if isinstance(a, Global)
        } | {self.state_name: getattr(module, "_Statistics", SimpleNamespace)()}  # fmt: skip
        self.entity_class = type("Item", (getattr(module, "_Entity", object),), {})
        self.live: dict[float | None, object] = {}
        self.fields: dict[float | None, tuple[float, ...]] = {}
        if has_state(policy.program):
            self.groups[self.state_name].seed(seed)

    def known(self, key: float | None) -> object:
        """The entity of the key; one that is not live has the fields that it left with, if any are remembered."""
        if key in self.live:
            return self.live[key]
        entity = self.entity_class()
        if key in self.fields:
            entity.resume(self.fields[key])  # type: ignore[attr-defined]
        return entity

    def handle(self, event: str, key: float | None, values: Values) -> dict[str, float]:
        """Tell the policy of an event; gives what it may have set."""
        declared = self.task.event(event)
        entity = self.known(key)
        arguments = self.shown(entity, key, values, declared)
        told = [arguments[a.name] for a in declared.arguments if a.name != self.state_name]
        getattr(self.groups[self.state_name], event)(*told)
        if declared.entity is not None:
            self.fields[key] = entity.fields()  # type: ignore[attr-defined]
        controls = list(declared.settable)
        owners = {name: self.groups[name.partition(".")[0]] for name in controls}
        return {name: getattr(owner, name.partition(".")[2], 0.0) for name, owner in owners.items()}

    def observe(self, key: float | None, values: Values) -> None:
        entered = key not in self.live
        entity = self.live.setdefault(key, self.known(key))
        arguments = self.shown(entity, key, values)
        if not self.counts:
            return
        state = self.groups[self.state_name]
        told = [arguments[a.name] for a in self.signature.arguments
                if not isinstance(a, History) and a.name != self.state_name]  # fmt: skip
        if self.signature.entity is None:
            state.observe(*told)
        else:
            (state.enter if entered else state.update)(*told)

    def occur(self, occasion: str, values: Values) -> None:
        """The occasion has come."""
        shown = self.shown(self.entity_class(), None, values)
        if self.counts:
            occasions = self.signature.occasions
            observed = dict.fromkeys(name.partition(".")[0] for name, o in occasions.items() if o == occasion)
            state = self.groups[self.state_name]
            getattr(state, f"observe_{occasion}")(*(shown[name] for name in observed if name != self.state_name))

    def leave(self, key: float) -> None:
        entity = self.live.pop(key)
        if self.counts:
            self.groups[self.state_name].leave(entity)

    def score(self, name: str, key: float | None, values: Values) -> float:
        """Return the result of the function of that name."""
        arguments = self.shown(self.known(key), key, values)
        function = self.functions[name]
        taken = function.__code__.co_varnames[: function.__code__.co_argcount]
        return function(*(arguments.get(argument, self.groups[self.state_name]) for argument in taken))

    def shown(
        self, entity: object, key: float | None, values: Values, signature: Signature | None = None
    ) -> dict[str, object]:
        """Return the function's arguments by name, with these values."""
        made: dict[str, object] = {}
        for argument in (signature or self.signature).arguments:
            match argument:
                case Scalar():
                    made[argument.name] = values[argument.name]
                case Entity(features=features) | Global(features=features):
                    owner = entity if isinstance(argument, Entity) else self.groups[argument.name]
                    for feature in features:
                        setattr(owner, feature.name, values[f"{argument.name}.{feature.name}"])
                    made[argument.name] = owner
                case History():
                    made[argument.name] = _answers(argument.name, key, values)
        return made


def _answers(history: str, key: float | None, values: Values) -> SimpleNamespace:
    def answer(query: str):
        def ask(asked: float) -> float:
            assert asked == key
            return values[f"{history}.{query}"]

        return ask

    return SimpleNamespace(**{query: answer(query) for query in ("contains", "count", "age")})


def module_of(policy: Policy) -> tuple[str, ModuleType]:
    """Return the text of the exported functions without what a task's template adds, and the module."""
    text = python_module(policy, provenance(), Template())
    return text, load(text)


def few_values(signature: Signature, random: Random) -> Values:
    """Values of which each feature has only four, so that they repeat; both zeros among them."""
    made = {}
    for name, feature in signature.features():
        own = Random(name)
        some = [value_of(feature, own), value_of(feature, own), feature.high]
        some.append(random.choice((0.0, -0.0)) if feature.low <= 0.0 <= feature.high else feature.low)
        made[name] = random.choice(some)
    for argument in signature.arguments:
        if isinstance(argument, History):
            made |= {f"{argument.name}.{query}": 0.0 for query in ("contains", "count", "age")}
    return made


def every_statistic(feature: str, at: float = 0.1) -> str:
    """A policy of each statistic of each scope of a feature; arguments are the least, at 1 the most, or between."""
    terms = []
    for kind in grammar.STATISTICS.values():
        for scope in kind.scopes:
            given = [f"item.{feature}"] if kind.looks_for else []
            for each in kind.arguments:
                value = each.low + at * (min(each.most(scope), 512) - each.low)
                given.append(str(round(value)) if each.whole else f"{value:.3g}")
            owner = "item" if scope == "entity" else "world"
            terms.append(f"    total = total * 0.75 + {owner}.{feature}.{kind.name}({', '.join(given)})\n")
    return f"{HEAD}    total = 0\n{''.join(terms)}    return total\n"
