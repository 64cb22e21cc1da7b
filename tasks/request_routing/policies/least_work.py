"""Where the work that is left would be done first: prompts to be computed, and tokens that outputs may still have."""

OUTPUT = 8.0  # tokens of a prompt that take as long as one of an output


class replica:
    output = 0.0


def on_dispatch(now, replica, router, request):
    replica.output = min(replica.output + request.predicted, 1e12)


def on_finish(now, replica, router, answer):
    replica.output = max(replica.output - answer.predicted, 0)


def score(now, replica, router, request):
    return -(replica.prefill - replica.prefix + OUTPUT * replica.output)
