"""The options of a search, each declared once: a field with its type, default, bounds, choices and help.

The command line, `vulcan.search()`, TOML files, the MCP schema and the reference pages are generated from these fields.
This module is imported for `vulcan --help`, so it imports nothing heavy.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from vulcan.errors import UserError, did_you_mean

ASK = "ask"
"""Model name of a search whose prompts are answered from outside, through `ask` and `tell`."""

StrategyName = Literal["evolve", "policysmith", "best-of-n", "engineer"]
DiffPolicy = Literal["auto", "never", "always"]
SplitPolicy = Literal["task", "none"]
TrainOn = Literal["nearby", "asked"]
FeedbackLevel = Literal["none", "scores", "full"]
ExecutorName = Literal["auto", "ray", "local"]

PARTS = ("whole", "train", "validation", "test")
"""The data to measure on: all of it, or one split."""

PROGRESS = ("auto", "rich", "plain", "json", "none")
"""Forms of progress output; see `vulcan.progress`."""

MIN_EVALUATIONS = 8
"""Smallest budget with which tuning can find anything."""

_MAX_SHOWN_BITS = 64
"""Of a number in an error message."""

MAX_SECONDS = 3600
"""Longest run of a candidate: the processor time that the sandbox allows (`vulcan.scoring.Limits`)."""


@dataclass(frozen=True, slots=True)
class Option:
    """The declaration of an option; `name`, `kind`, `default`, `repeatable` and `choices` come from its field.

    A value is at least `minimum` and at most `maximum`, or greater than `above` and finite; `off` is a value outside of
    the bounds that turns the option off. A text matches `pattern`, which `spelled` says in words. `flag` is a switch
    without its `--no-` form. `models_only` marks options without effect if no model is called (`--model ask`),
    `resumable` those that `vulcan resume` takes anew.
    """

    help: str
    minimum: int | None = None
    above: float | None = None
    maximum: float | None = None
    off: int | None = None
    pattern: str | None = None
    spelled: str = ""
    flag: bool = False
    models_only: bool = False
    resumable: bool = False
    environment: str | None = None
    name: str = ""
    kind: type = str
    default: Any = None
    repeatable: bool = False
    choices: tuple[str, ...] = ()

    def parameter(self) -> inspect.Parameter:
        """Return the option as a keyword parameter of a Python function, where None means the default."""
        accepted = str | Sequence[str] if self.repeatable else self.kind
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=accepted | None)

    @property
    def switch(self) -> str:
        """Name of the option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    def parse(self, value: Any, where: str) -> Any:
        """Check the type of a plain value, from a file or a program. Raises UserError, prefixed by `where`."""
        if self.repeatable:
            values = [value] if isinstance(value, str) else value
            if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
                raise UserError(f"{where}: {self.name} is not a name or a list of names")
            return values
        if not fits(value, self.kind):
            raise UserError(f"{where}: {self.name} is {value!r}, which is no {SPELLED[self.kind]}")
        return float(str(value)) if self.kind is float else value

    def check(self, value: Any) -> None:
        """Check the bounds and choices of a value of the right type. Raises UserError."""
        if value is None or value == self.off:
            return
        huge = isinstance(value, int) and value.bit_length() > _MAX_SHOWN_BITS  # Python refuses to print it
        shown = f"{self.switch[2:]} is " + ("a huge number" if huge else str(value))
        if self.choices:
            check_choice(self.name, value, self.choices)
        elif self.pattern is not None and not re.fullmatch(self.pattern, value):
            raise UserError(f"{shown}: write {self.spelled}")
        elif self.repeatable and not value and self.default:
            raise UserError(f"name at least one {self.name}")
        elif self.minimum is not None and not self.minimum <= value < math.inf:
            off = f", or {self.off}" if self.off is not None else ""
            raise UserError(f"{shown}: at least {self.minimum} is needed{off}")
        elif self.above is not None and not self.above < value <= (self.maximum or sys.float_info.max):
            most = "finite" if self.maximum is None else f"at most {self.maximum}"
            raise UserError(f"{shown}: it must be above {self.above:g} and {most}")
        elif self.maximum is not None and value > self.maximum:
            raise UserError(f"{shown}: at most {self.maximum} can be")

    def schema(self) -> dict[str, Any]:
        """Return the option as JSON Schema."""
        schema: dict[str, Any] = {"type": _JSON_TYPES[self.kind], "description": self.help}
        if self.default is not None:
            schema["default"] = self.default
        if self.choices:
            schema["enum"] = list(self.choices)
        bounds = {
            "minimum": self.minimum if self.off is None else self.off,
            "exclusiveMinimum": self.above,
            "maximum": self.maximum,
        }
        return schema | {name: bound for name, bound in bounds.items() if bound is not None}


SPELLED: Mapping[Any, str] = {str: "text", int: "whole number", float: "number", bool: "true or false"}
_JSON_TYPES: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def fits(value: Any, kind: type) -> bool:
    """Check whether a plain value is of a type; an integer counts as a number, a Boolean does not."""
    accepted = (int, float) if kind is float else kind
    return isinstance(value, accepted) and (kind is bool or not isinstance(value, bool))


_OfModels = partial(Option, models_only=True, resumable=True)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The options that decide what a search finds."""

    objective: Annotated[str, Option("Objective to maximise. Default: the task's first.")]
    model: Annotated[
        tuple[str, ...],
        Option(
            "Model, by its litellm name; `offline/evolve`, a built-in generator that needs no model and no key; "
            "`ask`, to answer the prompts yourself with `vulcan ask` and `vulcan tell`; or `agent:COMMAND`, a command "
            "that reads the chat and writes the reply, such as `agent:claude -p`. With several models, calls "
            "are allocated by score gain per dollar.",
            environment="VULCAN_MODEL",
            resumable=True,
        ),
    ] = ("offline/evolve",)
    api_base: Annotated[
        str | None,
        _OfModels(
            "URL of an OpenAI-compatible server for the model, such as http://localhost:8000/v1.",
            environment="VULCAN_API_BASE",
        ),
    ] = None
    temperature: Annotated[
        float | None,
        _OfModels("Sampling temperature. Default: the server's.", minimum=0),
    ] = None
    max_tokens: Annotated[
        int | None,
        _OfModels("Maximum tokens per reply. Default: the server's.", minimum=1),
    ] = None
    start_from: Annotated[
        tuple[str, ...],
        Option(
            "Start from this policy too, besides the task's own: a policy's file, the recommended policy of an earlier "
            "run, or `library`, the members of the task's library."
        ),
    ] = ()
    target: Annotated[
        str | None,
        Option(
            "Search only for policies that can be exported to this format, such as bpf: others are rejected before "
            "they are scored, and the model is given the reason. Known policies that cannot are not compared with."
        ),
    ] = None
    train_on: Annotated[
        TrainOn,
        Option(
            "What a search trains on: the training instances as asked for alone, or those nearby too (such as caches "
            "of half and double the size)."
        ),
    ] = "nearby"
    model_timeout: Annotated[
        float | None,
        _OfModels("Seconds to wait for a reply. Default: 300.", above=0),
    ] = None
    price_in: Annotated[
        float | None,
        _OfModels(
            "Price of a model that is not in the price table, such as on your own server: dollars per million tokens "
            "of prompts. With --price-out.",
            above=0,
        ),
    ] = None
    price_out: Annotated[
        float | None,
        _OfModels("Dollars per million tokens of replies. With --price-in.", above=0),
    ] = None
    strategy: Annotated[
        StrategyName,
        Option(
            "Search strategy: evolve, policysmith, best-of-n (independent samples, to compare with), or engineer (each "
            "proposal is a conversation in which the model measures drafts and asks questions)."
        ),
    ] = "evolve"
    turns: Annotated[
        int, Option("Most replies of a conversation (engineer), the one with the program included.", minimum=1)
    ] = 16
    drafts: Annotated[
        int,
        Option(
            "Programs that a conversation may have scored (engineer), the last one included, and more where earlier "
            "ones have left some: a plan or budget of candidates is for a conversation for each so many.",
            minimum=1,
        ),
    ] = 5
    rounds: Annotated[int, Option("Number of rounds.", minimum=1)] = 20
    samples: Annotated[int, Option("Proposals per round.", minimum=1)] = 25
    parents: Annotated[int, Option("Parent candidates shown in each prompt.", minimum=1)] = 2
    islands: Annotated[int, Option("Number of islands (evolve).", minimum=1)] = 4
    migrate_every: Annotated[int, Option("Proposals between migrations (evolve).", minimum=1)] = 30
    advice_every: Annotated[
        int,
        Option("Proposals between requests for a summary of lessons learned (evolve); 0 disables them.", minimum=0),
    ] = 40
    diff: Annotated[
        DiffPolicy,
        Option("Ask for diffs instead of full programs: auto (if the model handles them), never or always."),
    ] = "auto"
    in_flight: Annotated[
        int,
        Option(
            "Proposals that may be under way as another is drafted, without their results (evolve, engineer). Default: "
            "8; 0 with --model ask, and 1 conversation.",
            minimum=0,
            resumable=True,
        ),
    ] = 8
    feedback: Annotated[
        FeedbackLevel,
        Option(
            "What prompts say of policies: none (their programs alone), scores (by instance), or full (also the "
            "workload, the known policies, and the evaluator's findings about the policies shown, within 3,000 tokens)."
        ),
    ] = "full"
    repairs: Annotated[
        int,
        Option("Maximum attempts to repair a rejected program, each a further turn of the same chat.", minimum=0),
    ] = 2
    budget_candidates: Annotated[
        int | None, Option("Stop after this many proposals. Default: rounds x samples.", minimum=1, resumable=True)
    ] = None
    budget_dollars: Annotated[
        float | None,
        _OfModels("Spending limit for models in US dollars, calls in flight included.", above=0),
    ] = None
    budget_tokens: Annotated[
        int | None,
        _OfModels("Token limit for models, input and output, calls in flight included.", minimum=1),
    ] = None
    budget_minutes: Annotated[
        float | None,
        _OfModels("Stop calling models after this many minutes of wall-clock time.", above=0),
    ] = None
    racing: Annotated[
        bool,
        Option("Score candidates on cheaper versions of the instances first, and only promising ones in full."),
    ] = True
    tune: Annotated[
        int,
        Option(
            "Evaluations for tuning the constants of each new best candidate, and three times as many for the "
            f"final one, but no more than proposals: at least {MIN_EVALUATIONS}, or 0 to disable tuning.",
            minimum=MIN_EVALUATIONS,
            off=0,
        ),
    ] = 40
    simplify: Annotated[
        int,
        Option(
            "Evaluations for simplifying the best candidate, and then the winner: a tenth of the proposals where that "
            "is more, and no more than proposals; 0 disables it.",
            minimum=0,
        ),
    ] = 80
    seed: Annotated[int, Option("Random seed. The same seed and the same replies give the same run.")] = 1
    split: Annotated[
        SplitPolicy, Option("Held-out data: `task`, as the task declares, or `none`, to search on all of it.")
    ] = "task"
    finalists: Annotated[
        int,
        Option(
            "Maximum number of candidates evaluated on the validation split: the best on train that differ in what "
            "they do, besides the policies to begin with.",
            minimum=1,
        ),
    ] = 64
    limit: Annotated[
        float,
        Option(
            "Timeout per candidate in seconds (of processor time in free Python), for all its instances together.",
            above=0,
            maximum=MAX_SECONDS,
        ),
    ] = 120.0

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            option.check(getattr(self, name))


@dataclass(frozen=True)
class ExecutionOptions:
    """The options that decide where candidates are scored, and have no effect on results."""

    executor: Annotated[
        ExecutorName,
        Option(
            "Where to score candidates: `local` processes, `ray`, or `auto`: the cluster of --ray-address or "
            "RAY_ADDRESS if there is one, else local processes."
        ),
    ] = "auto"
    workers: Annotated[
        int, Option("Candidates scored in parallel; 0: one per processor.", minimum=1, maximum=1024, off=0)
    ] = 0
    ray_address: Annotated[
        str | None, Option("Address of a Ray cluster to join. Default: RAY_ADDRESS, else a local Ray.")
    ] = None
    allow_unsandboxed: Annotated[
        bool,
        Option(
            "Run free-Python policies even if this host cannot sandbox them; they run with your privileges.", flag=True
        ),
    ] = False

    def __post_init__(self) -> None:
        for name, option in EXECUTION_OPTIONS.items():
            option.check(getattr(self, name))


def _declared_in(declared: type) -> dict[str, Option]:
    hints = get_type_hints(declared, include_extras=True)
    return {f.name: _complete(f.name, f.default, *get_args(hints[f.name])) for f in fields(declared)}


def _complete(name: str, default: Any, hint: Any, option: Option) -> Option:
    if get_origin(hint) is types.UnionType:
        (hint,) = (one for one in get_args(hint) if one is not types.NoneType)
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    repeatable = get_origin(hint) is tuple
    return replace(
        option,
        name=name,
        default=None if default is MISSING else default,
        kind=str if choices or repeatable else hint,
        choices=choices,
        repeatable=repeatable,
    )


OPTIONS: Mapping[str, Option] = _declared_in(SearchOptions)
"""Options of the search by name, except for the task and its settings."""

RESUME_OPTIONS: Mapping[str, Option] = {
    name: replace(option, default=() if option.repeatable else None, environment=None)
    for name, option in OPTIONS.items()
    if option.resumable
}
"""Options that a resumed search may take anew, by name; by default they stay."""

EXECUTION_OPTIONS: Mapping[str, Option] = _declared_in(ExecutionOptions)
"""Options of where to score, by name."""


def check_choice(what: str, given: str, choices: Iterable[str]) -> None:
    """Raise UserError for a value that is none of the choices, naming the nearest."""
    known = list(choices)
    if given not in known:
        raise UserError(f"no {what} {given!r}{did_you_mean(given, known)} (known: {', '.join(known)})")


def parse_execution(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Check the names and types of plain values for `ExecutionOptions`. Raises UserError."""
    for name in given:
        if name not in EXECUTION_OPTIONS:
            raise UserError(f"{where}: no option {name!r}{did_you_mean(name, EXECUTION_OPTIONS)}")
    return {name: EXECUTION_OPTIONS[name].parse(value, where) for name, value in given.items()}


def take_options(
    function: Callable[..., Any], parameters: Iterable[inspect.Parameter], after: str, *, others: str | None = None
) -> None:
    """Add parameters to the signature of a function that takes them by `**`, after one that it names.

    `others` is the name of its remaining `**` parameter, if any.
    """
    signature = inspect.signature(function, eval_str=True)
    *named, rest = signature.parameters.values()
    before = 1 + [parameter.name for parameter in named].index(after)
    shown = [*named[:before], *parameters]
    shown += [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in named[before:]]
    if others is not None:
        shown.append(rest.replace(name=others))
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in shown} | {"return": signature.return_annotation}
