"""Learning rates as functions of the number of updates."""

import logging
import math

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


class LRScheduler:
    """Base class: `scheduler(num_update)` gives the learning rate.

    The first `warmup_steps` updates rise from `warmup_begin_lr` to `base_lr` ('linear') or stay at
    `warmup_begin_lr` ('constant'). ValueError: `warmup_begin_lr` above `base_lr`, `warmup_steps` negative, or
    another mode.

    Examples
    --------
    >>> class Halves(mx.lr_scheduler.LRScheduler):
    ...     def __call__(self, num_update):
    ...         return self.base_lr / 2**num_update
    >>> Halves(base_lr=1)(3)
    0.125
    """

    def __init__(self, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        assert isinstance(warmup_steps, int), (
            f"warmup_steps must be an int, got {type(warmup_steps).__name__}"
        )
        if warmup_begin_lr > base_lr:
            raise ValueError(
                f"Base lr has to be higher than warmup_begin_lr: got {base_lr} and {warmup_begin_lr}"
            )
        if warmup_steps < 0:
            raise ValueError(f"Warmup steps has to be positive or 0, got {warmup_steps}")
        if warmup_mode not in ("linear", "constant"):
            raise ValueError(f"Supports only linear and constant modes of warmup, got '{warmup_mode}'")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_final_lr = base_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update):
        """The learning rate of a warm-up update."""
        assert num_update < self.warmup_steps
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = (self.warmup_final_lr - self.warmup_begin_lr) * float(num_update) / float(self.warmup_steps)
        return self.warmup_begin_lr + rise

    def __call__(self, num_update):
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, num_update)")


def _log_change(num_update, rate):
    logging.info("Update[%d]: Change learning rate to %0.5e", num_update, rate)


def _check_factor(factor):
    if factor > 1.0:
        raise ValueError(f"Factor must be no more than 1 to make lr reduce, got {factor}")


class FactorScheduler(LRScheduler):
    """Multiplies by `factor` every `step` updates, down to `stop_factor_lr`. ValueError: step < 1 or factor >
    1.

    Examples
    --------
    >>> rate = mx.lr_scheduler.FactorScheduler(step=10, factor=0.5, base_lr=1)
    >>> [rate(update) for update in (1, 11, 21)]
    [1, 0.5, 0.25]
    """

    def __init__(
        self,
        step,
        factor=1,
        stop_factor_lr=1e-8,
        base_lr=0.01,
        warmup_steps=0,
        warmup_begin_lr=0,
        warmup_mode="linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ValueError(f"Schedule step must be greater or equal than 1 round, got {step}")
        _check_factor(factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr *= self.factor
            if self.base_lr < self.stop_factor_lr:
                self.base_lr = self.stop_factor_lr
                logging.info(
                    "Update[%d]: now learning rate arrived at %0.5e, will not change in the future",
                    num_update,
                    self.base_lr,
                )
            else:
                _log_change(num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies by `factor` after each of the updates in `step`, an increasing list.

    ValueError: a step below 1, steps that do not increase, or factor > 1.

    Examples
    --------
    >>> rate = mx.lr_scheduler.MultiFactorScheduler(step=[10, 15], factor=0.5, base_lr=1)
    >>> [rate(update) for update in (1, 11, 16)]
    [1, 0.5, 0.25]
    """

    def __init__(self, step, factor=1, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        assert isinstance(step, list) and step, f"step must be a list of at least one int, got {step!r}"
        if any(later <= earlier for earlier, later in zip(step, step[1:])):
            raise ValueError(f"Schedule step must be an increasing integer list, got {step}")
        if step[0] < 1:
            raise ValueError(f"Schedule step must be greater or equal than 1 round, got {step}")
        _check_factor(factor)
        self.step = step
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            _log_change(num_update, self.base_lr)
        return self.base_lr


class _DecayScheduler(LRScheduler):
    """From `base_lr` to `final_lr` until update `max_update`; subclasses define the curve."""

    def __init__(self, max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        assert isinstance(max_update, int), f"max_update must be an int, got {type(max_update).__name__}"
        if max_update < 1:
            raise ValueError(f"maximum number of updates must be strictly positive, got {max_update}")
        self.base_lr_orig = self.base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = self.max_update - self.warmup_steps

    def _remaining(self, progress):
        """The share of `base_lr - final_lr` left at `progress`, 0 to 1."""
        raise NotImplementedError

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            progress = (
                float(num_update - self.warmup_steps) / float(self.max_steps) if self.max_steps else 1.0
            )
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * self._remaining(progress)
        return self.base_lr


class PolyScheduler(_DecayScheduler):
    """`final_lr + (base_lr - final_lr) (1 - n / max_update)^pwr`, then constant.

    Examples
    --------
    >>> rate = mx.lr_scheduler.PolyScheduler(max_update=10, base_lr=1, pwr=1)
    >>> [rate(update) for update in (0, 5, 10)]
    [1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        max_update,
        base_lr=0.01,
        pwr=2,
        final_lr=0,
        warmup_steps=0,
        warmup_begin_lr=0,
        warmup_mode="linear",
    ):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _remaining(self, progress):
        return (1 - progress) ** self.power


class CosineScheduler(_DecayScheduler):
    """`final_lr + (base_lr - final_lr) (1 + cos(pi n / max_update)) / 2`, then constant.

    Examples
    --------
    >>> rate = mx.lr_scheduler.CosineScheduler(max_update=10, base_lr=1)
    >>> [rate(update) for update in (0, 5, 10)]
    [1.0, 0.5, 0.0]
    """

    def __init__(
        self, max_update, base_lr=0.01, final_lr=0, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"
    ):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _remaining(self, progress):
        return (1 + math.cos(math.pi * progress)) / 2
