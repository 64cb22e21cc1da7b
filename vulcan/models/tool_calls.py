"""Tools of a chat, and their calls: as text that any model can write, and as functions of the chat-completions API.

A recorded chat has them as text. Models that take functions are sent the same chat in the API's form.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from vulcan.models.base import Message

PROGRAMS = ("program", "other")
"""Arguments that follow a call as code blocks, in this order."""

_CALL = re.compile(
    r"^```tool[ \t]*\n\s*(?P<name>\w+)(?P<arguments>.*?)^```[ \t]*$"
    r"(?P<programs>(?:\s*^```(?:python|py)[ \t]*\n.*?^```[ \t]*$)*)",
    re.MULTILINE | re.DOTALL,
)
_PROGRAM = re.compile(r"^```(?:python|py)[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its function, of a conversation and texts. Docstring and annotated arguments say what it is for."""

    name: str
    function: Callable[..., str]
    needs: Callable[..., object] | None = None
    """The method that an evaluator must have."""

    @property
    def description(self) -> str:
        return " ".join((inspect.getdoc(self.function) or "").split())

    @property
    def parameters(self) -> dict[str, tuple[str, bool]]:
        """What each argument is, and whether it is needed."""
        hints = get_type_hints(self.function, include_extras=True)
        taken = list(inspect.signature(self.function).parameters.values())[1:]
        return {p.name: (get_args(hints[p.name])[1], p.default is inspect.Parameter.empty) for p in taken}

    def schema(self) -> dict[str, Any]:
        """Return the tool in the form of the chat-completions API."""
        properties = {name: {"type": "string", "description": text} for name, (text, _) in self.parameters.items()}
        needed = [name for name, (_, is_needed) in self.parameters.items() if is_needed]
        parameters = {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. `problem` says why its arguments cannot be read; then there are none."""

    name: str
    arguments: Mapping[str, Any]
    problem: str = ""

    def text(self) -> str:
        """Return the call as text."""
        texts = {name: str(self.arguments.get(name, "")) for name in PROGRAMS}
        apart = [name for name, text in texts.items() if "\n" in text and "```" not in text]
        if apart == ["other"]:
            apart = []  # the first block would be taken for the program
        rest = {name: value for name, value in self.arguments.items() if name not in apart}
        lines = ["```tool", self.name, *([json.dumps(rest)] if rest else []), "```"]
        programs = [f"```python\n{texts[name].rstrip()}\n```" for name in apart]
        return "\n".join([*lines, *programs])


def read_calls(text: str) -> tuple[ToolCall, ...]:
    """Return the calls in a reply, in order; none in most."""
    return tuple(_call(found) for found in _CALL.finditer(text))


def _call(found: re.Match[str]) -> ToolCall:
    name, written = found["name"], found["arguments"].strip()
    try:
        given = json.loads(written) if written else {}
    except (ValueError, RecursionError) as error:
        return ToolCall(name, {}, f"its arguments are not JSON: {error}")
    if not isinstance(given, dict):
        return ToolCall(name, {}, "its arguments are no JSON object")
    return ToolCall(name, given | dict(zip(PROGRAMS, _PROGRAM.findall(found["programs"]), strict=False)))


def called(functions: Sequence[Mapping[str, object]]) -> str:
    """Return the function calls of an answer as text; arguments that are not JSON stay as they are."""
    texts = []
    for function in functions:
        name, written = str(function.get("name") or "unnamed"), function.get("arguments") or "{}"
        try:
            given = json.loads(written) if isinstance(written, str) else written
        except (ValueError, RecursionError):
            given = written
        made = ToolCall(name, given).text() if isinstance(given, dict) else f"```tool\n{name}\n{given}\n```"
        texts.append(made)
    return "\n\n".join(texts)


def as_functions(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return a chat in the API's form, its tool calls as function calls with numbers, and the results by those."""
    chat: list[dict[str, Any]] = []
    waiting: Iterator[str] = iter(())
    number = 0
    for message in messages:
        calls = read_calls(message.content) if message.role == "assistant" else ()
        if calls:
            names = [f"call_{number + n}" for n in range(len(calls))]
            number += len(calls)
            waiting = iter(names)
            functions = [{"name": c.name, "arguments": json.dumps(c.arguments)} for c in calls]
            made = [{"id": i, "type": "function", "function": f} for i, f in zip(names, functions, strict=True)]
            prose = _CALL.sub("", message.content).strip()
            chat.append({"role": "assistant", "content": prose or None, "tool_calls": made})
        elif message.role == "tool":
            chat.append({"role": "tool", "tool_call_id": next(waiting), "content": message.content})
        else:
            chat.append({"role": message.role, "content": message.content})
    return chat


def as_text(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return a chat in the API's form for a model that takes no functions: results of tools are the user's turn."""
    chat: list[dict[str, Any]] = []
    for message in messages:
        role = "user" if message.role == "tool" else message.role
        if message.role == "tool" and chat[-1]["role"] == "user":
            chat[-1]["content"] += f"\n\n{message.content}"
        else:
            chat.append({"role": role, "content": message.content})
    return chat
