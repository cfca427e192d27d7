"""Whether a generator of random numbers has the distribution that it should have."""

import numpy as np

try:
    import scipy.stats as ss
except ImportError:
    ss = None

__all__ = [
    "chi_square_check",
    "gen_buckets_probs_with_ppf",
    "mean_check",
    "ss",
    "var_check",
    "verify_generator",
]


def gen_buckets_probs_with_ppf(ppf, nbuckets):
    """(buckets, probabilities) of equally likely intervals, for the quantile function `ppf`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> quantile = lambda p: 2 * p  # of the uniform distribution on [0, 2]
    >>> test_utils.gen_buckets_probs_with_ppf(quantile, 4)
    ([(0.0, 0.5), (0.5, 1.0), (1.0, 1.5), (1.5, 2.0)], [0.25, 0.25, 0.25, 0.25])
    """
    assert nbuckets > 0
    edges = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(zip(edges, edges[1:])), [1.0 / nbuckets] * nbuckets


def _host(samples):
    return samples.asnumpy() if hasattr(samples, "asnumpy") else np.array(samples)


def mean_check(generator, mu, sigma, nsamples=1000000):
    """Whether the mean of `generator(nsamples)` is within three standard deviations (of a mean) of `mu`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> draw = lambda count: nd.random.normal(loc=2, shape=count).asnumpy()
    >>> test_utils.mean_check(draw, mu=3, sigma=1, nsamples=1000)
    False
    """
    distance = abs(_host(generator(nsamples)).mean() - mu)
    return bool(distance < 3 * sigma / np.sqrt(nsamples))


def var_check(generator, sigma, nsamples=1000000):
    """Whether the variance of `generator(nsamples)` is within three standard deviations (of a variance of
    normal numbers) of `sigma ** 2`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> draw = lambda count: nd.random.normal(scale=1, shape=count).asnumpy()
    >>> test_utils.var_check(draw, sigma=2, nsamples=1000)
    False
    """
    distance = abs(_host(generator(nsamples)).var(ddof=1) - sigma**2)
    return bool(distance < 3 * np.sqrt(2 * sigma**4 / (nsamples - 1)))


def chi_square_check(generator, buckets, probs, nsamples=1000000):
    """Compares frequencies in `generator(nsamples)` with probabilities; needs SciPy.

    buckets : a list of (from, to) in ascending order, or of the values of a discrete distribution
    probs : the probability of each
    Returns the p value (large: the frequencies are likely), the frequencies found, and those expected.
    ImportError: there is no SciPy.

    Examples
    --------
    >>> import scipy
    >>> from headrace.mxnet import test_utils
    >>> draw = lambda count: nd.random.randint(0, 2, shape=count).asnumpy()
    >>> p, found, expected = test_utils.chi_square_check(draw, [0, 1], [0.5, 0.5], nsamples=1000)
    >>> int(found.sum()), expected.tolist()
    (1000, [500, 500])
    """
    if ss is None:
        raise ImportError("chi_square_check: SciPy is needed for the chi-square distribution; install scipy")
    assert isinstance(buckets, list) and len(buckets) == len(probs)
    samples = _host(generator(nsamples)).ravel()
    if isinstance(buckets[0], (list, tuple)):
        edges = np.array(buckets, dtype=np.float32).ravel()
        assert np.all(edges[1:] >= edges[:-1]), "buckets must be in ascending order and must not overlap"
        samples = np.searchsorted(edges, samples, side="right") // 2
        values = range(len(buckets))
    else:
        values = buckets
    found = np.array([np.count_nonzero(samples == value) for value in values])
    expected = (nsamples * np.array(probs, dtype=np.float32)).astype(np.int32)
    # The totals may differ (rounding, values outside of all buckets); newer SciPy refuses that.
    statistic = np.sum((found - expected) ** 2 / expected)
    return ss.chi2.sf(statistic, len(buckets) - 1), found, expected


def verify_generator(generator, buckets, probs, nsamples=1000000, nrepeat=5, success_rate=0.2, alpha=0.05):
    """chi_square_check `nrepeat` times; returns the p values.

    AssertionError: less than a share `success_rate` of them is above `alpha`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import scipy
    >>> draw = lambda count: nd.random.randint(0, 2, shape=count).asnumpy()
    >>> p_values = test_utils.verify_generator(draw, [0, 1], [0.5, 0.5], nsamples=1000, nrepeat=3)
    >>> len(p_values)
    3
    """
    checks = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    p_values = [check[0] for check in checks]
    passed = sum(p > alpha for p in p_values)
    if passed < nrepeat * success_rate:
        raise AssertionError(
            f"Generator test fails: {passed} of {nrepeat} p values are above {alpha}, expected at least "
            f"{nrepeat * success_rate:g}.\np={p_values}\nfound={[check[1].tolist() for check in checks]}\n"
            f"expected={checks[0][2].tolist()}\nbuckets={buckets}, probs={probs}"
        )
    return p_values
