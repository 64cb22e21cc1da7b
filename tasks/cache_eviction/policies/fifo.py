"""First in, first out."""


def priority(now, obj, cache, ghost):
    return obj.insertion
