"""The generated workloads run real algorithms, and what they access is counted right."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from vulcan.errors import UserError
from vulcan.paths import cache_directory
from vulcan_traces.memory import load_page_counts
from vulcan_traces.memory.kernels.betweenness import run_betweenness
from vulcan_traces.memory.kernels.bfs import run_bfs
from vulcan_traces.memory.kernels.btree import insert, key_of, most_nodes, new_tree, run_ycsb
from vulcan_traces.memory.kernels.graph import make_graph
from vulcan_traces.memory.kernels.gups import run_gups
from vulcan_traces.memory.kernels.pagerank import DAMPING, run_pagerank
from vulcan_traces.memory.kernels.recorder import INTERVAL, MULTIPLIER, SEEN, TOUCHES, new_recorder, touch
from vulcan_traces.memory.kernels.tpcc import run_tpcc, table_sizes
from vulcan_traces.memory.workloads import KINDS, parse_workload, record_workload

PAGE = 4096


def recorder(space, intervals=4, loads=50_000, cache=4096, seed=1):
    return new_recorder(space, PAGE, cache, intervals, loads, seed)


def distances(graph, source):
    far = {source: 0}
    queue = deque([source])
    while queue:
        v = queue.popleft()
        for w in graph.neighbours[graph.offsets[v] : graph.offsets[v + 1]].tolist():
            if w not in far:
                far[w] = far[v] + 1
                queue.append(w)
    return far


@pytest.fixture(scope="module", params=["kronecker", "uniform"])
def graph(request):
    return make_graph(request.param, 8, 4, 3)


def space_of(graph):
    return len(graph.offsets) * 32 + len(graph.neighbours) * 4


def test_the_recorder_is_a_cache_that_writes_back():
    random = np.random.RandomState(1)
    r = recorder(64 * PAGE, intervals=3, loads=500, cache=1024)
    places, counted = {}, {kind: np.zeros((3, 64), int) for kind in ("loads", "stores")}
    misses, order, touches = 0, [], 0
    for address, writes in zip(
        random.randint(0, 64 * PAGE, 4000) // 64 % 700 * 64, random.rand(4000) < 0.3, strict=True
    ):
        touch(r, address, writes)
        if misses == 1500:
            break
        touches += 1
        line, page = int(address) // 64, int(address) // PAGE
        place = int(np.uint64(line * int(MULTIPLIER) % 2**64) >> np.uint64(60))
        if places.get(place, (None, False))[0] != line:
            before, dirty = places.get(place, (None, False))
            if dirty:
                counted["stores"][misses // 500, before // 64] += 1
            counted["loads"][misses // 500, page] += 1
            places[place] = (line, False)
            misses += 1
            if page not in order:
                order.append(page)
        if writes:
            places[place] = (line, True)
    assert misses == 1500
    assert np.array_equal(r.loads, counted["loads"])
    assert np.array_equal(r.stores, counted["stores"])
    assert r.order[: r.at[SEEN]].tolist() == order
    assert (r.at[INTERVAL], r.at[TOUCHES]) == (3, touches)


def test_gups_has_its_share_of_updates_in_a_hot_set_that_moves():
    pages, hot = 256, 32
    r = recorder(pages * PAGE, intervals=40, loads=10_000)
    updates = run_gups(r, pages * 512, hot * 512, 0.9, 100_000)
    assert updates == pytest.approx(400_000 - pages * 64, rel=0.1)  # nearly each misses, as the filling did
    at_once = [np.sort(r.loads[i])[::-1][: hot + 1].sum() / 10_000 for i in range(5, 40)]
    assert np.median(at_once) == pytest.approx(0.9 + 0.1 * hot / pages, abs=0.02)
    hottest = {int(r.loads[i].argmax()) // hot for i in range(2, 40)}
    assert len(hottest) > 2


def test_pagerank_is_the_power_iteration(graph):
    scores, iterations = run_pagerank(recorder(space_of(graph), loads=4000), graph)
    assert iterations > 3
    n = len(graph.offsets) - 1
    degrees = np.diff(graph.offsets)
    expected = np.full(n, 1 / n)
    for _ in range(iterations):
        shares = np.divide(expected, degrees, out=np.zeros(n), where=degrees > 0)
        sums = [shares[graph.neighbours[a:b]].sum() for a, b in zip(graph.offsets, graph.offsets[1:], strict=False)]
        expected = (1 - DAMPING) / n + DAMPING * np.array(sums)
    assert scores == pytest.approx(expected, rel=1e-12)


def test_bfs_finds_shortest_paths(graph):
    parents, searches = run_bfs(recorder(space_of(graph), loads=4000), graph)
    assert searches > 1
    (source,) = [v for v, parent in enumerate(parents) if v == parent]
    far = distances(graph, source)
    assert {v for v, parent in enumerate(parents) if parent >= 0} == set(far)
    for v, depth in far.items():
        if v != source:
            assert far[parents[v]] == depth - 1
            assert parents[v] in graph.neighbours[graph.offsets[v] : graph.offsets[v + 1]]


def test_betweenness_counts_shortest_paths(graph):
    found, source, sources = run_betweenness(recorder(space_of(graph), loads=8000), graph)
    assert sources > 0
    far = distances(graph, source)
    paths = {source: 1.0}
    for v in sorted(far, key=far.get)[1:]:
        near = graph.neighbours[graph.offsets[v] : graph.offsets[v + 1]].tolist()
        paths[v] = sum(paths[w] for w in near if far[w] == far[v] - 1)
    expected = dict.fromkeys(far, 0.0)
    for v in sorted(far, key=far.get, reverse=True):
        for w in graph.neighbours[graph.offsets[v] : graph.offsets[v + 1]].tolist():
            if v != source and far[w] == far[v] + 1:
                expected[v] += paths[v] / paths[w] * (1 + expected[w])
    assert [found[v] for v in far] == pytest.approx(list(expected.values()), rel=1e-9)


def test_graphs_have_the_degrees_of_their_kind():
    skewed, even = (np.diff(make_graph(kind, 12, 8, 1).offsets) for kind in ("kronecker", "uniform"))
    assert skewed.mean() == pytest.approx(16, rel=0.02)
    assert even.mean() == pytest.approx(16, rel=0.02)
    assert even.max() < 45
    assert skewed.max() > 300


@pytest.mark.slow
def test_the_tree_holds_what_was_inserted():
    tree, path = new_tree(5000), np.zeros(16, np.int64)
    r = recorder(most_nodes(5000) * 512, loads=10**9)
    for number in range(5000):
        assert insert(r, tree, key_of(number), path) == number
    leaf = 0
    keys, records = [], []
    while leaf >= 0:  # node 0 is the first leaf: splits go to the right
        count = tree.counts[leaf]
        keys += tree.keys[leaf, :count].tolist()
        records += tree.children[leaf, :count].tolist()
        leaf = int(tree.following[leaf])
    assert keys == sorted(int(key_of(n)) for n in range(5000))
    assert [int(key_of(n)) for n in records] == keys


@pytest.mark.parametrize("mix", ["a", "b", "d", "e", "f"])
def test_ycsb_has_its_mix_and_loses_no_record(mix):
    from vulcan_traces.memory.workloads import MIXES

    shares = MIXES[mix]
    base = most_nodes(8000) * 512
    r = recorder(base + most_nodes(8000) * 31 * 256, intervals=5, loads=40_000)
    done, lost = run_ycsb(r, new_tree(8000), 4000, 256, 0.9, np.array(shares), 20, 500, 0.01, base)
    assert lost == 0
    total = done.sum()
    assert total > 1000
    assert done / total == pytest.approx([*shares, 1 - sum(shares)], abs=0.05)


def test_tpcc_has_its_mix_and_delivers_what_was_ordered():
    places = np.cumsum([0, *table_sizes(2)])
    r = recorder(int(places[-1]), intervals=10, loads=50_000)
    done, ordered, delivered = run_tpcc(r, 2, tuple(int(p) for p in places[:-1]), 0.125, 0)
    assert done / done.sum() == pytest.approx([0.45, 0.43, 0.04, 0.04, 0.04], abs=0.02)
    assert ordered / done[0] == pytest.approx(10, rel=0.05)  # five to fifteen lines an order
    assert 0.5 * ordered < delivered <= ordered


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_repeats_itself_and_depends_on_its_seed(kind):
    size = {"gups": "pages=64,hot_pages=8", "stream": "pages=64", "ycsb": "records=600", "tpcc": "warehouses=1"}
    spec = f"{kind}:intervals=4,loads=20000,cache=4096,{size.get(kind, 'scale=7')}"
    first, again, other = (record_workload(parse_workload(f"{spec},seed={s}"), "digest", PAGE) for s in (1, 1, 2))
    assert np.array_equal(first.loads, again.loads)
    assert np.array_equal(first.stores, again.stores)
    assert np.array_equal(first.loads, other.loads) == (kind == "stream")
    assert first.loads.sum(axis=1).tolist() == [20_000] * 4
    assert (np.diff(first.arrivals) >= 0).all()
    assert ((first.loads + first.stores).sum(axis=0) > 0).all()
    for page, arrival in enumerate(first.arrivals):
        assert not first.loads[:arrival, page].any()
        assert first.loads[arrival, page] > 0


def test_workloads_are_kept_and_damage_is_noticed(caplog):
    spec = "gups:pages=50,hot_pages=5,intervals=3,loads=2000,seed=77"
    first = load_page_counts(spec)
    (folder,) = list(cache_directory("page-counts").glob(f"*/{first.digest}"))
    assert np.array_equal(load_page_counts(spec).loads, first.loads)
    expected = np.array(first.loads)
    damaged = np.load(folder / "loads.npy")
    damaged[0, 0] += 1
    np.save(folder / "loads.npy", damaged)
    assert np.array_equal(load_page_counts(spec).loads, expected)
    assert "damaged" in caplog.text
    assert np.array_equal(np.load(folder / "loads.npy"), expected)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gusp:", "no memory workload 'gusp'; did you mean 'gups'"),
        ("gups:hot_page=3", "no key 'hot_page'; did you mean 'hot_pages'"),
        ("gups:pages=ten", "whole number"),
        ("gups:pages=2", "between"),
        ("gups:pages", "not of the form"),
        ("gups:seed=1,seed=2", "given twice"),
        ("gups:pages=10,hot_pages=20", "more hot_pages"),
        ("gups:cache=1000", "power of two"),
        ("bfs:graph=grid", "one of kronecker, uniform"),
        ("gups:loads=2000000000,intervals=100000", "hours"),
    ],
)
def test_specifications_that_make_no_sense(spec, message):
    with pytest.raises(UserError, match=message):
        load_page_counts(spec if "=" in spec or "gups" in spec else spec + "a=1")
