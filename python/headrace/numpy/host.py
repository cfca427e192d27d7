"""np functions that NumPy computes, on copies of the arrays in host memory.

They wait for their arrays, and an array that is being recorded is refused, as their gradients are not known.
Array results are np arrays on the device of the first array among the arguments; of a dtype that np arrays
cannot have (complex roots) they stay NumPy's.
"""

import functools as _functools

import numpy as _numpy

from .multiarray import call_on_host as _call_on_host

_NAMES = [
    "apply_along_axis",
    "apply_over_axes",
    "argpartition",
    "array_equiv",
    "choose",
    "compress",
    "corrcoef",
    "correlate",
    "cov",
    "digitize",
    "divmod",
    "extract",
    "frexp",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "i0",
    "imag",
    "interp",
    "intersect1d",
    "isclose",
    "isin",
    "ix_",
    "lexsort",
    "min_scalar_type",
    "modf",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanquantile",
    "nanstd",
    "nanvar",
    "packbits",
    "partition",
    "piecewise",
    "poly",
    "polyadd",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "promote_types",
    "real",
    "roots",
    "searchsorted",
    "select",
    "setdiff1d",
    "setxor1d",
    "spacing",
    "take_along_axis",
    "tril_indices_from",
    "trim_zeros",
    "triu_indices_from",
    "union1d",
    "unpackbits",
    "unwrap",
    "vander",
    "genfromtxt",
]

# Of NumPy as it is; nothing to compute.
_SETTINGS = ["finfo", "set_printoptions"]

__all__ = [*_NAMES, *_SETTINGS]


def on_host(function):
    """The NumPy function for np arrays."""

    @_functools.wraps(function)
    def call(*args, **kwargs):
        return _call_on_host(function, args, kwargs)

    call.__module__ = __name__
    call.__doc__ = f"NumPy's ``{function.__name__}``, on copies in host memory.\n\n{function.__doc__}"
    return call


globals().update({name: on_host(getattr(_numpy, name)) for name in _NAMES})
globals().update({name: getattr(_numpy, name) for name in _SETTINGS})
