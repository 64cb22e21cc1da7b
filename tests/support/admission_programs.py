"""Policies of the task `cache_admission` that decide by all that they may see."""

from __future__ import annotations

from hypothesis import strategies as st

_SEEN = (
    "now", "obj.id", "obj.size", "obj.count", "obj.last_access", "obj.insertion", "cache.used", "cache.capacity",
    "cache.objects", "cache.evicted_priority", "ghost.contains(obj.id)", "ghost.count(obj.id)", "ghost.age(obj.id)",
    "obj.last_access.recent(2)", "obj.count.ewma(0.3)", "cache.size.percentile(0.5)", "cache.used.avg()",
)  # fmt: skip
_VICTIM = (
    "victim.size", "victim.count", "victim.last_access", "victim.insertion", "victim.priority", "victim.count.max()"
)  # fmt: skip
_CONSTANTS = ("0", "1", "2", "3", "7", "0.5", "-1", "13")


def _expressions(reads: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from((*reads, *_CONSTANTS)),
        lambda part: st.one_of(
            st.builds("({} {} {})".format, part, st.sampled_from(("+", "-", "*", "//", "%", "<", ">=")), part),
            st.builds("({} if {} else {})".format, part, part, part),
        ),
        max_leaves=5,
    )


@st.composite
def policies(draw: st.DrawFn) -> str:
    admit = draw(st.sampled_from(("{}", "({}) % 3 - 1", "({}) % 2", "ghost.count(obj.id) - ({}) % 3"))).format(
        draw(_expressions((*_SEEN, *_VICTIM)))
    )
    return (
        f"def priority(now, obj, cache, ghost):\n    return {draw(_expressions(_SEEN))}\n\n\n"
        f"def admit(now, obj, cache, victim, ghost):\n    return {admit}\n"
    )
