"""State that a policy declares itself, in exported C: registers, arrays, fields of the entity, and random numbers.

Registers and arrays are members of `state->policy`, fields of `entity->fields`, and what a handler may set besides is
in `controls`; the names are the policy's, renamed where C reserves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vulcan.anvil import Policy, ir
from vulcan.anvil.rewrite.dead_code import cells_read
from vulcan.export.c.header import described, function, listed
from vulcan.export.c.naming import CONTROLS, feature_name, member_of, own_names
from vulcan.task import Entity

GENERATOR = "policy_random"
"""The member that holds the state of the generator of random numbers."""


Spelling = Callable[[ir.Variable], str]
"""The value that a variable starts with in C; empty where memory has it already."""


class OwnState:
    """The policy's own state, and the events that it handles.

    `number` is the C type of its numbers, and `word` that of 64 bits.
    """

    def __init__(self, policy: Policy, number: str, word: str, initial: Spelling | None = None) -> None:
        self.task = policy.task
        self.program = policy.program
        self.number = number
        self.word = word
        self.initial = initial or (lambda variable: "")
        self.remark: Spelling = lambda variable: ""
        self.draws = policy.plan.draws
        self.registers = [v for v in self.program.variables if not v.is_field]
        self.fields = [v for v in self.program.variables if v.is_field]
        self.events = {handler.name: self.task.event(handler.name) for handler in self.program.handlers}
        self.members: Mapping[str, str] = {
            **_members(self.registers),
            **_members(self.fields),
        }

    def lvalue(self, name: str) -> str:
        """Return the place of a register, an array, a field or a control."""
        if name not in self.members:
            return f"{CONTROLS}->{member_of(name)}"
        owner = "state->policy" if name.startswith(f"{ir.STATE}.") else "entity->fields"
        return f"{owner}.{self.members[name]}"

    @property
    def generator(self) -> str:
        return f"&state->policy.{GENERATOR}"

    def readers(self) -> frozenset[str]:
        """Return the helpers that read registers or arrays, directly or by what they call."""
        helpers = self.program.helpers
        return frozenset(helper.name for helper in helpers if cells_read(self.program, [helper]))

    def shows_entity(self, event: str) -> bool:
        return any(isinstance(argument, Entity) for argument in self.task.event(event).arguments)

    # Declarations

    def state_members(self) -> list[str]:
        """Return the member `policy` of the state."""
        members = [f"{self.number} {self.sized(v)};{self.remark(v)}" for v in self.registers]
        members += [f"{self.word} {GENERATOR};"] if self.draws else []
        return ["struct {", *(f"    {member}" for member in members), "} policy;"] if members else []

    def field_members(self) -> list[str]:
        return [f"{self.number} {self.members[v.name]};{self.remark(v)}" for v in self.fields]

    def sized(self, variable: ir.Variable) -> str:
        return self.members[variable.name] + (f"[{variable.length}]" if variable.length is not None else "")

    def controls(self) -> str | None:
        """Return the struct of what the handlers may set besides; None if there is nothing."""
        controls = {control.name: control for event in self.events.values() for control in event.controls}
        if not controls:
            return None
        lines = ["/* What handlers of events may set besides: each is as the caller left it unless they do. */"]
        lines.append("struct policy_controls {")
        for control in controls.values():
            members = [(f"{self.number} {feature_name(f.name)};", described(f)) for f in control.features]
            lines += listed(control.name, control.meaning, members)
        return "\n".join((*lines, "};"))

    # Code

    def initialised(self) -> Iterator[str]:
        """Yield the initialisation of registers and arrays."""
        for variable in self.registers:
            yield from self.started(variable)

    def fields_initialised(self) -> Iterator[str]:
        for variable in self.fields:
            yield from self.started(variable)

    def started(self, variable: ir.Variable) -> Iterator[str]:
        value = self.initial(variable)
        if not value:
            return
        if variable.length is None:
            yield f"{self.lvalue(variable.name)} = {value};"
        else:
            yield from self.filled(variable.length, f"{self.lvalue(variable.name)}[i] = {value};")

    def filled(self, length: int, statement: str) -> Iterator[str]:
        yield f"for (int i = 0; i < {length}; i++)"
        yield f"    {statement}"

    def seeded(self, opening: str) -> Iterator[str]:
        """Yield the function that starts the random numbers, if any are drawn."""
        if self.draws:
            yield function(
                f"{opening} policy_seed(struct policy_state *state, {self.word} seed)",
                [f"state->policy.{GENERATOR} = seed;"],
            )

    def handlers(self, opening: str, entity: bool = True) -> dict[str, str]:
        """Return the comment and the first line of each handler; `entity` says whether any of them takes one."""
        made = {}
        for name, event in self.events.items():
            arguments = ["struct policy_state *state", "const struct policy_features *features"]
            if entity and self.shows_entity(name):
                arguments.insert(1, "struct policy_entity *entity")
            if event.controls:
                arguments.append(f"struct policy_controls *{CONTROLS}")
            meaning = event.meaning.replace("*/", "* /").replace("/*", "/ *")
            made[name] = f"/* {meaning} */\n{opening} policy_{name}({', '.join(arguments)})"
        return made


def _members(variables: list[ir.Variable]) -> Mapping[str, str]:
    names = own_names(v.name.partition(".")[2] for v in variables)
    return {v.name: names[v.name.partition(".")[2]] for v in variables}
