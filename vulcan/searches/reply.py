"""Parsing of replies: from text to a policy, or to feedback for the model."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil import Policy, Rejected
from vulcan.anvil.diagnostics import explain
from vulcan.anvil.proofs import Refutation, refuted_required
from vulcan.errors import UserError
from vulcan.export import export_refusal, find_exporter
from vulcan.models import NoSource, Reply, extract_source
from vulcan.python_policy.check import AnyPolicy, check_policy
from vulcan.searches.config import SearchConfig
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
    try:
        source = extract_source(reply, task.signature.function, diff_of, [other.function for other in task.others])
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


def seeds_of(task: Task, state: bool, target: str | None) -> dict[str, str]:
    """Return the task's own policies that a search begins with: those that the target's format can carry."""
    own = task.seed_policies(state=state)
    if target is None:
        return own
    return {name: source for name, source in own.items() if parse_source(source, task, target).rules != ("target",)}


def check_target(task: Task, config: SearchConfig) -> None:
    """Raises UserError for a target that is no format, or that carries none of the policies to begin with."""
    if config.target is None:
        return
    find_exporter(config.target, task)
    own = task.seed_policies(state=config.state)
    if own and not config.starts and not seeds_of(task, config.state, config.target):
        reason = parse_source(next(iter(own.values())), task, config.target).feedback.removeprefix("- [target] ")
        raise UserError(f"--target {config.target} carries no policy of task {task.name!r} to begin with: {reason}")


def refutation(policy: AnyPolicy) -> Refutation | None:
    """Return the required property of its task that the policy violates; None if none is known to be violated."""
    return refuted_required(policy) if isinstance(policy, Policy) else None
