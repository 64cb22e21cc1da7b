"""Warnings about rankings: what is equal for all the entities that a mechanism compares decides nothing.

They depend on the task's mechanisms, and are no part of a policy's verdict: `vulcan check` shows
them, a search records none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vulcan.anvil import ir
from vulcan.anvil.analysis.abstract_interpreter import follow
from vulcan.anvil.lint import PolicyWarning
from vulcan.anvil.unparse import emit_source
from vulcan.interface import Entity, Rank, Signature

_LEAVE_OUT = "leave it out, or let it weight what differs"


def ranking_warnings(
    program: ir.Module, declared: Rank, interface: Signature, others: Sequence[str] = ()
) -> tuple[PolicyWarning, ...]:
    """Return the warnings for one function, by the mechanisms that score all entities of a decision at one moment.

    `others` are mechanisms that do not, which hints name.
    """
    simultaneous = [mechanism.name for mechanism in declared.mechanisms if mechanism.simultaneous]
    entity = declared.entity
    if not simultaneous or entity is None:
        return ()
    body = next(f for f in program.entries if f.name == declared.function).body
    under = " and ".join(f"`{name}`" for name in simultaneous)
    instead = f", or use the mechanism {' or '.join(f'`{name}`' for name in others)}" if others else ""
    depends = follow(program, interface, any_parameters=True).results[declared.function].depends
    if not any(_is_of(leaf, entity) for leaf in depends):
        at = next((s.at for s in reversed(body) if isinstance(s, ir.Return)), (1, 1))
        message = f"the result depends on nothing of `{entity.name}`: under {under} it is equal for all compared"
        hint = f"read a feature, a statistic or a history of `{entity.name}`{instead}"
        return (PolicyWarning("equal-for-all", *at, message, hint),)
    equal = f"is added for each `{entity.name}`, and under {under} it is equal for all compared"
    return tuple(
        PolicyWarning(
            "cancels",
            *at,
            f"`{_text(term, interface)}` {equal}, so that it does not change their order",
            _LEAVE_OUT + instead,
        )
        for term, at in _common_terms(body, entity)
    )


def _common_terms(body: tuple[ir.Statement, ...], entity: Entity) -> Iterator[tuple[ir.Expression, ir.Position]]:
    """Yield the terms of the returned sum that read something, but nothing of the entity.

    Only a function with a single return is looked at: elsewhere a term may be common to some entities only.
    """
    *before, last = body
    if not isinstance(last, ir.Return) or ir.may_return(tuple(before)):
        return
    plain = {s.name: s.value for s in before if isinstance(s, ir.Assign)}
    reassigned = [name for s in before for name in ir.assigned_names((s,))]
    known = {name: value for name, value in plain.items() if reassigned.count(name) == 1}
    for term in _terms(last.value, known):
        leaves = tuple(_leaves(term, known))
        reads = [leaf for leaf in leaves if isinstance(leaf, ir.Read | ir.Statistic)]
        if reads and not any(isinstance(leaf, ir.Local) or _is_of(leaf, entity) for leaf in leaves):
            yield term, reads[0].at


def _terms(e: ir.Expression, known: Mapping[str, ir.Expression]) -> Iterator[ir.Expression]:
    match e:
        case ir.Operate("add" | "subtract" | "negate", operands):
            for operand in operands:
                yield from _terms(operand, known)
        case ir.Local(name) if name in known:
            yield from _terms(known[name], known)
        case _:
            yield e


def _leaves(e: ir.Expression, known: Mapping[str, ir.Expression]) -> Iterator[ir.Expression]:
    """Yield what an expression reads; a local name whose value is not known stays one."""
    match e:
        case ir.Local(name) if name in known:
            yield from _leaves(known[name], known)
        case ir.Occurrences(statistic, value):
            yield statistic
            yield from _leaves(value, known)
        case _:
            parts = ir.children(e)
            if not parts:
                yield e
            for part in parts:
                yield from _leaves(part, known)


def _is_of(leaf: ir.Expression, entity: Entity) -> bool:
    """Check whether what is read may differ between entities."""
    match leaf:
        case ir.Read(feature):
            return feature.startswith(f"{entity.name}.")
        case ir.Statistic(scope=scope):
            return scope == "entity"
        case ir.Query():
            return True
        case _:
            return False


def _text(e: ir.Expression, interface: Signature) -> str:
    alone = ir.Module((), (ir.Function("f", (), (ir.Return(e),)),))
    return emit_source(alone, interface).rstrip().rpartition("    return ")[2]
