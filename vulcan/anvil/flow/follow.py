"""Follows every way through a program at once, with bounds for each value: an abstract interpretation.

It is sound: a value lies within its bounds, a statement that it does not visit is never reached, and what a value does
not depend on cannot change it. Conditions narrow what is known behind them (`if b > 0: a / b`), those of `and`, `or`
and `a if b else c` included: their parts are all evaluated, but what an earlier part excludes cannot show.
"""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil import program as p
from vulcan.anvil.flow.intervals import Interval
from vulcan.anvil.flow.known import UNKNOWN, Known, Source, State, join
from vulcan.anvil.flow.shared import Findings, Shared
from vulcan.anvil.flow.values import Values
from vulcan.task import Signature

_MOST_TURNS = 16
_TURNS_BEFORE_WIDENING = 3


def follow(
    program: p.Program, signature: Signature, any_parameters: bool = False, keep_values: bool = False
) -> Findings:
    """The findings of a program for everything that the signature declares: for its parameters as they are, or for
    whatever they may be set to. Where `keep_values`, with the bounds of every expression."""
    shared = Shared(program, signature, any_parameters)
    shared.findings.values = {} if keep_values else None

    def walk(function: p.Function, names: dict[str, Known]) -> Known:
        walked = _Function(shared)
        walked.block(function.body, State(names))
        return walked.result or UNKNOWN  # which only a call that never happens does not return from

    shared.walk = walk
    for entry in program.entries:
        shared.findings.results[entry.name] = walk(entry, {})
    shared.findings.result = shared.findings.results[program.entry.name]
    return shared.findings


@dataclass
class _Loop:
    """A loop under way: the states that leave its body early, and what decides whether they do."""

    control: frozenset[Source] = frozenset()
    breaks: State | None = None
    continues: State | None = None


class _Function(Values):
    """A walk through one function; a state of None is a place that is not reached."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.result: Known | None = None
        self.control: frozenset[Source] = frozenset()
        self.loops: list[_Loop] = []

    def block(self, body: tuple[p.Statement, ...], state: State | None) -> State | None:
        for statement in body:
            if state is None:
                return None
            self.findings.reached.add(id(statement))
            state = self.statement(statement, state)
        return state

    def statement(self, statement: p.Statement, state: State) -> State | None:
        match statement:
            case p.Assign(name, value):
                known = self.value(value, state)
                state = state.copy()
                state.assign(name, Known(known.bounds, known.nonzero, known.depends | self.control), value)
                return state
            case p.Return(value):
                known = self.value(value, state)
                known = Known(known.bounds, known.nonzero, known.depends | self.control)
                self.result = known if self.result is None else self.result | known
                return None
            case p.If():
                return self.branch(statement, state)
            case p.Loop():
                return self.loop(statement, state) if statement.trips else state
            case p.Break():
                loop = self.loops[-1]
                loop.breaks, loop.control = join(loop.breaks, state), loop.control | self.control
                return None
            case p.Continue():
                loop = self.loops[-1]
                loop.continues, loop.control = join(loop.continues, state), loop.control | self.control
                return None

    def branch(self, statement: p.If, state: State) -> State | None:
        then, otherwise, depends = self.fork(statement.test, state, statement.at)
        before = self.control
        self.control = before | depends
        after = join(self.block(statement.then, then), self.block(statement.otherwise, otherwise))
        self.control = before
        return after

    def loop(self, statement: p.Loop, state: State) -> State | None:
        values = range(statement.start, statement.stop, statement.step)
        bounds = Interval(float(min(values[0], values[-1])), float(max(values[0], values[-1])), True)
        loop, before = _Loop(), self.control
        self.loops.append(loop)
        unrolled = statement.trips if statement.trips <= _MOST_TURNS and self.shared.narrows else 0
        head, turn = state, 0
        while True:
            turn += 1
            self.control = before | loop.control
            loop.breaks = loop.continues = None
            start, control = head.copy(), loop.control
            start.assign(statement.name, Known(bounds, depends=self.control))
            back = join(self.block(statement.body, start), loop.continues)
            if back is None or (turn >= unrolled > 0 and control == loop.control):
                break
            joined = head | back
            if joined == head and control == loop.control:
                break
            head = joined if turn < max(unrolled, _TURNS_BEFORE_WIDENING) else joined.widened(head)
        self.loops.pop()
        self.control = before
        after = join(back, loop.breaks)
        for name in p.assigned_names((statement,)) if after is not None else ():
            if after is not None and name in after.names:
                known = after.names[name]
                after.names[name] = Known(known.bounds, known.nonzero, known.depends | loop.control)
        return after
