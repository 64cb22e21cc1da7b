"""Policies are parsed and compiled in several threads at once: by models and the search itself, for baselines."""

from __future__ import annotations

import gc
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from anvil_toy import TOY, TOY_LAYOUT, returning

from vulcan.anvil import Policy, check
from vulcan.anvil.native.compile import Native
from vulcan.anvil.parse import syntax_tree

SOURCE = ("x = " + "(" * 30 + "1 + 2" + " + 1)" * 30 + "\n") * 5


@pytest.fixture
def threads_change_while_a_tree_is_built():
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()

    def give_way(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)

    sys.setswitchinterval(1e-6)
    gc.set_threshold(10)
    gc.callbacks.append(give_way)
    yield
    gc.callbacks.remove(give_way)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


def test_threads_that_parse_at_once_do_not_disturb_one_another(threads_change_while_a_tree_is_built: None) -> None:
    """With `ast.parse` alone, Python 3.11.7 raises SystemError in 1 to 3 of 40: the depth of the stack must differ."""

    def parsed(depth: int) -> int:
        return parsed(depth - 1) if depth else len(syntax_tree(SOURCE).body)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(parsed, [30 * (i % 4) for i in range(60)])) == {5}


def test_threads_that_need_the_same_machine_code_get_one_copy() -> None:
    """A copy that another one replaced is freed, though a run may still have its address."""
    for _ in range(20):
        policy, begin = check(returning("item.whole + 1"), TOY), Barrier(4)

        def compiled(_: int, policy: Policy = policy, begin: Barrier = begin) -> Native:
            begin.wait()
            return policy.native(TOY_LAYOUT)

        with ThreadPoolExecutor(4) as pool:
            assert len({id(native) for native in list(pool.map(compiled, range(4)))}) == 1
