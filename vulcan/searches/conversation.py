"""A proposal as a conversation: a model asks tools about training data, measures drafts, and then gives a program.

Results follow from the replies and from what was known before the proposal's barrier, so that a conversation is
repeated from its replies alone.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

from vulcan.errors import UserError
from vulcan.evaluator import Evaluator
from vulcan.models import Message, Reply
from vulcan.models.tool_calls import ToolCall, read_calls
from vulcan.searches.bench import Bench, interval_text
from vulcan.searches.config import SearchConfig
from vulcan.searches.evaluation import CandidateEvaluation, StoppingContext
from vulcan.searches.feedback import markdown, workload_text
from vulcan.searches.proposal import Attempt, Proposal
from vulcan.searches.reply import ParsedReply, parse_source
from vulcan.searches.strategies import ENGINEER, Draft
from vulcan.searches.target import starts_of
from vulcan.searches.tuning import tune

MAX_CALLS = 6
"""Most calls in one reply that are answered."""

MAX_RESULT = 10_000
"""Longest result of a tool, in characters."""

MAX_NOTE = 600
"""Longest note, in characters."""

Source = Annotated[
    str, "A complete module; or the name of one: `best`, a candidate's number, `draft N`, or of the library."
]


@dataclass(frozen=True, slots=True)
class Share:
    """What a conversation may use: replies, programs that are scored, tokens and dollars."""

    turns: int
    drafts: int
    tokens: float
    dollars: float


class Best(NamedTuple):
    """The best program so far: of the search before the barrier, or a draft of the conversation."""

    name: str
    source: str
    score: float
    scores: tuple[float, ...]


@dataclass
class Conversation:
    """The state of one conversation. Its public methods that `TOOLS` names are the tools.

    `known` is the history before the barrier, of proposals below `before`, with which `best` begins.
    """

    bench: Bench
    number: int
    before: int
    known: StoppingContext
    best: Best | None
    notebook: str
    share: Share
    attempts: list[Attempt] = field(default_factory=list)
    notes_made: list[str] = field(default_factory=list)
    _before: Best | None = None
    _turn: int = 0
    _tokens: int = 0
    _dollars: float = 0.0
    _told: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._before = self.best

    def answer(self, proposal: Proposal, reply: Reply, last_turn: int) -> Proposal | None:
        """Return the next turn, with the results of the tools that a reply calls; None where it calls none.

        No turn follows the last, nor a reply that gives a program after notes alone.
        """
        self._tokens += (reply.tokens_in or 0) + (reply.tokens_out or 0)
        self._dollars += reply.dollars or 0.0
        self._turn = proposal.turn
        calls = read_calls(reply.text)
        is_last = proposal.turn >= last_turn
        gives_program = bool(calls) and all(call.name == "notes" for call in calls)
        gives_program = gives_program and "```py" in reply.text[reply.text.rindex("```tool") :]
        if gives_program:  # which is no argument of the note before it
            calls = tuple(replace(call, arguments={"note": call.arguments.get("note", "")}) for call in calls)
        if not calls or (is_last and not gives_program):
            return None
        results = [self._result(call) if n < MAX_CALLS else _TOO_MANY for n, call in enumerate(calls)]
        if is_last or (gives_program and not any(result.startswith("error: ") for result in results)):
            return None
        left = self.share.turns - 1 - proposal.turn  # what it was told, also where its replies are repeated
        after_next = 1 + 2 / (proposal.turn + 1)  # a reply that costs as much as those so far, and the last
        if self._tokens * after_next > self.share.tokens or self._dollars * after_next > self.share.dollars:
            left = 1
        replies = _LAST if left == 1 else f"replies left: {left}"
        results[-1] += f"\n\n({replies}; drafts to measure: {self._drafts_left})"
        told = (Message("assistant", reply.text), *(Message("tool", result) for result in results))
        return replace(proposal, turn=proposal.turn + 1, messages=(*proposal.messages, *told))

    @property
    def _drafts(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.trial is not None]

    @property
    def _drafts_left(self) -> int:
        return max(0, self.share.drafts - 1 - len(self._drafts))

    def _result(self, call: ToolCall) -> str:
        tool = TOOLS.get(call.name)
        try:
            if call.problem:
                raise UserError(call.problem)
            if tool is None or call.name not in tools_of(self.bench):
                raise UserError(f"there is no tool {call.name!r} (there are: {', '.join(tools_of(self.bench))})")
            arguments = {name: str(value) for name, value in call.arguments.items()}
            try:
                inspect.signature(tool.function).bind(self, **arguments)
            except TypeError as error:
                raise UserError(f"{call.name}: {error}") from error
            text = tool.function(self, **arguments)
        except UserError as error:
            text = f"error: {error}"
        return text if len(text) <= MAX_RESULT else f"{text[:MAX_RESULT]}\n... (cut off)"

    @property
    def schemas(self) -> tuple[Mapping[str, Any], ...]:
        """The tools that there are, in the form of the chat-completions API."""
        return tuple(TOOLS[name].schema() for name in tools_of(self.bench))

    # Tools

    def measure(self, program: Source) -> str:
        """Check and score a program on the training instances, with its gain over the best so far. It is a draft."""
        return self._measured(self._source(program))

    def explain(self, program: Source) -> str:
        """Say where a program does well or badly on training data, also by part of the time. A new one is a draft."""
        source = self._source(program)
        measured = self._measured_first(source)
        parts = self._by_part({"program": source})
        try:
            return f"{measured}{self.bench.findings(source)}\n\n{parts}".strip()
        except UserError as error:
            return f"{measured}{parts}\n\n{error}"

    def compare(self, program: Source, other: Source) -> str:
        """Say where two programs differ on training data, and at what cost, also by part. New ones are drafts."""
        first, second = self._source(program), self._source(other)
        if first == second and self._before is not None and "best" in (program.strip(), other.strip()):
            second = self._before.source  # the best is this draft: beside what was the best before the conversation
        if first == second:
            raise UserError("the two are one program")
        measured = self._measured_first(first) + self._measured_first(second)
        parts = self._by_part({"program": first, "other": second})
        return f"{measured}{self.bench.findings(first, second)}\n\n{parts}".strip()

    def workload(self) -> str:
        """Describe the training data."""
        return workload_text(self.bench.record.workload, self.bench.scorer.asked) or "nothing is known of it"

    def hazards(self) -> str:
        """Tabulate how likely what a policy waits for is, by what it may know, in each half of the training data."""
        return self.bench.hazards()

    def curve(
        self,
        feature: Annotated[str, "A quantity of the oracle's lessons; without one, those there are are listed."] = "",
        also: Annotated[str, "A second one, for a table by both."] = "",
    ) -> str:
        """Tabulate what the future of training data brings, by a feature or two, in each half of the time."""
        return self.bench.curve(feature, also)

    def tune(self, program: Source) -> str:
        """Tune a program's numbers on the training data, and measure the result, else the program. It is a draft."""
        source, bench = self._source(program), self.bench
        self._checked(source)
        self._check_drafts()
        full, cheap = bench.on(bench.training), bench.cheapest
        evaluations = bench.config.tune or 40
        seed = bench.config.seed * 1_000_003 + self.number
        tuning = tune(source, bench.task, cheap or full, evaluations=evaluations, seed=seed, confirm=cheap and full)
        found, tried = tuning.best, [sample[-1] for sample in tuning.samples]
        trials = f"{len(tried)} settings scored on {bench.cheapest_name}: its own {tried[0]:.4f}, " if tried else ""
        trials += f"the best {max(tried):.4f}" if tried else "it has no numbers to tune"
        if found is None:
            return f"{self._measured_first(source)}no better numbers were found ({trials})"
        return f"{self._measured(found.source)}\n\n{trials}\n\n```python\n{found.source.strip()}\n```"

    def library(self, name: Annotated[str, "A policy, to get its program."] = "") -> str:
        """List the known policies with their scores on train by instance; or give the program of one."""
        bench = self.bench
        if name:
            return f"```python\n{self._source(name).strip()}\n```"
        starts = tuple(starts_of(bench.task, bench.config))
        known = [(b.score, b.label, b.metrics) for (_, split), b in bench.record.baselines.items() if split == "train"]
        known += [
            (one.score, starts[one.proposal - 1], one.metrics)
            for one in bench.record.candidates.values()
            if one.proposal <= len(starts) and one.score is not None and one.verdict == "scored"
        ]
        rows = [
            (label, *(f"{score:.4f}" for score in bench.scorer.on_each(bench.training, metrics)))
            for _, label, metrics in sorted(known, key=lambda one: -one[0])
        ]
        rows = list(dict.fromkeys(rows))  # a start that is a baseline's program
        programs = ", ".join(starts)
        table = markdown(("policy", *(instance.name for instance in bench.training)), rows)
        return f"{table}\n\nThere are programs of: {programs or 'none'}"

    def notes(
        self,
        note: Annotated[
            str, f"A note to add, of at most {MAX_NOTE} characters: a hypothesis, what it predicts, what was seen."
        ] = "",
    ) -> str:
        """Read the notebook of the search, which later conversations read too; with a note, add to it."""
        if text := " ".join(note.split()):
            if len(text) > MAX_NOTE:
                raise UserError(f"a note of {len(text)} characters: at most {MAX_NOTE} are kept")
            self.notes_made.append(text)
        return "\n".join(filter(None, (self.notebook, *(f"- {text}" for text in self.notes_made)))) or "it is empty"

    # What they share

    def _source(self, program: str) -> str:
        """Return a program given in full, or by the name of a known one. Raises UserError."""
        name = program.strip()
        starts = starts_of(self.bench.task, self.bench.config)
        if name == "best" and self.best is not None:
            return self.best.source
        if name.isdecimal():
            made = self.bench.record.candidates.get(int(name))
            if made is None or made.proposal >= self.before:
                raise UserError(f"there is no candidate {name} yet")
            return made.source
        if "\n" not in name and "def " not in name:
            number = name.removeprefix("draft ")
            if number != name and number.isdecimal() and 0 < int(number) <= len(self._drafts):
                return self._drafts[int(number) - 1].reading.source
            if name.replace("-", "_") not in starts:
                raise UserError(
                    f"no program {name[:60]!r} (there are: best, a candidate's number, draft N, {', '.join(starts)})"
                )
            return starts[name.replace("-", "_")]
        return program

    def _checked(self, source: str) -> ParsedReply:
        reading = parse_source(source, self.bench.task, self.bench.config.target)
        if reading.policy is None:
            raise UserError(reading.feedback)
        return reading

    def _measured_first(self, source: str) -> str:
        """Measure a program unless it was measured before, and return what is said of it. Raises UserError."""
        policy = self._checked(source).policy
        assert policy is not None
        earlier = self.bench.record.candidate_with(policy.fingerprint)
        known = earlier is not None and self.bench.record.candidates[earlier].proposal < self.before
        return "" if known or policy.fingerprint in self._told else f"{self._measured(source)}\n\n"

    def _check_drafts(self) -> None:
        if not self._drafts_left:
            raise UserError("this conversation has no drafts left to measure: give its program")

    def _measured(self, source: str) -> str:
        reading = parse_source(source, self.bench.task, self.bench.config.target)
        if reading.policy is None:
            self.attempts.append(Attempt(self._turn, reading, None))
            return f"rejected:\n{reading.feedback}"
        fingerprint = reading.policy.fingerprint
        if fingerprint in self._told:
            return self._told[fingerprint]
        earlier = self.bench.record.candidate_with(fingerprint)
        if earlier is not None and (made := self.bench.record.candidates[earlier]).proposal < self.before:
            scored = "" if made.score is None else f", score {made.score:.4f}"
            return f"it is candidate {earlier}, and no draft: {made.verdict}{scored}"
        self._check_drafts()
        bench = self.bench
        parts = bench.plan, self.known, bench.scorer, bench.executor, bench.config.limit
        trial = CandidateEvaluation(self.number, source, *parts)
        trial.wait()
        self.attempts.append(Attempt(self._turn, reading, trial))
        lines = self._verdict(f"draft {len(self._drafts)}", source, trial)
        lines += [f"warning: {warning}" for warning in reading.policy.warnings]
        self._told[fingerprint] = "\n".join(lines)
        return self._told[fingerprint]

    def _verdict(self, name: str, source: str, trial: CandidateEvaluation) -> list[str]:
        """Return what is said of a measured program: its score, by instance, and beside the best so far."""
        if trial.score is None:
            return [f"{name} is {trial.verdict}: {trial.feedback}"]
        training, best = self.bench.training, self.best
        scores = self.bench.scorer.on_each(training, trial.metrics)
        lines = [f"{name}: score {trial.score:.4f} on train"]
        if len(training) > 1:
            by_name = zip(training, scores, strict=True)
            lines.append("by instance: " + ", ".join(f"{instance.name} {score:.4f}" for instance, score in by_name))
        if best is not None:
            lines[0] += f"; the best so far, {best.name}, has {best.score:.4f}"
            differences = [a - b for a, b in zip(scores, best.scores, strict=True)]
            lines.append(f"over the best: {self._over(best, source, differences)}")
        if trial.verdict == "scored" and (best is None or trial.score > best.score):
            self.best = Best(name, source, trial.score, scores)
        return lines

    def _over(self, best: Best, source: str, by_instance: Sequence[float]) -> str:
        if self.bench.windows and len(self.bench.scorer.asked) < 4:
            mine, theirs = self.bench.by_part(source), self.bench.by_part(best.source)
            if mine is not None and theirs is not None:
                return interval_text([a - b for a, b in zip(mine, theirs, strict=True)], in_time=True)
        return interval_text(by_instance, in_time=False)

    def _by_part(self, sources: Mapping[str, str]) -> str:
        bench = self.bench
        if not bench.windows:
            return ""
        shown = dict(sources)
        for known in (self.best, self._before):
            if known is not None and known.source not in shown.values():
                shown[known.name] = known.source
        columns = {name: scores for name, source in shown.items() if (scores := bench.by_part(source)) is not None}
        columns |= bench.known_by_part
        count = len(bench.windows[0])
        rows = [(f"{n + 1}/{count}", *(f"{scores[n]:.4f}" for scores in columns.values())) for n in range(count)]
        return "Score by part of the time:\n\n" + markdown(("part", *columns), rows)


_TOO_MANY = f"error: at most {MAX_CALLS} calls of one reply are answered"
_LAST = "this is the last reply: give the program now, as asked above, and say whether the hypothesis held"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its function, of a conversation and texts, and what it is for."""

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


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("measure", Conversation.measure),
        Tool("explain", Conversation.explain, Evaluator.findings),
        Tool("compare", Conversation.compare, Evaluator.compare),
        Tool("workload", Conversation.workload, Evaluator.workload),
        Tool("hazards", Conversation.hazards, Evaluator.hazards),
        Tool("curve", Conversation.curve, Evaluator.lessons),
        Tool("tune", Conversation.tune),
        Tool("library", Conversation.library),
        Tool("notes", Conversation.notes),
    )
}


def tools_of(bench: Bench) -> tuple[str, ...]:
    """Return the names of the tools that a search has."""
    return tuple(name for name, tool in TOOLS.items() if tool.needs is None or bench.evaluator.offers(tool.needs))


def begin(
    bench: Bench, config: SearchConfig, draft: Draft, number: int, before: int, known: StoppingContext
) -> Conversation | None:
    """Begin the conversation of a proposal that is drafted from those below `before`; None for one of another kind.

    `config` is the one under which it is drafted: a search may have been resumed with another budget since.
    """
    if draft.operator != ENGINEER:
        return None
    first = len(starts_of(bench.task, config)) + 1
    drafts = _drafts_of(bench, config, number - first, before - first, first)
    part = drafts / config.candidates
    tokens, dollars = (part * (limit or math.inf) for limit in (config.budget_tokens, config.budget_dollars))
    share = Share(config.turns, drafts, tokens, dollars)
    best = next((Best(f"candidate {m.candidate}", m.source, m.score, m.scores) for m in draft.parents), None)
    return Conversation(bench, number, before, known, best, draft.advice, share)


def _drafts_of(bench: Bench, config: SearchConfig, conversation: int, complete: int, first: int) -> int:
    """Return how many programs a conversation may have scored, all counted from 0.

    An equal part of the plan, and of what those that are `complete` have left; proposals begin with the `first`.
    """
    measured = Counter(
        one.proposal - first
        for one in bench.record.candidates.values()
        if one.verdict not in ("rejected", "no-reply", "duplicate")
    )
    count = -(-config.candidates // config.drafts)
    shares: list[int] = []
    for number in range(conversation + 1):
        ended = max(0, min(complete, number - config.in_flight))
        left = config.candidates - sum(measured[n] for n in range(ended)) - sum(shares[ended:])
        shares.append(max(1, -(-left // max(1, count - number))))
    return shares[-1]
