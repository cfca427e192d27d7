"""Financial functions that NumPy had until 1.19, on copies of the arrays in host memory.

Payments `pmt`, present values `pv` and future values `fv` belong together by

    fv + pv (1 + rate)^nper + pmt (1 + rate when) ((1 + rate)^nper - 1) / rate = 0,

the last fraction being `nper` for a rate of 0. `when`: 'end' or 0, 'begin' or 1, whether payments are due
at the ends or the beginnings of periods. Arguments broadcast.
"""

import numpy as _numpy

from .host import on_host as _on_host

__all__ = ["mirr", "npv", "ppmt", "pv", "rate"]

_DUE = {"end": 0, "e": 0, "finish": 0, "begin": 1, "b": 1, "beginning": 1, "start": 1, 0: 0, 1: 1}


def _due(when):
    if isinstance(when, _numpy.ndarray):
        return when
    if isinstance(when, (list, tuple)):
        return _numpy.array([_due(one) for one in when])
    if when not in _DUE:
        raise ValueError(f"when must be 'begin' or 1, 'end' or 0; got {when!r}")
    return _DUE[when]


def _growth(rate, nper):
    """(1 + rate)^nper, and the sum of its powers below `nper`."""
    factor = (1 + rate) ** nper
    safe = _numpy.where(rate == 0, 1, rate)
    return factor, _numpy.where(rate == 0, nper, (factor - 1) / safe)


def _arrays(*arguments):
    return _numpy.broadcast_arrays(*(_numpy.asarray(one, "float64") for one in arguments))


def _pmt(rate, nper, pv, fv, due):
    factor, sums = _growth(rate, nper)
    return -(fv + pv * factor) / ((1 + rate * due) * sums)


@_on_host
def pv(rate, nper, pmt, fv=0, when="end"):
    """What payments of `pmt` in `nper` periods, and `fv` at the end, are worth now.

    Examples
    --------
    >>> round(float(np.pv(0.05, 10, -100)), 2)  # ten payments of 100 are worth that today
    772.17
    """
    rate, nper, pmt, fv, due = _arrays(rate, nper, pmt, fv, _due(when))
    factor, sums = _growth(rate, nper)
    return (-(fv + pmt * (1 + rate * due) * sums) / factor)[()]


@_on_host
def ppmt(rate, per, nper, pv, fv=0, when="end"):
    """The part of the payment in period `per` (from 1) that is no interest.

    Examples
    --------
    >>> np.ppmt(0.1, np.array([1, 2, 3]), 3, 1000).round(2)
    array([-302.11, -332.33, -365.56], dtype=float64)
    """
    rate, per, nper, pv, fv, due = _arrays(rate, per, nper, pv, fv, _due(when))
    payment = _pmt(rate, nper, pv, fv, due)
    factor, sums = _growth(rate, per - 1)
    balance = -(pv * factor + payment * (1 + rate * due) * sums)
    interest = _numpy.where(due == 1, balance * rate / (1 + rate), balance * rate)
    interest = _numpy.where((due == 1) & (per == 1), 0, interest)
    return (payment - interest)[()]


@_on_host
def npv(rate, values):
    """The sum of `values[t] / (1 + rate)^t`.

    Examples
    --------
    >>> round(float(np.npv(0.1, [-100, 60, 60])), 2)
    4.13
    """
    values = _numpy.asarray(values)
    return (values / (1 + rate) ** _numpy.arange(len(values))).sum(axis=0)


@_on_host
def rate(nper, pmt, pv, fv, when="end", guess=0.1, tol=1e-6, maxiter=100):
    """The rate per period, by Newton's method from `guess`; NaN where it is not found to `tol`.

    Examples
    --------
    >>> round(float(np.rate(10, -100, 772.17, 0)), 4)
    0.05
    """
    nper, pmt, pv, fv, due, found = _arrays(nper, pmt, pv, fv, _due(when), 0.1 if guess is None else guess)
    tol = 1e-6 if tol is None else tol
    found = found.copy()
    for _ in range(maxiter):
        factor, sums = _growth(found, nper)
        slope = nper * (1 + found) ** (nper - 1)
        of_sums = _numpy.where(
            found == 0, nper * (nper - 1) / 2, (slope - sums) / _numpy.where(found == 0, 1, found)
        )
        value = fv + pv * factor + pmt * (1 + found * due) * sums
        change = value / (pv * slope + pmt * (due * sums + (1 + found * due) * of_sums))
        found = found - change
        if (_numpy.abs(change) < tol).all():
            return found[()]
    return _numpy.where(_numpy.abs(change) < tol, found, _numpy.nan)[()]


@_on_host
def mirr(values, finance_rate, reinvest_rate):
    """The modified internal rate of return: payments at `finance_rate`, income invested at `reinvest_rate`.

    NaN unless `values` have both signs.

    Examples
    --------
    >>> round(float(np.mirr([-100, 60, 60], 0.1, 0.12)), 4)
    0.1278
    """
    values = _numpy.asarray(values, "float64")
    income, payments = _numpy.maximum(values, 0), _numpy.minimum(values, 0)
    if not (income.any() and payments.any()):
        return _numpy.nan
    times = _numpy.arange(values.size)
    earned = (income / (1 + reinvest_rate) ** times).sum()
    paid = -(payments / (1 + finance_rate) ** times).sum()
    return (earned / paid) ** (1 / (values.size - 1)) * (1 + reinvest_rate) - 1
