"""``nd.random``: samples of distributions whose parameters are numbers, arrays or symbols.

With numbers the result has the given shape. With arrays of parameters (of one shape) the result has their
shape followed by ``shape``: that many samples for each set of parameters.
"""

from .. import _core
from .._catalogue import populate as _populate
from .ndarray import NDArray, array

__all__ = [
    "uniform",
    "normal",
    "randn",
    "exponential",
    "gamma",
    "poisson",
    "negative_binomial",
    "generalized_negative_binomial",
    "randint",
    "bernoulli",
]

_OPERATORS = (
    "uniform",
    "normal",
    "exponential",
    "gamma",
    "poisson",
    "negative_binomial",
    "generalized_negative_binomial",
)
_with_numbers = {name: _core.function("_random_" + name, False) for name in _OPERATORS}
_with_arrays = {name: _core.function("_sample_" + name, False) for name in _OPERATORS}
_randint = _core.function("_random_randint", False)
_draw = _core.function("_draw", False)
_is_operand = _core.is_operand


def _given(**attributes):
    return {name: value for name, value in attributes.items() if value is not None}


def _shape_of(shape, out):
    return out.shape if shape is None and out is not None else shape


def _as_operands(name, parameters):
    """All parameters as arrays of the shape that those given as arrays have; symbols, if all are.

    AssertionError: symbols beside numbers or arrays.
    """
    symbols = [p for p in parameters if _core.is_symbol(p)]
    if symbols:
        kinds = " and ".join(sorted({str(type(p)) for p in parameters}))
        assert len(symbols) == len(parameters), (
            f"random.{name}: Distribution parameters must all have the same type, but got both {kinds}"
        )
        return parameters
    like = next(p for p in parameters if isinstance(p, NDArray))
    for p in parameters:
        if not isinstance(p, (NDArray, int, float)):
            raise TypeError(f"random.{name}: parameters must be numbers or NDArrays, got {type(p).__name__}")
    return [
        p
        if isinstance(p, NDArray)
        else array([p], like.context, like.dtype).broadcast_to((1,) * like.ndim).broadcast_to(like.shape)
        for p in parameters
    ]


def _sample(name, parameters, shape, dtype, ctx, out, kwargs):
    if any(map(_is_operand, parameters)):
        operands = _as_operands(name, parameters)
        return _with_arrays[name](*operands, **_given(shape=shape, dtype=dtype), out=out, **kwargs)
    if dtype is None and out is not None:
        dtype = out.dtype
    given = _given(shape=_shape_of(shape, out), dtype=dtype, ctx=ctx)
    return _with_numbers[name](*parameters, **given, out=out, **kwargs)


def uniform(low=0, high=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Samples of the uniform distribution on [low, high); float32 unless ``dtype`` says otherwise.

    Examples
    --------
    >>> samples = nd.random.uniform(low=2, high=4, shape=(100, 100))
    >>> samples.shape, round(samples.mean().asscalar())
    ((100, 100), 3)
    """
    return _sample("uniform", (low, high), shape, dtype, ctx, out, kwargs)


def normal(loc=0, scale=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Samples of the normal distribution. A negative ``scale`` is an MXNetError when the result is waited
    for.

    Examples
    --------
    >>> samples = nd.random.normal(loc=5, scale=2, shape=(100, 100))
    >>> samples.shape, round(samples.mean().asscalar())
    ((100, 100), 5)
    >>> nd.random.normal(nd.array([0, 100]), nd.array([1, 1]), shape=(3,)).shape  # 3 of each
    (2, 3)
    """
    return _sample("normal", (loc, scale), shape, dtype, ctx, out, kwargs)


def randn(*shape, loc=0, scale=1, **kwargs):
    """Samples of the normal distribution in the given shape, (1,) without one; ``dtype`` and ``ctx`` as in
    `normal`.

    Examples
    --------
    >>> nd.random.randn(2, 3).shape
    (2, 3)
    """
    return normal(loc, scale, shape or None, **kwargs)


def exponential(scale=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Samples of the exponential distribution with mean ``scale``, which must be positive (MXNetError).

    Examples
    --------
    >>> samples = nd.random.exponential(scale=2, shape=(10000,))
    >>> round(samples.mean().asscalar())
    2
    """
    rate = 1.0 / scale if _is_operand(scale) or scale != 0 else 0.0  # which no distribution has
    return _sample("exponential", (rate,), shape, dtype, ctx, out, kwargs)


def gamma(alpha=1, beta=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Samples of the gamma distribution with shape ``alpha`` and scale ``beta``.

    They are float32 unless ``dtype`` says otherwise. ValueError: one of them, a number, is not positive.

    Examples
    --------
    >>> samples = nd.random.gamma(alpha=3, beta=2, shape=(10000,))
    >>> round(samples.mean().asscalar())  # alpha * beta
    6
    """
    return _sample("gamma", (alpha, beta), shape, dtype, ctx, out, kwargs)


def poisson(lam=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Samples of the Poisson distribution with mean ``lam``, as floats: float32 unless ``dtype`` says
    otherwise.

    ValueError: the mean, a number, is negative.

    Examples
    --------
    >>> samples = nd.random.poisson(lam=4, shape=(10000,))
    >>> round(samples.mean().asscalar())
    4
    """
    return _sample("poisson", (lam,), shape, dtype, ctx, out, kwargs)


def negative_binomial(k=1, p=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Samples of the negative binomial distribution: ``k`` failures, probability ``p`` of failure.

    Examples
    --------
    >>> samples = nd.random.negative_binomial(k=4, p=0.5, shape=(10000,))
    >>> round(samples.mean().asscalar())  # k * (1 - p) / p
    4
    """
    return _sample("negative_binomial", (k, p), shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Samples of the negative binomial distribution with mean ``mu`` and dispersion ``alpha``.

    Examples
    --------
    >>> samples = nd.random.generalized_negative_binomial(mu=5, alpha=0.3, shape=(10000,))
    >>> round(samples.mean().asscalar())
    5
    """
    return _sample("generalized_negative_binomial", (mu, alpha), shape, dtype, ctx, out, kwargs)


def randint(low, high, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Integers uniform in [low, high), int32 unless ``dtype`` says otherwise.

    Raises
    ------
    ValueError
        Unless ``low < high``.
    AssertionError
        For limits that are no numbers.

    Examples
    --------
    >>> samples = nd.random.randint(3, 6, shape=(1000,))
    >>> samples.dtype, sorted(set(samples.asnumpy().tolist()))
    (<class 'numpy.int32'>, [3, 4, 5])
    """
    assert not _is_operand(low) and not _is_operand(high), "randint: low and high must be numbers"
    given = _given(shape=_shape_of(shape, out), dtype=dtype, ctx=ctx)
    return _randint(low, high, **given, out=out, **kwargs)


def bernoulli(prob=0.5, shape=None, dtype=None, ctx=None, out=None):
    """Zeros and ones, ones with probability ``prob``; float32 unless ``dtype`` says otherwise.

    ValueError: the probability is outside [0, 1].

    Examples
    --------
    >>> samples = nd.random.bernoulli(prob=0.3, shape=(10000,))
    >>> sorted(set(samples.asnumpy().tolist())), round(samples.mean().asscalar().item(), 1)
    ([0.0, 1.0], 0.3)
    """
    given = _given(shape=_shape_of(shape, out), dtype=dtype or "float32", ctx=ctx)
    if _is_operand(prob):
        return _draw(prob, distribution="bernoulli", **{**given, "shape": shape or ()}, out=out)
    return _draw(distribution="bernoulli", parameters=[prob], **{"shape": (1,), **given}, out=out)


__all__ += _populate(globals(), "nd.random")
