"""A B+-tree over records, driven by the mixes of YCSB (Cooper et al., SoCC 2010).

The tree's nodes and the records lie in two heaps; both grow by appending. A leaf has keys and the numbers of their
records, an inner node children and the least key of each but the first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vulcan.kernel_support import function, lazy_kernel
from vulcan_traces.memory.kernels.recorder import Recorder, draw, draw_share, is_full, touch, touch_all

FANOUT = 31
NODE = 512
"""A node has this many keys at most, and takes this many bytes."""

KEYS_AT, CHILDREN_AT = 8, 256
"""Offsets of a node's keys and of its children (or records), after the count."""

ROOT, NODES, RECORDS, STATE = range(4)
MAX = 16


class Tree(NamedTuple):
    """`keys` and `children` have a row a node; `counts` its keys, `following` the next leaf, -1 behind the last one."""

    keys: NDArray[np.int64]
    children: NDArray[np.int32]
    counts: NDArray[np.int32]
    is_leaf: NDArray[np.bool_]
    following: NDArray[np.int32]
    state: NDArray[np.int64]


def new_tree(most_records: int) -> Tree:
    """Return an empty tree with room for that many records."""
    nodes = most_nodes(most_records)
    state = np.zeros(STATE, np.int64)
    state[NODES] = 1
    is_leaf = np.zeros(nodes, np.bool_)
    is_leaf[0] = True
    return Tree(
        keys=np.zeros((nodes, FANOUT), np.int64),
        children=np.zeros((nodes, FANOUT + 1), np.int32),
        counts=np.zeros(nodes, np.int32),
        is_leaf=is_leaf,
        following=np.full(nodes, -1, np.int32),
        state=state,
    )


def most_nodes(records: int) -> int:
    """Check that every node but the root is at least half full."""
    return records // (FANOUT // 2) + records // (FANOUT // 2) ** 2 + 64


@function
def _place(recorder, tree, node, key):
    """Return how many of the node's keys are at most `key`: a binary search."""
    touch(recorder, node * NODE, False)
    low, high = 0, tree.counts[node]
    while low < high:
        middle = (low + high) // 2
        touch(recorder, node * NODE + KEYS_AT + 8 * middle, False)
        if tree.keys[node, middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@function
def _descend(recorder, tree, key, path):
    """Find the leaf where the key belongs; `path` takes the nodes above it. Returns the leaf and their number."""
    node = tree.state[ROOT]
    depth = 0
    while not tree.is_leaf[node]:
        place = _place(recorder, tree, node, key)
        touch(recorder, node * NODE + CHILDREN_AT + 8 * place, False)
        path[depth] = node
        depth += 1
        node = tree.children[node, place]
    return node, depth


@function
def find(recorder, tree, key, path):
    """Return the record of the key, -1 where there is none."""
    node, _ = _descend(recorder, tree, key, path)
    place = _place(recorder, tree, node, key) - 1
    if place < 0 or tree.keys[node, place] != key:
        return -1
    touch(recorder, node * NODE + CHILDREN_AT + 8 * place, False)
    return tree.children[node, place]


@function
def _put(recorder, tree, node, place, key, child):
    """Put a key and its record into a leaf, or the child to the right of it into an inner node, at this place."""
    shift = 0 if tree.is_leaf[node] else 1
    for i in range(tree.counts[node], place, -1):
        tree.keys[node, i] = tree.keys[node, i - 1]
        tree.children[node, i + shift] = tree.children[node, i - 1 + shift]
    tree.keys[node, place] = key
    tree.children[node, place + shift] = child
    tree.counts[node] += 1
    touch(recorder, node * NODE, True)
    touch_all(recorder, node * NODE + KEYS_AT + 8 * place, 8 * (tree.counts[node] - place), True)
    touch_all(recorder, node * NODE + CHILDREN_AT + 8 * (place + shift), 8 * (tree.counts[node] - place), True)


@function
def _split(recorder, tree, node):
    """Move the upper half of a full node to a new one. Return that and the smallest key in it."""
    new = tree.state[NODES]
    tree.state[NODES] += 1
    half = FANOUT // 2
    leaf = tree.is_leaf[node]
    tree.is_leaf[new] = leaf
    separator = tree.keys[node, half]
    start = half if leaf else half + 1
    count = FANOUT - start
    for i in range(count):
        tree.keys[new, i] = tree.keys[node, start + i]
    for i in range(count if leaf else count + 1):
        tree.children[new, i] = tree.children[node, start + i]
    tree.counts[new] = count
    tree.counts[node] = half
    if leaf:
        tree.following[new] = tree.following[node]
        tree.following[node] = new
    touch_all(recorder, node * NODE, NODE, False)
    touch(recorder, node * NODE, True)
    touch_all(recorder, new * NODE, NODE, True)
    return new, separator


@function
def insert(recorder, tree, key, path):
    """Return a new record under a key that is not there yet. Returns the record's number."""
    record = tree.state[RECORDS]
    tree.state[RECORDS] += 1
    node, depth = _descend(recorder, tree, key, path)
    child = record
    while True:
        if tree.counts[node] < FANOUT:
            _put(recorder, tree, node, _place(recorder, tree, node, key), key, child)
            return record
        new, separator = _split(recorder, tree, node)
        chosen = new if key >= separator else node
        _put(recorder, tree, chosen, _place(recorder, tree, chosen, key), key, child)
        key, child = separator, new
        if depth == 0:
            root = tree.state[NODES]
            tree.state[NODES] += 1
            tree.keys[root, 0] = separator
            tree.children[root, 0] = node
            tree.children[root, 1] = new
            tree.counts[root] = 1
            tree.state[ROOT] = root
            touch_all(recorder, root * NODE, NODE, True)
            return record
        depth -= 1
        node = path[depth]


@function
def key_of(number):
    """Return the key of the record that was the number-th to be inserted: scattered, as YCSB's keys are; all differ."""
    mixed = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(1))


@function
def _zipf_rank(recorder, items, theta, zeta, zeta_of_2):
    """Return a rank from 0 with Zipf popularity (Gray et al., SIGMOD 1994, as in YCSB)."""
    share = draw_share(recorder)
    scaled = share * zeta
    if scaled < 1.0:
        return 0
    if scaled < zeta_of_2:
        return 1
    eta = (1.0 - (2.0 / items) ** (1.0 - theta)) / (1.0 - zeta_of_2 / zeta)
    return min(items - 1, int(items * (eta * share - eta + 1.0) ** (1.0 / (1.0 - theta))))


@lazy_kernel
def _run(recorder, tree, records, record_size, mix, at_records, path, done):
    """See `run_ycsb`; `path` and `done` are room to work in, for `MAX` and 5 numbers."""
    theta, shares, longest_scan, operations_a_shift, shift = mix
    lost = 0
    for number in range(records):
        record = insert(recorder, tree, key_of(number), path)
        touch_all(recorder, at_records + record * record_size, record_size, True)
        if is_full(recorder):
            return lost
    zeta = 0.0
    for rank in range(records):
        zeta += 1.0 / math.pow(rank + 1.0, theta)
    zeta_of_2 = 1.0 + 1.0 / math.pow(2.0, theta)
    most = tree.counts.shape[0]
    moved = 0
    count = 0
    while not is_full(recorder):
        count += 1
        if operations_a_shift and count % operations_a_shift == 0:
            moved = (moved + int(shift * records)) % records
        kind = 0
        left = draw_share(recorder)
        while kind < 4 and left >= shares[kind]:
            left -= shares[kind]
            kind += 1
        rank = _zipf_rank(recorder, records, theta, zeta, zeta_of_2)
        # which record has a rank: a multiplication by a prime scatters them over all records
        number = ((rank + moved) % records) * 1000003 % records
        if kind == 2:
            if tree.state[NODES] + MAX >= most:
                continue
            number = tree.state[RECORDS]
            record = insert(recorder, tree, key_of(number), path)
            touch_all(recorder, at_records + record * record_size, record_size, True)
        elif kind == 3:
            node, _ = _descend(recorder, tree, key_of(number), path)
            place = _place(recorder, tree, node, key_of(number)) - 1
            for _ in range(1 + draw(recorder, longest_scan)):
                if place >= tree.counts[node]:
                    node = tree.following[node]
                    place = 0
                    if node < 0:
                        break
                    touch(recorder, node * NODE, False)
                touch(recorder, node * NODE + CHILDREN_AT + 8 * place, False)
                record = tree.children[node, place]
                touch_all(recorder, at_records + record * record_size, record_size, False)
                place += 1
        else:
            record = find(recorder, tree, key_of(number), path)
            lost += record != number
            if kind != 1:
                touch_all(recorder, at_records + record * record_size, record_size, False)
            if kind != 0:
                touch_all(recorder, at_records + record * record_size, record_size, True)
        done[kind] += 1
    return lost


def run_ycsb(
    recorder: Recorder,
    tree: Tree,
    records: int,
    record_size: int,
    theta: float,
    shares: NDArray[np.float64],
    longest_scan: int,
    operations_a_shift: int,
    shift: float,
    at_records: int,
) -> tuple[NDArray[np.int64], int]:
    """Insert `records` in the order of their numbers, then run the mix until the recorder is full.

    `shares` are those of reads, updates, inserts and scans, read-modify-writes being the rest. After every
    `operations_a_shift` operations (0: never) the popularity moves on by the share `shift` of all keys. Returns the
    operations of each of the five kinds, and how many records were not where they belong.
    """
    done = np.zeros(5, np.int64)
    path = np.zeros(MAX, np.int64)
    mix = theta, shares, longest_scan, operations_a_shift, shift
    lost = _run(recorder, tree, records, record_size, mix, at_records, path, done)
    return done, lost
