"""A proposal as a conversation: a model asks tools about training data, measures drafts, and then gives a program.

Results follow from the replies and from what was known before the proposal's barrier, so that a conversation is
repeated from its replies alone.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import Evaluator
from vulcan.models.base import Message, Reply
from vulcan.models.tool_calls import Tool, ToolCall, read_calls
from vulcan.python_policy.check import AnyPolicy
from vulcan.searches.bench import Bench, Measured
from vulcan.searches.config import SearchConfig
from vulcan.searches.evaluation import CandidateEvaluation, StoppingContext
from vulcan.searches.feedback import table_of_scores, workload_text
from vulcan.searches.proposal import Attempt, Proposal
from vulcan.searches.reply import ParsedReply, parse_source
from vulcan.searches.strategies import ENGINEER, Draft
from vulcan.searches.target import plain_name, starts_of
from vulcan.searches.tuning import tune
from vulcan.store.events import CandidateJudged

MAX_CALLS = 6
"""Most calls in one reply that are answered."""

MAX_RESULT = 10_000
"""Longest result of a tool, in characters."""

MAX_NOTE = 600
"""Longest note, in characters."""

Source = Annotated[
    str, "A complete module; or the name of one: `best`, a candidate's number, `draft N`, or of the library."
]
Policy = Annotated[
    str, "A program, as for `measure`, a draft if it is new; or a baseline or an oracle, by its name: its scores alone."
]
Place = Annotated[str, "A rung, an instance, or `part N` of the time, to score it on alone, in less time."]


@dataclass(frozen=True, slots=True)
class Share:
    """What a conversation may use: replies, programs that are scored, tokens and dollars."""

    turns: int
    drafts: int
    tokens: float
    dollars: float


@dataclass
class Conversation:
    """The state of one conversation. Its public methods that `TOOLS` names are the tools.

    `known` is the history before the barrier, of proposals below `before`, with which `best` begins.
    """

    bench: Bench
    number: int
    before: int
    known: StoppingContext
    best: Measured | None
    notebook: str
    share: Share
    attempts: list[Attempt] = field(default_factory=list)
    notes_made: list[str] = field(default_factory=list)
    _before: Measured | None = None
    _turn: int = 0
    _tokens: int = 0
    _dollars: float = 0.0
    _told: dict[str, str] = field(default_factory=dict)
    _scores: dict[str, tuple[float, ...]] = field(default_factory=dict)

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
        return [attempt for attempt in self.attempts if attempt.trial is not None or attempt.partial]

    @property
    def _drafts_left(self) -> int:
        return max(0, self.share.drafts - 1 - len(self._drafts))

    def _result(self, call: ToolCall) -> str:
        known = tools_of(self.bench)
        try:
            if call.problem:
                raise UserError(call.problem)
            if call.name not in known:
                raise UserError(f"there is no tool {call.name!r} (there are: {', '.join(known)})")
            tool = TOOLS[call.name]
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

    def measure(self, program: Source, on: Place = "") -> str:
        """Check and score a program on the training instances, with its gain over the best so far. It is a draft.

        `on` is less to score it on, in less time: a rung, an instance, or `part N` of the time. That is a draft too.
        """
        if on and on not in (places := self.bench.places):
            raise UserError(f"no {on!r} to measure on{did_you_mean(on, places)} (there are: {', '.join(places)})")
        return self._measured(self._source(program), on)

    def explain(self, program: Policy) -> str:
        """Say where a policy does well or badly on training data, also by instance and by part of the time."""
        return self._about(self._policy("program", program))

    def compare(self, program: Policy, other: Policy) -> str:
        """Say where two policies differ on training data, at what cost, and the first one's gain, with its interval."""
        first, second = self._policy("program", program), self._policy("other", other)
        if first.policy == second.policy:  # the best is this draft: beside what was the best before, if any was
            second = self._before or second if "best" in (first.name, second.name) else second
        if first.policy == second.policy:
            raise UserError("the two are one policy")
        return self._about(first, second)

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
        """Tune the constants a program names, else all numbers, on training data; measure the best. It is a draft."""
        source, bench = self._source(program), self.bench
        self._checked(source)
        self._check_drafts()
        rung = bench.record.rungs[-1] if bench.record.rungs else None
        full, cheap = bench.on(bench.training), bench.on(rung.instances) if rung else None
        evaluations = bench.config.tune or 40
        seed = bench.config.seed * 1_000_003 + self.number
        tuning = tune(
            source, bench.task, cheap or full, evaluations=evaluations, seed=seed, confirm=cheap and full, named=True
        )
        found, tried = tuning.best, [sample[-1] for sample in tuning.samples]
        where = rung.name if rung else "train"
        trials = f"{len(tried)} settings scored on {where}: its own {tried[0]:.4f}, " if tried else ""
        trials += f"the best {max(tried):.4f}" if tried else "it has no numbers to tune"
        values = self._checked(found.source).parameters if found else {}
        numbers = zip(tuning.constants, tuning.samples[0] if tried else (), strict=False)
        tuned = ", ".join(f"{name} {was:g} (now {values.get(name, was):g})" if found else name for name, was in numbers)
        trials += f"; tuned: {tuned}" if tried else ""
        if found is None:
            none = f"no better numbers were found ({trials})"
            return "\n\n".join(filter(None, (self._measured_first(source), none)))
        return f"{self._measured(found.source)}\n\n{trials}\n\n```python\n{found.source.strip()}\n```"

    def library(self, name: Annotated[str, "A policy, to get its program."] = "") -> str:
        """List the known policies with their scores on train by instance; or give the program of one."""
        bench = self.bench
        if name:
            return f"```python\n{self._source(name).strip()}\n```"
        starts = tuple(starts_of(bench.task, bench.config))
        known = [(one.name, one.scores) for one in bench.baselines]
        known += [
            (starts[one.proposal - 1], bench.scores(one.metrics))
            for one in bench.record.candidates.values()
            if one.proposal <= len(starts) and one.score is not None and one.verdict == "scored"
        ]
        table = table_of_scores(known, bench.training)
        programs = f"There are programs of: {', '.join(starts) or 'none'}"
        return f"{table}\n\n{programs}. Of the others `explain` and `compare` give the scores, by name."

    def notes(
        self,
        note: Annotated[
            str, f"A note to add, of at most {MAX_NOTE} characters: a hypothesis, what it predicts, what was seen."
        ] = "",
    ) -> str:
        """Read the notebook, which later conversations read too; with a note, of 600 characters, add to it."""
        if text := " ".join(note.split()):
            if len(text) > MAX_NOTE:
                raise UserError(f"a note of {len(text)} characters: at most {MAX_NOTE} are kept")
            self.notes_made.append(text)
        return "\n".join(filter(None, (self.notebook, *(f"- {text}" for text in self.notes_made)))) or "it is empty"

    # What they share

    def _policy(self, name: str, program: str) -> Measured:
        """Return a policy of that name, without its scores if it is a program. Raises UserError."""
        given = program.strip()
        starts = starts_of(self.bench.task, self.bench.config)
        known = (one for one in self.bench.baselines if plain_name(given) in map(plain_name, (one.name, one.policy)))
        baseline = next(known, None) if given.replace("-", "_") not in starts else None
        return baseline or Measured(name if "\n" in given else given, self._source(program))

    def _about(self, *policies: Measured) -> str:
        """Measure those of one or two programs that are new; return what is found about them, and their scores."""
        bench, named = self.bench, [one.policy for one in policies]
        texts = [self._measured_first(one.policy) for one in policies if one.is_program]
        scored = [self._scored(one) if one.is_program else one for one in policies]
        if len(scored) == 2 and all(one.scores for one in scored):
            texts.append(bench.gain(*scored))
        elif not policies[0].is_program:
            texts.append(f"{policies[0].name}: score {policies[0].score:.4f} on train{self._over_best(policies[0])}")
        try:
            for baseline in (one for one in policies if not one.is_program):
                raise UserError(f"no findings: {baseline.name} is no program of this task")
            texts.append(bench.findings(*named))
        except UserError as error:
            texts.append(str(error))
        ahead = [one for one in (self.best, self._before) if one is not None and one.policy not in named]
        return "\n\n".join(filter(None, (*texts, bench.table((*scored, *ahead, *bench.best_known)))))

    def _source(self, program: str) -> str:
        """Return a program given in full, or by the name of a known one. Raises UserError."""
        name = program.strip()
        starts = starts_of(self.bench.task, self.bench.config)
        if name == "best" and self.best is not None:
            return self.best.policy
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

    def _checked(self, source: str) -> AnyPolicy:
        reading = parse_source(source, self.bench.task, self.bench.config.target)
        if reading.policy is None:
            raise UserError(reading.feedback)
        return reading.policy

    def _measured_first(self, source: str) -> str:
        """Measure a program unless it was measured before, and return what is said of it. Raises UserError."""
        fingerprint = self._checked(source).fingerprint
        return "" if self._candidate(fingerprint) or fingerprint in self._told else self._measured(source)

    def _candidate(self, fingerprint: str) -> CandidateJudged | None:
        """Return the equal program that was scored before the conversation began; None where there is none."""
        earlier = self.bench.record.candidate_with(fingerprint)
        made = None if earlier is None else self.bench.record.candidates[earlier]
        return made if made is not None and made.proposal < self.before else None

    def _scored(self, program: Measured) -> Measured:
        """Return a program that was measured with its scores, if it has any."""
        fingerprint = self._checked(program.policy).fingerprint
        if (made := self._candidate(fingerprint)) is not None and made.score is not None:
            self._scores[fingerprint] = self.bench.scores(made.metrics)
        return program._replace(scores=self._scores.get(fingerprint, ()))

    def _check_drafts(self) -> None:
        if not self._drafts_left:
            raise UserError("this conversation has no drafts left to measure: give its program")

    def _measured(self, source: str, on: str = "") -> str:
        reading = parse_source(source, self.bench.task, self.bench.config.target)
        if reading.policy is None:
            self.attempts.append(Attempt(self._turn, reading, None))
            return f"rejected:\n{reading.feedback}"
        fingerprint = reading.policy.fingerprint
        for key in (fingerprint, fingerprint + on):
            if key in self._told:
                return self._told[key]
        if (made := self._candidate(fingerprint)) is not None:
            known = f"it is candidate {made.candidate}, and no draft: {made.verdict}"
            scored = self._scored(Measured("it", source))
            return f"{known}, score {made.score:.4f}{self._over_best(scored)}" if scored.scores else known
        self._check_drafts()
        if on:
            self._told[fingerprint + on] = self._measured_on(on, reading)
            return self._told[fingerprint + on]
        bench = self.bench
        parts = bench.plan, self.known, bench.scorer, bench.executor, bench.config.limit
        trial = CandidateEvaluation(self.number, source, *parts)
        trial.wait()
        self.attempts.append(Attempt(self._turn, reading, trial))
        self._scores[fingerprint] = bench.scores(trial.metrics) if trial.score is not None else ()
        lines = self._verdict(Measured(f"draft {len(self._drafts)}", source, self._scores[fingerprint]), trial)
        lines += [f"warning: {warning}" for warning in reading.policy.warnings]
        self._told[fingerprint] = "\n".join(lines)
        return self._told[fingerprint]

    def _measured_on(self, on: str, reading: ParsedReply) -> str:
        """Score a program on less than the training data, beside the best so far."""
        place = self.bench.on(self.bench.places[on])
        own, best = place([reading.source, self.best.policy if self.best is not None else reading.source])
        outcome = place.outcome(reading.source)
        scored = f"{outcome.status}: {outcome.message}" if own is None else f"score {own:.4f}"
        self.attempts.append(Attempt(self._turn, reading, None, f"measured on {on} alone: {scored}"))
        text = f"draft {len(self._drafts)}, {self.attempts[-1].partial}"
        if self.best is not None and best is not None:
            text += f"; the best so far, {self.best.name}, has {best:.4f}"
        return text

    def _verdict(self, draft: Measured, trial: CandidateEvaluation) -> list[str]:
        """Return what is said of a measured program: its score, by instance, and beside the best so far."""
        if trial.score is None:
            return [f"{draft.name} is {trial.verdict}: {trial.feedback}"]
        training = self.bench.training
        lines = [f"{draft.name}: score {trial.score:.4f} on train{self._over_best(draft)}"]
        if len(training) > 1:
            by_name = zip(training, draft.scores, strict=True)
            lines.append("by instance: " + ", ".join(f"{instance.name} {score:.4f}" for instance, score in by_name))
        if trial.verdict == "scored" and (self.best is None or trial.score > self.best.score):
            self.best = draft
        return lines

    def _over_best(self, scored: Measured) -> str:
        """Return the gain over the best program so far, in a line of its own; nothing of itself."""
        best = self.best
        if best is None or best.policy == scored.policy:
            return ""
        return f"\n{self.bench.gain(scored, best._replace(name=f'the best so far, {best.name}'))}"


_TOO_MANY = f"error: at most {MAX_CALLS} calls of one reply are answered"
_LAST = "this is the last reply: give the program now, as asked above, and say whether the hypothesis held"


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("measure", Conversation.measure),
        Tool("explain", Conversation.explain),
        Tool("compare", Conversation.compare),
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
    best = next((Measured(f"candidate {m.candidate}", m.source, m.scores) for m in draft.parents), None)
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
