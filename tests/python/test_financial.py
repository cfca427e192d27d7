"""np.pv, ppmt, npv, rate and mirr, by the equation that they solve and by known examples."""

import numpy
import pytest

from headrace import np


def test_known_examples():
    numpy.testing.assert_allclose(np.pv(0.05 / 12, 120, -100, 15692.93), -100.00067131625819)
    numpy.testing.assert_allclose(
        np.npv(0.281, np.array([-100, 39, 59, 55, 20.0])), -0.00847859163845488, rtol=1e-4
    )
    numpy.testing.assert_allclose(np.rate(10, 0, -3500, 10000), 0.11069085371426901)
    values = np.array([-4500, -800, 800, 800, 600, 600, 800, 800, 700, 3000])
    numpy.testing.assert_allclose(np.mirr(values, 0.08, 0.055), 0.0665971750315535)
    assert numpy.isnan(np.mirr([1, 2], 0.1, 0.1))


@pytest.mark.parametrize("when", ["end", "begin"])
def test_principal_parts_pay_the_loan(when):
    periods = np.arange(1, 25)
    parts = np.ppmt(0.1 / 12, periods, 24, 2000, when=when).asnumpy()
    numpy.testing.assert_allclose(parts.sum(), -2000, rtol=1e-5)


@pytest.mark.parametrize("when", ["end", "begin", 0, 1])
def test_rates_and_present_values_belong_together(when):
    worth = np.pv(np.array([0.05, 0.0, -0.01]), 10, -100, 0, when).asnumpy()
    found = np.rate(10, -100, worth, 0, when)
    numpy.testing.assert_allclose(found.asnumpy(), [0.05, 0, -0.01], atol=1e-6)


def test_other_dues_are_refused():
    with pytest.raises(ValueError, match="begin"):
        np.pv(0.1, 10, 1, 1, "middle")
