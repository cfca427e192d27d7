"""Learning rates as MXNet had them before `lr_scheduler`."""

import logging
import math

__all__ = ["FactorScheduler", "LearningRateScheduler"]


class LearningRateScheduler:
    """Base class; called with the number of the iteration it gives the learning rate."""

    def __init__(self):
        self.base_lr = 0.01

    def __call__(self, iteration):
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, iteration)")


class FactorScheduler(LearningRateScheduler):
    """The learning rate times `factor`, less than 1, every `step` iterations. ValueError: another factor, or
    a step less than 1.
    """

    def __init__(self, step, factor=0.1):
        super().__init__()
        if step < 1:
            raise ValueError(f"Schedule step must be greater or equal than 1 round, got {step}")
        if factor >= 1.0:
            raise ValueError(f"Factor must be less than 1 to make lr reduce, got {factor}")
        self.step, self.factor = step, factor
        self.old_lr, self.init = self.base_lr, False

    def __call__(self, iteration):
        if not self.init:
            self.init, self.old_lr = True, self.base_lr
        lr = self.base_lr * math.pow(self.factor, int(iteration / self.step))
        if lr != self.old_lr:
            self.old_lr = lr
            logging.info("At Iteration [%d]: Switch to new learning rate %.5f", iteration, lr)
        return lr
