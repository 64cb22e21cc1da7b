"""A small PROGRAM task, places to run programs in, and ways to write one down."""

import marshal
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from baseline_traces import dense

from vulcan.python_policy.check import check_program
from vulcan.python_policy.policy import ProgramPolicy
from vulcan.python_policy.runner import OK, load
from vulcan.registry import find_task
from vulcan.task import Feature, Hook, Objective, Program, Record, Scalar, Task

CACHE = find_task("cache_program")
SEEDS = CACHE.seed_policies()

TOY = Task(
    name="toy",
    summary="Choose.",
    signature=Program(
        function="Policy",
        arguments=(Scalar(Feature("room", "int", "bytes", 1.0, 9.0, "how much fits")),),
        returns="",
        hooks=(
            Hook(
                "choose",
                (Record("ask", "what is asked", (Feature("id", "int", "identity", 0.0, 9.0, "which"),)),),
                "Choose.",
                returns="int",
                result="a number",
            ),
            Hook("seen", (Scalar(Feature("x", "int", "number", 0.0, 9.0, "x")),), "Seen.", optional=True),
        ),
    ),
    evaluator="nowhere:Evaluator",
    objectives=(Objective("sum", "sum", "the sum", lambda metrics, _: metrics["sum"]),),
    directory=Path(__file__).parent,
)


LOOP = marshal.dumps(
    compile(
        """
class Loop:
    def __init__(self, hooks, records, given):
        self.choose, self.ask = hooks["choose"], records["choose"]

    def decisions(self, message, whole):
        return [whole(self.choose(self.ask((number,)))) for number in message]
""",
        "<loop>",
        "exec",
    )
)
"""A loop of the toy task, which asks once for each byte of a message."""


def program(body: str = "return ask.id", top: str = "", more: str = "") -> str:
    """A program of the toy task whose `choose` has this body, with more at the top and in the class."""
    indented = "\n".join("        " + line for line in body.splitlines())
    inside = "\n".join("    " + line for line in more.splitlines())
    return (
        f"{top}\n\nclass Policy:\n    def __init__(self, room):\n        self.room = room\n\n"
        f"    def choose(self, ask):\n{indented}\n\n{inside}\n"
    )


class Here:
    """A place in this process: for programs that are known to be harmless."""

    def __init__(self) -> None:
        self.decisions: Callable[[bytes], Sequence[int]] | None = None

    def ask(self, message: bytes) -> bytes:
        if self.decisions is None:
            self.decisions = load(message)
            return bytes([OK])
        made = self.decisions(message)
        return bytes([OK]) + struct.pack(f"<{len(made)}q", *made)

    def end(self) -> None:
        self.decisions = None


class Says:
    """A place whose process answers with these bytes, one after the other, whatever it is asked."""

    def __init__(self, *replies: bytes) -> None:
        self.replies = iter(replies)
        self.ended = 0

    def ask(self, message: bytes) -> bytes:
        return next(self.replies)

    def end(self) -> None:
        self.ended += 1


def unchecked(source: str) -> ProgramPolicy:
    """The policy as if its source had passed the checker, by which it was not seen."""
    checked = check_program(SEEDS["fifo"], CACHE)
    code = marshal.dumps(compile(source, "<policy>", "exec"))
    return ProgramPolicy(source, CACHE, code, checked.hooks, "unchecked", 0, ())


@contextmanager
def seed(name: str) -> Iterator[ProgramPolicy]:
    yield check_program(SEEDS[name], CACHE).hosted_by(Here)


def trace(requests: int, objects: int, seed: int = 1, largest: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Dense ids of a skewed popularity, and sizes from 1 to `largest` that stay with their object."""
    random = np.random.default_rng(seed)
    ids = dense((objects * random.random(requests) ** 3).astype(int))
    return ids, random.integers(1, largest + 1, int(ids.max()) + 1).astype(np.int64)[ids]
