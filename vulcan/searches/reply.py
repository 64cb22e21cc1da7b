"""Parsing of replies: from text to a policy, or to feedback for the model."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil import Policy, Rejected
from vulcan.anvil.diagnostics import explain
from vulcan.anvil.proofs import Refutation, refuted_required
from vulcan.export import export_refusal
from vulcan.models.base import Reply
from vulcan.models.reply_parser import NoSource, extract_source
from vulcan.python_policy.check import AnyPolicy, check_policy
from vulcan.task import Task


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """The content of one reply. Without a policy, `feedback` has the errors and `rules` the rules broken."""

    source: str
    policy: AnyPolicy | None
    feedback: str = ""
    rules: tuple[str, ...] = ()


def parse_reply(reply: Reply, task: Task, diff_of: str | None = None, target: str | None = None) -> ParsedReply:
    """Extract the program from a reply, which may be a diff against another one, and check it."""
    kind = max(task.kinds, key=lambda kind: reply.text.rfind(f"def {kind.signature.function}("))
    needed = [other.function for other in kind.others if not other.optional]
    try:
        source = extract_source(reply, kind.signature.function, diff_of, needed)
    except NoSource as missing:
        return ParsedReply("", None, f"- [{missing.rule}] {missing.message}; {missing.hint}", (missing.rule,))
    return parse_source(source, task, target)


def parse_source(source: str, task: Task, target: str | None = None) -> ParsedReply:
    """Check a program, the properties its task requires of every policy, and that the target's format can carry it."""
    try:
        policy = check_policy(source, task)
    except Rejected as rejected:
        rules = tuple(violation.rule for violation in rejected.violations)
        return ParsedReply(source, None, explain(source, rejected.violations), rules)
    if policy.constant is not None:
        return ParsedReply(source, None, f"[constant-result] {policy.constant}", ("constant-result",))
    refuted = refutation(policy)
    if refuted is not None:
        return ParsedReply(source, None, refuted.feedback, ("property",))
    if target is not None and (reason := export_refusal(policy, target)):
        return ParsedReply(source, None, f"- [target] it cannot be exported as {target}: {reason}", ("target",))
    return ParsedReply(source, policy)


def refutation(policy: AnyPolicy) -> Refutation | None:
    """Return the required property of its task that the policy violates; None if none is known to be violated."""
    return refuted_required(policy) if isinstance(policy, Policy) else None
