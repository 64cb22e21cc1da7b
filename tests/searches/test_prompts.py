"""A prompt holds what the task declares, what the run has chosen, and what the draft shows and asks for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from strategy_parts import TASK, member, reading

from vulcan.errors import UserError
from vulcan.evaluator import Instance
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.searches.population import JudgedReply, ScoredCandidate
from vulcan.searches.prompts import Prompts
from vulcan.searches.strategies import Draft
from vulcan.task import Json, Task

CACHE = find_task("cache_eviction")
PARENTS = (
    member(3, 0.123456, source=reading("load", "room")),
    member(1, -1.0, source="def decide(load, room):\n    return load\n\n"),
)
OTHER = member(7, 0.75, source=reading("room"))
OPERATORS = ("initial", "mutate", "crossover", "fresh", "advice")
FIRST = Draft(1, "initial", ())


def prompts(task: Task, objective: str | None = None, instances: tuple[str, ...] = (), **given: Json) -> Prompts:
    measured = [Instance(name, "train", {}) for name in instances]
    return Prompts(task, task.objective(objective), complete_settings(task, given), measured)


@pytest.mark.parametrize("task", [TASK, CACHE], ids=lambda task: task.name)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("parents", [(), PARENTS[:1], PARENTS], ids=len)
@pytest.mark.parametrize("inspirations", [(), (OTHER,)], ids=len)
def test_it_holds_what_the_task_declares(
    task: Task, operator: str, parents: tuple[ScoredCandidate, ...], inspirations: tuple[ScoredCandidate, ...]
) -> None:
    text = prompts(task).propose(Draft(2, operator, parents, inspirations))
    assert task.summary in text
    assert task.signature.returns in text
    assert f"def {task.signature.function}(" in text
    for name, feature in task.signature.features():
        assert name in text
        assert feature.meaning in text
        assert feature.unit in text
    if operator != "advice":
        for line in task.advice:
            assert line in text
        for claimed in task.properties:
            assert (claimed.meaning in text) == claimed.required
    for shown in (*parents, *inspirations):
        assert f"```python\n{shown.source.strip()}\n```" in text
        assert f"{shown.score:.4f}" in text
    assert text.count("```python\n") == len(parents) + len(inspirations) + bool(task.events)
    assert "{{" not in text
    assert "{%" not in text
    assert "\n\n\n" not in text


def test_it_says_how_each_mechanism_works_and_what_a_policy_of_it_defines() -> None:
    text = prompts(CACHE, sample_size=48).propose(FIRST)
    for name in CACHE.mechanisms:
        assert f'### `MECHANISM = "{name}"`' in text
        for declared in CACHE.of_policy(name).functions:
            head = f"def {declared.function}({', '.join(a.name for a in declared.arguments)}):"
            assert f"{'it may define' if declared.optional else 'it defines'} `{head}`" in text or f", `{head}`" in text
            assert all(f"| `{reads}` | " in text for reads, _ in declared.features())
    assert "48 objects" in text
    assert "16 objects" not in text


def test_it_says_what_the_chosen_objective_is_in_the_tasks_own_words() -> None:
    first, second = (o.meaning for o in CACHE.objectives)
    text = prompts(CACHE, objective="byte").propose(FIRST)
    assert second[1:] in text
    assert first[1:] not in text
    assert "FIFO" in text


def test_each_operator_asks_for_something_of_its_own() -> None:
    made = {operator: prompts(TASK).propose(Draft(2, operator, PARENTS[:1], (OTHER,))) for operator in OPERATORS}
    asked = {operator: text.rpartition("## Your reply")[2] for operator, text in made.items()}
    assert len(set(asked.values())) == len(OPERATORS)
    assert "Python code block" not in asked["advice"]


def test_of_many_instances_the_best_and_the_worst_are_shown() -> None:
    names = tuple(f"day{i:02}" for i in range(30))
    parent = member(3, 14.5, scores=tuple(float(i) for i in range(30)))
    text = prompts(TASK, instances=names).propose(Draft(2, "mutate", (parent,)))
    line = next(line for line in text.split("\n") if line.startswith("By instance"))
    assert [name for name in names if name in line] == [*names[:6], *names[-6:]]


def test_a_diff_is_asked_for_in_its_exact_form_and_against_the_first_parent() -> None:
    full, diff = (prompts(TASK).propose(Draft(2, "mutate", PARENTS[:1], form=form)) for form in ("full", "diff"))
    for mark in ("\n<<<<<<< SEARCH\n", "\n=======\n", "\n>>>>>>> REPLACE\n"):
        assert mark in diff
        assert mark not in full
    assert "the change to Version 1" in diff


def test_advice_is_asked_for_with_the_best_the_improvements_and_the_failures() -> None:
    failed = JudgedReply(0, "full", "rejected", "- line 3: [while] no loops without end")
    draft = Draft(3, "advice", PARENTS, (OTHER,), advice="- Old lesson.", failures=(failed,))
    text = prompts(TASK).propose(draft)
    assert "## Recent changes that raised the score" in text
    assert "## Recent failures\n\nrejected:\n\n- line 3: [while] no loops without end\n" in text
    assert "## Your earlier advice\n\n- Old lesson.\n" in text
    assert "Give no program" in text


def test_a_task_may_change_the_template_in_part(tmp_path: Path) -> None:
    (tmp_path / "prompt.md.j2").write_text(
        '{% extends "propose.md.j2" %}{% block about %}\nMind {{ task.name }}.\n{% endblock %}'
    )
    text = prompts(replace(TASK, directory=tmp_path)).propose(Draft(2, "mutate", PARENTS, (OTHER,)))
    assert "Mind mood_task." in text
    assert "def decide(" in text
    assert "### Idea 1" in text


@pytest.mark.parametrize("template", ["{% extends 'nothing.j2' %}", "{% if %}", "{{ unknown.thing }}"])
def test_a_template_that_cannot_be_used_is_the_users_to_mend(tmp_path: Path, template: str) -> None:
    (tmp_path / "prompt.md.j2").write_text(template)
    with pytest.raises(UserError, match=r"prompt\.md\.j2") as caught:
        prompts(replace(TASK, directory=tmp_path)).propose(FIRST)
    assert "\n" not in str(caught.value)


def test_prompts_of_free_programs_alone_have_a_limit_of_time() -> None:
    for task in (CACHE, find_task("cache_program")):
        text = Prompts(task, task.objectives[0], complete_settings(task, {}), limit=5.0).propose(FIRST)
        assert ("may take 5 seconds" in text) == (task is not CACHE)
