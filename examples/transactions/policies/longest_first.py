"""The longest transactions first; of equals, those with the most writes."""


class Policy:
    def __init__(self, count):
        self.weight = dict.fromkeys(range(count), (0, 0))
        self.order = []

    def add(self, operation):
        _, writes = self.weight[operation.transaction]
        self.weight[operation.transaction] = (operation.length, writes + operation.write)

    def next(self, place):
        if not self.order:
            self.order = sorted(self.weight, key=lambda number: self.weight[number], reverse=True)
        return self.order[place]
