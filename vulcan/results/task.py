"""Task interfaces as documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from vulcan.documents.policy import (
    FeatureDocument,
    FormDocument,
    FunctionInterface,
    HookDocument,
    SettingDeclaration,
    TaskDocument,
    TasksDocument,
)
from vulcan.registry import find_task, known_tasks
from vulcan.task import Program, Rank, Task, Value


def task_document(task: Task) -> TaskDocument:
    """Return the interface of a task."""
    return {
        "task": task.name,
        "summary": task.summary,
        **_functions(task.kinds[0]),
        "forms": [_functions(kind) for kind in task.kinds[1:]],
        "objectives": [
            {"name": o.name, "metric": o.metric, "meaning": o.meaning, "references": list(o.references)}
            for o in task.objectives
        ],
        "settings": [cast(SettingDeclaration, asdict(setting)) for setting in task.settings],
        "operations": task.operations,
    }


def _functions(kind: Task) -> FormDocument:
    return {
        **_function(kind.signature),
        "others": [_function(declared) for declared in kind.others],
        "events": [
            {
                "event": declared.function,
                "arguments": [argument.name for argument in declared.arguments],
                "meaning": declared.meaning,
            }
            for declared in kind.events
        ],
        "properties": kind.properties,
    }


def _function(declared: Rank | Value | Program) -> FunctionInterface:
    interface: FunctionInterface = {
        "kind": type(declared).__name__.lower(),
        "function": declared.function,
        "arguments": [argument.name for argument in declared.arguments],
        "features": [
            {"reads": name, **cast(FeatureDocument, asdict(feature)), "observed": declared.occasions.get(name)}
            for name, feature in declared.features()
        ],
        "returns": declared.returns,
        "mechanisms": [{"name": each.name, "meaning": each.meaning} for each in declared.mechanisms],
        "optional": declared.optional,
    }
    if isinstance(declared, Program):
        interface["hooks"] = [cast(HookDocument, asdict(hook)) for hook in declared.hooks]
    return interface


def tasks_document() -> TasksDocument:
    """List every known task with its path. Raises UserError where one does not load."""
    return {
        "tasks": [
            {"name": name, "path": path, "summary": find_task(name).summary}
            for name, path in sorted(known_tasks().items())
        ]
    }
