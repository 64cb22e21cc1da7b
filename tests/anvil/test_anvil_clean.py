"""A cleaned program computes the same numbers and is never larger."""

from textwrap import indent

import pytest
from anvil_toy import HEAD, TOY
from anvil_two import TWO
from anvil_values import runs
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from policy_trees import accepted, programs

from vulcan.anvil import check
from vulcan.anvil.rewrite.optimize import cleaned
from vulcan.anvil.rewrite.traversal import program_size
from vulcan.anvil.unparse import emit_source
from vulcan.task import Task


@pytest.mark.parametrize("task", [pytest.param(TOY, id="toy"), pytest.param(TWO, id="several functions")])
@settings(max_examples=examples(240))
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_a_generated_program_computes_the_same_numbers_in_no_more_nodes(
    task: Task, data: st.DataObject, seed: int
) -> None:
    policy = accepted(data.draw(programs(task)), task)
    assume(policy is not None)
    program = policy.program
    better = cleaned(program)
    written = check(emit_source(better, task.interface), task).program  # the checker takes it, and makes no more of it
    assert runs(better, task, seed) == runs(program, task, seed) == runs(written, task, seed)
    assert program_size(written) <= program_size(program)
    assert cleaned(better) == better


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return 2 * 3 + now", "return 6 + now"),
        ("return now * 1 + 0 - 0 / now", "return now"),
        ("return now / now", "return now / now"),  # 0 where now is 0
        ("return (now - now) * 7 or item.whole", "return item.whole"),
        ("return 0 - now", "return -now"),
        ("return now + -item.whole", "return now - item.whole"),
        ("return now if 2 > 1 else item.whole", "return now"),
        ("return min(now, now)", "return now"),
        ("x = item.whole\ny = x\nreturn y * y", "return item.whole * item.whole"),
        ("x = 0.5\nreturn x * now + x", "x = 0.5\nreturn x * now + x"),  # one number, in two places
        ("x = 1\nx = now + 2\nreturn x", "return now + 2"),
        ("x = 3\nif now:\n    x = 4\nreturn 5", "return 5"),
        ("if 0:\n    return 1\nelse:\n    return now", "return now"),
        ("if now:\n    return 7\nelse:\n    return 7", "return 7"),
        ("x = now\nfor i in range(3):\n    x += i\nreturn x", "x = now\nfor i in range(3):\n    x += i\nreturn x"),
        ("x = now\nfor i in range(0):\n    x = 3\nreturn x", "return now"),
        ("x = 0\nfor i in range(3):\n    if i > now:\n        break\n    x += i\nreturn x * 0", "return 0"),
    ],
)
def test_what_does_nothing_goes(before: str, after: str) -> None:
    program = check(HEAD + indent(before, "    ") + "\n", TOY).program
    assert emit_source(cleaned(program), TOY.signature) == HEAD + indent(after, "    ") + "\n"


def test_helpers_and_parameters_go_when_nothing_needs_them_and_docstrings_stay() -> None:
    source = (
        '"""The module."""\nA = 2\nB = 3\nC = 4\n\ndef once(x, idle):\n    return x * A\n\n'
        "def twice(x):\n    return x - x * C\n\ndef unused(x):\n    return x * B\n\n" + HEAD + '    """The entry."""\n'
        "    z = 0 * unused(now)\n    return once(now, 7) + twice(now + 1) * twice(item.whole) + z\n"
    )
    assert emit_source(cleaned(check(source, TOY).program), TOY.signature) == (
        '"""The module."""\n\nA = 2\nC = 4\n\n\ndef twice(x):\n    return x - x * C\n\n\n'
        + HEAD
        + '    """The entry."""\n'
        "    return now * A + twice(now + 1) * twice(item.whole)\n"
    )
