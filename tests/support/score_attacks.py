"""Attacks on a score: a game in which a program guesses bits, block by block, and its guesses are counted outside.

It stands for every evaluator of free programs: what the program says is taken for decisions, and for nothing else.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vulcan.doctor.attacks.attack import OWN_PROCESS
from vulcan.documents.host import AttackResult
from vulcan.scoring.job import Limits
from vulcan.scoring.program_server_client import ForkServer, ProgramEnded
from vulcan.scoring.program_wire import MessageChannel
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers

ONE_BLOCK = "told no more than is decided on"
REPLAY = "scored outside, from decisions alone"
RUNNER = "score_attacks:run"
BLOCKS, LENGTH = 16, 64

Block = list[int]

CONSTANT = "def decide(past):\n    return [0] * length\n"
"""An honest program: it is right about half of the time."""

_LOOKS_AHEAD = """
import gc, sys

def future(after):
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if isinstance(value, dict) and len(value.get("blocks", ())) > after:
                return value["blocks"][after]
        frame = frame.f_back
    for value in gc.get_objects():
        if type(value) is dict and type(value.get("blocks")) is list and len(value["blocks"]) > after:
            return value["blocks"][after]

def decide(past):
    return future(len(past)) or [0] * length
"""
_PATCHES = (
    """
import score_attacks as game
game.share_right = lambda *_: 1.0
"""
    + CONSTANT
)
_CLAIMS = "def decide(past):\n    return {'score': 1.0}\n"
_GARBAGE = "def decide(past):\n    return [float('nan')] * length\n"
_TOO_MANY = "def decide(past):\n    return [0] * length + [1] * length\n"
_SLOW_LATER = "def decide(past):\n    while len(past) > 3:\n        pass\n    return [0] * length\n"


@dataclass(frozen=True, slots=True)
class ScoreAttack:
    """A program against the score, and the layers that keep the score what it is."""

    name: str
    program: str
    stopped_by: str


ATTEMPTS = (
    ScoreAttack("the trace's future", _LOOKS_AHEAD, ONE_BLOCK),
    ScoreAttack("patched scorer", _PATCHES, OWN_PROCESS),
    ScoreAttack("a claim in place of decisions", _CLAIMS, REPLAY),
    ScoreAttack("decisions that are no numbers", _GARBAGE, REPLAY),
    ScoreAttack("more decisions than were asked for", _TOO_MANY, REPLAY),
    ScoreAttack("slow on later requests only", _SLOW_LATER, Layer.WALL_CLOCK),
)


@dataclass(frozen=True, slots=True)
class ScoreOutcome:
    """`score` is the share of right guesses, None where the program failed; `trouble` says why."""

    score: float | None
    trouble: str = ""


def share_right(guesses: Sequence[Block], blocks: Sequence[Block]) -> float:
    pairs = [pair for guess, block in zip(guesses, blocks, strict=True) for pair in zip(guess, block, strict=True)]
    return sum(a == b for a, b in pairs) / len(pairs)


def play(decide: Callable[[dict[str, Any]], object], *, whole: bool = False) -> ScoreOutcome:
    """Ask for decisions block by block, check and count them. With `whole` the program is given all blocks at once."""
    coin = random.Random(1)
    blocks = [[coin.randrange(2) for _ in range(LENGTH)] for _ in range(BLOCKS)]
    guesses: list[Block] = []
    for number in range(BLOCKS):
        guess = decide({"past": number, "blocks": blocks if whole else blocks[:number]})
        if not (isinstance(guess, list) and len(guess) == LENGTH and all(type(bit) is int for bit in guess)):
            return ScoreOutcome(None, f"block {number}: not {LENGTH} decisions")
        guesses.append(guess)
    return ScoreOutcome(share_right(guesses, blocks))


def answer(program: str, order: dict[str, Any]) -> object:
    """Return the program's decisions, in the process that this is called in."""
    scope: dict[str, Any] = {"length": LENGTH}
    exec(compile(program, "program", "exec"), scope)
    return scope["decide"](order["blocks"][: order["past"]])


def run(channel: MessageChannel) -> None:
    """The runner of a fork server."""
    sys.setrecursionlimit(500)
    program = ""
    while (message := channel.receive()) is not None:
        order = json.loads(message)
        program = order.get("program", program)
        channel.send(json.dumps(answer(program, order) if "past" in order else None).encode())


def play_forked(server: ForkServer, program: str, *, seconds: float = 2.0, whole: bool = False) -> ScoreOutcome:
    """Return the game, with the program in a child."""
    try:
        with server.open(seconds) as child:
            child.ask(json.dumps({"program": program}).encode())
            return play(lambda order: json.loads(child.ask(json.dumps(order).encode())), whole=whole)
    except ProgramEnded as ended:
        return ScoreOutcome(None, ended.message)


def new_server(layers: Layers = ALL) -> ForkServer:
    return ForkServer(RUNNER, Limits(memory_bytes=256 << 20, cpu_seconds=10), layers=layers)


def game_results() -> Iterator[AttackResult]:
    """Yield every attempt on the score, in turn."""
    with new_server() as server:
        honest = play_forked(server, CONSTANT)
        for attempt in ATTEMPTS:
            played = play_forked(server, attempt.program, seconds=1.0 if "slow" in attempt.name else 5.0)
            kept = played.score is None or played.score == honest.score
            detail = played.trouble or f"score {played.score:.3f}, as the honest one"
            yield AttackResult(attempt.name, attempt.stopped_by if kept else None, detail)
