"""Conversations: over a real server, repeated from their replies, within their share, and of training data alone."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import Behaviour, ChatServer, Received, fail, message
from locations import few_starts
from search_parts import SEEDS, Scripted, as_reply, config, contents, judged, lineup, of_kind, opened, reply, share

from vulcan.models.base import Message, Request
from vulcan.models.open import open_proposer
from vulcan.models.tool_calls import ToolCall, read_calls
from vulcan.registry import find_task
from vulcan.results.run import run_document
from vulcan.scoring import Executor
from vulcan.searches.bootstrap import mean_interval
from vulcan.searches.config import SearchConfig, make_config
from vulcan.searches.conversation import MAX_CALLS
from vulcan.searches.costs import Costs
from vulcan.searches.interactive import InteractiveSearch
from vulcan.searches.model_pool import replay_model_pool
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.searches.session import ExecutionConfig, RunDisplay, check_config, open_study
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.events import ENTRIES, AdviceReceived, CallRecord

PLAN: dict[str, Any] = {"strategy": "engineer", "turns": 4, "drafts": 3, "budget_candidates": 8, "in_flight": 1}


def plan(**changes: Any) -> SearchConfig:
    return config(**{**PLAN, **changes})


def told(request: Request) -> str:
    """A conversation that follows from its prompt: it measures twice, looks, and gives its first draft."""
    number = sum(m.content.count("seen by") for m in request.messages[:1])
    rng = random.Random(number)
    first, second = (share(round(1 + rng.random(), 3)) for _ in range(2))
    calls = {
        0: [ToolCall("measure", {"program": first}), ToolCall("notes", {"note": f"seen by {number}"})],
        1: [ToolCall("measure", {"program": second}), ToolCall("library", {})],
        2: [ToolCall("measure", {"program": share(9)}), ToolCall("explain", {"program": "best"}), ToolCall("no", {})],
    }
    if request.turn in calls:
        return "A hypothesis.\n\n" + "\n\n".join(call.text() for call in calls[request.turn])
    return as_reply(first)


def script(request: Received) -> Behaviour:
    """The same as the answers of a server, by functions where it was offered any."""
    chat = request.body["messages"]
    turn = sum(one["role"] == "assistant" for one in chat)
    text = told(Request(0, turn, (Message("user", chat[0]["content"]),), (), 0))
    calls = read_calls(text)
    if not calls or "tools" not in request.body:
        return message(content=text)
    functions = [{"name": call.name, "arguments": json.dumps(dict(call.arguments))} for call in calls]
    made = [{"id": f"x{n}", "type": "function", "function": function} for n, function in enumerate(functions)]
    return message(content="A hypothesis.", tool_calls=made, finish="tool_calls")


def searched(executor: Executor, answer: Any = script) -> tuple[MemoryStore, list[Received]]:
    store = MemoryStore()
    with ChatServer(answer) as server, closing(open_proposer("toy", api_base=server.url)) as model:
        opened(store, plan(), executor).run(lineup(model))
    return store, server.requests


@pytest.fixture(scope="module")
def calm(children: Executor) -> MemoryStore:
    return searched(children)[0]


def test_a_model_calls_tools_as_functions_and_later_ones_read_its_notes(children: Executor) -> None:
    store, requests = searched(children)
    tools = [tool["function"]["name"] for tool in requests[0].body["tools"]]
    assert {"measure", "notes", "library", "tune"} <= set(tools)
    assert not {"hazards", "curve"} & set(tools)  # this simulator has none
    chat = max((request.body["messages"] for request in requests), key=len)
    assert [one["role"] for one in chat] == ["user", *(["assistant", "tool", "tool"] * 2), "assistant", *["tool"] * 3]
    assert [one["id"] for one in chat[1]["tool_calls"]] == [one["tool_call_id"] for one in chat[2:4]]
    assert chat[2]["content"].startswith("draft 1: score ")
    assert "replies left: 2; drafts to measure: 0" in chat[6]["content"]
    assert chat[8]["content"].startswith("error: this conversation has no drafts left to measure")
    assert "there is no tool 'no'" in chat[10]["content"]
    assert "(this is the last reply" in chat[10]["content"]

    assert [(v.proposal - SEEDS, v.turn, v.verdict) for v in judged(store)] == [
        (1, 0, "scored"), (1, 1, "scored"), (1, 3, "duplicate"),
        (2, 0, "duplicate"), (2, 1, "duplicate"), (2, 3, "duplicate"),  # it was in flight with the first
        (3, 0, "scored"), (3, 1, "scored"), (3, 3, "duplicate"),  # what is left of 8, and what the first left
    ]  # fmt: skip
    assert [event.text for event in of_kind(store, AdviceReceived)] == ["seen by 0", "seen by 0", "seen by 1"]
    notebook = run_document(Path("run"), RunRecord.of(store.events()), Costs.of(store.calls()))["notebook"]
    assert notebook == [f"- (proposal {SEEDS + n + 1}) seen by {seen}" for n, seen in enumerate((0, 0, 1))]
    assert f"(proposal {SEEDS + 1}) seen by 0" in requests[-1].body["messages"][0]["content"]


def test_a_server_that_takes_no_functions_is_told_of_tools_in_words(children: Executor, calm: MemoryStore) -> None:
    def plain(request: Received) -> Behaviour:
        return fail(400, "tools are not supported by this model") if "tools" in request.body else script(request)

    store, requests = searched(children, plain)
    assert "tools" in requests[0].body
    assert "tools" not in requests[-1].body
    assert {one["role"] for one in requests[-1].body["messages"]} == {"user", "assistant"}
    assert list(store.events()) == list(calm.events())


def test_a_conversation_is_repeated_from_its_replies_alone(children: Executor, calm: MemoryStore) -> None:
    again = MemoryStore()
    study = opened(again, plan(), children)
    recording = RecordedReplies.of(calm)
    study.repeat(recording)
    replies = {(call.proposal, call.turn): call for call in recording.calls}
    prompts = {}

    def answer(request: Request) -> str:
        prompts[request.proposal, request.turn] = tuple((m.role, m.content) for m in request.messages)
        return replies[request.proposal, request.turn].reply

    study.run(lineup(Scripted(answer)))
    assert list(again.events()) == list(calm.events())
    assert prompts == {where: call.messages for where, call in replies.items()}


def test_it_goes_on_wherever_it_was_stopped_and_pays_for_nothing_twice(children: Executor) -> None:
    whole = MemoryStore()
    opened(whole, plan(), children).run(lineup(Scripted(told)), parallel=1)
    entries = [(time, entry) for _, time, entry in whole.entries(*ENTRIES.values())]
    for end in [n for n, (_, entry) in enumerate(entries) if isinstance(entry, CallRecord)]:
        store, again = MemoryStore(), Scripted(told)
        store.restore(entries[: end + 1])
        opened(store, plan(), children).run(lineup(again), parallel=1)
        assert contents(store) == contents(whole)
        paid = sum(isinstance(entry, CallRecord) for _, entry in entries[: end + 1])
        assert paid + len(again.requests) == len(list(whole.calls()))


@pytest.mark.parametrize("tokens", [200, 400])
def test_a_share_of_the_tokens_ends_a_conversation_early(children: Executor, tokens: int) -> None:
    store = MemoryStore()
    study = opened(store, plan(budget_tokens=tokens, budget_candidates=3, turns=40), children)
    look = ToolCall("library", {}).text()
    talk = Scripted(lambda r: as_reply(share(1.5)) if "the last reply" in r.messages[-1].content else look)
    study.run(lineup(talk))
    assert 15 * len(talk.requests) <= tokens  # each reply of `Scripted` has 15 tokens
    assert len(talk.requests) > 3
    assert [v.verdict for v in judged(store)] == ["scored"]


def test_ask_and_tell_hold_a_conversation_too(children: Executor, tmp_path: Path) -> None:
    store = MemoryStore()
    talk = InteractiveSearch(opened(store, plan(model=("ask",)), children), tmp_path)
    given = talk.ask()
    assert given is not None
    used = talk.use(str(given.number), ToolCall("measure", {"program": share(1.5)}), "me")
    assert used["result"].startswith(
        "draft 1: score 1.3000 on train\n+0.3000 over the best so far, candidate 1 (1.0000), "
        "no interval: 2 workloads, 0 windows\nby instance: light 1.3000, heavy 1.3000"
    )
    later = InteractiveSearch(opened(store, plan(model=("ask",)), children), tmp_path)
    assert [f"{p.number}.{p.turn}" for p in later.study.open()] == [used["proposal"]]
    too_long = ToolCall("notes", {"note": "x" * 601}).text()
    assert later.tell(used["proposal"], f"{too_long}\n\n{as_reply(share(1.25))}", "me")["verdict"] is None
    again = later.ask()
    assert again is not None
    assert "at most 600 are kept" in again.messages[-1].content  # it is not lost in silence
    noted = ToolCall("notes", {"note": "1.25 is enough"}).text()
    result = later.tell(f"{again.number}.{again.turn}", f"{noted}\n\n{as_reply(share(1.25))}", "me")
    assert (result["verdict"], result["candidate"]) == ("scored", SEEDS + 2)
    assert [event.text for event in of_kind(store, AdviceReceived)] == ["1.25 is enough"]


CACHES = few_starts("cache_eviction", ("gdsf", "lru"))
HEAD = "def priority(now, obj, cache, ghost):\n    return "
TOOLS_OF_CACHES = [
    ToolCall("workload", {}), ToolCall("hazards", {}), ToolCall("curve", {"feature": "gap", "also": "seen"}),
    ToolCall("library", {}), ToolCall("explain", {"program": "gdsf"}), ToolCall("measure", {"program": "best"}),
    ToolCall("compare", {"program": "lru", "other": "gdsf"}),
    ToolCall("measure", {"program": f"{HEAD}obj.last_access - obj.size / 3\n"}),
    ToolCall("tune", {"program": f"{HEAD}obj.count * 5 - obj.size / 3\n"}),
    ToolCall("explain", {"program": f"{HEAD}obj.count - obj.size / 9\n"}),
    ToolCall("compare", {"program": "draft 2", "other": "best"}),  # which it is
    ToolCall("compare", {"program": "best", "other": "Belady"}), ToolCall("explain", {"program": "belady (oracle)"}),
    ToolCall("measure", {"program": f"{HEAD}obj.count / obj.size\n", "on": "part 3"}),
]  # fmt: skip


def chat_about(trace: str, tools: Sequence[ToolCall] = TOOLS_OF_CACHES) -> list[str]:
    """The chat of a conversation that asks tools about the training data of a trace."""
    options = {"model": ["ask"], "strategy": "engineer", "drafts": 9, "simplify": 8, "tune": 8, "train_on": "asked"}
    task = find_task(CACHES)
    chosen = make_config(CACHES, options, {"trace": [trace], "cache_size": ["300"]})
    machines = ExecutionConfig("local", 1)
    with open_study(task, chosen, MemoryStore(), check_config(task, chosen), machines, RunDisplay()) as study:
        given = study.ask()
        for at in range(0, len(tools), MAX_CALLS):
            assert given is not None
            calls = tools[at : at + MAX_CALLS]
            study.tell(given, reply("\n\n".join(call.text() for call in calls)))
            given = study.ask(given.number)
    assert given is not None
    return [one.content for one in given.messages]


def test_tuned_are_the_constants_that_a_program_names_and_all_numbers_where_it_names_none(tmp_path: Path) -> None:
    ids = [min(int(random.Random(n).paretovariate(0.7)), 400) for n in range(3000)]
    (tmp_path / "t.csv").write_text("\n".join(["time,id,size", *(f"{n},{i},{1 + i % 7}" for n, i in enumerate(ids))]))
    body = f"{HEAD}min(obj.count, 4096) * {{}} - obj.size / 30\n"
    programs = (f"WEIGHT = 0.01\n\n\n{body.format('WEIGHT')}", body.format("0.01"))
    with chdir(tmp_path):
        *_, named, unnamed = chat_about("t.csv", [ToolCall("tune", {"program": program}) for program in programs])
    said = re.search(r"; tuned: WEIGHT 0\.01 \(now (\S+)\)\n", named)
    assert said is not None
    assert f"WEIGHT = {said[1]}\n" in named
    assert said[1] != "0.01"
    assert "min(obj.count, 4096)" in named
    assert "obj.size / 30" in named
    assert re.search(r"; tuned: LIMIT 4096 \(now \S+\), WEIGHT 0\.01 \(now \S+\), SCALE 30 \(now", unnamed)


def test_nothing_of_validation_or_test_reaches_a_conversation(tmp_path: Path) -> None:
    """Two traces with the same training data and other held-out data give every prompt and result alike."""
    chats = []
    for seed in (1, 2):
        place = tmp_path / str(seed)
        place.mkdir()
        rng, later = random.Random(0), random.Random(seed)
        ids = [min(int(rng.paretovariate(0.7)), 400) for _ in range(3000)]
        ids += [later.randrange(900) for _ in range(2000)]
        lines = [f"{n},{one},{1 + one % 7}" for n, one in enumerate(ids)]
        (place / "t.csv").write_text("\n".join(["time,id,size", *lines]))
        with chdir(place):
            chats.append(chat_about("t.csv"))
    assert len(chats[0]) == 1 + 3 + len(TOOLS_OF_CACHES)
    assert not [text for text in chats[0] if text.startswith("error")]
    assert chats[0] == chats[1]
    assert chats[0][-6].startswith("draft 3: score ")  # a new program that is explained is measured
    compared, explained, partial = chats[0][-4], *chats[0][-2:]
    assert partial.startswith("draft 4, measured on part 3 alone: score ")
    assert "belady (oracle) is no program of this task" in compared
    oracle = re.search(r"belady \(oracle\): score 0\.\d+ on train\n\+(0\.\d+) over the best so far", explained)
    assert oracle is not None
    rows = [row.split(" | ") for row in compared.splitlines() if row.startswith("| part ")]
    differences = np.array([float(row[1]) - float(row[2]) for row in rows])
    gain = rf"-{oracle[1]} over belady \(oracle\) \(\S+\), 95 % interval (\S+) to (\S+) over 8 windows"
    said = re.search(gain, compared)
    found = mean_interval(list(differences - differences.mean() - float(oracle[1])), in_time=True)
    assert said is not None and found is not None
    assert [float(end) for end in said.groups()] == pytest.approx([found["low"], found["high"]], abs=3e-4)


def test_gains_are_told_with_intervals_and_drafts_measured_on_less_are_recorded(racers: Executor) -> None:
    store, again = MemoryStore(), MemoryStore()
    chosen = plan(drafts=8, racing=True, settings={"crowd": 10, "cheap": True})
    programs = [(share(1.5), "R=0.2"), (share(1.5), ""), (share(1.5, "min(load, 4)"), ""),
                (share(1.0, "(105 if load + room == 0 else load)"), "heavy"), (share(1.5), "part 9")]  # fmt: skip
    asked = [ToolCall("measure", {"program": program, "on": on}) for program, on in programs]
    text = "\n\n".join(call.text() for call in (*asked, ToolCall("compare", {"program": "draft 3", "other": "half"})))
    opened(store, chosen, racers).run(lineup(Scripted(lambda r: as_reply(share(1.25)) if r.turn else text)))
    on_rung, whole, other, failed, unknown, compared = (text for role, text in list(store.calls())[1].messages[2:])
    assert on_rung == "draft 1, measured on R=0.2 alone: score 1.0899; the best so far, candidate 1, has 1.0000"
    first, gain, by_instance = whole.splitlines()
    assert first == "draft 2: score 1.0830 on train"
    assert gain.startswith("+0.0830 over the best so far, candidate 1 (1.0000), 95 % interval +0.0048 to +0.20")
    assert by_instance.startswith("by instance: light 1.3000, heavy 1.3000, crowd 1 1.2250, ")
    assert "over 12 workloads: the same in each of them" in other
    assert failed.startswith("draft 4, measured on heavy alone: failed: heavy: LookupError: too heavy; the best")
    assert unknown.startswith("error: no 'part 9' to measure on (there are: R=0.2, R=0.4, light, heavy, crowd 1")
    assert compared.startswith("+1.0830 over half (0.0000), 95 % interval +1.0048 to +1.20")
    assert "|  | draft 3 | half | draft 2 | candidate 1 | all (oracle) |" in compared
    assert [(v.turn, v.verdict, v.feedback) for v in judged(store)] == [
        (0, "stopped", "measured on R=0.2 alone: score 1.0899"), (0, "scored", ""), (0, "scored", ""),
        (0, "stopped", "measured on heavy alone: failed: heavy: LookupError: too heavy"), (1, "scored", ""),
    ]  # fmt: skip
    study = opened(again, chosen, racers)
    study.repeat(recording := RecordedReplies.of(store))
    study.run(replay_model_pool(recording.calls, recording.unanswered))
    assert contents(again) == contents(store)
