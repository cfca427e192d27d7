"""``np.random`` on symbols.

Parameters are numbers, or symbols that are broadcast against each other; ``size`` is the shape of the
result, by default that of the parameters. ``ctx`` says where samples for numbers are made.
"""

import functools
import operator

from . import calls

__all__ = [
    "beta",
    "chisquare",
    "choice",
    "exponential",
    "gamma",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "multinomial",
    "multivariate_normal",
    "normal",
    "pareto",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "rayleigh",
    "shuffle",
    "uniform",
    "weibull",
]


def _call(op, *symbols, **attributes):
    given = {key: value for key, value in attributes.items() if value is not None}
    hint = op.removeprefix("_npi_").removeprefix("_np_").removeprefix("_")
    return calls.function(op, hint, True)(*symbols, **given)


def _shape(size):
    if size is None:
        return ()
    return (size,) if hasattr(size, "__index__") else tuple(size)


def sample(op, parameters, size, dtype=None, ctx=None, **attributes):
    """Samples of MXNet's operator ``_npi_<op>``: numbers are attributes, symbols inputs in their order."""
    symbols = [one for one in parameters.values() if calls.is_symbol(one)]
    numbers = {key: None if calls.is_symbol(one) else one for key, one in parameters.items()}
    given = {key: value for key, value in (("dtype", dtype), ("ctx", ctx)) if value is not None}
    size = None if size is None else _shape(size)
    return calls.function("_npi_" + op, op, True)(*symbols, **numbers, size=size, **given, **attributes)


def _common(parameters, size):
    """The parameters as symbols of one shape: `size`, or what they broadcast to."""
    symbols = [one for one in parameters if calls.is_symbol(one)]
    zeros = functools.reduce(operator.add, [_call("_np_zeros_like", one) for one in symbols])
    common = [zeros + one for one in parameters]
    return common if size is None else [_call("_npi_broadcast_to", one, shape=_shape(size)) for one in common]


def _distribution(name, parameters, size, dtype=None, ctx=None):
    """Samples of a distribution that MXNet's symbols do not have."""
    dtype = dtype or "float32"
    if any(map(calls.is_symbol, parameters)):
        return _call("_draw", *_common(parameters, size), distribution=name, dtype=dtype, sequential=True)
    return _call(
        "_draw", distribution=name, parameters=list(parameters), shape=_shape(size), dtype=dtype,
        sequential=True, ctx=ctx,
    )  # fmt: skip


def uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the uniform distribution on [low, high); float32 unless ``dtype`` says otherwise."""
    return sample("uniform", {"low": low, "high": high}, size, dtype or "float32", ctx)


def normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the normal distribution; float32 unless ``dtype`` says otherwise."""
    return sample("normal", {"loc": loc, "scale": scale}, size, dtype or "float32", ctx)


def lognormal(mean=0.0, sigma=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples whose logarithm is normal with the given mean and standard deviation."""
    return _call("_npi_exp", normal(mean, sigma, size, dtype, ctx))


def logistic(loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Samples of the logistic distribution."""
    return sample("logistic", {"loc": loc, "scale": scale}, size, ctx=ctx)


def gumbel(loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Samples of the Gumbel distribution."""
    return sample("gumbel", {"loc": loc, "scale": scale}, size, ctx=ctx)


def laplace(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the Laplace distribution."""
    return _distribution("laplace", (loc, scale), size, dtype, ctx)


def rayleigh(scale=1.0, size=None, ctx=None, out=None):
    """Samples of the Rayleigh distribution."""
    return sample("rayleigh", {"scale": scale}, size, ctx=ctx)


def weibull(a, size=None, ctx=None, out=None):
    """Samples of the Weibull distribution with shape ``a`` and scale 1."""
    return sample("weibull", {"a": a}, size, ctx=ctx)


def pareto(a, size=None, ctx=None, out=None):
    """Samples of the Pareto II (Lomax) distribution with shape ``a``."""
    return sample("pareto", {"a": a}, size, ctx=ctx)


def power(a, size=None, ctx=None, out=None):
    """Samples on [0, 1] with density ``a * x**(a - 1)``."""
    return sample("powerd", {"a": a}, size)


def exponential(scale=1.0, size=None, ctx=None, out=None):
    """Samples of the exponential distribution with mean ``scale``."""
    return sample("exponential", {"scale": scale}, size, ctx=ctx)


def gamma(shape, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the gamma distribution."""
    return sample("gamma", {"shape": shape, "scale": scale}, size, dtype or "float32", ctx)


def beta(a, b, size=None, dtype=None, ctx=None):
    """Samples of the beta distribution."""
    if calls.is_symbol(a) or calls.is_symbol(b):
        a, b = _common((a, b), size)
    x, y = (gamma(one, 1.0, size, "float64", ctx) for one in (a, b))
    return (x / (x + y)).astype(dtype or "float32")


def chisquare(df, size=None, dtype=None, ctx=None):
    """Samples of the chi-square distribution."""
    return gamma(df / 2, 2.0, size, dtype, ctx)


def poisson(lam=1.0, size=None, ctx=None, out=None):
    """Samples of the Poisson distribution, as int64."""
    return _distribution("poisson", (lam,), size, "int64", ctx)


def randint(low, high=None, size=None, dtype=None, ctx=None, out=None):
    """Integers uniform in [low, high), or in [0, low) with one argument; int64 unless ``dtype`` says
    otherwise.
    """
    if high is None:
        low, high = 0, low
    dtype = "int64" if dtype in (None, int, "int") else dtype
    return _call("_random_randint", low=low, high=high, shape=_shape(size), dtype=dtype, ctx=ctx)


def rand(*size, **kwargs):
    """Samples of the uniform distribution on [0, 1) in the given shape."""
    return uniform(0, 1, size, **kwargs)


def randn(*size, **kwargs):
    """Samples of the standard normal distribution in the given shape."""
    return normal(0.0, 1.0, size, **kwargs)


def choice(a, size=None, replace=True, p=None, ctx=None, out=None):
    """Numbers of ``range(a)`` chosen at random, with the probabilities of symbol ``p`` when given.

    TypeError: ``a`` is a symbol, whose length is not known; take picks its entries by chosen indices.
    """
    if calls.is_symbol(a):
        raise TypeError(
            "choice: the number of entries of a symbol is not known while a graph is built; choose indices "
            "of a number and take them"
        )
    inputs = () if p is None else (p,)
    return _call("_npi_choice", *inputs, a=a, size=_shape(size), replace=replace, ctx=ctx)


def shuffle(x):
    """The entries of the first axis in random order: a new symbol, since symbols do not change."""
    return _call("_shuffle", x)


def multinomial(n, pvals, size=None, **kwargs):
    """How often each category of the probabilities ``pvals`` (a symbol) comes up in ``n`` experiments."""
    return _call("_npi_multinomial", pvals, n=n, size=_shape(size))


def multivariate_normal(mean, cov, size=None, check_valid=None, tol=None):
    """NotImplementedError always: the number of variates is not known while a graph is built.

    With a lower-triangular factor L of the covariance, ``mean + dot(L, normal(size=k))`` draws them.
    """
    raise NotImplementedError(
        "multivariate_normal: the number of variates of a symbol is not known while a graph is built; add "
        "the mean to the product of a factor of the covariance and normal(size=...)"
    )
