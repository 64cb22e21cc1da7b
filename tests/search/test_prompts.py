"""A prompt holds what the task declares, and what the run has chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from search_parts import TASK, share

from vulcan.errors import UserError
from vulcan.models.base import Message
from vulcan.registry import find_task
from vulcan.search.config import complete_settings
from vulcan.search.population import Member
from vulcan.search.prompts import Prompts, mechanism_of
from vulcan.task import Json, Task

CACHE = find_task("cache_eviction")
PARENTS = (Member(3, 1, share(1.5), 0.123456), Member(1, 0, "def decide(load, room):\n    return load\n\n", -1.0))


def prompts(task: Task, objective: str | None = None, **given: Json) -> Prompts:
    return Prompts(task, task.objective(objective), complete_settings(task, given))


@pytest.mark.parametrize("task", [TASK, CACHE], ids=lambda task: task.name)
@pytest.mark.parametrize("round_", [1, 2, 20])
@pytest.mark.parametrize("parents", [(), PARENTS[:1], PARENTS], ids=len)
def test_it_holds_what_the_task_declares(task: Task, round_: int, parents: tuple[Member, ...]) -> None:
    text = prompts(task).propose(round_, parents)
    assert task.summary in text
    assert task.signature.returns in text
    assert f"def {task.signature.function}(" in text
    for name, feature in task.signature.features():
        assert name in text
        assert feature.meaning in text
        assert feature.unit in text
    for line in task.advice:
        assert line in text
    for parent in parents:
        assert f"```python\n{parent.source.strip()}\n```" in text
        assert f"{parent.score:.4f}" in text
    assert text.count("```python") >= len(parents)
    assert "{{" not in text
    assert "{%" not in text
    assert "\n\n\n\n" not in text


def test_it_says_how_the_chosen_mechanism_works_and_no_other() -> None:
    settings = complete_settings(CACHE, {})
    spelled = {m.name: m.spelled(settings) for m in CACHE.signature.mechanisms}
    assert set(spelled) == {"sample", "heap"}
    for chosen, meaning in spelled.items():
        text = prompts(CACHE, mechanism=chosen).propose(1, ())
        assert [name for name, other in spelled.items() if other in text] == [chosen]
        assert meaning in text


def test_it_says_under_which_settings_the_mechanism_runs() -> None:
    text = prompts(CACHE, mechanism="sample", sample_size=48).propose(1, ())
    assert "48 objects" in text
    assert "16 objects" not in text


def test_the_first_mechanism_is_the_default_and_a_task_may_have_none() -> None:
    assert mechanism_of(CACHE, {}) == CACHE.signature.mechanisms[0]
    assert mechanism_of(TASK, {}) is None
    with pytest.raises(UserError, match="task 'cache_eviction' has no mechanism 'stack'"):
        mechanism_of(CACHE, {"mechanism": "stack"})


def test_it_says_what_the_chosen_objective_is_in_the_tasks_own_words() -> None:
    first, second = (o.meaning for o in CACHE.objectives)
    text = prompts(CACHE, objective="byte").propose(1, ())
    assert second[1:] in text
    assert first[1:] not in text
    assert "FIFO" in text


def test_later_rounds_ask_for_more_than_the_parents() -> None:
    first, later = (prompts(TASK).propose(round_, PARENTS) for round_ in (1, 2))
    assert "Policies to start from" in first
    assert "several different ideas" in first
    assert "The best policies so far" in later
    assert "scores higher than those above" in later


def test_a_repair_quotes_what_was_wrong() -> None:
    text = prompts(TASK).repair("- [while] line 3: no loops without end; write for")
    assert "- [while] line 3: no loops without end; write for" in text


def test_a_chat_begins_with_one_message_of_the_user() -> None:
    made = prompts(TASK)
    assert made.chat(1, ()) == (Message("user", made.propose(1, ())),)


def test_a_task_may_change_the_template_in_part(tmp_path: Path) -> None:
    (tmp_path / "prompt.md.j2").write_text(
        '{% extends "propose.md.j2" %}{% block about %}\nMind {{ task.name }}.\n{% endblock %}'
    )
    text = prompts(replace(TASK, directory=tmp_path)).propose(1, ())
    assert "Mind mood_task." in text
    assert "def decide(" in text


@pytest.mark.parametrize("template", ["{% extends 'nothing.j2' %}", "{% if %}", "{{ unknown.thing }}"])
def test_a_template_that_cannot_be_used_is_the_users_to_mend(tmp_path: Path, template: str) -> None:
    (tmp_path / "prompt.md.j2").write_text(template)
    with pytest.raises(UserError, match=r"prompt\.md\.j2") as caught:
        prompts(replace(TASK, directory=tmp_path)).propose(1, ())
    assert "\n" not in str(caught.value)
