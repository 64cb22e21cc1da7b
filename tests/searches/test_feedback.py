"""What models are told: as much as was asked for, of training instances alone, and the same in every repetition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from locations import TASKS
from search_parts import Scripted, as_reply, lineup, of_kind, share

from vulcan.evaluator import Instance, load_evaluator
from vulcan.findings import InstanceFinding, Series, SmallTable, Statement
from vulcan.registry import find_task
from vulcan.scoring import Executor, Job, LocalExecutor, Setup
from vulcan.searches.config import SearchConfig, make_config
from vulcan.searches.evidence import describe_workload, find_objective, load_evaluation_set, make_scorer, open_run
from vulcan.searches.feedback import CHARACTERS_PER_TOKEN, as_text
from vulcan.searches.study import Study
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.decode import MalformedRow, decode_entry
from vulcan.store.events import CandidateProposed, PolicyExplained, WorkloadDescribed

TELLING = str(TASKS / "telling_task")
TASK = find_task(TELLING)
EVALUATOR = load_evaluator(TASK)
PLAN = {"strategy": "policysmith", "rounds": 2, "samples": 3, "repairs": 1, "racing": False, "tune": 0, "simplify": 0}


def config(**changes: Any) -> SearchConfig:
    return replace(make_config(TELLING, PLAN, {}), model=("scripted",), **changes)


INSTANCES = load_evaluation_set(TASK, config(), EVALUATOR).everything
HELD_OUT = next(i for i in INSTANCES if i.split == "validation")
TRAINING = tuple(i for i in INSTANCES if i.split == "train")


@pytest.fixture(scope="module")
def telling() -> Iterator[Executor]:
    with LocalExecutor(Setup(TELLING, INSTANCES, explains=True), 1) as executor:
        yield executor


def study_of(store: MemoryStore, chosen: SearchConfig, executor: Executor) -> Study:
    open_run(TASK, chosen, store, load_evaluation_set(TASK, chosen, EVALUATOR), lambda _: None)
    scorer = make_scorer(find_objective(TASK, chosen.objective), RunRecord.of(store.events()))
    return Study(TASK, chosen, store, scorer, executor)


def searched(chosen: SearchConfig, executor: Executor) -> tuple[MemoryStore, list[str]]:
    """A whole search, and its first prompts by proposal."""
    store, model = MemoryStore(), Scripted(lambda r: as_reply(share(r.proposal / 10)))
    study_of(store, chosen, executor).run(lineup(model))
    return store, [call.messages[0][1] for call in store.calls()]


@pytest.fixture(scope="module")
def full(telling: Executor) -> tuple[MemoryStore, list[str]]:
    return searched(config(), telling)


def test_full_feedback_tells_of_the_workload_the_known_policies_and_the_parents(
    full: tuple[MemoryStore, list[str]],
) -> None:
    store, prompts = full
    assert len(prompts) == 6
    for prompt in prompts:
        assert "## The workload\n\n- light: There are 1 parameters.\n- heavy: There are 1 parameters." in prompt
        assert "| all (oracle) |" in prompt
        assert "| half | 0.0000 | 0.0000 | 0.0000 |" in prompt
        assert prompt.count("What it did on the training instances:") == 2
        assert prompt.index("is taken.") < prompt.index("Taken:")  # the most telling first
        assert "\n\n\n" not in prompt
    shown = {n for proposed in of_kind(store, CandidateProposed) for n in proposed.parents}
    explained = of_kind(store, PolicyExplained)
    assert {event.candidate for event in explained} == shown  # and nothing for the others
    assert len(explained) == len(shown)
    assert all(event.problem == "" and event.located for event in explained)


@pytest.mark.parametrize("level", ["none", "scores"])
def test_less_feedback_is_less(telling: Executor, level: str) -> None:
    store, prompts = searched(config(feedback=level), telling)
    assert of_kind(store, PolicyExplained) == of_kind(store, WorkloadDescribed) == []
    for prompt in prompts:
        assert not {"## The workload", "## Known policies", "What it did"} & set(prompt.splitlines())
        assert (", score " in prompt) == ("By instance:" in prompt) == (level == "scores")


def test_what_is_held_out_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="findings are of train alone"):
        Job(1, "", (*TRAINING, HELD_OUT), 1.0, explain=True)


def test_what_is_held_out_cannot_be_recorded_read_or_shown() -> None:
    held_out = InstanceFinding("heavy", "validation", Statement("It is easy."))
    with pytest.raises(ValueError, match="no prompt may show"):
        PolicyExplained.of(1, [held_out])
    with pytest.raises(ValueError, match="no prompt may show"):
        WorkloadDescribed.of([held_out])
    with pytest.raises(ValueError, match="training instances alone"):
        as_text([held_out], 100, ["heavy"])
    row = '{"candidate": 1, "findings": [{"instance": "a", "split": "test", "kind": "statement", "text": "b"}]}'
    with pytest.raises(MalformedRow, match="no prompt may show"):
        decode_entry("PolicyExplained", json.loads(row))
    with pytest.raises(ValueError, match="no prompt may show"):
        describe_workload(_Careless(), [HELD_OUT])


class _Careless(type(EVALUATOR)):  # type: ignore[misc]
    def workload(self, instance: Instance) -> list[Statement]:
        return [Statement("anything")]


def test_a_set_up_without_findings_gives_none() -> None:
    with pytest.raises(ValueError, match="the set-up has none"):
        Setup(TELLING, INSTANCES).request(Job(1, "", TRAINING, 1.0, explain=True))


def test_a_text_keeps_to_its_budget_and_leaves_out_the_least_telling() -> None:
    found = [InstanceFinding("a", "train", Statement(f"{n} " + "x" * 38, float(n))) for n in range(9)]
    text = as_text(found, 45 * 3 // CHARACTERS_PER_TOKEN, ["a"])
    assert [line[2] for line in text.splitlines()] == ["8", "7", "6"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Statement(""), "from 1 to 1000"),
        (lambda: Statement("x" * 1001), "from 1 to 1000"),
        (lambda: Statement("x", -1.0), "at least 0"),
        (lambda: Statement("x", float("nan")), "not finite"),
        (lambda: SmallTable("x", ("a",), ((1, 2),)), "needs 1 cells"),
        (lambda: SmallTable("x", ("a",), ((1.0,),) * 17), "17 rows"),
        (lambda: SmallTable("x", ("a",) * 9, ((1.0,) * 9,)), "9 columns"),
        (lambda: SmallTable("x", ("a",), ((None,),)), "no number"),  # type: ignore[arg-type]
        (lambda: Series("x", "a", "b", ((0.0, float("inf")),)), "not finite"),
        (lambda: Series("x", "a", "b", ()), "from 1 to 128"),
        (lambda: InstanceFinding.from_json({"kind": "statement", "text": "x"}), "without its instance"),
        (lambda: InstanceFinding.from_json(["x"]), "not an object"),
    ],
)
def test_findings_are_bounded(make: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


def test_a_repetition_says_what_was_recorded_whatever_evaluators_say_today(
    telling: Executor, full: tuple[MemoryStore, list[str]]
) -> None:
    explained = of_kind(full[0], PolicyExplained)
    earlier = [
        replace(e, findings=(InstanceFinding("light", "train", Statement("As it was.")).to_json(),)) for e in explained
    ]
    store, model = MemoryStore(), Scripted(lambda r: as_reply(share(r.proposal / 10)))
    study = study_of(store, config(), telling)
    study.feedback.repeat({event.candidate: event for event in earlier})
    study.run(lineup(model))
    assert of_kind(store, PolicyExplained) == earlier
    prompts = [call.messages[0][1] for call in store.calls()]
    assert all(prompt.count("As it was.") == 2 and "is taken." not in prompt for prompt in prompts)
