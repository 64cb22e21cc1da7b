"""Generate-and-verify breeding: one new valid policy from parents, behaving differently from each of them.

A `Focus` is the expression of a program that is being changed, and rebuilds the program around it. `arrange` turns an
expression into a readable function body: repeated parts become locals, outer choices become branches. Guards (clamps,
caps, exceptions) make programs satisfy the properties that a task requires: without them, nine of ten for a queue or a
congestion window would be rejected.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vulcan.anvil import Policy, Rejected, check, ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.proofs.claims import RESULT, conditions
from vulcan.anvil.proofs.verify import is_certain
from vulcan.anvil.rewrite.dead_code import cells_of
from vulcan.anvil.rewrite.traversal import expression_size, from_below, in_block, names_of, numbered, with_children
from vulcan.anvil.unparse import emit_source
from vulcan.generator.behaviour import Behaviour, Probe
from vulcan.generator.draft import PolicyDraft, docstring_of
from vulcan.generator.expression_tree import is_constant, is_larger, operate, subexpressions
from vulcan.generator.normal_form import flatten, has_idle_part, tidy
from vulcan.generator.operators import CROSSOVERS, MUTATIONS
from vulcan.generator.program_state import NO_STATE, NotMerged, ProgramState
from vulcan.generator.random_programs import fresh, simplest
from vulcan.generator.state_operators import STATE_MUTATIONS, add_state
from vulcan.generator.vocabulary import Vocabulary
from vulcan.task import Property, Signature, Task, Value

Guard = Callable[[ir.Expression], ir.Expression]


def guards(task: Task) -> list[tuple[Property, Guard]]:
    """Return each required property of the task's only function with a guard, where one is known."""
    found: list[tuple[Property, Guard]] = []
    for declared in task.properties:
        if declared.required and declared.kind == "bounded":
            if declared.low is not None:
                found.append((replace(declared, high=None), _at_least(declared.low)))
            if declared.high is not None:
                found.append((replace(declared, low=None), _at_most(ir.Number(declared.high))))
        elif declared.required and declared.kind == "holds":
            guard = _of_claim(task, declared)
            if guard is not None:
                found.append((declared, guard))
    return found


def broken(policy: Policy, known: list[tuple[Property, Guard]]) -> list[Guard]:
    """Return the guards of the properties that the policy is not certain to satisfy."""
    return [guard for declared, guard in known if not is_certain(policy, declared)]


def _at_least(low: float) -> Guard:
    return lambda e: operate("max", ir.Number(low), e)


def _at_most(high: ir.Expression) -> Guard:
    return lambda e: operate("min", e, high)


def _of_claim(task: Task, declared: Property) -> Guard | None:
    """Return a guard for a claim; None for a RANK, or if the claim cannot be flattened.

    For `result <= X` it takes the smaller of both; any other claim gives the lowest result where it fails.
    """
    signature = task.signature
    when, claim = (None if each is None else flatten(each.program) for each in conditions(task, declared))
    if claim is None or not isinstance(signature, Value):
        return None
    match claim:
        case ir.Compare(("<=",), (ir.Read(name), most)) if name == RESULT:
            return _at_most(most if when is None else ir.Choose(when, most, ir.Number(signature.high)))
    least = ir.Number(signature.low)
    if when is not None:
        claim = ir.Choose(when, claim, ir.Number(1.0))
    return lambda e: ir.Choose(_with_result(claim, e), e, least)


def _with_result(claim: ir.Expression, result: ir.Expression) -> ir.Expression:
    return from_below(claim, lambda e: result if e == ir.Read(RESULT) else e)


_MIN_NAMED = 3


def arrange(e: ir.Expression, parameters: dict[str, float], signature: Signature, documentation: str) -> ir.Module:
    """Build the program that returns the expression, without the parameters it does not use."""
    taken = {*parameters, *grammar.BUILT_IN_NAMES, signature.function, *(a.name for a in signature.arguments)}
    body: list[ir.Statement] = []
    while (part := _most_repeated(e)) is not None:
        name = numbered(_name(part), taken)
        taken.add(name)
        body.append(ir.Assign(name, part))
        e = _put(e, part, ir.Local(name))
    body.extend(_returned(e))
    entry = ir.Function(signature.function, tuple(a.name for a in signature.arguments), tuple(body))
    return ir.Module(tuple(parameters.items()), (entry,), documentation).without_unused_parameters()


def _returned(e: ir.Expression) -> tuple[ir.Statement, ...]:
    if isinstance(e, ir.Choose):
        return (ir.If(e.test, _returned(e.then), ()), *_returned(e.otherwise))
    return (ir.Return(e),)


def _most_repeated(e: ir.Expression) -> ir.Expression | None:
    """Return the smallest repeated part worth a local, for larger ones to use; the first on a tie."""
    counts = Counter(part for _, part in subexpressions(e))
    found = [
        part for part, n in counts.items() if n > 1 and expression_size(part) >= _MIN_NAMED and not is_constant(part)
    ]
    return min(found, key=expression_size, default=None)


def _put(e: ir.Expression, old: ir.Expression, new: ir.Expression) -> ir.Expression:
    if e == old:
        return new
    return with_children(e, tuple(_put(part, old, new) for part in ir.children(e)))


def _name(e: ir.Expression) -> str:
    match e:
        case ir.Operate("subtract", (ir.Read(_), ir.Read(feature) | ir.Statistic(feature=feature))):
            return f"since_{_short(feature)}"
        case ir.Operate("divide", (ir.Read(over), ir.Read(under))):
            return f"{_short(over)}_per_{_short(under)}"
        case ir.Operate("add", (inner, ir.Number(1.0))) if not isinstance(inner, ir.Local):
            return _name(inner)
        case ir.Operate("log" | "log1p", (ir.Read(feature),)):
            return f"log_{_short(feature)}"
        case ir.Compare() | ir.Operate("and" | "or" | "not"):
            return "holds"
        case _:
            return "part"


def _short(feature: str) -> str:
    return feature.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Focus:
    """The expression being changed: a whole program if `program` is None, else number `index` in its entry."""

    expression: ir.Expression
    program: ir.Module | None = None
    index: int = 0

    def rebuilt(
        self, e: ir.Expression, parameters: dict[str, float], signature: Signature, documentation: str
    ) -> ir.Module:
        """Return the program with this expression replaced and the rest as it was written."""
        if self.program is None:
            return arrange(e, parameters, signature, documentation)
        entry = self.program.entry
        places = itertools.count()
        body = in_block(entry.body, lambda old: e if next(places) == self.index else old)
        functions = (*self.program.functions[:-1], replace(entry, body=body))
        return replace(
            self.program, parameters=tuple(parameters.items()), functions=functions, documentation=documentation
        )


def parts_of(program: ir.Module) -> list[Focus]:
    """Return a focus for each expression in the statements of the entry."""
    return [Focus(e, program, index) for index, e in enumerate(ir.held(program.entry.body))]


_TRIES = 40
_MAX = 60
"""Maximum nodes of a new expression, unless its parent is larger."""

_FRESH_RANK = 0.03
_FRESH_VALUE = 0.25
_FRESH_AT_FIRST = 0.4
_FRESH_HALVES = 20
"""The share of new programs: a floor, plus an excess that halves every 20 proposals.

It starts high because the first parents may be poor. The floor is higher for a VALUE: its scale counts, so a wrong form
rarely becomes the right one in steps that each improve it.
"""

_FRESH_STATE = 0.6
"""The share of new programs with state, in a search that writes any."""

_STEERED = frozenset({"fresh", "mutate", "crossover"})

_CROSSOVER = 0.22
_FROM_BEST = 0.6


@dataclass(frozen=True, slots=True)
class Genome:
    """A parent: its policy, its expression and behaviour if it has them, and its state; `label` is for descriptions."""

    policy: Policy
    expression: ir.Expression | None
    behaviour: Behaviour | None
    label: str = "a parent"
    state: ProgramState = NO_STATE

    @property
    def parameters(self) -> dict[str, float]:
        return self.policy.parameters


@dataclass(frozen=True, slots=True)
class BredPolicy:
    description: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A new expression, its focus and origin; `excused` counts the unit clashes that its parent already has."""

    focus: Focus
    expression: ir.Expression
    draft: PolicyDraft
    excused: int
    description: str


class Breeder:
    """A generator of policies for one task."""

    def __init__(self, words: Vocabulary) -> None:
        self._words = words
        self._probe = Probe(words)
        self._guards = guards(words.task)
        self._mutations = [(weight, (name, mutation)) for weight, name, mutation in MUTATIONS]
        if words.events:
            self._mutations += [(weight, (name, mutation)) for weight, name, mutation in STATE_MUTATIONS]

    def genome(self, source: str) -> Genome:
        """Parse a policy's source into a genome. Raises Rejected."""
        policy = check(source, self._words.task)
        e = flatten(policy.program)
        state = ProgramState.of(policy.program)
        return Genome(policy, e, None if e is None else self._probe.behaviour(e, policy.parameters), state=state)

    def write(self, rng: random.Random, parents: Sequence[Genome], proposal: int, operator: str = "") -> BredPolicy:
        """Write a valid policy unlike each of the parents, if there are any.

        `operator` is "fresh" (a new program), "mutate" (change the only parent) or "crossover" (combine the first two).
        For any other value the generator chooses, by `proposal`, the index of the proposal in the search from 0, and
        `parents` is sorted best first.
        """
        if not parents:
            operator = "fresh"
        elif operator not in _STEERED or (operator == "mutate" and len(parents) > 1):
            operator = self._chosen(rng, proposal)
        prints = {g.policy.fingerprint for g in parents}
        for tried in range(_TRIES):
            if operator == "crossover" and tried == _TRIES // 2:
                operator = "mutate"  # no crossover of the two worked
            attempt = self._attempt(rng, [] if operator == "fresh" else parents, operator)
            if attempt is None or not self._is_accepted(attempt, parents):
                continue
            written = self._checked(attempt)
            if written is not None and written.policy.fingerprint not in prints:
                return written
        draft = PolicyDraft(rng, self._words)
        written = self._checked(_new(draft, fresh(draft))) or self._checked(_new(draft, simplest(draft)))
        if written is None:
            raise AssertionError("reading a declared feature is a valid policy")
        return written

    def _chosen(self, rng: random.Random, proposal: int) -> str:
        """Choose "fresh" with a probability that decays over the search, else leave the choice open."""
        floor = _FRESH_RANK if self._words.ranks else _FRESH_VALUE
        share = floor + _FRESH_AT_FIRST * 0.5 ** (proposal / _FRESH_HALVES)
        return "fresh" if rng.random() < share else ""

    def _attempt(self, rng: random.Random, parents: Sequence[Genome], operator: str) -> _Attempt | None:
        if not parents:
            draft = PolicyDraft(rng, self._words)
            e = fresh(draft)
            if self._words.events and draft.chance(_FRESH_STATE):
                e = add_state(draft, e) or e
            return _new(draft, tidy(draft, e))
        if operator == "crossover" and len(parents) > 1 and parents[1].expression is not None:
            return self._crossed(rng, parents[0], parents[1])
        if operator:
            return self._mutated(rng, parents[0])
        best_first = [0, *sorted(range(1, len(parents)), key=lambda _: rng.random())]
        if len(parents) > 1 and rng.random() > _FROM_BEST:
            best_first[0], best_first[1] = best_first[1], best_first[0]
        one, *others = (parents[index] for index in best_first)
        if others and rng.random() < _CROSSOVER:
            return self._crossed(rng, one, others[0])
        return self._mutated(rng, one)

    def _crossed(self, rng: random.Random, one: Genome, other: Genome) -> _Attempt | None:
        if other.expression is None:
            return None
        focus, draft = self._begin(rng, one)
        excused = draft.clashes(focus.expression)
        _, done, crossover = draft.pick([(weight, (weight, name, f)) for weight, name, f in CROSSOVERS])
        draft.donor = other.state
        try:
            made = crossover(draft, focus.expression, other.expression, other.parameters)
        except NotMerged:
            return None
        if made is None:
            return None
        said = f"crossed {one.label} (the first) with {other.label} (the second): {done}"
        if draft.chance(0.2):
            also, mutation = draft.pick(self._mutations)
            changed = mutation(draft, made)
            if changed is not None:
                made, said = changed, f"{said}; then {also}"
        return _Attempt(focus, tidy(draft, made), draft, excused, said)

    def _mutated(self, rng: random.Random, one: Genome) -> _Attempt | None:
        focus, draft = self._begin(rng, one)
        excused = draft.clashes(focus.expression)
        made, done = focus.expression, []
        for _ in range(draft.pick(((6.0, 1), (2.5, 2), (0.5, 3)))):
            name, mutation = draft.pick(self._mutations)
            changed = mutation(draft, made)
            if changed is not None:
                made = changed
                done.append(name)
        if not done:
            return None
        return _Attempt(focus, tidy(draft, made), draft, excused, f"changed {one.label}: {', then '.join(done)}")

    def _begin(self, rng: random.Random, genome: Genome) -> tuple[Focus, PolicyDraft]:
        state = genome.state
        if genome.expression is not None:
            return Focus(genome.expression), PolicyDraft(rng, self._words, genome.parameters, state.names, state)
        focus = rng.choice(parts_of(genome.policy.program))
        return focus, PolicyDraft(rng, self._words, genome.parameters, names_of(genome.policy.program), state)

    def _is_accepted(self, attempt: _Attempt, parents: Sequence[Genome]) -> bool:
        """Check that it is small enough, mixes no more units than its parent, and behaves differently."""
        e, draft = attempt.expression, attempt.draft
        sizes = [expression_size(g.expression) for g in parents if g.expression is not None]
        if attempt.focus.program is None and is_larger(e, max([_MAX, *sizes])):
            return False
        if draft.clashes(e) > attempt.excused or has_idle_part(e):
            return False
        if attempt.focus.program is not None:
            return not is_larger(e, max(_MAX, expression_size(attempt.focus.expression)))
        behaviour = self._probe.behaviour(e, draft.parameters)
        if self._probe.is_flat(behaviour):
            return False
        written = _state_of(e, draft)
        return not any(behaviour == g.behaviour and written == _state_of(g.expression, g) for g in parents)

    def _checked(self, attempt: _Attempt) -> BredPolicy | None:
        """Return the policy, guarded where it may break a required property; None if it is invalid."""
        written = self._written(attempt)
        if written is None or attempt.focus.program is not None:
            return written
        needed = broken(written.policy, self._guards)
        if not needed:
            return written
        e = functools.reduce(lambda guarded, guard: guard(guarded), needed, attempt.expression)
        return self._written(replace(attempt, expression=e))

    def _written(self, attempt: _Attempt) -> BredPolicy | None:
        task = self._words.task
        said = f"The offline generator (offline/evolve, not a language model) {attempt.description}."
        draft = attempt.draft
        program = attempt.focus.rebuilt(attempt.expression, draft.parameters, task.signature, docstring_of(said))
        if self._words.events:
            program = draft.state.put_into(program, draft.parameters, [event.function for event in task.events])
        try:
            return BredPolicy(said, check(emit_source(program, task.whole_interface), task))
        except Rejected:
            return None


def _state_of(e: ir.Expression | None, holder: PolicyDraft | Genome) -> tuple[ProgramState, list[float | None]]:
    """Return the state that an expression depends on, with the values of its parameters."""
    state = holder.state.sliced(cells_of((ir.Return(e),))) if e is not None else holder.state
    return state, [holder.parameters.get(name) for name in sorted(state.parameters)]


def _new(draft: PolicyDraft, e: ir.Expression) -> _Attempt:
    return _Attempt(Focus(e), e, draft, 0, "wrote a new program from the task's features")
