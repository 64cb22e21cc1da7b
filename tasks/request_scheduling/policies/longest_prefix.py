"""Longest cached prefix first, as SGLang orders its queue by default."""


def score(now, request, engine):
    return request.cached
