"""Doubly linked lists of objects: several lists over one array, an object being in at most one of them.

A list is named by its sentinel, the node `object_count + k`. Node n's newer and older neighbours stand at
`2 * n` and `2 * n + 1`, on one cache line; the circle through the sentinel leaves no special cases.
"""

import numpy as np

from vulcan.kernel_support import allocating_helper


@allocating_helper
def empty_lists(object_count, lists):
    """Return the links of `lists` empty lists over `object_count` objects."""
    links = np.empty(2 * (object_count + lists), np.uint32)
    for sentinel in range(object_count, object_count + lists):
        links[2 * sentinel] = sentinel
        links[2 * sentinel + 1] = sentinel
    return links


@allocating_helper
def newer(links, node):
    """Return the neighbour that was inserted after the node; the sentinel after the newest one."""
    return np.int64(links[2 * node])


@allocating_helper
def oldest(links, queue):
    """Return the oldest object of a list; the list's own sentinel where it is empty."""
    return np.int64(links[2 * queue])


@allocating_helper
def push_newest(links, queue, obj):
    """Insert an object at the newest end of a list."""
    second = np.int64(links[2 * queue + 1])
    links[2 * obj] = queue
    links[2 * obj + 1] = second
    links[2 * second] = obj
    links[2 * queue + 1] = obj


@allocating_helper
def unlink(links, obj):
    """Take an object out of the list it is in."""
    after = np.int64(links[2 * obj])
    before = np.int64(links[2 * obj + 1])
    links[2 * before] = after
    links[2 * after + 1] = before


@allocating_helper
def move_to_newest(links, queue, obj):
    """Take an object out of its list and insert it at the newest end of another, or of the same."""
    unlink(links, obj)
    push_newest(links, queue, obj)
