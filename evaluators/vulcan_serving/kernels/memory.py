"""The KV cache: blocks with the hashes of prefixes, counted by who holds them, as vLLM's block pool has them.

Blocks that nobody holds are a list, linked both ways, from which the first is taken; it keeps its contents until then,
and is found by them. A request gives back its last block first, so that of what is found a beginning always is too. Two
requests that compute the same at a time have two blocks of the same contents, of which the older one is found.

`pool[r]` has a row for each block of replica r and one for the ends of the list; `named[r]` the oldest block with a
content, -1 for none, and `free[r]` the length of the list.
"""

from __future__ import annotations

from vulcan.kernel_support import helper

HOLDERS, CONTENT, COPY, NEXT, PREVIOUS, COLUMNS = range(6)


@helper
def fill(pool):
    """Put all blocks into the lists, in their order."""
    end = pool.shape[1] - 1
    for r in range(pool.shape[0]):
        for block in range(end + 1):
            pool[r, block, CONTENT] = -1
            pool[r, block, NEXT] = block + 1 if block < end else 0
            pool[r, block, PREVIOUS] = block - 1 if block > 0 else end


@helper
def unlink(pool, r, block):
    before, after = pool[r, block, PREVIOUS], pool[r, block, NEXT]
    pool[r, before, NEXT] = after
    pool[r, after, PREVIOUS] = before


@helper
def hold(pool, free, r, block):
    if pool[r, block, HOLDERS] == 0:
        unlink(pool, r, block)
        free[r] -= 1
    pool[r, block, HOLDERS] += 1


@helper
def give_back(pool, free, r, block):
    """Have one holder less; a block that nobody holds is taken first if nobody can find it, else last."""
    pool[r, block, HOLDERS] -= 1
    if pool[r, block, HOLDERS] == 0:
        end = pool.shape[1] - 1
        before = pool[r, end, PREVIOUS] if pool[r, block, CONTENT] >= 0 else end
        after = pool[r, before, NEXT]
        pool[r, block, PREVIOUS], pool[r, block, NEXT] = before, after
        pool[r, before, NEXT] = block
        pool[r, after, PREVIOUS] = block
        free[r] += 1


@helper
def take(pool, named, free, r):
    """Return the first free block, without its contents."""
    block = pool[r, pool.shape[1] - 1, NEXT]
    hold(pool, free, r, block)
    content = pool[r, block, CONTENT]
    if content >= 0:
        if named[r, content] == block:
            named[r, content] = pool[r, block, COPY]
        else:
            other = named[r, content]
            while pool[r, other, COPY] != block:
                other = pool[r, other, COPY]
            pool[r, other, COPY] = pool[r, block, COPY]
        pool[r, block, CONTENT] = -1
    return block


@helper
def name(pool, named, r, block, content):
    """Have a block be found by its contents."""
    pool[r, block, CONTENT] = content
    pool[r, block, COPY] = -1
    last = named[r, content]
    if last < 0:
        named[r, content] = block
        return
    while pool[r, last, COPY] >= 0:
        last = pool[r, last, COPY]
    pool[r, last, COPY] = block


@helper
def found(named, r, blocks, first, most):
    """Return how many blocks, of `most`, are in memory from the beginning of a prompt on."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if named[r, blocks[first + middle - 1]] >= 0:
            low = middle
        else:
            high = middle - 1
    return low
