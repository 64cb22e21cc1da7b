"""New state with the handlers that update it: averages, targets, weights by regret, fields of entities and sketches.

Each recipe adds its variables and handlers to the draft, and returns how a decision reads them; None if the events of
the task do not allow it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vulcan.anvil import ir
from vulcan.generator.draft import PolicyDraft
from vulcan.generator.expression_tree import operate
from vulcan.generator.program_state import free_name
from vulcan.generator.terms import ONE, UnitExpression, condition, quantity
from vulcan.generator.units import UNITLESS
from vulcan.generator.vocabulary import Atom, EventVocabulary
from vulcan.task import Signature

ZERO = ir.Number(0.0)
MAX_WEIGHT = 50.0
_LENGTHS = (8, 12)
"""Binary logarithms of the shortest and the longest sketch."""
_CLASSES = 64


@dataclass(frozen=True, slots=True)
class Reading:
    """The way a decision reads new state; `varies` if it differs between the entities of a decision.

    `test` is a condition for which the state was learnt.
    """

    term: UnitExpression
    varies: bool
    test: ir.Expression | None = None


Recipe = Callable[[PolicyDraft], Reading | None]


def share_of_events(draft: PolicyDraft) -> Reading | None:
    """Keep the recent share of one event among two."""
    pair = _two_events(draft)
    if pair is None:
        return None
    share, rate = _register(draft, "share", ZERO), _rate(draft)
    for event, value in zip(pair, (ONE, ZERO), strict=True):
        _on(draft, event, _moved(share, value, rate))
    return Reading(UnitExpression(share, UNITLESS, 0.0, 1.0, False), varies=False)


def average_at_event(draft: PolicyDraft) -> Reading | None:
    """Keep a moving average of a quantity at an event."""
    event = _event(draft)
    term = quantity(_inside(draft, event)) if event is not None else None
    if event is None or term is None:
        return None
    average = _register(draft, "average", ZERO)
    _on(draft, event, _moved(average, term.expression, _rate(draft)))
    return Reading(UnitExpression(average, term.unit, term.low, term.high, False), varies=False)


def moved_target(draft: PolicyDraft) -> Reading | None:
    """Keep a target that one event raises and another lowers, by steps or by factors."""
    pair = _two_events(draft)
    if pair is None:
        return None
    if draft.chance(0.6):
        target = _register(draft, "target", draft.parameter("START", draft.rng.uniform(0.0, 1.0)))
        up, down = (draft.parameter("STEP", 10.0 ** draft.rng.uniform(-3.5, -0.7)) for _ in range(2))
        _on(draft, pair[0], ir.Write(target.name, operate("min", operate("add", target, up), ONE)))
        _on(draft, pair[1], ir.Write(target.name, operate("max", operate("subtract", target, down), ZERO)))
        return Reading(UnitExpression(target, UNITLESS, 0.0, 1.0, False), varies=False)
    term = quantity(draft)
    low, high = (max(term.low, 1.0), min(term.high, 2.0**40)) if term is not None else (0.01, 100.0)
    if high <= low:
        return None
    target = _register(draft, "target", draft.parameter("START", draft.within(low, high)))
    step = draft.parameter("STEP", math.exp(10.0 ** draft.rng.uniform(-3.0, -0.5)))
    raised, lowered = operate("multiply", target, step), operate("divide", target, step)
    _on(draft, pair[0], ir.Write(target.name, operate("min", raised, ir.Number(high))))
    _on(draft, pair[1], ir.Write(target.name, operate("max", lowered, ir.Number(low))))
    return Reading(UnitExpression(target, term.unit if term is not None else UNITLESS, low, high, False), varies=False)


def weight_by_regret(draft: PolicyDraft) -> Reading | None:
    """Mark entities by a condition at one event, and move a weight by the mark at another."""
    pair = _two_events(draft, of_entity=True)
    if pair is None:
        return None
    marking, judging = pair
    test = condition(_inside(draft, marking))
    mark, weight = _field(draft, "mark"), _register(draft, "weight", draft.parameter("START", 1.0))
    if mark is None:
        return None
    step = draft.parameter("STEP", math.exp(10.0 ** draft.rng.uniform(-3.0, -0.5)))
    _on(draft, marking, ir.Write(mark.name, test))
    moved = operate("multiply", weight, ir.Choose(mark, step, operate("divide", ONE, step)))
    limited = operate("min", operate("max", moved, ir.Number(1.0 / MAX_WEIGHT)), ir.Number(MAX_WEIGHT))
    _on(draft, judging, ir.Write(weight.name, limited))
    term = UnitExpression(weight, UNITLESS, 1.0 / MAX_WEIGHT, MAX_WEIGHT, False)
    return Reading(term, varies=False, test=test if _is_visible(draft, test) else None)


def gap(draft: PolicyDraft) -> Reading | None:
    """Keep the time between two events of an entity, by a clock or by a count of the events."""
    event = _event(draft, of_entity=True)
    if event is None:
        return None
    stamp, last = _field(draft, "stamp"), _field(draft, "gap")
    if stamp is None or last is None:
        return None
    clock = _clock(draft, event)
    passed: ir.Expression = operate("subtract", clock, stamp)
    value = (
        passed if draft.chance(0.5) else _towards(last, passed, draft.parameter("RATE", draft.rng.uniform(0.05, 0.8)))
    )
    known = ir.Compare((">",), (stamp, ZERO))
    _on(draft, event, ir.If(known, (ir.Write(last.name, value),), ()), ir.Write(stamp.name, clock))
    unit = draft.unit(clock) or UNITLESS
    since = ir.Operate("subtract", (clock, stamp))
    if _is_visible(draft, clock) and draft.chance(0.3):
        return Reading(UnitExpression(since, unit, 0.0, 2.0**40, False), varies=True)
    return Reading(UnitExpression(last, unit, 0.0, 2.0**40, False), varies=True)


def count_of_events(draft: PolicyDraft) -> Reading | None:
    """Keep how often an event happened to an entity, with or without forgetting."""
    event = _event(draft, of_entity=True)
    count = _field(draft, "count_kept") if event is not None else None
    if event is None or count is None:
        return None
    old: ir.Expression = count
    if draft.chance(0.4):
        old = operate("multiply", count, draft.parameter("DECAY", draft.rng.uniform(0.3, 0.99)))
    _on(draft, event, ir.Write(count.name, operate("add", old, ONE)))
    other = _event(draft, of_entity=True)
    if other is not None and other.name != event.name and draft.chance(0.4):
        less = operate("multiply", count, draft.parameter("SHARE", draft.rng.uniform(0.0, 0.9)))
        _on(draft, other, ir.Write(count.name, less))
    return Reading(UnitExpression(count, UNITLESS, 0.0, 2.0**40, True), varies=True)


def previous_value(draft: PolicyDraft) -> Reading | None:
    """Keep a quantity of the entity as it was at an event."""
    event = _event(draft, of_entity=True)
    term = quantity(_inside(draft, event)) if event is not None else None
    kept = _field(draft, "before") if term is not None else None
    if event is None or term is None or kept is None:
        return None
    value = term.expression
    if draft.chance(0.4):
        value = _towards(kept, value, draft.parameter("RATE", draft.rng.uniform(0.05, 0.8)))
    _on(draft, event, ir.Write(kept.name, value))
    return Reading(UnitExpression(kept, term.unit, min(term.low, 0.0), term.high, False), varies=True)


def tag(draft: PolicyDraft) -> Reading | None:
    """Mark an entity at an event, always, by a condition or at random; another event takes the mark off."""
    pair = _two_events(draft, of_entity=True)
    mark = _field(draft, "tag") if pair is not None else None
    if pair is None or mark is None:
        return None
    form = draft.pick(((2.0, "always"), (2.0, "condition"), (1.0, "random")))
    if form == "always":
        _on(draft, pair[0], ir.Write(mark.name, ONE))
    elif form == "condition":
        _on(draft, pair[0], ir.Write(mark.name, condition(_inside(draft, pair[0]))))
    else:
        drawn = free_name("drawn", {*draft.parameters, *draft.reserved_names, *draft.state.names})
        chance = draft.parameter("CHANCE", draft.rng.uniform(0.01, 0.5))
        luck = ir.Compare(("<",), (ir.Local(drawn), chance))
        _on(draft, pair[0], ir.Assign(drawn, ir.Draw()), ir.Write(mark.name, luck))
    if form == "always" or draft.chance(0.3):
        _on(draft, pair[1], ir.Write(mark.name, ZERO))
    return Reading(UnitExpression(mark, UNITLESS, 0.0, 1.0, True), varies=True)


def sketch(draft: PolicyDraft) -> Reading | None:
    """Count events by the entity's key in an array, one element of which ages at each event."""
    event = _event(draft, of_entity=True)
    if event is None or event.key is None or not _is_visible(draft, ir.Read(event.key)):
        return None
    used = sum(variable.length or 0 for variable in draft.state.variables)
    most = min(_LENGTHS[1], (draft.words.task.state_limits.elements - used).bit_length() - 1)
    if most < _LENGTHS[0]:
        return None
    name = _free(draft, f"{ir.STATE}.sketch")
    draft.state = draft.state.with_variable(ir.Variable(name, ZERO, 2 ** draft.rng.randint(_LENGTHS[0], most)))
    hand = _register(draft, "hand", ZERO)
    rows = [operate("hash", ir.Read(event.key), ir.Number(float(k))) for k in range(draft.rng.choice((1, 2)))]
    for row in rows:
        _on(draft, event, ir.Write(name, operate("add", ir.Element(name, row), ONE), row))
    aged = operate("multiply", ir.Element(name, hand), draft.parameter("DECAY", draft.rng.uniform(0.3, 0.9)))
    _on(draft, event, ir.Write(name, aged, hand), ir.Write(hand.name, operate("add", hand, ONE)))
    elements = [ir.Element(name, row) for row in rows]
    read: ir.Expression = elements[0] if len(elements) == 1 else operate("min", *elements)
    return Reading(UnitExpression(read, UNITLESS, 0.0, 2.0**40, False), varies=True)


def learnt_by_class(draft: PolicyDraft) -> Reading | None:
    """Learn, by classes of a quantity, the share of one event among two."""
    pair = _two_events(draft)
    used = sum(variable.length or 0 for variable in draft.state.variables)
    if pair is None or used + _CLASSES > draft.words.task.state_limits.elements:
        return None
    term = next((t for _ in range(4) if (t := quantity(draft)) is not None and _is_shown(t.expression, pair)), None)
    if term is None or term.high <= 2.0:
        return None
    size = operate("log2", operate("max", term.expression, ONE))
    index = operate("multiply", size, draft.parameter("CLASSES", draft.rng.choice((0.5, 1.0, 2.0))))
    name = _free(draft, f"{ir.STATE}.worth")
    initial = draft.parameter("START", draft.rng.uniform(0.0, 1.0))
    draft.state = draft.state.with_variable(ir.Variable(name, initial, _CLASSES))
    worth, rate = ir.Element(name, index), _rate(draft)
    for event, value in zip(pair, (ONE, ZERO), strict=True):
        _on(draft, event, ir.Write(name, _towards(worth, value, rate), index))
    return Reading(UnitExpression(worth, UNITLESS, 0.0, 1.0, False), varies=True)


RECIPES: tuple[tuple[float, Recipe], ...] = (
    (1.0, share_of_events),
    (1.0, average_at_event),
    (1.5, moved_target),
    (1.5, weight_by_regret),
    (2.0, gap),
    (2.0, count_of_events),
    (1.0, previous_value),
    (1.0, tag),
    (1.5, sketch),
    (2.0, learnt_by_class),
)


# Events, and what their handlers see


def _event(draft: PolicyDraft, of_entity: bool = False) -> EventVocabulary | None:
    known = [e for e in draft.words.events if not of_entity or _shows_entity(draft, e)]
    return draft.rng.choice(known) if known else None


def _two_events(draft: PolicyDraft, of_entity: bool = False) -> tuple[EventVocabulary, EventVocabulary] | None:
    known = [e for e in draft.words.events if not of_entity or _shows_entity(draft, e)]
    if len(known) < 2:
        return None
    one, other = draft.rng.sample(known, 2)
    return one, other


def _shows_entity(draft: PolicyDraft, event: EventVocabulary) -> bool:
    """Check whether both the handler and the decision are shown the entity, and so its fields."""
    entity = draft.words.task.signature.entity
    return entity is not None and entity.name in event.arguments


def _inside(draft: PolicyDraft, event: EventVocabulary) -> PolicyDraft:
    """Return a draft of an expression in the event's handler, with the same parameters."""
    return PolicyDraft(draft.rng, event.words, draft.parameters, draft.reserved_names)


def is_readable(e: ir.Expression, event: EventVocabulary) -> bool:
    """Check whether a handler is shown all that the expression reads."""
    return _is_within(e, event.event)


def _is_within(e: ir.Expression, signature: Signature) -> bool:
    """Check whether the function is shown all that the expression reads."""
    features = {name for name, _ in signature.features()}
    arguments = {argument.name for argument in signature.arguments}
    entity = signature.entity
    for part in ir.expressions((ir.Return(e),)):
        match part:
            case ir.Read(name) | ir.Statistic(feature=name) if name not in features:
                return False
            case ir.Statistic(scope="population" | "system", feature=name) if (
                entity is not None and name.startswith(f"{entity.name}.") and entity.population not in arguments
            ):
                return False
            case ir.Query(history, _) if history not in arguments:
                return False
            case ir.Cell(name) if not name.startswith(f"{ir.STATE}.") and entity is None:
                return False
            case _:
                pass
    return True


def _is_shown(e: ir.Expression, events: Sequence[EventVocabulary]) -> bool:
    return all(is_readable(e, event) for event in events)


def _is_visible(draft: PolicyDraft, e: ir.Expression) -> bool:
    """Check whether the decision is shown all that an event's expression reads."""
    return _is_within(e, draft.words.task.signature)


def _clock(draft: PolicyDraft, event: EventVocabulary) -> ir.Expression:
    """Return a clock that the handler is shown, or a new register that counts its events."""
    clocks: list[Atom] = event.words.of("clock")
    if clocks and draft.chance(0.7):
        return draft.rng.choice(clocks).expression
    clock = _register(draft, "clock", ZERO)
    _on(draft, event, ir.Write(clock.name, operate("add", clock, ONE)))
    return clock


# Variables and statements


def _on(draft: PolicyDraft, event: EventVocabulary, *statements: ir.Statement) -> None:
    draft.state = draft.state.with_statements(event.name, event.arguments, *statements)


def _register(draft: PolicyDraft, stem: str, initial: ir.Number | ir.Parameter) -> ir.Cell:
    name = _free(draft, f"{ir.STATE}.{stem}")
    draft.state = draft.state.with_variable(ir.Variable(name, initial))
    return ir.Cell(name)


def _field(draft: PolicyDraft, stem: str) -> ir.Cell | None:
    entity = draft.words.task.signature.entity
    if entity is None:
        return None
    name = _free(draft, f"{entity.name}.{stem}")
    draft.state = draft.state.with_variable(ir.Variable(name, ZERO))
    return ir.Cell(name)


def _free(draft: PolicyDraft, name: str) -> str:
    features = {feature for feature, _ in draft.words.task.whole_interface.features()}
    return free_name(name, {variable.name for variable in draft.state.variables} | features)


def _rate(draft: PolicyDraft) -> ir.Parameter:
    return draft.parameter("RATE", 10.0 ** draft.rng.uniform(-3.5, -0.5))


def _towards(old: ir.Expression, value: ir.Expression, rate: ir.Expression) -> ir.Expression:
    return operate("add", old, operate("multiply", rate, operate("subtract", value, old)))


def _moved(cell: ir.Cell, value: ir.Expression, rate: ir.Expression) -> ir.Write:
    return ir.Write(cell.name, _towards(cell, value, rate))
