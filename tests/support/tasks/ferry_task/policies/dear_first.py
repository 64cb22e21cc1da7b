"""Dear cars by the metre; leaves when little deck is left, or at the latest after some time."""

PATIENCE = 20


def a_metre(amount, length):
    return amount / length


def priority(now, car, ferry):
    return a_metre(car.fare, car.length)


def leave(now, ferry):
    return ferry.room < 6 or ferry.waited > PATIENCE
