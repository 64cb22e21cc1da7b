"""Random policies in every back end: what one of them computes otherwise than the reference is found.

Policies with state, and handlers of events, are written for two tasks that have them, and run by the reference, machine
code, the reference again when they are cleaned, the exported Python module and exported C.

The reference interpreter is compared with the source run by CPython (`plain_python`), machine code from LLVM, the
exported Python module (all to the bit), exported C in doubles, and in integers (within `ERROR`); and each policy, as it
is, tuned, cleaned or with its numbers lifted, is written back, from exports too, and has the same fingerprint.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from anvil_state import STATEFUL, STATEFUL_LAYOUT
from anvil_toy import TOY, TOY_LAYOUT
from anvil_twin import SEED, Twin, bits
from anvil_two import TWO, TWO_LAYOUT
from anvil_values import values_for
from c_programs import (
    COMPILERS,
    FOUND,
    UNDEFINED,
    CompileError,
    CProgram,
    DoubleProgram,
    IntegerProgram,
    answers,
    compile_program,
    program_of,
)
from exported_run import Exported, module_of
from exported_state import compare_lives, controls_of
from margins import Margined
from plain_python import Parted, Plain
from policy_trees import TOO_LARGE, Trees
from sender_states import sender_state
from stateful_lives import lived_in_doubles, lived_in_integers

from vulcan.anvil import Layout, Policy, Rejected, check
from vulcan.anvil.rewrite.lift_constants import lift
from vulcan.anvil.rewrite.optimize import cleaned
from vulcan.anvil.unparse import emit_source
from vulcan.errors import UserError
from vulcan.export.source import policy_source
from vulcan.registry import find_task
from vulcan.task import Task
from vulcan_cache.layout import LAYOUT as CACHE_LAYOUT
from vulcan_cache.queue_layout import LAYOUT as QUEUE_LAYOUT
from vulcan_link.policy_state import LAYOUT as SENDER_LAYOUT

SENDER = replace(find_task("congestion_control"), operations=20_000, events=())
STATEFUL_SENDER = replace(find_task("congestion_control"), operations=20_000)
QUEUES = replace(find_task("cache_eviction").of_policy("queues"), operations=20_000, events=(), whole=None)
CACHE = replace(find_task("cache_eviction").of_policy("sample"), operations=20_000, events=(), whole=None)
TASKS: tuple[tuple[Task, Layout], ...] = (
    (TOY, TOY_LAYOUT), (TWO, TWO_LAYOUT), (QUEUES, QUEUE_LAYOUT), (SENDER, SENDER_LAYOUT),
    (STATEFUL, STATEFUL_LAYOUT), (STATEFUL_SENDER, SENDER_LAYOUT), (CACHE, CACHE_LAYOUT),
)  # fmt: skip

BATCH = 50
"""Programs that are compiled as C together."""

EVENTS = 10
ERROR = 1e-4
"""What a policy in integers may be off by, as a share where the result is above 1, unless it came near to another
decision (`margins`)."""
MOST_OFF = 0.01
"""Share of results in integers that may be off by more: numbers beyond 2**62, and what is small beside others."""
TUNED = (-0.0, 0.0, -5.0, 7.25, 1e300, 1e-320)


@dataclass(frozen=True)
class Difference:
    """A policy on which a back end differs, and how."""

    source: str
    what: str


@dataclass
class Batch:
    """What has been tried, and the C programs that wait to be compiled."""

    count: int = 0
    plain: int = 0
    """Results that were compared with those of plain CPython."""
    compared: int = 0
    learnt: int = 0
    """Scores of policies with state that were compared."""
    learnt_exported: int = 0
    """Scores and controls of theirs that the exported module was compared in."""
    in_integers: int = 0
    off: int = 0
    found: list[Difference] = field(default_factory=list)
    note: Callable[[Difference, int], object] | None = None
    """Told of each difference as it is found, and its number."""
    doubles: list[CProgram] = field(default_factory=list)
    integers: list[CProgram] = field(default_factory=list)

    def differs(self, source: str, what: str) -> None:
        self.found.append(Difference(source, what))
        if self.note is not None:
            self.note(self.found[-1], len(self.found) - 1)

    def attempt(self, source: str, step: Callable[[], object]) -> bool:
        try:
            step()
        except (UserError, Parted):
            raise
        except Exception:  # noqa: BLE001 (whatever a back end raises is what is looked for)
            self.differs(source, traceback.format_exc(limit=-4))
            return False
        return True


def fuzzed(
    seconds: float, seed: int, most: int | None = None, note: Callable[[Difference, int], object] | None = None
) -> Batch:
    """Try policies for that long, or so many; the same seed tries the same ones."""
    random = Random(f"{seed} policies")
    until, batch = time.monotonic() + seconds, Batch(note=note)
    while time.monotonic() < until and len(batch.found) < 20 and (most is None or batch.count < most):
        task, layout = TASKS[batch.count % len(TASKS)]
        tame = random.random() < 0.5
        source = Trees(task, random, ordinary=tame).source()
        batch.count += 1
        try:
            policy = check(source, task)
        except Rejected as rejected:
            if any(violation.rule not in TOO_LARGE for violation in rejected.violations):
                batch.differs(source, f"refused: {rejected}")
            continue
        if batch.attempt(source, lambda policy=policy: written_back(policy, random)):  # type: ignore[misc]
            run_it = learnt if task.events else lived
            batch.attempt(
                source, lambda policy=policy, layout=layout, run_it=run_it: run_it(policy, layout, random, batch)
            )  # type: ignore[misc]
        if task is SENDER and tame:
            in_integers(policy, random, batch)
        elif task is STATEFUL_SENDER and tame:
            learnt_in_integers(policy, random, batch)
        if len(batch.doubles) >= BATCH:
            compiled(batch)
    compiled(batch)
    if batch.off > MOST_OFF * max(batch.in_integers, 1000):
        batch.differs("", f"{batch.off} of {batch.in_integers} results in integers are off")
    return batch


# Written back


def written_back(policy: Policy, random: Random) -> None:
    """Assert that all that writes the policy down writes one of the same fingerprint."""
    task = policy.task
    for name, program in (
        ("as it is", policy.program),
        ("cleaned", cleaned(policy.program)),
        ("lifted", lift(policy.program, task.whole_interface)),
    ):
        same(name, emit_source(program, task.whole_interface), replace(policy, program=program))
    tuned = replace(policy.program, parameters=tuple((name, random.choice(TUNED)) for name in policy.parameters))
    same("tuned", emit_source(tuned, task.whole_interface), replace(policy, program=tuned))
    same("exported as Python", policy_source(module_of(policy)[0]), policy)
    same("exported as C", policy_source(DoubleProgram(0, policy).header), policy)


def same(way: str, text: str, policy: Policy) -> None:
    try:
        read = check(text, policy.task)
    except Rejected as rejected:
        if any(violation.rule not in TOO_LARGE for violation in rejected.violations):
            raise AssertionError(f"{way}: refused: {rejected}\n{text}") from rejected
        return
    assert read.fingerprint == policy.fingerprint, f"{way}: another fingerprint\n{text}"


# A random life


def lived(policy: Policy, layout: Layout, random: Random, batch: Batch) -> None:
    """Drive a policy through random events in all back ends; the answers of C come later, from its batch."""
    task = policy.task
    twin, plain = Twin(policy, layout, hurried=True), Plain(policy.source, task)
    python = Exported(policy, module_of(policy)[1])
    program = DoubleProgram(len(batch.doubles), policy)
    entity = task.interface.entity
    occasions = sorted(set(task.interface.occasions.values()))
    for _ in range(EVENTS):
        values = twin.consistent(values_for(task.interface, random, tame=random.random() < 0.5))
        if occasions and random.random() < 0.4:
            occasion = random.choice(occasions)
            twin.occur(occasion, values)
            plain.occur(occasion, values)
            python.occur(occasion, values)
            program.tell(f"{occasion}", None, values)
            continue
        key = float(random.randrange(3)) if entity is not None else None
        if entity is not None and key is not None:
            if key in twin.live and random.random() < 0.2:
                twin.leave(key)
                plain.leave(key)
                python.leave(key)
                program.tell("leave", key)
                continue
            values[f"{entity.name}.{entity.key}"] = key
        program.tell("observe" if key is None or key in twin.live else "enter", key, values)
        twin.observe(key, values)
        plain.observe(key, values)
        python.observe(key, values)
        twin.score(key, values)
        for function in (declared.function for declared in task.functions):
            expected = twin.reference.ask(function, values, key)
            got = python.score(function, key, values)
            assert bits(got) == bits(expected), f"Python, {function}: {got!r}, reference {expected!r} of {values}"
            program.ask(function, key, values, expected)
            batch.compared += 1
            try:
                by_source = plain.ask(function, values, key)
            except Parted:
                continue
            assert by_source == expected, f"CPython, {function}: {by_source!r}, reference {expected!r} of {values}"
            batch.plain += 1
    twin.check_memory()
    batch.doubles.append(program)


def learnt(policy: Policy, layout: Layout, random: Random, batch: Batch) -> None:
    """Drive a policy with state through random events, as machine code and twice as the reference."""
    task = policy.task
    twin = Twin(policy, layout, hurried=random.random() < 0.5)
    cleaner = replace(policy, program=cleaned(policy.program))
    again = check(emit_source(cleaner.program, task.whole_interface), task).reference(SEED)
    entity = task.interface.entity
    for _ in range(EVENTS):
        key = float(random.randrange(3)) if entity is not None else None
        values = twin.consistent(values_for(task.whole_interface, random, tame=random.random() < 0.5))
        if entity is not None and key is not None:
            values[f"{entity.name}.{entity.key}"] = key
        event = random.choice(task.events)
        about = key if any(argument == entity for argument in event.arguments) else None
        twin.observe(key, values)
        twin.handle(event.function, about, values)
        again.observe(key, values)
        again.handle(event.function, values, about)
        if key is not None and random.random() < 0.2:
            twin.leave(key)
            again.forget(key)
            if random.random() < 0.5:
                twin.release(key)
                again.release(key)
        twin.score(key, values)
        for declared in task.functions:
            expected, got = (run.ask(declared.function, values, key) for run in (twin.reference, again))
            assert got == expected, f"cleaned, {declared.function}: {got!r}, reference {expected!r} of {values}"
        batch.learnt += 1
    twin.check_memory()
    read = {*policy.plan.features, *(statistic.feature for statistic in policy.plan.statistics)}
    if not read & controls_of(task):  # how controls are read once they are set is no matter here
        batch.learnt_exported += compare_lives(policy, random, EVENTS, names_kept=False)
    if task is STATEFUL:
        batch.doubles.append(lived_in_doubles(len(batch.doubles), policy, random))


def learnt_in_integers(policy: Policy, random: Random, batch: Batch) -> None:
    with contextlib.suppress(UserError):  # sin, or numbers beyond 63 bits
        batch.integers.append(lived_in_integers(len(batch.integers), policy, random, EVENTS))


def in_integers(policy: Policy, random: Random, batch: Batch) -> None:
    try:
        program = IntegerProgram(len(batch.integers), policy)
    except UserError:  # sin, or numbers beyond 63 bits
        return
    reference = Margined(policy)
    for _ in range(EVENTS):
        values = sender_state(SENDER.signature, random)
        reference.observe(None, values)
        program.tell("observe", None, values)
        expected = reference(values)
        program.ask(SENDER.signature.function, None, values, expected, exact=reference.margin > 1e-5)
    batch.integers.append(program)


# C


def compiled(batch: Batch) -> None:
    """Compile what waits, run it, and compare."""
    for programs in (batch.doubles, batch.integers):
        if programs:
            for program, what in refused(programs):
                batch.differs(program.policy.source, what)
            with tempfile.TemporaryDirectory(prefix="vulcan-fuzz-") as folder:
                made = Path(folder) / "program"
                try:
                    compile_program(program_of(programs), (*COMPILERS[0], *UNDEFINED), made)
                except CompileError:  # said above, of which
                    programs.clear()
                    continue
                run(programs, made, batch)
        programs.clear()


def refused(programs: list[CProgram]) -> Iterator[tuple[CProgram, str]]:
    """Yield the programs that a compiler refuses, with what it says; and take them out."""
    text = program_of(programs)
    for compiler in FOUND:
        try:
            compile_program(text, compiler)
        except CompileError:
            for program in list(programs):
                try:
                    compile_program(program_of([program]), compiler)
                except CompileError as error:
                    programs.remove(program)
                    yield program, str(error)
            text = program_of(programs)


def run(programs: list[CProgram], made: Path, batch: Batch) -> None:
    for program in programs:
        got = answers(made, program)
        if len(got) < len(program.expected):
            batch.differs(program.policy.source, f"{program.name}: it ended after {len(got)} answers")
            continue
        for (function, expected, exact), value in zip(program.expected, got, strict=True):
            if isinstance(program, IntegerProgram):
                signature = SENDER.signature
                low, high = signature.low, signature.high  # type: ignore[union-attr]
                wanted, found = (min(max(x, low), high) for x in (expected, value))
                batch.in_integers += 1
                batch.off += exact and abs(found - wanted) > ERROR * max(1.0, wanted)
            elif value != expected:  # gcc 12 makes `0.0 - x` a `-x`, another zero, where it knows x to be a truth
                what = f"C, {function}: {value!r}, reference {expected!r}"
                batch.differs(program.policy.source, what)
                break
