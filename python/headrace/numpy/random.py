"""``np.random``: samples of distributions whose parameters are numbers or arrays.

``size`` is the shape of the result; without it the result has the shape that the parameters broadcast to.
"""

import numpy as _numpy

from .. import _core
from .._catalogue import populate as _populate
from .multiarray import array, ndarray
from .multiarray import call_on_host as _call_on_host
from .multiarray import front_end as _np

__all__ = [
    "uniform",
    "normal",
    "lognormal",
    "logistic",
    "gumbel",
    "laplace",
    "rayleigh",
    "weibull",
    "pareto",
    "power",
    "exponential",
    "gamma",
    "beta",
    "chisquare",
    "poisson",
    "randint",
    "rand",
    "randn",
    "choice",
    "shuffle",
    "multinomial",
    "multivariate_normal",
]

_uniform = _core.function("_np_uniform", True)
_normal = _core.function("_np_normal", True)
_draw = _core.function("_draw", True)
_randint = _core.function("_random_randint", True)
_choice = _core.function("_npi_choice", True)
_shuffle = _core.function("_shuffle", True)
_multinomial = _core.function("_npi_multinomial", True)
_broadcast_to = _core.function("_npi_broadcast_to", True)


def _shape(size, *parameters):
    if size is not None:
        return (size,) if hasattr(size, "__index__") else tuple(size)
    return _numpy.broadcast_shapes(
        *(p.shape if isinstance(p, ndarray) else _numpy.shape(p) for p in parameters)
    )


def _has_arrays(parameters):
    return any(not isinstance(p, (int, float, _numpy.number)) for p in parameters)


def _into(out, values):
    if out is None:
        return values
    out[...] = values
    return out


def _affine(standard, offset, factor, size, dtype, ctx, out, check_scale=None):
    """offset + factor * standard variates, for numbers and arrays."""
    if not _has_arrays((offset, factor)):
        return standard(offset, factor)
    if check_scale and not isinstance(factor, ndarray) and _numpy.any(_numpy.asarray(factor) < 0):
        raise ValueError(f"random.{check_scale}: scale must not be negative")
    shape = _shape(size, offset, factor)
    plain = (ndarray, int, float)
    offset, factor = (p if isinstance(p, plain) else array(p, dtype=dtype) for p in (offset, factor))
    return _into(out, standard(None, None, shape) * factor + offset)


def uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the uniform distribution on [low, high); float32 unless ``dtype`` says otherwise."""

    def standard(offset, factor, shape=None):
        if shape is None:
            return _uniform(low, high, size=_shape(size), dtype=dtype, ctx=ctx, out=out)
        return _uniform(size=shape, dtype=dtype, ctx=ctx)

    return _affine(standard, low, high - low, size, dtype, ctx, out)


def normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the normal distribution; float32 unless ``dtype`` says otherwise.

    Raises
    ------
    ValueError
        For a negative ``scale``.
    """

    def standard(offset, factor, shape=None):
        if shape is None:
            return _normal(offset, factor, size=_shape(size), dtype=dtype, ctx=ctx, out=out)
        return _normal(size=shape, dtype=dtype, ctx=ctx)

    return _affine(standard, loc, scale, size, dtype, ctx, out, "normal")


def lognormal(mean=0.0, sigma=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples whose logarithm is normal with the given mean and standard deviation."""
    return _into(out, _np().exp(normal(mean, sigma, size, dtype, ctx)))


def _distribution(name, parameters, size, dtype, ctx, out):
    """Samples of a named distribution, drawn for each set of parameters."""
    dtype = dtype or "float32"
    if not _has_arrays(parameters):
        return _draw(
            distribution=name,
            parameters=list(parameters),
            shape=_shape(size),
            dtype=dtype,
            sequential=True,
            ctx=ctx,
            out=out,
        )
    shape = _shape(size, *parameters)
    arrays = [_broadcast_to(p if isinstance(p, ndarray) else array(p), shape) for p in parameters]
    return _draw(*arrays, distribution=name, dtype=dtype, sequential=True, out=out)


def logistic(loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Samples of the logistic distribution. Raises ValueError for a negative ``scale``."""
    return _distribution("logistic", (loc, scale), size, None, ctx, out)


def gumbel(loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Samples of the Gumbel distribution. Raises ValueError for a negative ``scale``."""
    return _distribution("gumbel", (loc, scale), size, None, ctx, out)


def laplace(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the Laplace distribution. Raises ValueError for a negative ``scale``."""
    return _distribution("laplace", (loc, scale), size, dtype, ctx, out)


def rayleigh(scale=1.0, size=None, ctx=None, out=None):
    """Samples of the Rayleigh distribution. Raises ValueError for a negative ``scale``."""
    return _distribution("rayleigh", (scale,), size, None, ctx, out)


def weibull(a, size=None, ctx=None, out=None):
    """Samples of the Weibull distribution with shape ``a`` and scale 1. Raises ValueError unless ``a`` is
    positive."""
    return _distribution("weibull", (a,), size, None, ctx, out)


def pareto(a, size=None, ctx=None, out=None):
    """Samples of the Pareto II (Lomax) distribution with shape ``a``. Raises ValueError unless ``a`` is
    positive."""
    return _distribution("pareto", (a,), size, None, ctx, out)


def power(a, size=None, ctx=None, out=None):
    """Samples on [0, 1] with density ``a * x**(a - 1)``. Raises ValueError unless ``a`` is positive."""
    return _distribution("power", (a,), size, None, ctx, out)


def exponential(scale=1.0, size=None, ctx=None, out=None):
    """Samples of the exponential distribution with mean ``scale``. Raises ValueError for a negative
    ``scale``."""
    if not _has_arrays((scale,)):
        if scale < 0:
            raise ValueError(f"random.exponential: scale must not be negative, got {scale}")
        size = _shape(size)
    values = _distribution("exponential", (1.0,), _shape(size, scale), None, ctx, None)
    return _into(out, values * (scale if isinstance(scale, (ndarray, int, float)) else array(scale)))


def gamma(shape, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the gamma distribution. Raises ValueError unless ``shape`` and ``scale`` are positive."""
    return _distribution("gamma", (shape, scale), size, dtype, ctx, out)


def beta(a, b, size=None, dtype=None, ctx=None):
    """Samples of the beta distribution. Raises ValueError unless ``a`` and ``b`` are positive."""
    size = _shape(size, a, b)
    # Infinite parameters give infinity, which the bound makes a number that dwarfs others.
    x, y = (_np().minimum(gamma(one, 1.0, size, "float64", ctx), 2.0**1000) for one in (a, b))
    return (x / (x + y)).astype(dtype or "float32")


def chisquare(df, size=None, dtype=None, ctx=None):
    """Samples of the chi-square distribution. Raises ValueError unless ``df`` is positive."""
    return _distribution("chisquare", (df,), size, dtype, ctx, None)


def poisson(lam=1.0, size=None, ctx=None, out=None):
    """Samples of the Poisson distribution, as int64. Raises ValueError for a negative mean ``lam``."""
    return _distribution("poisson", (lam,), size, "int64", ctx, out)


def randint(low, high=None, size=None, dtype=None, ctx=None, out=None):
    """Integers uniform in [low, high), or in [0, low) with one argument; int64 unless ``dtype`` says
    otherwise.

    Raises
    ------
    ValueError
        For an empty range.
    """
    if high is None:
        low, high = 0, low
    if dtype is None or dtype is int or (isinstance(dtype, str) and dtype == "int"):
        dtype = "int64"
    return _randint(low, high, shape=_shape(size), dtype=dtype, ctx=ctx, out=out)


def rand(*size, **kwargs):
    """Samples of the uniform distribution on [0, 1) in the given shape."""
    return uniform(0.0, 1.0, size, **kwargs)


def randn(*size, **kwargs):
    """Samples of the standard normal distribution in the given shape."""
    return normal(0.0, 1.0, size, **kwargs)


def choice(a, size=None, replace=True, p=None, ctx=None, out=None):
    """Entries of ``a`` (or of ``range(a)``) chosen at random, with probabilities ``p`` when given.

    Raises
    ------
    ValueError
        When more entries are wanted than there are and ``replace`` is False, or ``p`` does not fit.
    """
    count = a if hasattr(a, "__index__") and not isinstance(a, ndarray) else len(a)
    if p is not None and not isinstance(p, ndarray):
        p = array(p, dtype="float64")
    inputs = () if p is None else (p,)
    indices = _choice(*inputs, a=count, size=_shape(size), replace=replace, ctx=ctx)
    if count is not a:
        indices = (a if isinstance(a, ndarray) else array(a)).take(indices)
    return _into(out, indices)


def shuffle(x):
    """Puts the entries of the first axis in random order, in place."""
    x[...] = _shuffle(x)


def multinomial(n, pvals, size=None, **kwargs):
    """How often each category comes up in ``n`` experiments: int64 counts of shape ``size + (len(pvals),)``.

    Raises
    ------
    ValueError
        For negative probabilities or probabilities that sum to more than 1.
    """
    pvals = pvals if isinstance(pvals, ndarray) else array(pvals, dtype="float64")
    return _multinomial(pvals, n=n, size=_shape(size))


def multivariate_normal(mean, cov, size=None, check_valid=None, tol=None):
    """Samples of the multivariate normal distribution with the given mean and covariance matrix.

    Shapes (..., k) and (..., k, k) give ``size + (..., k)``. Of ``cov`` the lower triangle is read. Waits for
    ``cov``, which has no gradient; ``mean`` has. ``check_valid`` and ``tol`` are accepted, as by MXNet.

    Raises
    ------
    ValueError
        For shapes that do not fit, and a covariance that is not positive semidefinite.
    """
    mean, cov = (x if isinstance(x, ndarray) else array(x) for x in (mean, cov))
    if mean.ndim < 1 or cov.ndim < 2 or cov.shape[-2:] != (mean.shape[-1],) * 2:
        raise ValueError(
            "random.multivariate_normal: expected a mean of shape (..., k) and a covariance of shape "
            f"(..., k, k), got {mean.shape} and {cov.shape}"
        )
    factor = _call_on_host(_factor, (cov,), {})
    shape = _shape(size) + _numpy.broadcast_shapes(mean.shape, cov.shape[:-1])
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
