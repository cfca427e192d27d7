"""np functions that NumPy computes, on copies of the arrays in host memory.

They wait for their arrays, and an array that is being recorded is refused, as their gradients are not known.
Array results are np arrays on the device of the first array among the arguments; of a dtype that np arrays
cannot have (complex roots) they stay NumPy's.
"""

import functools as _functools

import numpy as _numpy

from ._host_examples import EXAMPLES as _EXAMPLES
from .multiarray import call_on_host as _call_on_host

# Of NumPy as it is; nothing to compute.
_SETTINGS = ["finfo", "set_printoptions"]

__all__ = [*_EXAMPLES, *_SETTINGS]


# Keywords that NumPy has dropped: what they are called now, or None where they had no effect.
_FORMER_KEYWORDS = {
    "corrcoef": {"bias": None, "ddof": None},
    "histogram2d": {"normed": "density"},
    "histogramdd": {"normed": "density"},
    "nanpercentile": {"interpolation": "method"},
    "nanquantile": {"interpolation": "method"},
}


# Where the docstring of a function here ends, and that of NumPy begins.
FROM_NUMPY = "\n\nIn NumPy's words:\n"


def on_host(function):
    """A function of NumPy arrays for np arrays."""
    former = _FORMER_KEYWORDS.get(function.__name__, {})

    @_functools.wraps(function)
    def call(*args, **kwargs):
        for name in former.keys() & kwargs.keys():
            value = kwargs.pop(name)
            if former[name] is not None:
                kwargs[former[name]] = value
        return _call_on_host(function, args, kwargs)

    return call


def of_numpy(function, example):
    """NumPy's function for np arrays, with an example of its own above NumPy's docstring."""
    call = on_host(function)
    call.__module__ = __name__
    shown = example.strip().replace("\n    ", "\n")
    call.__doc__ = (
        f"NumPy's ``{function.__name__}``, on copies in host memory."
        f"\n\nExamples\n--------\n{shown}{FROM_NUMPY}{function.__doc__}"
    )
    return call


globals().update({name: of_numpy(getattr(_numpy, name), example) for name, example in _EXAMPLES.items()})
globals().update({name: getattr(_numpy, name) for name in _SETTINGS})
