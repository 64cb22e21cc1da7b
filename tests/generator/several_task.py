"""The toy RANK with a second function, which decides whether anything is sent at all."""

from dataclasses import replace

from offline_tasks import RANK_TASK

from vulcan.task import Property, Value

STORE = next(a for a in RANK_TASK.signature.arguments if a.name == "store")
CLOCK = next(a for a in RANK_TASK.signature.arguments if a.name == "clock")

SEVERAL_TASK = replace(
    RANK_TASK,
    name="toy_several",
    others=(Value("send", (CLOCK, STORE), "how many are sent", 0.0, 10.0),),
    properties=(*RANK_TASK.properties, Property("more when full", "nondecreasing", "", "store.load", function="send")),
)

PARENT = '''
"""A parent."""

SHARE = 0.5
SCALE = 3


def part(x):
    return x * SHARE


def urgency(clock, parcel, store, sent):
    waited = clock - parcel.arrived
    return part(waited) + parcel.price.ewma(0.25)


def send(clock, store):
    full = part(store.load)
    return full / SCALE + store.load.ewma(0.125)
'''

OTHER = """
SHARE = 2
SCALE = 3
LIMIT = 7


def part(x):
    return x + SHARE


def urgency(clock, parcel, store, sent):
    full = parcel.weight
    return part(full) * parcel.price


def send(clock, store):
    return min(store.slack, LIMIT) + SCALE
"""
