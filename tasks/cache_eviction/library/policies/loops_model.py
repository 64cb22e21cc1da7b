"""The settled generation stays while it is used; the flood after it gives up its newest."""

MECHANISM = "sample"
SETTLED = 0.178
EVIDENCE = 2.09
THRESHOLD = 1.31
CONSTANT = 11.1
WEIGHT = 0.165
CONSTANT_2 = 13


def priority(now, obj, cache, ghost):
    population = max(1, cache.objects)
    idle = (now - obj.last_access) / population
    born = cache.insertion.percentile(0.669)
    score = -idle
    if obj.count > THRESHOLD or ghost.contains(obj.id):
        score += EVIDENCE
        if obj.insertion <= born:
            score += SETTLED
        return score
    if obj.insertion <= born:
        return -CONSTANT + score * WEIGHT
    return -CONSTANT_2 + min(1, (now - obj.insertion) / population)
