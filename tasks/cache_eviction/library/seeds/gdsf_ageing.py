"""Gdsf ageing; written by hand."""

MECHANISM = "heap"
W=1.0
P=0.5
def priority(now, obj, cache, ghost):
    return (obj.count + W*ghost.count(obj.id)) / (now - obj.last_access + 1) ** P / obj.size
