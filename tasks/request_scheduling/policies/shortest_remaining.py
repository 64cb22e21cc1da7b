"""Shortest remaining work first: tokens of the prompt that are not cached, and those that the output may still have."""

OUTPUT = 8.0  # tokens of a prompt that take as long as one of an output


def score(now, request, engine):
    return -(
        request.prompt + request.generated - request.cached + OUTPUT * max(request.predicted - request.generated, 1)
    )


def preempt(now, request, engine):
    return (
        request.prompt + request.generated - request.computed + OUTPUT * max(request.predicted - request.generated, 1)
    )
