"""Puts an exported Python module together."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Collection, Iterator, Mapping

from vulcan.anvil import Policy, ir
from vulcan.errors import UserError
from vulcan.export.provenance import Provenance
from vulcan.export.python import runtime
from vulcan.export.python.functions import python_source, taken_by
from vulcan.export.python.line_breaking import fitted
from vulcan.export.python.statistic_calls import python_statistics
from vulcan.export.python.statistic_names import statistic_names
from vulcan.export.quoting import docstring, quoted
from vulcan.export.source import MARKER, POLICY, source_text
from vulcan.export.template import Template
from vulcan.task import Json

FORMAT_VERSION = 1
_LARGEST = "_LARGEST"


def python_module(
    policy: Policy,
    provenance: Provenance,
    template: Template,
    *,
    imports: Collection[str] = (),
    behind: str = "",
    needs: str = "It needs Python alone.",
) -> str:
    """The text of a module that imports nothing but `math`: the policy, and what the template makes of it.

    With `behind`, that text follows, and the module imports besides what `imports` names; `needs` says what it takes
    then. Raises UserError where the template cannot give a function of the policy the statistics that it asks for.
    """
    signature = policy.task.interface
    names = statistic_names(policy.plan, signature)
    own = {
        "math", MARKER, POLICY, _LARGEST, "_USES", "_Entity", "_Statistics", *_functions(), *template.names,
        *(name.partition(".")[0] for name in imports), *Template(behind).names,
    }  # fmt: skip
    _check_state(policy, names.state, template)
    source = python_source(
        policy.program, names, signature, taken=own, annotations=template.annotations, with_state=template.with_state
    )
    is_kept = template.text or policy.plan.statistics
    statistics = python_statistics(names, signature, template.annotations) if is_kept else ""
    needed = source.runtime | names.runtime
    code = [
        *source.functions,
        *(inspect.getsource(_functions()[name]).rstrip() for name in _functions() if name in needed),
        *([statistics] if statistics else []),
        *(text.rstrip() for text in (template.text, behind) if text),
    ]
    constants = [
        *([f"{_LARGEST} = {runtime._LARGEST!r}"] if any(_refers(part, _LARGEST) for part in code) else []),
        *(_settings(template, provenance) if template.settings else []),
        *([_uses(policy)] if template.text else []),
    ]
    head = [
        docstring(_documentation(policy, provenance, needs)),
        *_imports([*imports, *(["math"] if any(_refers(part, "math") for part in code) else [])]),
        f"{MARKER} = {FORMAT_VERSION}",
        *([source.parameters] if source.parameters else []),
        *(["\n".join(constants)] if constants else []),
    ]
    tail = (
        "# The policy as it was searched, in the language Anvil; `vulcan eval` and `vulcan check` read it from here\n"
        f"{POLICY} = {quoted(source_text(policy))}\n"
    )
    return "\n\n\n".join(["\n\n".join(head), *code, tail])


def _check_state(policy: Policy, state: str, template: Template) -> None:
    for entry in policy.program.entries if template.text else ():
        if len(taken_by(entry, state)) > len(entry.arguments) and entry.name not in template.with_state:
            raise UserError(
                f"task {policy.task.name!r}: this policy's {entry.name} asks for statistics of the whole system, which "
                f"the stand-in for it in export/python.py does not take; give it one more argument, behind the others"
            )


def _functions() -> Mapping[str, type]:
    """The functions and classes of the runtime, in the order they are written in."""
    return {
        name: value for name, value in vars(runtime).items() if getattr(value, "__module__", None) == runtime.__name__
    }


def _imports(names: Collection[str]) -> Iterator[str]:
    """The imports, those of Python's own modules first."""
    own = {name for name in names if name.partition(".")[0] in sys.stdlib_module_names}
    yield from ("\n".join(f"import {name}" for name in sorted(some)) for some in (own, {*names} - own) if some)


def _documentation(policy: Policy, provenance: Provenance, needs: str) -> str:
    about = policy.program.documentation or f"A policy of the task {provenance.task}."
    return "\n".join((about, "", *provenance.lines(needs)))


def _settings(template: Template, provenance: Provenance) -> Iterator[str]:
    for name, default in template.settings.items():
        value: Json = provenance.settings.get(name.lower(), default)
        yield f"{name} = {_literal(default if value is None else value)}"


def _uses(policy: Policy) -> str:
    names = {*_read(policy), *(f"{query.history}.{query.query}" for query in policy.plan.queries)}
    elements: list[ast.expr] = [ast.Constant(name) for name in sorted(names)]
    written = ast.Call(ast.Name("frozenset"), [ast.Set(elements)] if elements else [], [])
    return "\n".join(fitted("_USES = ", written)).replace("'", '"')


def _read(policy: Policy) -> set[str]:
    """The features that are read as numbers, themselves or by statistics.

    An entity's key is not where it is looked for among keys and nothing else is done with it, for that takes no more
    than telling whether two are equal.
    """
    names = {*policy.plan.features, *(s.feature for s in policy.plan.statistics)}
    entity = policy.task.interface.entity
    if entity is not None:
        key = ir.Read(f"{entity.name}.{entity.key}")
        written = [e for function in policy.program.functions for e in ir.expressions(function.body)]
        asked = [e for e in written if isinstance(e, ir.Occurrences) and e.statistic.feature == key.feature]
        if all(e.value == key for e in asked) and len(asked) == written.count(key):
            names.discard(key.feature)
    return names


def _literal(value: Json) -> str:
    return '"' + value + '"' if isinstance(value, str) and value.replace(".", "_").isidentifier() else repr(value)


def _refers(code: str, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(code)))
