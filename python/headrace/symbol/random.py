"""`sym.random`: distributions whose parameters are numbers, or symbols for a set of parameters each."""

from ..ndarray import random as _random
from . import calls

globals().update(vars(calls.composed_namespace(_random, "nd.random")))


def multinomial(data, shape=None, get_prob=True, dtype="int32", **kwargs):
    """Draws classes from rows of probabilities: a symbol of them and, with `get_prob`, of the logarithms of
    their probabilities, through which gradients go.
    """
    given = {} if shape is None else {"shape": shape}
    return calls.function("_sample_multinomial")(data, get_prob=get_prob, dtype=dtype, **given, **kwargs)


def shuffle(data, **kwargs):
    """A symbol of the same rows in random order."""
    return calls.function("_shuffle")(data, **kwargs)


__all__ = sorted(vars(calls.composed_namespace(_random, "nd.random")))
