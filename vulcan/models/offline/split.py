"""A mutation that treats one part of the population apart."""

from __future__ import annotations

from vulcan.anvil import program as p
from vulcan.anvil.rewriting.rewrite import replaced
from vulcan.models.offline.draft import Draft, rounded
from vulcan.models.offline.tree import at, is_constant, operate, places

_WHOLE = 0.75


def split_population(draft: Draft, e: p.Expression) -> p.Expression | None:
    """The whole, or a part, times a constant for entities above or below some percentile of a feature.

    A percentile needs no knowledge of the feature's scale, which the declaration does not tell.
    """
    if not draft.words.ranked:
        return None
    feature = draft.rng.choice(draft.words.ranked)
    share = rounded(draft.rng.uniform(0.05, 0.95))
    edge = p.Statistic("percentile", "population", feature, (share,))
    test = p.Compare((draft.rng.choice(("<", ">")),), (p.Read(feature), edge))
    parts = [path for path, part in places(e) if not is_constant(part) and not isinstance(part, p.Compare)]
    path = () if not parts or draft.chance(_WHOLE) else draft.rng.choice(parts)
    old = at(e, path)
    if isinstance(old, p.Compare):
        return None
    scaled = operate("multiply", draft.parameter("FACTOR", draft.lognormal(1.0)), old)
    return replaced(e, path, p.Choose(test, scaled, old))
