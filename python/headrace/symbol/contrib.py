"""`sym.contrib`: operators of `nd.contrib` on symbols; loops and branches, whose bodies become graphs."""

from .. import _zipfian
from . import calls
from .control_flow import cond, foreach, while_loop
from .random import uniform as _uniform

globals().update(calls.functions("nd.contrib", False))
__all__ = [*sorted(calls.functions("nd.contrib", False)), "cond", "foreach", "rand_zipfian", "while_loop"]


def rand_zipfian(true_classes, num_sampled, range_max):
    """Draws `num_sampled` classes of range(`range_max`) with repetition, small ones more often: class k with
    probability log((k + 2) / (k + 1)) / log(range_max + 1).

    Gives the sampled classes (int64), and how often `true_classes` and the sampled ones are expected among
    `num_sampled` (float64).
    """
    return _zipfian.rand_zipfian(_uniform, true_classes, num_sampled, range_max)
