"""Operators of ``nd.contrib``, from the catalogue; loops and branches over arrays; sampling of candidates."""

import math

from .. import _core
from .._catalogue import populate as _populate
from . import random
from ._multi_updates import *  # noqa: F403
from ._multi_updates import __all__ as _multi_updates
from .control_flow import cond, foreach, while_loop

__all__ = [
    *_populate(globals(), "nd.contrib"),
    *_multi_updates,
    "cond",
    "foreach",
    "rand_zipfian",
    "while_loop",
]

_exp, _log = (_core.function(name, False) for name in ("exp", "log"))


def rand_zipfian(true_classes, num_sampled, range_max, ctx=None):
    """Draws `num_sampled` classes of range(`range_max`) with repetition, small ones more often: class k with
    probability log((k + 2) / (k + 1)) / log(range_max + 1).

    Gives the sampled classes (int64), and how often `true_classes` and the sampled ones are expected among
    `num_sampled` (float64).

    Examples
    --------
    >>> classes = nd.array([3])
    >>> sampled, expected_true, expected = nd.contrib.rand_zipfian(classes, num_sampled=4, range_max=100)
    >>> sampled.shape, (sampled < 100).asnumpy().all().item(), expected.shape
    ((4,), True, (4,))
    >>> expected_true
    [0.19340214]
    <NDArray 1 @cpu(0)>
    """
    log_range = math.log(range_max + 1)

    def expected_count(classes):
        return _log((classes + 2) / (classes + 1)) / log_range * num_sampled

    drawn = random.uniform(0, log_range, shape=(num_sampled,), dtype="float64", ctx=ctx)
    sampled = (_exp(drawn) - 1).astype("int64") % range_max
    return (
        sampled,
        expected_count(true_classes.astype("float64")),
        expected_count(sampled.astype("float64")),
    )
