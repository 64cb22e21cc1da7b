"""Choosing pages by their scores in time linear in their number: a radix selection, from the leading digit on.

A page comes before another one if its score is higher, or as high and its number lower.
"""

from __future__ import annotations

import numpy as np

from vulcan.anvil.native.runtime import bits_of
from vulcan.kernel_support import function, helper

U = np.uint64
DIGIT_BITS = 11
DIGITS = 2**DIGIT_BITS
SIGN = U(1 << 63)


@helper
def key_of(score):
    """Return a whole number that orders as scores do; 0.0 and -0.0 are equal."""
    bits = U(bits_of(score + 0.0))
    return ~bits if bits >= SIGN else bits | SIGN


@function
def order(keys, pages, count, selected, backwards, histogram, rest):
    """Reorder the first `count` of `pages`, which ascend, so that the `selected` first are the best of them, ascending.

    With `backwards` they are the last ones in the order of pages, still ascending. `histogram` has room for `DIGITS`
    numbers, `rest` for twice `count` pages.
    """
    if selected >= count or selected <= 0:
        return
    flip = ~U(0) if backwards else U(0)
    left = count
    for k in range(count):
        rest[k] = pages[k]
    needed = selected  # of those left
    shift = 64 - DIGIT_BITS
    width = DIGIT_BITS
    prefix = U(0)  # the leading digits of the key at the boundary
    while True:
        mask = U((1 << width) - 1)
        for d in range(DIGITS):
            histogram[d] = 0
        for k in range(left):
            histogram[np.int64(((keys[rest[k]] ^ flip) >> U(shift)) & mask)] += 1
        digit = (1 << width) - 1
        while histogram[digit] < needed:
            needed -= histogram[digit]
            digit -= 1
        prefix |= U(digit) << U(shift)
        kept = 0
        for k in range(left):
            if np.int64(((keys[rest[k]] ^ flip) >> U(shift)) & mask) == digit:
                rest[kept] = rest[k]
                kept += 1
        left = kept
        if left == needed or shift == 0:
            break
        width = min(DIGIT_BITS, shift)
        shift -= width
    # taken are all whose key is above every key that begins with `prefix`, and `needed` of those that do
    top = prefix >> U(shift)
    skipped = left - needed if backwards else 0  # of equal pages, the ones with the highest numbers come last
    taken = 0
    other = 0
    seen = 0
    for k in range(count):
        page = pages[k]
        leading = (keys[page] ^ flip) >> U(shift)
        takes = leading > top
        if leading == top:
            takes = skipped <= seen < skipped + needed
            seen += 1
        if takes:
            pages[taken] = page
            taken += 1
        else:
            rest[other] = page
            other += 1
    for k in range(other):
        pages[taken + k] = rest[k]


# A heap of pages, the best first, or the worst.


@helper
def _comes_before(keys, a, b, backwards):
    better = keys[a] > keys[b] or (keys[a] == keys[b] and a < b)
    return better != backwards


@function
def push_down(keys, pages, count, place, backwards):
    """Restore the heap's order of the first `count` of `pages`, where the one at `place` may come too early."""
    page = pages[place]
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and _comes_before(keys, pages[child + 1], pages[child], backwards):
            child += 1
        if not _comes_before(keys, pages[child], page, backwards):
            break
        pages[place] = pages[child]
        place = child
    pages[place] = page


@function
def pop_first(keys, pages, count, backwards):
    """Take the first page out of the heap. Returns how many are left."""
    pages[0] = pages[count - 1]
    push_down(keys, pages, count - 1, 0, backwards)
    return count - 1
