"""First come, first served; waits longer than usual while the queue is shorter than usual."""

PATIENCE = 10


def priority(now, car, ferry):
    return -car.arrived - quick(car.length)


def leave(now, ferry):
    usual = ferry.queue.ewma(0.1)
    return ferry.waited > (PATIENCE * 2 if ferry.queue < usual else PATIENCE)


def quick(length):
    return 0 if length < 10 else PATIENCE
