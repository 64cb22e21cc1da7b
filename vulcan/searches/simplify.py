"""Simplification of policies: delta debugging of the syntax tree, by cuts that do not lower the score.

A cut deletes one part of a program, or replaces it by a part of itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from vulcan.anvil import Policy, Rejected, check, ir
from vulcan.anvil.rewrite.dead_code import without_writes
from vulcan.anvil.rewrite.optimize import ONE, ZERO, cleaned
from vulcan.anvil.rewrite.traversal import names_of, numbered, places, program_size, replaced, with_inside
from vulcan.anvil.unparse import emit_source
from vulcan.generator.program_state import stem_of, with_names, with_other_name
from vulcan.searches.tuning import Evaluate, Scores
from vulcan.task import Task

Cut = tuple[ir.Statement | ir.Expression | ir.Function, ir.Expression | str]
"""The part cut, and its replacement: the same cut of a changed program is equal to it."""

_Statements = tuple[ir.Statement, ...]
_REDUCIBLE = ("min", "max", "and", "or")


def cuts(program: ir.Module) -> Iterator[tuple[Cut, ir.Module]]:
    """Generate every program that one cut makes, not all of them valid, nor smaller before cleaning.

    A statement is dropped, or a branch replaces its `if`; an expression becomes one of its operands, loses one of many
    (`min`, `max`, `and`, `or`), or becomes 0 or 1 if it is a condition, an alternative, an argument, one side of a
    comparison or all of a statement. A handler is dropped, or state is replaced by what it starts with.
    """
    yield from _of_state(program)
    for index, function in enumerate(program.functions):
        for cut, body in _of_block(function.body):
            functions = list(program.functions)
            functions[index] = replace(function, body=body)
            yield cut, replace(program, functions=tuple(functions))


def _of_state(program: ir.Module) -> Iterator[tuple[Cut, ir.Module]]:
    for handler in program.handlers:
        functions = tuple(f for f in program.functions if f is not handler)
        yield (handler, "dropped"), replace(program, functions=functions, handled=program.handled - 1)
    for variable in program.variables:
        handlers = tuple(replace(f, body=without_writes(f.body, {variable.name})) for f in program.handlers)
        functions = (*program.helpers, *handlers, *program.entries)
        yield (ir.Cell(variable.name), "initial"), replace(program, functions=functions)


def _of_block(body: _Statements) -> Iterator[tuple[Cut, _Statements]]:
    for index, statement in enumerate(body):
        before, behind = body[:index], body[index + 1 :]
        if not isinstance(statement, ir.Return):
            yield (statement, "dropped"), (*before, *behind)
        if isinstance(statement, ir.If):
            yield (statement, "then"), (*before, *statement.then, *behind)
            yield (statement, "otherwise"), (*before, *statement.otherwise, *behind)
        for cut, made in _of_statement(statement):
            yield cut, (*before, made, *behind)


def _of_statement(statement: ir.Statement) -> Iterator[tuple[Cut, ir.Statement]]:
    expressions, blocks = ir.inside(statement)
    for n in reversed(range(len(expressions))):  # of a write, the value before the index
        for cut, new in _of_expression(expressions[n], is_value=not isinstance(statement, ir.If)):
            yield cut, with_inside(statement, (*expressions[:n], new, *expressions[n + 1 :]), blocks)
    for n, block in enumerate(blocks):
        for cut, body in _of_block(block):
            yield cut, with_inside(statement, expressions, (*blocks[:n], body, *blocks[n + 1 :]))


def _of_expression(e: ir.Expression, is_value: bool = True) -> Iterator[tuple[Cut, ir.Expression]]:
    """Generate the cuts of an expression in a statement: the value that it assigns or returns, or its test."""
    if is_value:
        yield from (((e, new), new) for new in (ZERO, ONE))
    for path, part in places(e):
        for new in (*_parts(part), *_shorter(part)):
            yield (part, new), replaced(e, path, new)
        for index in _replaceable(part):
            old = ir.children(part)[index]
            yield from (((old, new), replaced(e, (*path, index), new)) for new in (ZERO, ONE))


def _parts(e: ir.Expression) -> tuple[ir.Expression, ...]:
    match e:
        case ir.Operate() | ir.Call():
            return ir.children(e)
        case ir.Choose(_, then, otherwise):
            return (then, otherwise)
        case ir.Compare():
            return (ZERO, ONE)
        case _:
            return ()


def _shorter(e: ir.Expression) -> Iterator[ir.Expression]:
    match e:
        case ir.Operate(operation, operands) if operation in _REDUCIBLE and len(operands) > 2:
            for index in range(len(operands)):
                yield replace(e, operands=(*operands[:index], *operands[index + 1 :]))
        case ir.Compare(operators, operands) if len(operators) > 1:
            yield replace(e, operators=operators[1:], operands=operands[1:])
            yield replace(e, operators=operators[:-1], operands=operands[:-1])
        case _:
            pass


def _replaceable(e: ir.Expression) -> Iterator[int]:
    """Yield the children that may become 0 or 1: those with parts of their own, unless another cut does the same."""
    for index, part in enumerate(ir.children(e)):
        match e:
            case ir.Choose() if index > 0 and ir.children(part):
                yield index
            case ir.Call() | ir.Compare() | ir.Operate("min" | "max") if ir.children(part):
                yield index


_BATCH = 8


@dataclass(frozen=True, slots=True)
class _Smaller:
    """A valid program smaller than the current one, and the cut that made it; None if it is only cleaned."""

    cut: Cut | None
    policy: Policy
    size: int


def simplify(
    source: str,
    task: Task,
    score: float,
    evaluate: Evaluate,
    *,
    evaluations: int,
    tolerance: float,
    screen: Evaluate | None = None,
) -> tuple[str, ...]:
    """Return policies that score at least `score - tolerance`, each smaller than the one before, the smallest last.

    Greedy, in batches of eight cuts, those known to be harmless first and then by size of the result: the smallest
    program that keeps the score is taken, and cut again, until nothing helps or `evaluations` sources were evaluated. A
    cut that cost too much once is not tried again. `score` is that of the source by the same `evaluate`. `screen` is a
    cheaper proxy of it, for whole batches: of what keeps the score by it, the smallest are evaluated one by one, up to
    the first that keeps it indeed, and `evaluations` are those of the screen. Comments are
    lost, and so are the docstrings of the module and of functions that were cut, which may describe what is gone;
    constants are numbered anew where some of one stem are gone. The result is a pure function of the arguments. Raises
    Rejected if the source is not a policy of the task.
    """
    policy = check(source, task)
    search = _Search(task, evaluate, score - tolerance, evaluations, screen)
    path: list[str] = []
    original = policy.program
    while (found := search.step(policy)) is not None:
        policy = found.policy
        path.append(search.written(_renumbered(policy.program, original)))
    return tuple(path)


def _renumbered(program: ir.Module, original: ir.Module) -> ir.Module:
    """Number constants of one stem anew where the original has more of them, so that none is `LEVEL_3` of one."""
    names = [name for name, _ in program.parameters]
    gone = {stem_of(name) for name, _ in original.parameters if name not in names}
    fixed = names_of(program).difference(name for name in names if stem_of(name) in gone)
    changed: dict[str, str] = {}
    for name in names:
        if stem_of(name) in gone:
            changed[name] = numbered(stem_of(name), {*fixed, *changed.values()})
    return replace(
        program,
        parameters=tuple((changed.get(name, name), value) for name, value in program.parameters),
        functions=tuple(with_names(function, changed) for function in program.functions),
        variables=tuple(with_other_name(variable, changed) for variable in program.variables),
    )


def _undocumented(program: ir.Module, before: ir.Module) -> ir.Module:
    """Return a program that was cut without the docstrings that may describe what is gone."""
    functions = tuple(f if f in before.functions else replace(f, documentation="") for f in program.functions)
    return replace(program, documentation="", functions=functions)


def _named(candidate: _Smaller) -> tuple[str, str]:
    return candidate.policy.fingerprint, candidate.policy.source


class _Search:
    def __init__(
        self, task: Task, evaluate: Evaluate, min_score: float, evaluations: int, screen: Evaluate | None
    ) -> None:
        self.task = task
        self.min_score = min_score
        self.scores = Scores(screen or evaluate, evaluations)
        self.confirm = evaluate if screen else None
        self.harmless: set[Cut] = set()
        self.harmful: set[Cut] = set()

    def step(self, policy: Policy) -> _Smaller | None:
        """Return the smallest acceptable candidate of the first batch that has any."""
        candidates = self.candidates(policy)
        while batch := self.scores.measured(islice(candidates, _BATCH), _named):
            found: list[tuple[_Smaller, float]] = []
            for candidate in batch:
                score = self.scores[candidate.policy.fingerprint]
                is_kept = score is not None and score >= self.min_score
                self._note(candidate, is_kept)
                if score is not None and is_kept:
                    found.append((candidate, score))
            for candidate, score in sorted(found, key=lambda pair: (pair[0].size, -pair[1])):
                exact = score if self.confirm is None else self.confirm([candidate.policy.source])[0]
                if exact is not None and exact >= self.min_score:
                    return candidate
                self.scores[candidate.policy.fingerprint] = None
                self._note(candidate, is_kept=False)
        return None

    def _note(self, candidate: _Smaller, is_kept: bool) -> None:
        """Remember whether the candidate's cut does harm."""
        if candidate.cut is not None:
            (self.harmless if is_kept else self.harmful).add(candidate.cut)

    def candidates(self, policy: Policy) -> Iterator[_Smaller]:
        """Generate the valid programs made smaller by a cut not known to be harmful, without duplicates.

        They are in the order of their sizes before cleaning: to check and clean all that can be made of a large
        program takes minutes, and few are ever measured.
        """
        size = program_size(policy.program)
        seen: set[str] = set()
        made: list[tuple[Cut | None, ir.Module]] = [(None, policy.program)]
        made += [
            (cut, _undocumented(program, policy.program))
            for cut, program in cuts(policy.program)
            if cut not in self.harmful
        ]
        for cut, program in sorted(made, key=self.order):
            try:
                valid = check(self.written(program), self.task)  # only a valid program can be cleaned
                source = self.written(cleaned(valid.program))
                smaller = valid if source == valid.source else check(source, self.task)
            except Rejected:
                continue
            own = program_size(smaller.program)
            if own < size and smaller.fingerprint not in seen:
                seen.add(smaller.fingerprint)
                yield _Smaller(cut, smaller, own)

    def order(self, made: tuple[Cut | None, ir.Module]) -> tuple[bool, int]:
        cut, program = made
        return cut is not None and cut not in self.harmless, program_size(program)

    def written(self, program: ir.Module) -> str:
        return emit_source(program, self.task.whole_interface)
