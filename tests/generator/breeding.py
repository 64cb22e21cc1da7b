"""A stand-in for a search: proposals in rounds, the best two of all earlier rounds being the parents."""

import hashlib
from collections.abc import Callable

from vulcan.anvil import Policy, check
from vulcan.generator import OfflineEvolve
from vulcan.models.base import Parent, Request
from vulcan.models.reply_parser import extract_source
from vulcan.task import Task


def proposed(generator: OfflineEvolve, task: Task, request: Request) -> Policy:
    source = extract_source(generator.propose(request), task.signature.function)
    return check(source, task)


def request(
    proposal: int, parents: tuple[Parent, ...] = (), *, seed: int = 1, turn: int = 0, operator: str = ""
) -> Request:
    return Request(proposal, turn, (), parents, seed, operator=operator)


def arbitrary(policy: Policy) -> float:
    """A score that means nothing, so that parents of every kind come up."""
    return int(hashlib.sha256(policy.source.encode()).hexdigest()[:8], 16) / 2**32


def rounds(
    task: Task,
    score: Callable[[Policy], float],
    *,
    seed: int,
    count: int,
    samples: int,
    parents: bool = True,
) -> list[list[Policy]]:
    """The policies of each round; `parents` False gives no proposal any, which is sampling at random."""
    generator = OfflineEvolve(task)
    found: list[Parent] = []
    made: list[list[Policy]] = []
    for number in range(count):
        best = tuple(sorted(found, key=lambda parent: -parent.score)[:2]) if parents else ()
        policies = [proposed(generator, task, request(number * samples + i, best, seed=seed)) for i in range(samples)]
        found.extend(Parent(number * samples + i, p.source, score(p)) for i, p in enumerate(policies))
        made.append(policies)
    return made
