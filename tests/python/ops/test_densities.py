"""random_pdf_*: formulas of the densities, shapes of parameters, gradients of counts; Hawkes processes."""

import math

import numpy
import pytest

from headrace import autograd, nd
from headrace.base import MXNetError

RANDOM = numpy.random.RandomState(11)


def log_gamma(x):
    return numpy.vectorize(math.lgamma)(x)


def binomial(x, k, p):
    return log_gamma(x + k) - log_gamma(x + 1) - log_gamma(k) + k * numpy.log(p) + x * numpy.log(1 - p)


# Name, logarithm of the density, whether samples are counts, ranges of the parameters.
CASES = {
    "uniform": (lambda x, a, b: -numpy.log(b - a) + 0 * x, False, [(0, 0.4), (2, 3)]),
    "normal": (
        lambda x, m, s: -((x - m) ** 2) / (2 * s * s) - numpy.log(s * numpy.sqrt(2 * numpy.pi)),
        False,
        [(-1, 1), (0.5, 2)],
    ),
    "gamma": (
        lambda x, a, b: a * numpy.log(b) + (a - 1) * numpy.log(x) - b * x - log_gamma(a),
        False,
        [(0.5, 2), (0.5, 2)],
    ),
    "exponential": (lambda x, r: numpy.log(r) - r * x, False, [(0.5, 2)]),
    "poisson": (lambda x, r: x * numpy.log(r) - log_gamma(x + 1) - r, True, [(0.5, 2)]),
    "negative_binomial": (binomial, True, [(0.5, 2), (0.2, 0.8)]),
    "generalized_negative_binomial": (
        lambda x, m, a: binomial(x, 1 / a, 1 / (m * a + 1)),
        True,
        [(0.5, 2), (0.5, 2)],
    ),
}


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_densities(name, is_log):
    formula, counts, ranges = CASES[name]
    sample = RANDOM.randint(0, 6, (2, 3, 4)) if counts else RANDOM.uniform(0.5, 2, (2, 3, 4))
    parameters = [RANDOM.uniform(low, high, (2, 3)) for low, high in ranges]
    expected = formula(sample, *(one[:, :, None] for one in parameters))
    arrays = [nd.array(one, dtype="float64") for one in [sample, *parameters]]
    for one in arrays:
        one.attach_grad()
    with autograd.record():
        result = getattr(nd, "random_pdf_" + name)(*arrays, is_log=is_log)
    result.backward()
    numpy.testing.assert_allclose(result.asnumpy(), expected if is_log else numpy.exp(expected), rtol=1e-6)
    assert arrays[0].grad.asnumpy().any() == (not counts and name != "uniform")
    assert all(one.grad.asnumpy().all() for one in arrays[1:])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 4, 3)])
def test_dirichlet(shape):
    sample, alpha = RANDOM.uniform(0.1, 0.9, shape), RANDOM.uniform(0.5, 2, (3,))
    result = nd.random_pdf_dirichlet(
        nd.array(sample, dtype="float64"), nd.array(alpha, dtype="float64"), is_log=True
    )
    constant = math.lgamma(alpha.sum()) - log_gamma(alpha).sum()
    expected = ((alpha - 1) * numpy.log(sample)).sum(-1) + constant
    assert result.shape == (shape[:-1] or (1,))
    numpy.testing.assert_allclose(result.asnumpy(), expected.reshape(result.shape), rtol=1e-6)


def test_parameters_have_the_first_axes():
    with pytest.raises(MXNetError, match="first axes of sample"):
        nd.random_pdf_normal(nd.ones((2, 3)), nd.ones((3,)), nd.ones((3,)))
    with pytest.raises(MXNetError, match="alpha must have"):
        nd.random_pdf_dirichlet(nd.ones((2, 3)), nd.ones((2, 2)))


def hawkes_log_likelihood(lda, alpha, beta, state, lags, marks, length, end):
    """By its definition: the sum of log intensities at events minus the integral of all intensities."""
    times = numpy.cumsum(lags)[: int(length)]
    total = 0.0
    for kind in range(len(lda)):
        own = [t for t, mark in zip(times, marks) if mark == kind]
        for i, t in enumerate(own):
            memory = state[kind] * math.exp(-beta[kind] * t)
            memory += sum(math.exp(-beta[kind] * (t - before)) for before in own[:i])
            total += math.log(lda[kind] + alpha[kind] * beta[kind] * memory)
        total -= lda[kind] * end + alpha[kind] * state[kind] * (1 - math.exp(-beta[kind] * end))
        total -= alpha[kind] * sum(1 - math.exp(-beta[kind] * (end - t)) for t in own)
    return total


def test_hawkes_processes():
    lda, state = RANDOM.uniform(0.5, 1.5, (3, 2)), RANDOM.uniform(0, 1, (3, 2))
    alpha, beta = RANDOM.uniform(0.2, 0.8, (2,)), RANDOM.uniform(0.5, 2, (2,))
    lags, marks = RANDOM.uniform(0.1, 1, (3, 4)), RANDOM.randint(0, 2, (3, 4))
    lengths, ends = numpy.array([4.0, 2.0, 0.0]), numpy.array([5.0, 6.0, 7.0])

    def total(lda, alpha, beta):
        rows = zip(lda, state, lags, marks, lengths, ends)
        return [hawkes_log_likelihood(row[0], alpha, beta, *row[1:]) for row in rows]

    arrays = [nd.array(one, dtype="float64") for one in (lda, alpha, beta, state, lags)]
    for one in arrays[:3]:
        one.attach_grad()
    with autograd.record():
        result, after = nd.contrib.hawkesll(
            *arrays,
            nd.array(marks, dtype="int32"),
            *(nd.array(one, dtype="float64") for one in (lengths, ends)),
        )
    result.backward()
    numpy.testing.assert_allclose(result.asnumpy(), total(lda, alpha, beta), rtol=1e-10)
    numpy.testing.assert_allclose(after.asnumpy()[2], state[2] * numpy.exp(-beta * 7), rtol=1e-10)
    for k in range(3):
        host = [lda, alpha, beta]
        for index in numpy.ndindex(host[k].shape):
            change = numpy.zeros_like(host[k])
            change[index] = 1e-6
            up, down = ([*host[:k], host[k] + sign * change, *host[k + 1 :]] for sign in (1, -1))
            slope = (sum(total(*up)) - sum(total(*down))) / 2e-6
            numpy.testing.assert_allclose(arrays[k].grad.asnumpy()[index], slope, rtol=1e-5)


def test_hawkes_refuses_marks_that_are_no_kinds():
    one = nd.ones((1, 1))
    marks = nd.array([[1]], dtype="int32")
    with pytest.raises(ValueError, match="marks must be from 0 to 0"):
        nd.contrib.hawkesll(one, one[0], one[0], one, one, marks, one[0], one[0])[0].asnumpy()
    with pytest.raises(MXNetError, match="int32"):
        nd.contrib.hawkesll(one, one[0], one[0], one, one, one, one[0], one[0])
