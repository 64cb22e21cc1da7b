"""Writes cache policies of the mechanism `queues`, whose answers are those that it tells apart."""

from __future__ import annotations

from hypothesis import strategies as st

SEEN = (
    "now", "obj.id", "obj.size", "obj.count", "obj.hits", "obj.queue", "obj.last_access", "obj.insertion",
    "cache.used", "cache.capacity", "cache.objects", "cache.evictions",
    "queues.used_1", "queues.used_2", "queues.used_3", "queues.used_4",
    "queues.objects_1", "queues.objects_2", "queues.objects_3", "queues.objects_4",
)  # fmt: skip
STATISTICS = (
    "obj.last_access.recent(2)", "obj.count.ewma(0.3)", "cache.size.percentile(0.5)", "cache.hits.max()",
    "cache.used.avg()", "obj.queue.latest()", "queues.used_2.window_avg(5)", "cache.id.contains(obj.id, 7)",
)  # fmt: skip
GHOSTS = ("ghost.contains(obj.id)", "ghost.count(obj.id)", "ghost.age(obj.id)")
OF_CACHE = ("queue", *(name for name in SEEN if name.startswith(("cache.", "queues."))))
OF_SHARES = (*OF_CACHE, "cache.objects.recent(3)", "queues.used_1.max()")
CONSTANTS = ("0", "1", "2", "3", "7", "0.5", "-1", "13")

ARGUMENTS = {
    "insert": ("now, obj, cache, queues, ghost", (*SEEN, *GHOSTS * 3, *STATISTICS)),
    "hit": ("now, obj, cache, queues", (*SEEN, *STATISTICS)),
    "tail": ("now, obj, cache, queues", (*SEEN, *STATISTICS)),
    "keep": ("now, obj, cache, queues", (*SEEN, *STATISTICS)),
    "share": ("queue, cache, queues", OF_SHARES),
}
SPREAD = {
    "insert": ("({}) % 6 - 1", "({}) % 4 + 1", "1 + (({}) % 7 > 2)", "{}", "1"),
    "hit": ("({}) % 5", "({}) % 2 * obj.queue", "{}", "0", "min(obj.queue + 1, 4)", "({}) % 2 + 3"),
    "tail": (
        "({}) % 6 - 1", "({}) % 3 - 1", "obj.queue if ({}) % 3 else 0", "obj.queue - 1",
        "obj.queue - 1", "{}", "obj.queue", "-1", "0",
    ),
    "keep": ("({}) % 4", "max(obj.hits - 1, 0)", "{}", "0"),
    "share": (
        "cache.capacity * (({}) % 5) / 4", "(queue + 1) * cache.capacity / 8", "cache.capacity", "cache.capacity // 3",
        "{}", "0",
    ),
}  # fmt: skip


def _expressions(reads: tuple[str, ...], leaves: int) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from((*reads, *CONSTANTS)),
        lambda part: st.one_of(
            st.builds("({} {} {})".format, part, st.sampled_from(("+", "-", "*", "//", "%", "<", ">=")), part),
            st.builds("({} if {} else {})".format, part, part, part),
        ),
        max_leaves=leaves,
    )


@st.composite
def queue_programs(draw: st.DrawFn) -> str:
    """A policy of the mechanism `queues`, whose answers are spread over all that its functions may say."""
    functions = ['MECHANISM = "queues"']
    for name, (arguments, reads) in ARGUMENTS.items():
        body = draw(st.sampled_from(SPREAD[name])).format(draw(_expressions(reads, 4)))
        functions.append(f"def {name}({arguments}):\n    return {body}\n")
    return "\n\n".join(functions)
