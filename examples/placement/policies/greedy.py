"""The rule of Prism: the most demanding models first, each on the GPU that has least pressure so far."""


class Policy:
    def __init__(self, gpus, memory):
        self.left = [memory] * gpus
        self.load = [0.0] * gpus
        self.models = []
        self.chosen = {}

    def add(self, model):
        self.models.append(model)

    def place(self, model):
        if not self.chosen:
            for one in sorted(self.models, key=lambda m: -m.rate / m.slo):
                fitting = [gpu for gpu in range(len(self.left)) if one.size <= self.left[gpu]]
                gpu = min(fitting, key=lambda g: self.load[g] / self.left[g])
                self.load[gpu] += one.rate / one.slo
                self.left[gpu] -= one.size
                self.chosen[one.number] = gpu
        return self.chosen[model.number]
