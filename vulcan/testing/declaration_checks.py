"""Checks of declarations: settings, properties, policies to start from, and prompts."""

from __future__ import annotations

import re

from vulcan.anvil.proofs import verify
from vulcan.searches.config import complete_settings
from vulcan.searches.options import EXECUTION_OPTIONS, OPTIONS
from vulcan.searches.population import ScoredCandidate
from vulcan.searches.prompts import Prompts
from vulcan.searches.strategies.base import Draft
from vulcan.task import Mechanism, Program, Setting, Task
from vulcan.testing.check import CheckFailed, Subject

_COMMANDS_OWN = {
    *OPTIONS, *EXECUTION_OPTIONS, "task", "config", "replay", "runs_dir", "quiet", "json", "dry_run", "part", "plot",
    "help", "output", "policy", "property",
}  # fmt: skip
"""Options of the commands that also take a task's options."""

_TYPES: dict[str, tuple[type, ...]] = {"text": (str,), "int": (int,), "float": (int, float), "flag": (bool,)}
_SECONDS = 5.0
"""Timeout in seconds for the proof of one property."""


def settings(subject: Subject) -> str:
    """Check that no setting clashes with an option of a command, and that every default is valid."""
    for setting in subject.task.settings:
        if setting.name in _COMMANDS_OWN:
            raise CheckFailed(
                f"the setting {setting.name!r} is an option of `vulcan search` or `vulcan eval` too",
                "give it another name",
            )
        for default in setting.default if isinstance(setting.default, list) else [setting.default]:
            _check_default(setting, default)
    complete_settings(subject.task, {})
    return f"{len(subject.task.settings)} settings"


def _check_default(setting: Setting, default: object) -> None:
    if default is None:
        return
    if not isinstance(default, _TYPES[setting.type]) or (isinstance(default, bool) and setting.type != "flag"):
        raise CheckFailed(
            f"the setting {setting.name!r} is declared {setting.type}, and its default is {default!r}",
            "make the default one of that type, or declare the type of the default",
        )
    if setting.choices and default not in setting.choices:
        raise CheckFailed(
            f"the setting {setting.name!r} has the default {default!r}, which is none of its choices",
            "add it to the choices, or take another default",
        )


def seeds(subject: Subject) -> str:
    """Check that there is a policy to start from, and that all are accepted and none is constant."""
    task = subject.task
    if not task.seed_policies():
        raise CheckFailed(
            f"there is no policy in {task.directory / 'policies'}",
            "write the simplest policy that works, so that a search has something to begin with",
        )
    if subject.is_program:
        return "their checking is part of the sandbox"
    for name, policy in subject.seeds.items():
        if policy.constant is not None:
            raise CheckFailed(
                f"policies/{name}.py decides nothing: {policy.constant}", "have its result depend on a feature"
            )
    return f"{len(task.seed_policies())} policies"


def properties(subject: Subject) -> str:
    """Check that every property can be stated, and that the task's own policies satisfy the required ones."""
    task = subject.task
    if not task.properties:
        return "the task declares none"
    names = [declared.name for declared in task.properties]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CheckFailed(f"two properties are called {twice[0]!r}", "give each a name of its own")
    for name, policy in subject.seeds.items():
        for declared in task.properties:
            (verdict,) = subject.calling(f"the property {declared.name!r}", verify, policy, [declared], _SECONDS)
            if verdict.outcome == "refuted" and declared.required:
                raise CheckFailed(
                    f"policies/{name}.py breaks the required property {declared.name!r}: {verdict.counterexample}",
                    "a search would reject it: mend the policy, or the property",
                )
    return f"{len(names)} properties"


def prompts(subject: Subject) -> str:
    """Check that prompts render for every objective and mechanism, and name everything a policy may read."""
    task = subject.task
    count = 0
    for mechanism in task.signature.mechanisms or (None,):
        chosen = {"mechanism": mechanism.name} if _is_chosen(task, mechanism) and mechanism else {}
        told = {**subject.settings, **chosen}
        for objective in task.objectives:
            made = Prompts(task, objective, told)
            for draft in _drafts(subject):
                _check_names(task, made.propose(draft))
                count += 1
    return f"{count} prompts"


def _is_chosen(task: Task, mechanism: Mechanism | None) -> bool:
    """Check whether a setting chooses among mechanisms; raise CheckFailed where it lacks this one."""
    setting = next((s for s in task.settings if s.name == "mechanism"), None)
    if setting is None or mechanism is None:
        return False
    if mechanism.name not in setting.choices:
        raise CheckFailed(
            f"the mechanism {mechanism.name!r} is none of the choices of the setting `mechanism`",
            "add it there, or leave the mechanism out",
        )
    return True


def _drafts(subject: Subject) -> list[Draft]:
    members = tuple(
        ScoredCandidate(n, n, 0, source, 0.0, (), 1, 1, "initial", 0, "", (), "seed", ())
        for n, source in enumerate(subject.sources.values(), 1)
    )
    return [Draft(1, "initial", members), Draft(2, "mutate", members[:1]), Draft(2, "fresh", ())]


def _check_names(task: Task, prompt: str) -> None:
    functions = [declared.function for declared in task.functions]
    features = [] if isinstance(task.signature, Program) else [name for name, _ in task.interface.features()]
    for name in (*functions, *features):
        if not re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", prompt):
            raise CheckFailed(
                f"the prompt does not name {name!r}",
                "have prompt.md.j2 extend propose.md.j2 and keep its blocks, or write what the policy may read",
            )
