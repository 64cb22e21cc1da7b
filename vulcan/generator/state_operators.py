"""Mutations of a program's state and handlers, which may also change how the decision reads it.

Each returns the decision's expression, or None where it does not apply; the state is the draft's.
"""

from __future__ import annotations

from dataclasses import replace

from vulcan.anvil import ir
from vulcan.anvil.rewrite.dead_code import cells_of
from vulcan.anvil.rewrite.traversal import in_statements
from vulcan.generator.behaviour import is_shared
from vulcan.generator.draft import PolicyDraft, rounded
from vulcan.generator.expression_tree import operate, subexpressions
from vulcan.generator.operators import Mutation, adjust_constants, change_statistic, replace_part, swap_feature, wrap
from vulcan.generator.program_state import NotMerged
from vulcan.generator.random_programs import alternative
from vulcan.generator.state_recipes import MAX_WEIGHT, RECIPES, Reading, is_readable
from vulcan.generator.terms import ONE, UnitExpression, magnitude, multiplied, quantity, safe
from vulcan.generator.units import UNITLESS

_Statements = tuple[ir.Statement, ...]
_TRIES = 4


def add_state(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Add state by one of the recipes, and read it in the decision."""
    before, parameters = draft.state, dict(draft.parameters)
    for _ in range(_TRIES):
        try:
            reading = draft.pick(RECIPES)(draft)
        except NotMerged:
            reading = None
        if reading is not None and not draft.state.exceeds(draft.words.task.state_limits):
            return _read(draft, e, reading)
        draft.state = before
        draft.parameters.clear()
        draft.parameters.update(parameters)
    return None


def read_again(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Read state that the decision reads already in one more way."""
    parts = [part for _, part in subexpressions(e) if isinstance(part, ir.Cell | ir.Element)]
    if not parts:
        return None
    part = draft.rng.choice(parts)
    varies = not is_shared(part.index) if isinstance(part, ir.Element) else draft.state.variable(part.name).is_field
    return _read(draft, e, Reading(UnitExpression(part, UNITLESS, -MAX_WEIGHT, MAX_WEIGHT, False), varies))


def _read(draft: PolicyDraft, e: ir.Expression, reading: Reading) -> ir.Expression:
    """Return the decision with new state in it."""
    term = reading.term
    if reading.test is not None and draft.chance(0.6):
        return ir.Choose(reading.test, operate("multiply", term.expression, e), e)
    if reading.varies:
        form = draft.pick(((4.0, "factor"), (2.0, "branch"), (1.5, "bonus")))
    else:
        form = draft.pick(((2.0, "branch"), (2.0, "exponent"), (2.0, "threshold"), (1.0, "bonus")))
        if not draft.words.ranks and draft.chance(0.5):
            form = "factor"
    if form in ("exponent", "threshold"):
        other = quantity(draft, term.unit if form == "threshold" else None)
        if other is None:
            form = "bonus"
        elif form == "exponent":
            weight = operate("multiply", draft.parameter("WEIGHT", _signed(draft)), term.expression)
            return operate("multiply", e, operate("power", safe(draft, other), weight))
        else:
            test = ir.Compare((draft.rng.choice(("<", ">")),), (other.expression, term.expression))
            return ir.Choose(test, alternative(draft, e), e)
    if form == "branch":
        high = min(term.high, 2.0**24)
        edge = draft.parameter("THRESHOLD", draft.within(max(term.low, 0.0), high))
        return ir.Choose(ir.Compare((draft.rng.choice(("<", ">")),), (term.expression, edge)), alternative(draft, e), e)
    if form == "factor":
        return multiplied(draft, e, term)
    bonus = operate("multiply", draft.parameter("WEIGHT", _signed(draft)), magnitude(draft, safe(draft, term)))
    return operate("multiply", e, operate("add", ONE, bonus))


def _signed(draft: PolicyDraft) -> float:
    return draft.lognormal(1.0) * (-1.0 if draft.chance(0.3) else 1.0)


def adjust_state(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Change one or two parameters of the handlers or of initial values by log-normal steps."""
    names = sorted(draft.state.sliced(cells_of((ir.Return(e),))).parameters)
    if not names:
        return None
    for name in draft.rng.sample(names, min(len(names), draft.pick(((3.0, 1), (1.0, 2))))):
        value = draft.parameters[name]
        step = draft.lognormal(draft.rng.choice((0.15, 0.5, 1.2)))
        draft.parameters[name] = rounded(value * step if value else draft.rng.gauss(0.0, 1.0))
    return e


def change_write(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Change the value that a handler writes."""
    found = [(handler, write) for handler in draft.state.handlers for write in ir.writes(handler.body)]
    if not found:
        return None
    handler, old = draft.rng.choice(found)
    event = next(event for event in draft.words.events if event.name == handler.name)
    inside = PolicyDraft(draft.rng, event.words, draft.parameters, draft.reserved_names, draft.state)
    mutation: Mutation = draft.pick(_OF_WRITES)
    value = mutation(inside, old.value)
    if value is None or value == old.value or not is_readable(value, event):
        return None
    _put(draft, handler, _replaced(handler.body, old, replace(old, value=value)))
    return e


_OF_WRITES: tuple[tuple[float, Mutation], ...] = (
    (2.0, adjust_constants),
    (1.5, replace_part),
    (1.0, swap_feature),
    (1.0, change_statistic),
    (0.7, wrap),
)


def move_write(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Let another event do what an event does, instead or too."""
    found = [(handler, statement) for handler in draft.state.handlers for statement in handler.body]
    found = [(handler, s) for handler, s in found if isinstance(s, ir.Write | ir.If) and not ir.local_names((s,))]
    if not found:
        return None
    handler, statement = draft.rng.choice(found)
    body: _Statements = (statement,)
    written = {name for name in ir.stored_names(body) if not name.startswith(f"{ir.STATE}.")}
    needed = [*(x for x in ir.expressions(body)), *(ir.Cell(name) for name in written)]
    others = [
        event
        for event in draft.words.events
        if event.name != handler.name and all(is_readable(x, event) for x in needed)
    ]
    if not others:
        return None
    event = draft.rng.choice(others)
    if draft.chance(0.6):
        _put(draft, handler, _replaced(handler.body, statement))
    try:
        draft.state = draft.state.with_statements(event.name, event.arguments, statement)
    except NotMerged:
        return None
    return e


def drop_write(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Leave out a write of state that another one writes too."""
    every = [(handler, write) for handler in draft.state.handlers for write in ir.writes(handler.body)]
    names = [write.name for _, write in every]
    found = [(handler, write) for handler, write in every if names.count(write.name) > 1]
    if not found:
        return None
    handler, old = draft.rng.choice(found)
    _put(draft, handler, _replaced(handler.body, old))
    return e


def resize_array(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Double or halve the length of an array."""
    arrays = [v for v in draft.state.variables if v.length is not None]
    if not arrays:
        return None
    old = draft.rng.choice(arrays)
    assert old.length is not None
    new = replace(old, length=old.length * 2 if draft.chance(0.5) else max(1, old.length // 2))
    state = replace(draft.state, variables=tuple(new if v == old else v for v in draft.state.variables))
    if state.exceeds(draft.words.task.state_limits):
        return None
    draft.state = state
    return e


STATE_MUTATIONS: tuple[tuple[float, str, Mutation], ...] = (
    (6.0, "added state", add_state),
    (1.0, "read state once more", read_again),
    (3.0, "adjusted the constants of the state", adjust_state),
    (1.5, "changed what a handler writes", change_write),
    (1.0, "moved a statement to another event", move_write),
    (0.5, "left out a write", drop_write),
    (0.3, "changed the length of an array", resize_array),
)


def _put(draft: PolicyDraft, old: ir.Function, body: _Statements) -> None:
    """Give a handler another body; without statements, it is removed."""
    made = [replace(old, body=body) if handler is old else handler for handler in draft.state.handlers]
    draft.state = replace(draft.state, handlers=tuple(handler for handler in made if handler.body))


def _replaced(body: _Statements, old: ir.Statement, *new: ir.Statement) -> _Statements:
    """Return the statements with one of them, which may be inside another, replaced or left out."""
    return in_statements(body, lambda statement: new if statement is old else (statement,))
