"""Documents of a search that somebody answers or steers: its prompts, the verdicts on replies, and instructions."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from vulcan.documents.run import BestSoFar, MessageDocument


class AskDocument(TypedDict):
    """A proposal to answer, of a run. Exit code 1 where none can be given before one of `open` has its reply."""

    run: Annotated[str, "the run's directory"]
    proposal: Annotated[str | None, "the id to tell with, such as `12`, or `12.1` for its next turn"]
    kind: Annotated[Literal["policy", "advice"] | None, "what the reply has to be"]
    operator: Annotated[str | None, "the operator that made the proposal"]
    form: Annotated[Literal["full", "diff"] | None, "`diff` for a reply that may be a change to the first parent"]
    parents: Annotated[list[int], "candidates that it is made from"]
    messages: Annotated[list[MessageDocument], "the chat to answer"]
    open: Annotated[list[str], "ids of the proposals without a reply"]
    completed: Annotated[int, "proposals that have a verdict"]
    total: Annotated[int, "proposals of the plan"]
    done: Annotated[bool, "whether every proposal of the plan has its verdict"]


class TellDocument(TypedDict):
    """The verdict on a reply, of a run."""

    run: Annotated[str, "the run's directory"]
    proposal: Annotated[str, "its id"]
    verdict: Annotated[str | None, "as in `candidates` of a run; `null` for advice"]
    score: Annotated[float | None, "mean score on train"]
    feedback: Annotated[str, "what is wrong with it"]
    warnings: Annotated[list[str], "warnings of the checker"]
    candidate: Annotated[int | None, "its number; `null` for advice and while `pending`"]
    repair: Annotated[bool, "whether the next ask returns the proposal for repair"]
    pending: Annotated[bool, "whether the candidate has no number yet: a repair or an earlier reply is missing"]
    best: Annotated[BestSoFar | None, "the best candidate so far"]


class ToolResult(TypedDict):
    """The result of a tool that a conversation called."""

    proposal: Annotated[str, "the conversation's next turn, to call tools or tell the program with"]
    result: Annotated[str, "what the tool found, on training data alone"]


class InstructionDocument(TypedDict):
    """An instruction by a person to a search."""

    act: Annotated[Literal["hint", "add"], "a hint for prompts, or a program to score"]
    text: Annotated[str, "the hint, or the program to add"]
    state: Annotated[
        Literal["waiting", "applied", "not used"], "`waiting` until the next proposal, or until the run is resumed"
    ]
    proposal: Annotated[int | None, "the proposal from which on it applies; `null` while it waits"]


class SteerDocument(TypedDict):
    """All instructions given to the search of a run, the oldest first."""

    run: Annotated[str, "the run's directory"]
    instructions: Annotated[list[InstructionDocument], "the instructions"]
