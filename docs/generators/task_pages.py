"""The reference of the built-in tasks, from their declarations: what a policy sees, decides and is compared with."""

from __future__ import annotations

import ast

from markdown_parts import written_by

from vulcan.anvil.prompt_section import code, table
from vulcan.evaluator import load_evaluator
from vulcan.interface import Argument, Entity, Global, History, Hook
from vulcan.registry import built_in_directory, find_task
from vulcan.task import Feature, Program, Rank, Setting, Task, Value
from vulcan.terminal_text import format_number

FOLDER = "reference/tasks"
HEAD = """# Tasks

{remark}

The tasks that come with Vulcan. `vulcan tasks` lists these and your own ([write one](../../own-task.md)); `vulcan task
show TASK` prints a task with the policy language as a model is told it, `vulcan prompt --task TASK` the whole prompt.

{table}
"""


def task_pages() -> dict[str, str]:
    """Each page's path in `docs/`, and its text."""
    tasks = [find_task(str(path.parent)) for path in sorted(built_in_directory().glob("*/task.py"))]
    rows = [
        (f"[{task.name}]({task.name}.md)", " + ".join(dict.fromkeys(_kind(f) for f in _functions(task))), task.summary)
        for task in tasks
    ]
    index = HEAD.format(
        remark=written_by("task_pages.py"), table=table(("task", "kind", "what a policy decides"), rows)
    )
    return {f"{FOLDER}/README.md": index, **{f"{FOLDER}/{task.name}.md": task_page(task) for task in tasks}}


def task_page(task: Task) -> str:
    """One task, in Markdown."""
    parts = [f"# {task.name}", written_by("task_pages.py"), task.summary]
    if (task.directory / "README.md").is_file():
        parts.append(
            f"What is modelled, what is left out, and results: [its own page](../../../tasks/{task.name}/README.md)."
        )
    if len(task.mechanisms) > 1:
        lines = [
            f'- `MECHANISM = "{name}"`: ' + ", ".join(_named(f) for f in task.of_policy(name).functions)
            for name in task.mechanisms
        ]
        parts.append(
            "A policy names the mechanism that uses it in a line of its module, and defines the functions of that "
            f"mechanism; without the line, it is `{task.mechanism}`.\n\n" + "\n".join(lines)
        )
    for declared in _functions(task):
        parts += _function(task, declared)
    parts += ["## What is good", _objectives(task)]
    parts += ["## What it is compared with", _compared_with(task)]
    if any(kind.properties for kind in task.kinds):
        parts += [
            "## Properties",
            "What `vulcan verify` proves or refutes; a search rejects a policy that is refuted on a required one.",
            _properties(task),
        ]
    parts += [
        "## Settings",
        "Options of `vulcan search`, `vulcan eval` and what else measures.",
        _settings(task.settings),
    ]
    parts += ["## Policies that come with it", _seeds(task)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _functions(task: Task) -> list[Rank | Value | Program]:
    return [declared for kind in task.kinds for declared in kind.functions]


def _named(declared: Rank | Value | Program) -> str:
    return code(declared.function) + (", if it likes" if declared.optional else "")


def _hook(hook: Hook) -> tuple[str, str, str]:
    call = code(f"{hook.name}({', '.join(argument.name for argument in hook.arguments)})")
    returned = hook.result if hook.returns != "nothing" else ""
    return call, hook.meaning + (" May be left out." if hook.optional else ""), returned


def _kind(declared: Rank | Value | Program) -> str:
    return type(declared).__name__.upper()


def _function(task: Task, declared: Rank | Value | Program) -> list[str]:
    if isinstance(declared, Program):
        parts = [f"## The class {code(declared.function)}", "PROGRAM: free Python, of which these methods are called."]
        parts.append(
            table(("method", "when it is called", "what it returns"), [_hook(hook) for hook in declared.hooks])
        )
    else:
        arguments = ", ".join(argument.name for argument in declared.arguments)
        parts = [
            f"## {code(f'{declared.function}({arguments})')}",
            f"{_kind(declared)}: returns {declared.returns}.{_bounds(declared)}",
            "\n".join(f"- {code(a.name)}: {_argument(a)}" for a in declared.arguments),
            _features(declared),
        ]
    settings = {setting.name: setting.default for setting in task.settings}
    parts.append("When it is called, by mechanism (with the settings' defaults):")
    parts.append(
        "\n".join(f"- **{m.name}**: {' '.join(m.description_with(settings).split())}" for m in declared.mechanisms)
    )
    return parts


def _bounds(declared: Rank | Value) -> str:
    if not isinstance(declared, Value):
        return ""
    return f" What is used of it is clamped to {format_number(declared.low)} to {format_number(declared.high)}."


def _argument(argument: Argument) -> str:
    match argument:
        case Entity() | Global() | History():
            return argument.meaning
        case _:
            return argument.feature.meaning


def _features(declared: Rank | Value) -> str:
    rows = [
        (code(name), feature.type, feature.unit, _range(feature), feature.meaning + _condition(feature))
        for name, feature in declared.features()
    ]
    return table(("feature", "type", "unit", "range", "meaning"), rows)


def _condition(feature: Feature) -> str:
    return f" (offered with `--{feature.only[0].replace('_', '-')} {feature.only[1]}`)" if feature.only else ""


def _range(feature: Feature) -> str:
    return f"{format_number(feature.low)} to {format_number(feature.high)}"


def _objectives(task: Task) -> str:
    rows = [(code(o.name), code(o.metric), o.meaning, ", ".join(map(code, o.references))) for o in task.objectives]
    text = "The first is the default; higher is better.\n\n"
    text += table(("objective", "of the metric", "meaning", "relative to"), rows)
    if task.axes:
        text += f"\n\nThe map of behaviour shows {code(task.axes[0])} across and {code(task.axes[1])} up at first."
    return text


def _compared_with(task: Task) -> str:
    known = load_evaluator(task).baselines()
    lines = []
    for kind, what in (("baseline", "Baselines"), ("oracle", "Oracles, which know more than a policy may")):
        names = [code(name) for name, theirs in known.items() if theirs == kind]
        if names:
            lines.append(f"{what}: {', '.join(names)}.")
    return "\n\n".join(lines)


def _properties(task: Task) -> str:
    rows = [
        (p.name, f"{p.kind} in {code(p.subject)}" if p.subject else p.kind, "yes" if p.required else "", p.meaning)
        for kind in task.kinds
        for p in kind.properties
    ]
    return table(("property", "kind", "required", "meaning"), rows)


def _settings(settings: tuple[Setting, ...]) -> str:
    rows = []
    for s in settings:
        choices = f"; one of {', '.join(map(code, s.choices))}" if s.choices else ""
        meaning = f"{s.meaning}{choices}{'; may be repeated' if s.repeatable else ''}"
        rows.append((code(s.option), s.type, meaning, "" if s.default is None else code(_default(s))))
    return table(("option", "type", "meaning", "default"), rows)


def _default(setting: Setting) -> str:
    return ", ".join(map(str, setting.default)) if isinstance(setting.default, list) else str(setting.default)


def _seeds(task: Task) -> str:
    """Their names, with the first paragraph of what each says of itself."""
    rows = []
    for name, source in task.seed_policies().items():
        said = ast.get_docstring(ast.parse(source)) or ""
        rows.append((code(name), " ".join(said.split("\n\n")[0].split())))
    return "A search begins with them.\n\n" + table(("policy", "what it is"), rows)
