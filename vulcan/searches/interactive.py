"""Interactive searches: a person, or an agent with a command line or an MCP client, answers the prompts.

`ask` and `tell` return JSON documents.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from vulcan.documents.conversation import AskDocument, TellDocument, ToolResult
from vulcan.documents.run import BestSoFar, MessageDocument
from vulcan.errors import UserError
from vulcan.models.base import Message, Reply
from vulcan.models.tool_calls import ToolCall
from vulcan.scoring import WorkerLost
from vulcan.searches.model_pool import no_models
from vulcan.searches.options import ASK
from vulcan.searches.proposal import ADVICE, Attempt, Proposal, judged, turn_name
from vulcan.searches.session import MEASURED, ExecutionConfig, RunDisplay, load_run_spec, open_study
from vulcan.searches.strategies import ENGINEER
from vulcan.searches.study import Study
from vulcan.store import RunRecord
from vulcan.store.events import CandidateJudged, QuestionAsked
from vulcan.store.runs import lock_run, open_store

PATIENCE = 300.0
"""Seconds that a question or a reply waits for other processes on the same run."""


class InteractiveSearch:
    """An ask-and-tell search: hands out proposals by name (`12`, its first repair `12.1`), each to be answered once.

    Every question and answer is in the store before it is returned, so that another process can resume.
    """

    def __init__(self, study: Study, path: Path) -> None:
        self.study = study
        self.path = path
        if not self.finished:
            if study.config.model == (ASK,):
                study.restore()
            study.begin()

    @property
    def finished(self) -> bool:
        """True once the winner is chosen; then nothing more can be asked or told."""
        return is_finished(self.study.record)

    def _check_open(self) -> None:
        if self.finished:
            raise UserError(f"{self.path} is finished: `vulcan show {shlex.quote(str(self.path))}` has the winner")

    def ask(self) -> Proposal | None:
        """Return the next proposal; None if the search has made all, or waits for replies to open ones.

        Raises UserError if the search is finished, as `find` and `tell` do.
        """
        self._check_open()
        proposal = self.study.ask()
        if proposal is None:  # a process may have died between accepting a reply and scoring it
            self.study.wait_for_scores()
            proposal = self.study.ask()
        if proposal is not None:
            self.study.store.record(QuestionAsked(proposal.number, proposal.turn))
        return proposal

    def find(self, name: str) -> Proposal:
        """Return an open proposal by its name. Raises UserError for one that is not open."""
        self._check_open()
        waiting = {proposal.name: proposal for proposal in self.study.open()}
        if name in waiting:
            return waiting[name]
        known = ", ".join(waiting) or "none"
        if name in {turn_name(*asked) for asked in self.study.store.questions()}:
            raise UserError(f"proposal {name} has its reply already; open are: {known}")
        raise UserError(f"no proposal {name!r} was given out; open are: {known}")

    def tell(self, name: str, text: str, model: str) -> TellDocument:
        """Accept the reply to an open proposal, and wait for its verdict: null for advice.

        `pending` means that its candidate has no number yet. A rejected program is returned for `repair` while its
        proposal has turns left. Raises UserError for a proposal that is not open.
        """
        proposal = self.find(name)
        try:
            reading = self.study.tell(proposal, Reply(text, model, "unknown", None, None, None, 0.0))
            if reading is None:
                if asks_for_advice(proposal):
                    return self._answer(name, None, "the advice is kept")
                return self._answer(name, None, "the next ask has the results", repair=True)
            self.study.wait_for_scores()
        except UserError as error:
            if self.study.store.call(proposal.number, proposal.turn) is None:
                raise
            raise UserError(f"the reply is kept, and scored by the next command that can: {error}") from error
        trial = self.study.evaluations.get(proposal.number)
        one = self._judged(proposal) or judged(
            self.study.record, Attempt(proposal.turn, reading, trial), 0, proposal.number
        )
        repair = one.verdict == "rejected" and not one.candidate and proposal.number in self.study.repairs
        return self._answer(name, one, repair=repair)

    def _answer(
        self, name: str, one: CandidateJudged | None, feedback: str = "", *, repair: bool = False
    ) -> TellDocument:
        """Return the verdict on a reply; none of advice or of tools. While a candidate waits, its number is 0."""
        if one is not None:
            repeats = one.verdict == "duplicate" and one.of
            feedback = f"it is the program of candidate {one.of}" if repeats else one.feedback
        return {
            "run": str(self.path),
            "proposal": name,
            "verdict": None if one is None else one.verdict,
            "score": None if one is None else one.score,
            "feedback": feedback,
            "warnings": [] if one is None else list(one.warnings),
            "candidate": None if one is None else one.candidate or None,
            "repair": repair,
            "pending": one is not None and not one.candidate,
            "best": _best_so_far(self.study),
        }

    def use(self, name: str, call: ToolCall, model: str) -> ToolResult:
        """Answer an open proposal with the call of a tool, and return its result with the proposal's next turn.

        Raises UserError where the proposal is not open, is no conversation, or has no turn left.
        """
        number = name.partition(".")[0]
        open_ones = {str(proposal.number): proposal.name for proposal in self.study.open()}
        proposal = self.find(open_ones.get(number, name))
        if proposal.draft.operator != ENGINEER:
            raise UserError("tools belong to a search with the strategy engineer: open one, or answer with a program")
        if proposal.turn + 1 >= self.study.config.turns:
            raise UserError(f"proposal {proposal.name} has no reply left but the last: tell its program")
        self.tell(proposal.name, call.text(), model)
        following = self.study.ask(proposal.number)
        assert following is not None
        self.study.store.record(QuestionAsked(following.number, following.turn))
        return {"proposal": following.name, "result": following.messages[-1].content}

    def _judged(self, proposal: Proposal) -> CandidateJudged | None:
        for one in reversed(self.study.record.candidates.values()):
            if (one.proposal, one.turn, one.origin) == (proposal.number, proposal.turn, "model"):
                return one
        return None

    @property
    def done(self) -> bool:
        """True once every proposal is made and completed."""
        return not self.study.open() and self.study.completed >= self.study.total

    def finish(self) -> None:
        """Choose the winner from the candidates so far, and test it on data that the search did not see; once."""
        if not self.finished:
            if self.study.config.model == (ASK,):
                self.study.give_up()
                self.study.finish()
            else:  # replies that are there already are scored
                self.study.run(no_models("it was ended by `vulcan finish`"), must_find=False)
            self.study.measure_held_out()
            self.study.close("finished")
            (self.path / MEASURED).unlink(missing_ok=True)


def is_finished(record: RunRecord) -> bool:
    """Check whether the search has ended, with its winner chosen."""
    return record.stopped is not None and record.stopped.reason == "finished"


@contextmanager
def open_interactive_search(
    path: Path, *, allow_unsandboxed: bool = False, to_finish: bool = False
) -> Iterator[InteractiveSearch]:
    """Resume a run of the model `ask`, one process at a time, or of any `to_finish` it. Workers start when needed.

    With `allow_unsandboxed`, free Python is run even where the host cannot sandbox it: only the caller that starts this
    process can allow that, each time, and no run and no reply can.

    Raises UserError where the run cannot be resumed, and for a run whose prompts a model answers.
    """
    with closing(open_store(path)) as store, lock_run(path, PATIENCE):
        task, config, evidence = load_run_spec(path, store, models=not to_finish)
        if config.model != (ASK,) and not to_finish and not is_finished(RunRecord.of(store.events())):
            raise UserError(
                f"the prompts of {path} are answered by {', '.join(config.model)}: "
                f"`vulcan resume {shlex.quote(str(path))}` continues it"
            )
        machines = ExecutionConfig("local", allow_unsandboxed=allow_unsandboxed)
        try:
            with open_study(task, config, store, evidence, machines, RunDisplay(), path) as study:
                yield InteractiveSearch(study, path)
        except WorkerLost as error:
            raise UserError(f"scoring failed by no fault of a reply, which is kept: {error}; try again") from error


def finish_run(path: Path, *, allow_unsandboxed: bool = False) -> bool:
    """End a search, of any model; False for one that has ended, whose data are not read again."""
    with closing(open_store(path)) as store:
        if is_finished(RunRecord.of(store.events())):
            return False
    with open_interactive_search(path, allow_unsandboxed=allow_unsandboxed, to_finish=True) as conversation:
        conversation.finish()
    return True


def asks_for_advice(proposal: Proposal) -> bool:
    return proposal.draft.operator == ADVICE


def ask_document(conversation: InteractiveSearch, given: Proposal | None) -> AskDocument:
    """Return a handed-out proposal as JSON, or the reason for none: `open` are those that wait for a reply."""
    draft = None if given is None else given.draft
    return {
        "run": str(conversation.path),
        "proposal": None if given is None else given.name,
        "kind": None if given is None else "advice" if asks_for_advice(given) else "policy",
        "operator": None if draft is None else draft.operator,
        "form": None if draft is None else draft.form,
        "parents": [] if draft is None else [member.candidate for member in draft.parents],
        "messages": [] if given is None else messages_document(given.messages),
        "open": [proposal.name for proposal in conversation.study.open()],
        "completed": conversation.study.completed,
        "total": conversation.study.total,
        "done": conversation.done,
    }


def _best_so_far(study: Study) -> BestSoFar | None:
    """Return the best program with a score, including those without a number behind an open proposal."""
    found: list[BestSoFar] = [
        {"candidate": one.candidate, "proposal": str(one.proposal), "score": one.score}
        for one in study.record.ranked()[:1]
        if one.score is not None
    ]
    for number, evaluation in study.evaluations.items():
        if evaluation.score is not None:
            found.append({"candidate": None, "proposal": str(number), "score": evaluation.score})
    return max(found, key=lambda each: each["score"], default=None)


def messages_document(messages: Iterable[Message]) -> list[MessageDocument]:
    """Return a chat as JSON."""
    return [{"role": message.role, "content": message.content} for message in messages]
