"""From a reply to a policy, or to what the model should be told."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil import Policy, Rejected, check
from vulcan.models import NoSource, Reply, extract_source
from vulcan.task import Task


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reply held. Without a policy, `feedback` says what was wrong and `rules` names it."""

    source: str
    policy: Policy | None
    feedback: str = ""
    rules: tuple[str, ...] = ()


def read_reply(reply: Reply, task: Task) -> Reading:
    """Take the program out of a reply and check it."""
    try:
        source = extract_source(reply, task.signature.function)
    except NoSource as missing:
        return Reading("", None, f"- [{missing.rule}] {missing.message}; {missing.hint}", (missing.rule,))
    return read_source(source, task)


def read_source(source: str, task: Task) -> Reading:
    """Check a program."""
    try:
        return Reading(source, check(source, task))
    except Rejected as rejected:
        return Reading(
            source,
            None,
            "\n".join(f"- {violation}" for violation in rejected.violations),
            tuple(violation.rule for violation in rejected.violations),
        )
