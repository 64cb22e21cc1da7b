"""The digest of what a policy evicts on a short probe."""

from __future__ import annotations

import numpy as np
import pytest

from vulcan.anvil import check
from vulcan.evaluator import decisions_of, load_evaluator
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_cache.probe import RESIDENTS, CacheProbe, ProbeScale

TASK = find_task("cache_eviction")
SPEC = "zipf:requests=10000,objects=1500,alpha=0.9,seed=4,sizes=lognormal"
HEAD = "def priority(now, obj, cache, ghost):\n    return "
SETTINGS = {"sample_size": 16, "sample_seed": 1}


def policy(expression, mechanism="sample"):
    return check(f'MECHANISM = "{mechanism}"\n{HEAD}{expression}\n', TASK)


def prepared(*specs, **given):
    evaluator = load_evaluator(TASK)
    evaluator.prepare(evaluator.instances(complete_settings(TASK, {"trace": list(specs), **given}), Split(by="none")))
    return evaluator


@pytest.fixture(scope="module")
def evaluator():
    return prepared(SPEC)


ALIKE = [
    ("obj.last_access", "obj.last_access * 3 - 7"),
    ("obj.count / obj.size", "math.log(obj.count / obj.size)"),
    ("obj.insertion", "math.sqrt(obj.insertion)"),
]
UNLIKE = [
    "obj.insertion", "obj.last_access", "obj.count", "-obj.size", "obj.count / obj.size", "ghost.count(obj.id)",
    "1000 * obj.count + obj.last_access", "obj.last_access + ghost.age(obj.id)", "obj.count + ghost.contains(obj.id)",
]  # fmt: skip


@pytest.mark.parametrize("mechanism", ["sample", "heap"])
@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_policies_of_one_order_have_one_digest(evaluator, one, other, mechanism):
    assert evaluator.decisions(policy(one, mechanism)) == evaluator.decisions(policy(other, mechanism))


@pytest.mark.parametrize("mechanism", ["sample", "heap"])
def test_policies_that_differ_have_digests_that_differ(evaluator, mechanism):
    digests = [evaluator.decisions(policy(expression, mechanism)) for expression in UNLIKE]
    assert len(set(digests)) == len(UNLIKE)
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in digests)


def test_policies_with_other_handlers_are_no_duplicates(evaluator):
    """What they learn differs only after more requests than the probe has, and so do their decisions."""

    def learning(rate):
        state = (
            f"class policy:\n    level = 0\n\n\ndef on_hit(now, obj, cache, ghost):\n    policy.level += {rate}\n\n\n"
        )
        return check(f"{state}{HEAD}obj.count if policy.level > 1 else obj.last_access\n", TASK)

    slow, slower = learning("1e-7"), learning("1e-8")
    assert evaluator.decisions(slow) == evaluator.decisions(slower) == evaluator.decisions(policy("obj.last_access"))
    digests = {decisions_of(evaluator, each) for each in (slow, slower, policy("obj.last_access"))}
    assert len(digests) == 3
    assert slow.fingerprint != slower.fingerprint
    assert decisions_of(evaluator, slow) == decisions_of(evaluator, check("# the same\n" + slow.source, TASK))


def test_the_probe_is_at_the_scale_of_the_instances():
    late = CacheProbe.of([ProbeScale(4_000_000, 60_000.0, 30_000.0)], SETTINGS)
    assert late.times[-1] == pytest.approx(4_000_000, rel=0.01)
    assert late.weight == 1000
    assert late.capacity / 30_000 == pytest.approx(60_000, rel=0.01)
    assert late.sizes.mean() == pytest.approx(30_000, rel=0.5)
    assert all(late.times == late.times.round()) and all(np.diff(late.times) >= 1)
    early = CacheProbe.of([ProbeScale(6000, 100.0, 1.0)], SETTINGS)
    assert (early.weight, early.capacity, set(early.sizes)) == (2, 2 * RESIDENTS, {1})
    # a constant tells two policies apart where it is within reach, and only there
    threshold = "obj.count if now - obj.last_access < 300_000 else obj.size"
    assert late.digest(policy(threshold)) != late.digest(policy("obj.count"))
    assert early.digest(policy(threshold)) == early.digest(policy("obj.count"))


def test_what_only_equals_show_is_seen():
    """A policy that looks at size first, and at another thing where sizes are equal, is not one of size alone."""
    ev = prepared(SPEC)
    first = "-10 ** 12 * obj.size"
    assert len({ev.decisions(policy(first + rest)) for rest in ("", " + obj.count", " + obj.last_access")}) == 3
