"""An optimizer of a program, in a module that servers import; `whole.py` trains by it."""

from headrace import optimizer


@optimizer.register
class ByNorm(optimizer.Optimizer):
    def create_state(self, index, weight):
        return None

    def update(self, index, weight, grad, state):
        weight -= self.learning_rate * grad / grad.norm()
