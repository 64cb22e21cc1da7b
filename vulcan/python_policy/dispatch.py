"""What differs by the interface of a task: how its policies are checked, and what is said of them."""

from __future__ import annotations

from vulcan.anvil import Policy, check
from vulcan.anvil.prompt_section import describe_language
from vulcan.python_policy.policy import ProgramPolicy
from vulcan.task import Program, Task

AnyPolicy = Policy | ProgramPolicy


def check_policy(source: str, task: Task) -> AnyPolicy:
    """The policy that the source defines, in Anvil or as a program. Raises Rejected, saying where and why."""
    if isinstance(task.signature, Program):
        from vulcan.python_policy.check import check_program  # loads RestrictedPython, which few tasks need

        return check_program(source, task)
    return check(source, task)


def describe_policy(task: Task) -> str:
    """What a policy of the task may be made of, in Markdown: the language section of every prompt."""
    if isinstance(task.signature, Program):
        from vulcan.python_policy.prompt_section import describe_program

        return describe_program(task.signature)
    return describe_language(task)
