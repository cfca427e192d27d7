"""`sym.random`: distributions whose parameters are numbers, or symbols for a set of parameters each."""

from ..ndarray import random as _random
from . import calls

globals().update(vars(calls.composed_namespace(_random, "nd.random")))


def multinomial(data, shape=None, get_prob=True, dtype="int32", **kwargs):
    """Draws classes from rows of probabilities: a symbol of them and, with `get_prob`, of the logarithms of
    their probabilities, through which gradients go.

    Examples
    --------
    >>> classes = sym.random.multinomial(sym.var("p"), shape=5, get_prob=False)
    >>> classes.eval(p=nd.array([[0, 0, 1], [1, 0, 0]]))[0]
    [[2 2 2 2 2]
     [0 0 0 0 0]]
    <NDArray 2x5 @cpu(0)>
    """
    given = {} if shape is None else {"shape": shape}
    return calls.function("_sample_multinomial")(data, get_prob=get_prob, dtype=dtype, **given, **kwargs)


def shuffle(data, **kwargs):
    """A symbol of the same rows in random order.

    Examples
    --------
    >>> rows = sym.random.shuffle(sym.var("x")).eval(x=nd.array([[1, 1], [2, 2], [3, 3]]))[0]
    >>> sorted(rows.asnumpy().tolist())
    [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    """
    return calls.function("_shuffle")(data, **kwargs)


__all__ = sorted(vars(calls.composed_namespace(_random, "nd.random")))
