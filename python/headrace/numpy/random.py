"""``np.random``: samples of distributions whose parameters are numbers, arrays or symbols.

``size`` is the shape of the result; without it the result has the shape that the parameters broadcast to.
"""

import functools

import numpy as _numpy

from .. import _core
from .._catalogue import populate as _populate
from ._operands import is_symbol as _is_symbol
from ._operands import operand as _operand
from ._operands import size_of as _size_of
from .multiarray import array, ndarray
from .multiarray import call_on_host as _call_on_host
from .multiarray import front_end as _np

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

_choice = _core.function("_npi_choice", True)
_multinomial = _core.function("_npi_multinomial", True)
_multivariate_normal = _core.function("_npi_multivariate_normal", True)
_randint = _core.function("_random_randint", True)
_shuffle = _core.function("_shuffle", True)


@functools.cache
def _operator(name):
    return _core.function(name, True)


def _is_number(parameter):
    return isinstance(parameter, (int, float, _numpy.number))


def _sample(name, parameters, size, ctx=None, out=None, **attributes):
    """Samples of the operator ``name``; those of its ``parameters`` that are no numbers are its inputs."""
    operands = []
    for key, one in parameters.items():
        if one is not None and not _is_number(one):
            operands.append(_operand(one))
            parameters[key] = None
    if ctx is not None:
        attributes["ctx"] = ctx
    return _operator(name)(*operands, **parameters, size=_size_of(size), out=out, **attributes)


def uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the uniform distribution on [low, high); float32 unless ``dtype`` says otherwise.

    Examples
    --------
    >>> samples = np.random.uniform(low=2, high=4, size=(100, 100))
    >>> samples.shape, round(samples.mean().item())
    ((100, 100), 3)
    """
    return _sample("_npi_uniform", {"low": low, "high": high}, size, ctx, out, dtype=dtype or "float32")


def normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the normal distribution; float32 unless ``dtype`` says otherwise.

    Raises
    ------
    ValueError
        For a negative ``scale``, unless an array holds it.

    Examples
    --------
    >>> samples = np.random.normal(loc=5, scale=2, size=10000)
    >>> round(samples.mean().item()), round(samples.std().item())
    (5, 2)
    """
    if not _is_number(scale) and not _core.is_operand(scale) and (_numpy.asarray(scale) < 0).any():
        raise ValueError(f"random.normal: scale must not be negative, got {scale}")
    return _sample("_npi_normal", {"loc": loc, "scale": scale}, size, ctx, out, dtype=dtype or "float32")


def lognormal(mean=0.0, sigma=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples whose logarithm is normal with the given mean and standard deviation. ValueError: ``sigma`` is
    negative.

    Examples
    --------
    >>> samples = np.random.lognormal(mean=3, sigma=1, size=10000)
    >>> round(np.log(samples).mean().item())
    3
    """
    return _np().exp(normal(mean, sigma, size, dtype, ctx), out=out)


def logistic(loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Samples of the logistic distribution. Raises ValueError for a negative ``scale``.

    Examples
    --------
    >>> samples = np.random.logistic(loc=5, scale=1, size=10000)
    >>> round(samples.mean().item())
    5
    """
    return _sample("_npi_logistic", {"loc": loc, "scale": scale}, size, ctx, out)


def gumbel(loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Samples of the Gumbel distribution. Raises ValueError for a negative ``scale``.

    Examples
    --------
    >>> samples = np.random.gumbel(loc=0, scale=1, size=10000)
    >>> round(samples.mean().item(), 1)  # loc + 0.5772 * scale
    0.6
    """
    return _sample("_npi_gumbel", {"loc": loc, "scale": scale}, size, ctx, out)


def laplace(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the Laplace distribution. Raises ValueError for a negative ``scale``.

    Examples
    --------
    >>> samples = np.random.laplace(loc=5, scale=1, size=10000)
    >>> round(samples.mean().item())
    5
    """
    return _sample("_np_laplace", {"loc": loc, "scale": scale}, size, ctx, out, dtype=dtype or "float32")


def rayleigh(scale=1.0, size=None, ctx=None, out=None):
    """Samples of the Rayleigh distribution. Raises ValueError for a negative ``scale``.

    Examples
    --------
    >>> samples = np.random.rayleigh(scale=4, size=10000)
    >>> round(samples.mean().item())  # scale * sqrt(pi / 2)
    5
    """
    return _sample("_npi_rayleigh", {"scale": scale}, size, ctx, out)


def weibull(a, size=None, ctx=None, out=None):
    """Samples of the Weibull distribution with shape ``a`` and scale 1. Raises ValueError unless ``a`` is
    positive.

    Examples
    --------
    >>> samples = np.random.weibull(1, size=10000)
    >>> round(samples.mean().item())
    1
    """
    return _sample("_npi_weibull", {"a": a}, size, ctx, out)


def pareto(a, size=None, ctx=None, out=None):
    """Samples of the Pareto II (Lomax) distribution with shape ``a``. Raises ValueError unless ``a`` is
    positive.

    Examples
    --------
    >>> samples = np.random.pareto(3, size=10000)
    >>> samples.min().item() >= 0, round(np.median(samples).item(), 1)  # 2 ** (1 / a) - 1
    (True, 0.3)
    """
    return _sample("_npi_pareto", {"a": a}, size, ctx, out)


def power(a, size=None, ctx=None, out=None):
    """Samples on [0, 1] with density ``a * x**(a - 1)``. Raises ValueError unless ``a`` is positive.

    Examples
    --------
    >>> samples = np.random.power(4, size=10000)
    >>> round(samples.mean().item(), 1)  # a / (a + 1)
    0.8
    """
    return _sample("_npi_powerd", {"a": a}, size, ctx, out)


def exponential(scale=1.0, size=None, ctx=None, out=None):
    """Samples of the exponential distribution with mean ``scale``. Raises ValueError for a negative
    ``scale``.

    Examples
    --------
    >>> samples = np.random.exponential(scale=2, size=10000)
    >>> round(samples.mean().item())
    2
    """
    return _sample("_npi_exponential", {"scale": scale}, size, ctx, out)


def gamma(shape, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the gamma distribution. Raises ValueError unless ``shape`` and ``scale`` are positive.

    Examples
    --------
    >>> samples = np.random.gamma(shape=3, scale=2, size=10000)
    >>> round(samples.mean().item())  # shape * scale
    6
    """
    parameters = {"shape": shape, "scale": scale}
    return _sample("_npi_gamma", parameters, size, ctx, out, dtype=dtype or "float32")


def _broadcast(*parameters):
    """The parameters as arrays or symbols of the shape that they have together; numbers as they are."""
    parameters = [one if _is_number(one) else _operand(one) for one in parameters]
    zeros = [_np().zeros_like(one) for one in parameters if not _is_number(one)]
    return [sum(zeros, one) for one in parameters]


def beta(a, b, size=None, dtype=None, ctx=None):
    """Samples of the beta distribution. Raises ValueError unless ``a`` and ``b`` are positive.

    Examples
    --------
    >>> samples = np.random.beta(2, 8, size=1000)
    >>> samples.shape, round(samples.mean().item(), 1)  # a / (a + b)
    ((1000,), 0.2)
    """
    x, y = (gamma(one, 1.0, size, "float64", ctx) for one in _broadcast(a, b))
    if not _is_symbol(x):  # whose graphs are MXNet's
        # Infinite parameters give infinity, which the bound makes a number that dwarfs others.
        x, y = (_np().minimum(one, 2.0**1000) for one in (x, y))
    return (x / (x + y)).astype(dtype or "float32")


def chisquare(df, size=None, dtype=None, ctx=None):
    """Samples of the chi-square distribution. Raises ValueError unless ``df`` is positive.

    Examples
    --------
    >>> samples = np.random.chisquare(3, size=(100, 100))
    >>> samples.shape, round(samples.mean().item())  # df
    ((100, 100), 3)
    """
    return gamma((df if _is_number(df) else _operand(df)) / 2, 2.0, size, dtype, ctx)


def poisson(lam=1.0, size=None, ctx=None, out=None):
    """Samples of the Poisson distribution, as int64. Raises ValueError for a negative mean ``lam``.

    Examples
    --------
    >>> samples = np.random.poisson(lam=4, size=10000)
    >>> samples.dtype, round(samples.mean().item())
    (dtype('int64'), 4)
    """
    return _sample("_np_poisson", {"lam": lam}, size, ctx, out)


def randint(low, high=None, size=None, dtype=None, ctx=None, out=None):
    """Integers uniform in [low, high), or in [0, low) with one argument; int64 unless ``dtype`` says
    otherwise.

    Raises
    ------
    ValueError
        For an empty range.

    Examples
    --------
    >>> samples = np.random.randint(3, 6, size=1000)
    >>> np.unique(samples)
    array([3, 4, 5], dtype=int64)
    """
    if high is None:
        low, high = 0, low
    if dtype is None or dtype is int or (isinstance(dtype, str) and dtype == "int"):
        dtype = "int64"
    place = {} if ctx is None else {"ctx": ctx}
    return _randint(low, high, shape=_size_of(size) or (), dtype=dtype, out=out, **place)


def rand(*size, **kwargs):
    """Samples of the uniform distribution on [0, 1) in the given shape; float32 unless ``dtype`` says
    otherwise.

    Examples
    --------
    >>> samples = np.random.rand(2, 3)
    >>> samples.shape, bool(((samples >= 0) * (samples < 1)).all())
    ((2, 3), True)
    """
    return uniform(0, 1, size, **kwargs)


def randn(*size, **kwargs):
    """Samples of the standard normal distribution in the given shape; float32 unless ``dtype`` says
    otherwise.

    Examples
    --------
    >>> np.random.randn(2, 3).shape
    (2, 3)
    """
    return normal(0.0, 1.0, size, **kwargs)


def choice(a, size=None, replace=True, p=None, ctx=None, out=None):
    """Entries of ``a`` (or of ``range(a)``, as int64) chosen at random, with probabilities ``p`` when given.

    Raises
    ------
    ValueError
        When more entries are wanted than there are and ``replace`` is False, or ``p`` does not fit.

    Examples
    --------
    >>> chosen = np.random.choice(5, size=3, replace=False)
    >>> len(set(chosen.tolist())), chosen.dtype
    (3, dtype('int64'))
    >>> np.random.choice(np.array([10, 20]), size=2, p=np.array([0, 1]))
    array([20., 20.])
    """
    if _is_symbol(a):
        operands = (a,) if p is None else (a, p)
        indices = _choice(*operands, a=None, size=_size_of(size) or (), replace=replace)
        return _np().take(a, indices, axis=0)
    count = a if hasattr(a, "__index__") and not isinstance(a, ndarray) else len(a)
    probabilities = () if p is None else (_operand(p, "float64"),)
    is_range = count is a
    indices = _choice(
        *probabilities,
        a=count,
        size=_size_of(size) or (),
        replace=replace,
        ctx=ctx,
        out=out if is_range else None,
    )
    return indices if is_range else _np().take(_operand(a), indices, axis=0, out=out)


def shuffle(x):
    """Puts the entries of the first axis in random order, in place; of a symbol, which does not change, it
    gives a new one.

    Examples
    --------
    >>> rows = np.array([[1, 1], [2, 2], [3, 3]])
    >>> np.random.shuffle(rows)
    >>> np.sort(rows, axis=0)  # the same rows
    array([[1., 1.],
           [2., 2.],
           [3., 3.]])
    """
    if _is_symbol(x):
        return _shuffle(x)
    x[...] = _shuffle(x)
    return None


def multinomial(n, pvals, size=None, **kwargs):
    """How often each category comes up in ``n`` experiments: int64 counts of shape ``size + (len(pvals),)``.

    Raises
    ------
    ValueError
        For negative probabilities or probabilities that sum to more than 1.

    Examples
    --------
    >>> counts = np.random.multinomial(20, [0.5, 0.5, 0])
    >>> counts.sum().item(), counts[2].item()
    (20, 0)
    """
    return _multinomial(_operand(pvals, "float64"), n=n, size=_size_of(size) or ())


def multivariate_normal(mean, cov, size=None, check_valid=None, tol=None):
    """Samples of the multivariate normal distribution with the given mean and covariance matrix.

    Shapes (..., k) and (..., k, k) give ``size + (..., k)``. Of ``cov`` the lower triangle is read. Waits for
    ``cov``, which has no gradient; ``mean`` has. Of symbols it must be positive definite (MXNetError when the
    result is read). ``check_valid`` and ``tol`` are accepted, as by MXNet.

    Raises
    ------
    ValueError
        For shapes that do not fit, and a covariance that is not positive semidefinite.

    Examples
    --------
    >>> mean, cov = np.array([1, 5]), np.array([[1, 0], [0, 2]])
    >>> samples = np.random.multivariate_normal(mean, cov, size=10000)
    >>> samples.shape, samples.mean(axis=0).round()
    ((10000, 2), array([1., 5.]))
    """
    if _is_symbol(mean) or _is_symbol(cov):
        return _multivariate_normal(_operand(mean), _operand(cov), size=_size_of(size))
    mean, cov = (x if isinstance(x, ndarray) else array(x) for x in (mean, cov))
    if mean.ndim < 1 or cov.ndim < 2 or cov.shape[-2:] != (mean.shape[-1],) * 2:
        raise ValueError(
            "random.multivariate_normal: expected a mean of shape (..., k) and a covariance of shape "
            f"(..., k, k), got {mean.shape} and {cov.shape}"
        )
    factor = _call_on_host(_factor, (cov,), {})
    shape = (_size_of(size) or ()) + _numpy.broadcast_shapes(mean.shape, cov.shape[:-1])
    draws = normal(size=shape, dtype=factor.dtype, ctx=mean.ctx)
    return mean + _np().einsum("...jk,...k->...j", factor, draws)


def _factor(cov):
    """A matrix that, times its transpose, is the covariance: its Cholesky factor where there is one."""
    values = cov.astype("float64")
    try:
        factor = _numpy.linalg.cholesky(values)
    except _numpy.linalg.LinAlgError:
        variances, axes = _numpy.linalg.eigh(values)
        factor = axes * _numpy.sqrt(variances.clip(0))[..., None, :]
        if variances.min() < -1e-6 * abs(variances).max():
            factor[...] = _numpy.nan
    if not _numpy.isfinite(factor).all():
        raise ValueError(
            "random.multivariate_normal: the covariance is not positive semidefinite; check that it is "
            "symmetric and finite, or add a small multiple of the identity"
        )
    return factor.astype(cov.dtype if cov.dtype.kind == "f" else "float32")


_factor.__name__ = "random.multivariate_normal"  # what errors name


__all__ += _populate(globals(), "np.random")
