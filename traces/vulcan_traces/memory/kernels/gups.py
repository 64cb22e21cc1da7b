"""GUPS: random updates of a table, most of them in a hot set that moves (as HeMem and ARMS are measured on)."""

from vulcan.kernel_support import lazy_kernel
from vulcan_traces.memory.kernels.recorder import draw, draw_share, is_full, touch, touch_all

WORD = 8


@lazy_kernel
def run_gups(recorder, words, hot_words, hot_share, updates_a_move):
    """Fill the table, then update it until the recorder is full. Returns how many updates that were.

    A share of the updates goes to the hot set, `hot_words` in a row; after each `updates_a_move` updates (0: never)
    the hot set is somewhere else. A table's word is read and written by an update; the arithmetic needs no memory.
    """
    touch_all(recorder, 0, words * WORD, True)
    hot_from = draw(recorder, words - hot_words + 1)
    updates = 0
    while not is_full(recorder):
        if updates_a_move and updates and updates % updates_a_move == 0:
            hot_from = draw(recorder, words - hot_words + 1)
        is_hot = draw_share(recorder) < hot_share
        word = hot_from + draw(recorder, hot_words) if is_hot else draw(recorder, words)
        touch(recorder, word * WORD, False)
        touch(recorder, word * WORD, True)
        updates += 1
    return updates
