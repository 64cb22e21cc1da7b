def decide(load, room):
    return min(load, room)
