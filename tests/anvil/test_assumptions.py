"""What a task says always holds is not warned of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.registry import find_task

CACHES = find_task("cache_eviction")
HEAD = "def priority(now, obj, cache, ghost):\n"


def warned(returned: str, assumptions: tuple[str, ...] = CACHES.assumptions, before: str = "") -> list[str]:
    task = replace(CACHES, assumptions=assumptions)
    return [w.rule for w in check(f"{HEAD}{before}    return {returned}\n", task).warnings]


@pytest.mark.parametrize(
    "returned",
    [
        "obj.count / (now - obj.insertion + 1)",
        "obj.count / (now - obj.last_access + 1) ** 0.7",
        "math.log(obj.last_access - obj.insertion + 1)",
        "obj.size / (now - obj.last_access.ewma(0.3) + 1)",
        "math.sqrt(now - obj.last_access.recent(2))",
        "math.sqrt(now - cache.last_access.percentile(0.5))",
    ],
)
def test_what_never_happens_is_not_warned_of(returned: str) -> None:
    assert warned(returned) == []
    assert set(warned(returned, ())) & {"zero-divisor", "outside-domain"}


def test_it_is_known_of_names_and_of_helpers_arguments() -> None:
    assert warned("obj.count / (age + 1)", before="    age = now - obj.insertion\n") == []
    source = f"def per(x, y):\n    return x / (y + 1)\n\n\n{HEAD}    return per(obj.count, now - obj.last_access)\n"
    assert check(source, CACHES).warnings == ()


def test_what_may_happen_is_warned_of_still() -> None:
    assert warned("obj.count / (now - obj.insertion)") == ["zero-divisor"]
    assert warned("obj.size / (obj.insertion - now + 1)") == ["zero-divisor"]
    assert warned("math.log(now - obj.last_access)") == ["outside-domain"]
    assert warned("obj.count / (now - obj.count.ewma(0.5) + 1)") == ["zero-divisor"]


def test_the_mean_of_whole_numbers_is_not_below_them() -> None:
    assert warned("obj.size / (obj.count.window_avg(4) + 1)") == []


def test_a_policy_s_verdict_does_not_rest_on_it() -> None:
    source = f"{HEAD}    return 1 if obj.insertion <= now else obj.size\n"
    assert check(source, CACHES).constant is None


def test_an_assumption_that_is_no_condition_is_the_task_s_mistake() -> None:
    policy = check(f"{HEAD}    return obj.count\n", replace(CACHES, assumptions=("obj.colour <= now",)))
    with pytest.raises(UserError, match=r"assumption 'obj.colour <= now' is no condition over its features"):
        assert policy.warnings
