"""Mutations and crossovers of expressions. Each returns a new expression, or None where it does not apply.

In a crossover the first expression's parameters are those of the draft; the second's are imported into it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vulcan.anvil import ir
from vulcan.anvil.rewrite.traversal import Path, replaced
from vulcan.generator.draft import PolicyDraft, rounded
from vulcan.generator.expression_tree import at, is_constant, is_larger, operate, subexpressions
from vulcan.generator.random_programs import alternative
from vulcan.generator.statistic_calls import alpha, changed, changed_occurrence, percentile, stream
from vulcan.generator.terms import condition, factor, multiplied, of_unit, quantity, safe
from vulcan.generator.units import Unit, unit_of
from vulcan.generator.vocabulary import Atom

_WHOLE = 0.75


def split_population(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Scale the whole or a part by a constant for entities above or below a percentile of a feature.

    A percentile needs no knowledge of the feature's scale, which the declaration does not give.
    """
    if not draft.words.ranked:
        return None
    feature = draft.rng.choice(draft.words.ranked)
    share = rounded(draft.rng.uniform(0.05, 0.95))
    edge = ir.Statistic("percentile", "population", feature, (share,))
    test = ir.Compare((draft.rng.choice(("<", ">")),), (ir.Read(feature), edge))
    parts = [path for path, part in subexpressions(e) if not is_constant(part) and not isinstance(part, ir.Compare)]
    path = () if not parts or draft.chance(_WHOLE) else draft.rng.choice(parts)
    old = at(e, path)
    if isinstance(old, ir.Compare):
        return None
    scaled = operate("multiply", draft.parameter("FACTOR", draft.lognormal(1.0)), old)
    return replaced(e, path, ir.Choose(test, scaled, old))


Mutation = Callable[[PolicyDraft, ir.Expression], ir.Expression | None]


def adjust_constants(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Change one or two constants by log-normal steps, occasionally flipping the sign."""
    found = [(path, c) for path, c in subexpressions(e) if isinstance(c, ir.Parameter) or _is_tunable(e, path, c)]
    if not found:
        return None
    for path, old in draft.rng.sample(found, min(len(found), draft.pick(((3.0, 1), (1.0, 2))))):
        step = draft.lognormal(draft.rng.choice((0.15, 0.5, 1.2))) * (-1.0 if draft.chance(0.06) else 1.0)
        if isinstance(old, ir.Parameter):
            value = draft.parameters[old.name]
            draft.parameters[old.name] = rounded(value * step if value else draft.rng.gauss(0.0, 1.0))
        elif isinstance(old, ir.Number):
            stem = "EXPONENT" if _role(e, path) == "power" else "CONSTANT"
            e = replaced(e, path, draft.parameter(stem, (old.value or 1.0) * step))
    return e


def free_exponent(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Raise a factor of a product to a free power, which replaces a root or logarithm around it."""
    found = [path for path, part in subexpressions(e) if path and _role(e, path) in ("multiply", "divide")]
    found = [path for path in found if not is_constant(at(e, path)) and _operation(at(e, path)) != "power"]
    if not found:
        return None
    path = draft.rng.choice(found)
    part = at(e, path)
    if isinstance(part, ir.Operate) and part.operation in ("sqrt", "log1p", "log"):
        part = part.operands[0]
    return replaced(e, path, operate("power", part, draft.parameter("EXPONENT", draft.lognormal(0.5))))


def replace_part(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Replace a part, or the whole of a VALUE, by a new one of the same unit."""
    path: Path | None = () if not draft.words.ranks and draft.chance(0.4) else _any_part(draft, e)
    if path is None:
        return None
    old = at(e, path)
    if isinstance(old, ir.Compare):
        return replaced(e, path, condition(draft))
    unit = draft.unit(old)
    new = of_unit(draft, unit) if unit is not None else None
    return replaced(e, path, new) if new is not None else None


def insert_factor(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Insert a factor: mostly a power of a quantity for a whole RANK, else a unitless number."""
    if draft.words.ranks and draft.chance(0.7):
        term = quantity(draft)
        if term is not None and draft.unit(e) is not None and not _is_additive(e):
            return multiplied(draft, e, term)
        if term is not None and draft.unit(e) == () and _is_additive(e):
            weight = draft.parameter("WEIGHT", draft.lognormal(0.7))
            part = operate("multiply", weight, operate("log", safe(draft, term)))
            downward = term.direction < 0 or (term.direction == 0 and draft.chance(0.5))
            return operate("subtract" if downward else "add", e, part)
    path: Path | None = () if draft.chance(0.5) else _any_part(draft, e)
    if path is None:
        return None
    return replaced(e, path, operate("multiply", at(e, path), factor(draft)))


def insert_term(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Add a weighted term of the same unit to a part, or subtract it."""
    path: Path | None = () if draft.chance(0.3) else _any_part(draft, e)
    unit = draft.unit(at(e, path)) if path is not None else None
    if path is None or unit is None:
        return None
    old = at(e, path)
    history = [a.expression for a in draft.words.of("history") if a.unit == unit]
    term: ir.Expression | None = draft.rng.choice(history) if history and draft.chance(0.35) else of_unit(draft, unit)
    if term is None:
        return None
    weighted = operate("multiply", draft.parameter("WEIGHT", draft.lognormal(1.3)), term)
    return replaced(e, path, operate("add" if draft.chance(0.7) else "subtract", old, weighted))


def delete_part(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Delete a term, a factor, a function or a branch."""
    found = [
        path for path, part in subexpressions(e) if isinstance(part, ir.Operate | ir.Choose) and not is_constant(part)
    ]
    if not found:
        return None
    path = draft.rng.choice(found)
    old = at(e, path)
    kept = [part for part in ir.children(old)[1 if isinstance(old, ir.Choose) else 0 :] if not is_constant(part)]
    return replaced(e, path, draft.rng.choice(kept)) if kept else None


def wrap(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Put a part under a root, a logarithm or a power."""
    path = _any_part(draft, e)
    if path is None or isinstance(at(e, path), ir.Compare):
        return None
    old = at(e, path)
    form = draft.pick(((1.0, "sqrt"), (1.0, "log1p"), (1.5, "power")))
    if form == "power":
        return replaced(e, path, operate("power", old, draft.parameter("EXPONENT", draft.lognormal(0.6))))
    return replaced(e, path, operate(form, old))


def insert_branch(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Give the whole or a part another result where a condition holds."""
    path: Path | None = () if draft.chance(0.7) else _any_part(draft, e)
    if path is None or isinstance(at(e, path), ir.Compare):
        return None
    old = at(e, path)
    return replaced(e, path, ir.Choose(condition(draft), alternative(draft, old), old))


def swap_feature(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Replace a feature by another of its unit."""
    found = [(path, leaf) for path, leaf in subexpressions(e) if isinstance(leaf, ir.Read | ir.Statistic | ir.Query)]
    if not found:
        return None
    path, leaf = draft.rng.choice(found)
    old = draft.words.atom(leaf)
    if old is None:
        return None
    alike = [a for a in draft.words.atoms if a.unit == old.unit and a is not old]
    similar: list[Atom] = [a for a in alike if a.kind == old.kind] or alike
    return replaced(e, path, draft.rng.choice(similar).expression) if similar else None


def change_statistic(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Change a statistic's kind or arguments, or swap a feature and its statistic."""
    words = draft.words
    statistics = [(path, leaf) for path, leaf in subexpressions(e) if isinstance(leaf, ir.Statistic | ir.Occurrences)]
    plain = [
        (path, leaf) for path, leaf in subexpressions(e) if isinstance(leaf, ir.Read) and leaf.feature in words.streamed
    ]
    if statistics and draft.chance(0.6):
        path, old = draft.rng.choice(statistics)
        if isinstance(old, ir.Occurrences):
            return replaced(e, path, changed_occurrence(draft, old))
        return replaced(e, path, ir.Read(old.feature) if draft.chance(0.15) else changed(draft, old))
    if not plain:
        return None
    path, read = draft.rng.choice(plain)
    if read.feature in words.ranked and draft.chance(0.2):
        return replaced(e, path, percentile(draft, read.feature))
    scope = words.streamed[read.feature]
    if draft.chance(0.7):
        return replaced(e, path, ir.Statistic("ewma", scope, read.feature, (alpha(draft),)))
    return replaced(e, path, stream(draft, read.feature, scope))


def add_scale(draft: PolicyDraft, e: ir.Expression) -> ir.Expression | None:
    """Add a feature on the result's own scale to the whole."""
    used = [leaf for _, leaf in subexpressions(e)]
    scale = [a.expression for a in draft.words.of("scale") if a.expression not in used]
    return operate("add", draft.rng.choice(scale), e) if scale else None


MUTATIONS: tuple[tuple[float, str, Mutation], ...] = (
    (3.5, "adjusted constants", adjust_constants),
    (0.8, "freed an exponent", free_exponent),
    (1.5, "replaced a part", replace_part),
    (4.5, "inserted a factor", insert_factor),
    (3.0, "inserted a term", insert_term),
    (0.8, "left out a part", delete_part),
    (1.5, "wrapped a part in a function", wrap),
    (2.0, "inserted a branch", insert_branch),
    (4.0, "treated a part of the population apart", split_population),
    (0.8, "swapped a feature for one of its unit", swap_feature),
    (0.8, "changed a statistic", change_statistic),
    (0.3, "added a feature on the result's scale", add_scale),
)


def _any_part(draft: PolicyDraft, e: ir.Expression) -> Path | None:
    """Return the path of a random part that is not a constant."""
    found = [path for path, part in subexpressions(e) if not is_constant(part)]
    return draft.rng.choice(found) if found else None


def _is_tunable(e: ir.Expression, path: Path, c: ir.Expression) -> bool:
    """Check for a number other than 0 and the 1 of a `+ 1` or a `1 /`."""
    return isinstance(c, ir.Number) and (c.value not in (0.0, 1.0) or _role(e, path) == "power")


def _role(e: ir.Expression, path: Path) -> str:
    """Return the operation that the part at the path is an operand of; empty at the root."""
    return _operation(at(e, path[:-1])) if path else ""


def _operation(e: ir.Expression) -> str:
    return e.operation if isinstance(e, ir.Operate) else ""


def _is_additive(e: ir.Expression) -> bool:
    return _operation(e) in ("add", "subtract", "negate")


Parameters = Mapping[str, float]
Crossover = Callable[[PolicyDraft, ir.Expression, ir.Expression, Parameters], ir.Expression | None]

_MAX_GRAFT = 25


def graft(draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters) -> ir.Expression | None:
    """Replace a part of the first by a part of the second that has the same unit."""
    donors: dict[tuple[str, Unit | None], list[ir.Expression]] = {}
    for path, part in subexpressions(other):
        if path and not is_constant(part) and not is_larger(part, _MAX_GRAFT) and not _is_open(part):
            key = _kind(part), unit_of(part, draft.words.units, parameters)
            donors.setdefault(key, []).append(part)
    pairs: list[tuple[Path, list[ir.Expression]]] = []
    for path, part in subexpressions(one):
        if path and not is_constant(part):
            fitting = [d for d in donors.get((_kind(part), draft.unit(part)), []) if d != part]
            if fitting:
                pairs.append((path, fitting))
    if not pairs:
        return None
    path, fitting = draft.rng.choice(pairs)
    return replaced(one, path, draft.adopt(draft.rng.choice(fitting), parameters))


def insert_graft(
    draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters
) -> ir.Expression | None:
    """Multiply or divide the whole first by a factor or divisor of the second."""
    factors = [
        (parent.operation, part)
        for _, parent in subexpressions(other)
        if isinstance(parent, ir.Operate) and parent.operation in ("multiply", "divide")
        for part in parent.operands[1:]
        if not is_constant(part) and not is_larger(part, _MAX_GRAFT) and not _is_open(part)
    ]
    factors = [
        (operation, part) for operation, part in factors if part not in [leaf for _, leaf in subexpressions(one)]
    ]
    if not factors:
        return None
    operation, part = draft.rng.choice(factors)
    return operate(operation, one, draft.adopt(part, parameters))


def blend_product(
    draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters
) -> ir.Expression | None:
    """Multiply the first by a power of the second."""
    if _is_open(other):
        return None
    exponent = draft.parameter("EXPONENT", draft.lognormal(0.5))
    return operate("multiply", one, operate("power", draft.adopt(other, parameters), exponent))


def blend_sum(
    draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters
) -> ir.Expression | None:
    """Add the second, weighted, to the first, where the units agree."""
    if _is_open(other) or draft.unit(one) != unit_of(other, draft.words.units, parameters):
        return None
    weight = draft.parameter("WEIGHT", draft.lognormal(1.0))
    return operate("add", one, operate("multiply", weight, draft.adopt(other, parameters)))


def blend_choice(
    draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters
) -> ir.Expression | None:
    """Choose between the first and the second by a condition, where the units agree."""
    if _is_open(other) or draft.unit(one) != unit_of(other, draft.words.units, parameters):
        return None
    return ir.Choose(condition(draft), one, draft.adopt(other, parameters))


def average_constants(
    draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters
) -> ir.Expression | None:
    """Move each constant that both share by name to a random point on the line through its two values."""
    shared = [part.name for _, part in subexpressions(one) if isinstance(part, ir.Parameter)]
    differing = [n for n in dict.fromkeys(shared) if n in parameters and parameters[n] != draft.parameters[n]]
    if not differing:
        return None
    for name in differing:
        a, b = draft.parameters[name], parameters[name]
        draft.parameters[name] = rounded(a + draft.rng.uniform(-0.5, 1.5) * (b - a))
    return one


CROSSOVERS: tuple[tuple[float, str, Crossover], ...] = (
    (0.8, "put a part of the second into the first", graft),
    (4.0, "gave the first a factor of the second", insert_graft),
    (0.7, "multiplied the first by a power of the second", blend_product),
    (0.4, "added the second to the first", blend_sum),
    (0.5, "chose between the two by a condition", blend_choice),
    (1.5, "mixed the constants of the two", average_constants),
)


def _kind(e: ir.Expression) -> str:
    return "test" if isinstance(e, ir.Compare) else "number"


def _is_open(e: ir.Expression) -> bool:
    """Check whether the expression refers to locals or helpers of its program."""
    return isinstance(e, ir.Local | ir.Call) or any(_is_open(part) for part in ir.children(e))
