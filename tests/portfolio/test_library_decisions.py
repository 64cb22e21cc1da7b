"""Which member is chosen, how sure that is, and which candidates become members."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import ZIPF, fingerprint, instance, usual

from vulcan.errors import UserError
from vulcan.portfolio.candidates import earned, prune
from vulcan.portfolio.features import clusters_of, kmeans, prefixes_of, standard
from vulcan.portfolio.selector import choose_rule, select, select_for
from vulcan_cache.simulator import CacheSimulator

NEW_ZIPF = "zipf:requests=6000,objects=900,alpha=0.95,seed=7,name=new zipf"
NEW_LOOP = "loop:requests=6000,objects=530,name=new loop"
ALIEN = "scan-mix:requests=6000,objects=4000,alpha=0.2,once_share=0.7,sizes=pareto,seed=5,name=alien"


@pytest.mark.parametrize("method", ["neighbours", "trials"])
@pytest.mark.parametrize(("spec", "member", "cluster"), [(NEW_ZIPF, "hyperbolic", 0), (NEW_LOOP, "mru", 1)])
def test_a_held_out_trace_gets_the_member_of_its_kind(method: str, spec: str, member: str, cluster: int) -> None:
    library = usual()
    library = replace(library, rule=replace(library.rule, method=method, reach=1.0))  # type: ignore[arg-type]
    chosen = select(library, fingerprint(spec), "object")
    assert (chosen.name, chosen.kind, chosen.cluster, chosen.trusted) == (member, "member", cluster, True)
    assert chosen.expected[0][0] == member


def test_an_alien_trace_gets_the_fallback() -> None:
    chosen = select(usual(), fingerprint(ALIEN), "object")
    assert (chosen.name, chosen.kind, chosen.trusted) == ("lru", "baseline", False)
    assert chosen.expected[0][0] != "lru", "it is the distance that decides, and not what is expected"
    assert chosen.confidence == pytest.approx(usual().rule.reach / chosen.distance)
    assert chosen.confidence < 0.5


@pytest.mark.parametrize(("size", "capacity"), [("5%", 25), ("40%", 100)])
def test_policies_are_tried_with_a_cache_that_the_first_requests_overflow(size: str, capacity: int) -> None:
    """All 500 objects of this loop are asked for within the first 600 requests; a fifth of them is the most."""
    evaluator, whole = CacheSimulator(), instance("loop:requests=6000,objects=500", size)
    opening = evaluator.opening(whole, 600)
    assert opening.parameters["capacity"] == capacity
    assert (opening.parameters["measure_from"], opening.parameters["measure_to"]) == (300, 600)
    assert evaluator.opening(whole, 50).parameters["capacity"] == 10
    assert prefixes_of(evaluator, [whole], 600) == (600,)
    assert prefixes_of(evaluator, [whole], 100_000) == (1200,)


def test_trials_overrule_what_neighbours_say() -> None:
    """The table says that `mru` is bad for what is skewed; the first requests say otherwise."""
    library = usual()
    library = replace(library, rule=replace(library.rule, method="trials"))
    tried = {"mru": 0.5, "hyperbolic": 0.0, "lru": 0.0}
    assert select(library, fingerprint(ZIPF[0]), "object").name == "hyperbolic"
    assert select(library, fingerprint(ZIPF[0]), "object", trials=tried).name == "mru"
    asked = replace(library, rule=replace(library.rule, method="neighbours"))
    assert select(asked, fingerprint(ZIPF[0]), "object", trials=tried).name == "hyperbolic"


def test_choices_are_really_tried() -> None:
    """`mru` on a loop: the table is wrong about both, and the trial puts it right."""
    library = usual()
    wrong = {"hyperbolic": (0.1, 0.1, 0.1, 0.1), "mru": (0.0, 0.0, 0.0, 0.0)}
    matrix = replace(library.matrix["object"], members=wrong)
    library = replace(
        library, matrix={"object": matrix}, rule=replace(library.rule, method="trials", reach=1.0),
    )  # fmt: skip
    (chosen,) = select_for(library, NEW_LOOP, {}, "object")
    assert (chosen.name, chosen.tried, chosen.instance) == ("mru", True, "new loop@10%")
    untried = replace(library, rule=replace(library.rule, method="neighbours"))
    assert select_for(untried, NEW_LOOP, {}, "object")[0].name == "hyperbolic"


scores = st.lists(st.floats(-1, 1, width=16), min_size=3, max_size=3)


@settings(max_examples=examples(200), derandomize=True, deadline=None)
@given(st.lists(scores, min_size=1, max_size=7), scores, st.sampled_from([0.0, 0.01, 0.3]), st.integers(1, 4))
def test_each_member_is_best_somewhere(table: list[list[float]], safe: list[float], margin: float, most: int) -> None:
    by_name = {"object": {f"p{n}": tuple(row) for n, row in enumerate(table)}}
    left = prune(by_name, {"object": safe}, margin, most)
    assert len(left) <= most
    for name in left:
        places = earned(name, left, by_name, {"object": safe}, ["a", "b", "c"], margin)
        assert places
        for place in places:
            number = "abc".index(place.instance)
            others = [by_name["object"][other][number] for other in left if other != name]
            assert by_name["object"][name][number] - max([*others, safe[number]]) == pytest.approx(place.by)
            assert place.by > margin
    if not left:  # then nothing is better than what there is anyway
        gains = [max(row[n] for row in table) - safe[n] for n in range(3)]
        assert all(gain <= margin for gain in gains) or len(table) > 1


def test_the_number_of_clusters_is_that_of_the_highest_silhouette() -> None:
    rng = np.random.default_rng(1)
    blobs = np.concatenate([rng.normal(centre, 0.1, (6, 2)) for centre in (0.0, 3.0, 9.0)])
    labels, clustering = clusters_of(blobs, None, 1)
    assert clustering.clusters == 3
    assert labels == (0,) * 6 + (1,) * 6 + (2,) * 6
    assert max(clustering.tried, key=lambda each: each.silhouette).clusters == 3
    assert clusters_of(blobs, 2, 1)[1].clusters == 2
    assert clusters_of(np.zeros((4, 2)), None, 1) == ((0, 0, 0, 0), clusters_of(np.zeros((1, 2)), None, 1)[1])
    with pytest.raises(UserError, match="5 clusters of 2 different"):
        clusters_of(np.array([[0.0], [1.0], [1.0]]), 5, 1)


def test_clusters_have_the_least_inertia_of_all_divisions() -> None:
    points = np.random.default_rng(2).integers(0, 4, (6, 2)).astype(float)
    for count in (2, 3):
        divisions = (np.array(labels) for labels in product(range(count), repeat=len(points)))
        least = min(_inertia(points, labels) for labels in divisions if len(set(labels.tolist())) == count)
        assert _inertia(points, kmeans(points, count, 1)) == pytest.approx(least)


def _inertia(points: npt.NDArray[np.float64], labels: npt.NDArray[np.int64]) -> float:
    return sum(np.square(points[labels == n] - points[labels == n].mean(axis=0)).sum() for n in set(labels.tolist()))


def test_the_method_is_the_one_that_does_best_with_each_workload_left_out() -> None:
    library = usual()
    matrix = library.matrix["object"]
    choices = {**matrix.members, "lru": matrix.baselines["lru"]}
    informative = choices
    misleading = {name: tuple(-value for value in values) for name, values in choices.items()}
    for trials, best in ((informative, "trials"), (misleading, "neighbours")):
        rule = choose_rule(
            library.names, library.instances, {"object": choices}, {"object": trials}, {"object": "lru"}, None
        )
        assert rule.method == best
        by_method = {each.method: each for each in rule.left_out}
        assert set(by_method) == {"trials", "neighbours"}
        assert by_method["neighbours"].best == pytest.approx(0.3)
        assert by_method["neighbours"].single == pytest.approx(0.05)
        assert by_method["neighbours"].fallback == 0.0
    rows = np.array([i.fingerprint for i in library.instances])
    assert (standard(rows)[1] > 0).all()
