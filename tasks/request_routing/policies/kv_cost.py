"""The cost of Dynamo's router: tokens of prompts to be computed there, this one's included, and tokens held."""

OVERLAP = 1.0


def score(now, replica, router, request):
    return -(OVERLAP * (replica.prefill + request.prompt - replica.prefix) + replica.held)
