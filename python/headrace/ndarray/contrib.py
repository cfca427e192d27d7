"""Operators of ``nd.contrib``, from the catalogue; loops and branches over arrays."""

from .. import _zipfian
from .._catalogue import populate as _populate
from .control_flow import cond, foreach, while_loop
from .random import uniform as _uniform

__all__ = [*_populate(globals(), "nd.contrib"), "cond", "foreach", "rand_zipfian", "while_loop"]


def rand_zipfian(true_classes, num_sampled, range_max, ctx=None):
    """Draws `num_sampled` classes of range(`range_max`) with repetition, small ones more often: class k with
    probability log((k + 2) / (k + 1)) / log(range_max + 1).

    Gives the sampled classes (int64), and how often `true_classes` and the sampled ones are expected among
    `num_sampled` (float64).
    """
    return _zipfian.rand_zipfian(_uniform, true_classes, num_sampled, range_max, ctx=ctx)
