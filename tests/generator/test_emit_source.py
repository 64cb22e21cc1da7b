"""A program written out is the program that was read."""

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from offline_tasks import RANK_TASK

from vulcan.anvil import check, ir
from vulcan.anvil.unparse import emit_source
from vulcan.task import Task


def program_of(source: str, task: Task = RANK_TASK) -> ir.Module:
    return check(source, task).program


def assert_kept(source: str, task: Task) -> str:
    policy = check(source, task)
    written = emit_source(policy.program, task.signature)
    again = check(written, task)
    assert again.fingerprint == policy.fingerprint, written
    assert again.parameters == policy.parameters
    assert again.program.documentation == policy.program.documentation
    assert [f.name for f in again.program.functions] == [f.name for f in policy.program.functions]
    assert [f.documentation for f in again.program.functions] == [f.documentation for f in policy.program.functions]
    assert emit_source(again.program, task.signature) == written
    return written


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("(clock + 1) * 2", "(clock + 1) * 2"),
        ("((clock * 1) + 2)", "clock * 1 + 2"),
        ("clock - (1 - 2)", "clock - (1 - 2)"),
        ("(clock - 1) - 2", "clock - 1 - 2"),
        ("(-clock) ** 2", "(-clock) ** 2"),
        ("-(clock ** 2)", "-clock ** 2"),
        ("(clock ** 2) ** 3", "(clock ** 2) ** 3"),
        ("clock ** (2 ** 3)", "clock ** 2 ** 3"),
        ("math.pow(clock, -2)", "clock ** -2"),
        ("not (clock and 1)", "not (clock and 1)"),
        ("(not clock) + 1", "(not clock) + 1"),
        ("(clock and 1) and 2", "(clock and 1) and 2"),
        ("(clock and 1) or 2", "clock and 1 or 2"),
        ("(clock < 1) < 2", "(clock < 1) < 2"),
        ("1.0", "1"),
        ("1e20", "1e+20"),
        ("parcel.price.recent(3.0)", "parcel.price.recent(3)"),
        ("store.price.window_percentile(0.50, 4096)", "store.price.window_percentile(0.5, 4096)"),
        (
            "store.id.contains((parcel.id), 64) + store.load.avg()",
            "store.id.contains(parcel.id, 64) + store.load.avg()",
        ),
        ("parcel.visits.count(1 if clock else 2, 8)", "parcel.visits.count(1 if clock else 2, 8)"),
        ("clock.ewma(0.50) + clock.min() * store.price.max()", "clock.ewma(0.5) + clock.min() * store.price.max()"),
    ],
)
def test_parentheses_are_as_few_as_can_be(source: str, written: str) -> None:
    text = assert_kept(f"def urgency(clock, parcel, store, sent):\n    return {source}\n", RANK_TASK)
    assert text.endswith(f"    return {written}\n")


@settings(max_examples=examples(60))
@given(st.text(max_size=60))
def test_any_docstring_is_kept(text: str) -> None:
    cleaned = check(f"{text!r}\ndef urgency(clock, parcel, store, sent):\n    return 1\n", RANK_TASK).program
    assert program_of(emit_source(cleaned, RANK_TASK.signature)).documentation == cleaned.documentation
