"""Many policies exported as C in one program, which gcc compiles at once, and what it answers to a script of events.

Each header's names are prefixed with its number (`policy_score` becomes `p7_policy_score`). One line of the script is
one event: the number of the policy, what happens, the key and the values. Each score is a line of the output.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from vulcan.anvil import Policy
from vulcan.anvil.interpreter import Reference
from vulcan.anvil.policy import interface_of
from vulcan.export import Provenance
from vulcan.export.c.double_header import double_header
from vulcan.export.c.fixed import RESULT_SCALE
from vulcan.export.c.fixed_header import fixed_header
from vulcan.export.c.fixed_point import NumberFormats
from vulcan.export.c.naming import flat, member_of
from vulcan.export.c.own_state import OwnState
from vulcan.export.c.statistic_groups import occasions
from vulcan.task import History, Signature

KEYS = 4
SEED = 2**63 + 12345
LIMIT = 2**63 - 1
WARNINGS = ("-Wall", "-Wextra", "-Werror")
COMPILERS = (
    ("gcc", "-std=c99", "-O1", *WARNINGS),
    ("clang", "-std=c99", *WARNINGS),
    ("g++", "-std=c++17", "-x", "c++", *WARNINGS),
    ("clang++", "-std=c++17", "-x", "c++", *WARNINGS),
)
"""How exported headers have to compile; the first of them makes the program that runs."""
FOUND = tuple(compiler for compiler in COMPILERS if shutil.which(compiler[0]))
"""Those that are there."""

UNDEFINED = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
"""What C leaves undefined ends the program."""

_OWN = re.compile(r"\b(policy|POLICY)_")
Values = Mapping[str, float]


class CompileError(Exception):
    """A header that a compiler refuses; the message holds its first lines."""


def provenance(task: str = "toy") -> Provenance:
    return Provenance(task=task, run="policy.py", candidate="", proposer="", date="")


def names_of(signature: Signature) -> list[str]:
    """Return everything that a policy may read, in the order in which a script has its values."""
    queries = [
        f"{a.name}.{q}" for a in signature.arguments if isinstance(a, History) for q in ("contains", "count", "age")
    ]
    return [*(name for name, _ in signature.features()), *queries]


class CProgram(ABC):
    """One policy as C, and the lines of its script."""

    name: str
    number_type: str
    scan: str
    show: str
    observes_entities: bool
    """Whether statistics of the entity are kept, where there is one."""

    def __init__(self, number: int, policy: Policy) -> None:
        self.number = number
        self.policy = policy
        self.script: list[str] = []
        self.expected: list[tuple[str, float, bool]] = []
        """The function of each score that the script asks for, what it should be, and whether it has to be."""
        interface = self.interface = interface_of(policy.task, policy.program)
        main = policy.task.signature.function
        self.functions = {f.function: "" if f.function == main else f"_{f.function}" for f in policy.task.functions}
        self.own_state = self.state()
        self.has_fields = bool(self.own_state.fields)
        self.observes = self.observes_entities and interface.entity is not None
        self.has_entity = self.observes or self.has_fields
        self.handlers = {h.name: policy.task.event(h.name) for h in policy.program.handlers}
        self.events = ["observe", "enter", "leave", "release", *occasions(interface), *self.handlers]
        self.names = names_of(interface)
        self.header = self.text()

    @abstractmethod
    def state(self) -> OwnState:
        """Return the policy's own state."""

    @abstractmethod
    def text(self) -> str:
        """Return the exported header."""

    @abstractmethod
    def setting(self, index: int, name: str) -> str:
        """Return the statement that puts a value where the policy reads it."""

    @abstractmethod
    def shown(self, name: str, value: float) -> str:
        """Return a value as the script has it."""

    def tell(self, event: str, key: float | None, values: Values | None = None) -> None:
        self._line(self.events.index(event), key, values)

    def ask(self, function: str, key: float | None, values: Values, expected: float, exact: bool = True) -> None:
        self._line(len(self.events) + list(self.functions).index(function), key, values)
        self.expected.append((function, expected, exact))

    def control(self, name: str, expected: float, exact: bool = True) -> None:
        """Expect a value of a control, in their order, after the event whose handler may have set it."""
        self.expected.append((name, expected, exact))

    def dump(self, key: float | None, reference: Reference) -> None:
        """Ask for the whole state, which should be the reference's."""
        self._line(len(self.events) + len(self.functions), key, None)
        for variable in self.policy.program.variables:
            if variable.is_field and key is None:
                continue
            for index in range(variable.length or 1):
                expected = reference._element(variable.name, index) if variable.length else None
                value = reference._cell(variable.name, key) if expected is None else expected
                self.expected.append((f"{variable.name}[{index}]", value, True))

    def _line(self, event: int, key: float | None, values: Values | None) -> None:
        shown = " ".join(self.shown(name, values[name] if values else 0.0) for name in self.names)
        self.script.append(f"{self.number} {event} {int(key or 0) % KEYS} {len(self.names)} {shown}")

    @property
    def code(self) -> str:
        """The header, and a function `run_N` that carries out one line of the script."""
        return _OWN.sub(rf"p{self.number}_\1_", self.header + self._driver())

    def _driver(self) -> str:
        one = "&entities[key], " if self.has_entity else ""
        observed = "&entities[key], " if self.observes else ""
        left = "policy_leave(&state, &entities[key])" if self.observes else "(void)key"
        entered = f"policy_{'enter' if self.observes else 'observe'}(&state, {observed}&features)"
        calls = [f"policy_observe(&state, {observed}&features)", entered, left]
        calls.append("policy_entity_init(&entities[key])" if self.has_fields else "(void)key")
        calls += [f"policy_observe_{occasion}(&state, &features)" for occasion in occasions(self.interface)]
        calls += [self._handler(name) for name in self.handlers]
        scores = [f"policy_score{suffix}(&state, {one}&features)" for suffix in self.functions.values()]
        cases = [f"case {number}: {call}; break;" for number, call in enumerate(calls)]
        cases += [
            f'case {number}: printf("{self.show}\\n", {x}); break;' for number, x in enumerate(scores, len(calls))
        ]
        cases.append(f"case {len(calls) + len(scores)}: {self._dump()} break;")
        fill = "\n".join(f"    {self.setting(index, name)}" for index, name in enumerate(self.names))
        seed = f"policy_seed(&state, {SEED}ULL);" if self.own_state.draws else ""
        begin = f"for (int i = 0; i < {KEYS}; i++) policy_entity_init(&entities[i]);" if self.has_entity else ""
        return f"""
static void run_{self.number}(int event, int key, const {self.number_type} *values)
{{
    static struct policy_state state;
    static struct policy_features features;
    {f"static struct policy_entity entities[{KEYS}];" if self.has_entity else ""}
    static int begun;
    {"static struct policy_controls controls;" if self.own_state.controls() else ""}
    if (!begun) {{ begun = 1; policy_init(&state); {begin} {seed} }}
    (void)key; (void)values;
{fill}
    switch (event) {{
    {" ".join(cases)}
    }}
}}
"""

    def _handler(self, name: str) -> str:
        entity = "&entities[key], " if self.own_state.shows_entity(name) and self.has_entity else ""
        controls = list(self.handlers[name].settable)
        if not controls:
            return f"policy_{name}(&state, {entity}&features)"
        clear = "memset(&controls, 0, sizeof controls)"
        shown = "; ".join(f'printf("{self.show}\\n", controls.{member_of(c)})' for c in controls)
        return f"{clear}; policy_{name}(&state, {entity}&features, &controls); {shown}"

    def _dump(self) -> str:
        lines = []
        for variable in self.policy.program.variables:
            place = (
                self.own_state.lvalue(variable.name).replace("state->", "state.").replace("entity->", "entities[key].")
            )
            if variable.length is not None:
                lines.append(f"for (int i = 0; i < {variable.length}; i++)")
                place += "[i]"
            lines.append(f'printf("{self.show}\\n", {place});')
        return " ".join(lines)


class DoubleProgram(CProgram):
    name, number_type, scan, show = "C in doubles", "double", "%lf", "%a"
    observes_entities = True

    def state(self) -> OwnState:
        return OwnState(self.policy, "double", "uint64_t")

    def text(self) -> str:
        return double_header(self.policy, provenance(self.policy.task.name))

    def setting(self, index: int, name: str) -> str:
        return f"features.{member_of(name)} = values[{index}];"

    def shown(self, name: str, value: float) -> str:
        return value.hex()


class IntegerProgram(CProgram):
    """Raises UserError where the policy has no form in integers."""

    name, number_type, scan, show = "C in integers", "long long", "%lld", "%lld"
    observes_entities = False

    def state(self) -> OwnState:
        return OwnState(self.policy, "policy_fixed", "policy_word")

    def text(self) -> str:
        kinds = NumberFormats(self.policy.program, self.interface)
        plan = self.policy.plan
        used = {
            *plan.features,
            *(s.feature for s in plan.statistics),
            *(f"{q.history}.{q.query}" for q in plan.queries),
        }
        self.names = [name for name in self.names if name in used]
        self.scales = {name: kinds.feature(name).scale for name in self.names}
        return fixed_header(self.policy, provenance(self.policy.task.name))

    def setting(self, index: int, name: str) -> str:
        return f"policy_set_{flat(name)}(&features, values[{index}], {self.scales[name]});"

    def shown(self, name: str, value: float) -> str:
        return str(min(max(round(math.ldexp(value, self.scales[name])), -LIMIT), LIMIT))


_MAIN = """
#include <stdio.h>
int main(void)
{
    static TYPE values[256];
    int program, event, key, count;
    while (scanf("%d %d %d %d", &program, &event, &key, &count) == 4) {
        for (int i = 0; i < count; i++)
            if (scanf("SCAN", &values[i]) != 1)
                return 1;
        switch (program) {
CASES
        }
        fflush(stdout);
    }
    return 0;
}
"""


def program_of(programs: Sequence[CProgram]) -> str:
    """Return the text of a program of these policies, all of one kind."""
    cases = "\n".join(f"        case {p.number}: run_{p.number}(event, key, values); break;" for p in programs)
    main = _MAIN.replace("CASES", cases).replace("TYPE", programs[0].number_type).replace("SCAN", programs[0].scan)
    return "#include <stdio.h>\n#include <string.h>\n" + "".join(program.code for program in programs) + main


def compile_program(text: str, compiler: Sequence[str], made: Path | None = None) -> None:
    """Compile with one compiler, only to check it if there is no `made`. Raises CompileError."""
    to = ["-o", str(made)] if made else ["-fsyntax-only"]
    with tempfile.TemporaryDirectory(prefix="vulcan-fuzz-") as folder:
        (Path(folder) / "policies.h").write_text(text, encoding="utf-8")
        place = Path(folder) / "program.c"
        place.write_text('#include "policies.h"\n', encoding="utf-8")  # compilers warn less about what is included
        command = [*compiler, "-ffp-contract=off", *to, str(place), *(["-lm"] if made else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(f"{' '.join(compiler)}: {done.stderr[:1500]}")


def answers(made: Path, program: CProgram) -> list[float]:
    """Return what the compiled program answers to a policy's script; less than it asks for where it ends early."""
    script = "\n".join(program.script) + "\n"
    done = subprocess.run([str(made)], input=script, capture_output=True, text=True, check=False, timeout=120)
    if isinstance(program, IntegerProgram):
        return [int(line) / 2.0**RESULT_SCALE for line in done.stdout.split()]
    return [float.fromhex(line) for line in done.stdout.split()]
