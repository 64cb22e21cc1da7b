"""Names in exported C: features, statistics, and a policy's own names, renamed where C reserves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vulcan.anvil import ir
from vulcan.anvil.state_layout import Part
from vulcan.task import Scalar, Signature

_WORDS = """
    alignas alignof asm auto bool break case char complex const constexpr continue default do double else enum extern
    false float for goto if imaginary inline int linux long noreturn nullptr register restrict return short signed
    sizeof static struct switch thread_local true typedef typeof union unix unsigned void volatile while i386 errno
    stdin stdout stderr
"""
_WORDS_OF_CPP = """
    and_eq bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl concept const_cast
    consteval constinit decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not_eq
    operator or_eq private protected public reinterpret_cast requires static_assert static_cast template this throw try
    typeid typename using virtual wchar_t xor xor_eq
"""
_TYPES = "int64_t uint64_t"
"""Types that the code uses: in C++ a member of such a name hides the type in the struct, a local does so anywhere."""
_CALLED = "rint trunc floor ceil fabs"
"""What the code of a function calls by the name that C has for it; a local of that name would hide it."""
_KEYWORDS = frozenset(f"{_WORDS} {_WORDS_OF_CPP} {_TYPES}".split())
_OURS = frozenset({"features", "state", "entity", *_CALLED.split()})
CONTROLS = "controls"
"""The argument of a handler that holds what it may set besides the policy's state."""


def feature_name(name: str) -> str:
    """Return the struct member name of a feature, or of a group of them."""
    return f"{name}_" if name in _KEYWORDS else name


def member_of(feature: str) -> str:
    """Return the path of a feature in the struct: `obj.size`."""
    return ".".join(map(feature_name, feature.split(".")))


def flat(feature: str) -> str:
    """Return a feature as one identifier: `obj_size`."""
    return feature.replace(".", "_")


def helper_name(name: str) -> str:
    return f"policy_helper_{name}"


def local_names(function: ir.Function, ours: Sequence[str] = ()) -> Mapping[str, str]:
    """Map each local and argument to its C name; `ours` are names that it must not have."""
    return own_names(ir.assigned_names(function.body) | set(function.arguments), _OURS.union(ours))


def own_names(names: Iterable[str], ours: frozenset[str] = frozenset()) -> Mapping[str, str]:
    """Map each of the policy's own names to its C name.

    Names with capitals are changed too: macros and constants of C's headers are spelled in capitals.
    """
    chosen = sorted(names)
    made: dict[str, str] = {}
    taken = set(chosen)
    for name in chosen:
        new = name
        if name in _KEYWORDS or name in ours or name.startswith(("_", "policy_")) or name != name.lower():
            new = f"own_{name}"
            while new in taken:
                new += "_"
        taken.add(new)
        made[name] = new
    return made


def parameter_names(program: ir.Module) -> Mapping[str, str]:
    return {name: f"POLICY_PARAMETER_{name}" for name, _ in program.parameters}


def part_names(parts: Mapping[Part, int], signature: Signature) -> Mapping[Part, str]:
    """Map each part of the statistics to its struct member name."""
    scalars = {a.name for a in signature.arguments if isinstance(a, Scalar)}
    made: dict[Part, str] = {}
    for part in parts:
        # the scalar feature `a_b` and the feature `b` of `a` may both exist
        feature = part.feature if part.feature in scalars else part.feature.replace(".", "__")
        name = "_".join(word for word in (feature, part.kind, c_text(part.argument)) if word)
        made[part] = name
    return made


def c_text(argument: float) -> str:
    """Spell a statistic's argument in a name: 0.3 as `0_3`; empty if there is none."""
    if argument == 0.0:
        return ""
    text = str(int(argument)) if argument == int(argument) else repr(argument)
    return text.replace(".", "_").replace("-", "m").replace("+", "")
