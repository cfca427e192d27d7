"""np functions of numbers alone: they are NumPy's, and give NumPy's scalars at once."""

import numpy as _numpy

# Pointwise functions that are no ufuncs of NumPy; MXNet's name and NumPy's.
_OTHERS = {
    "around": "around",
    "fabs": "abs",
    "fix": "fix",
    "isneginf": "isneginf",
    "isposinf": "isposinf",
    "nan_to_num": "nan_to_num",
    "round": "around",
    "round_": "around",
}


def _host_twin(name):
    """NumPy's function for numbers under an np name, or None."""
    twin = getattr(_numpy, _OTHERS.get(name, name), None)
    is_pointwise = name in _OTHERS or (isinstance(twin, _numpy.ufunc) and twin.signature is None)
    return twin if is_pointwise else None


def give_scalars(namespace, names):
    """Lets the pointwise functions among a module's operators leave calls with numbers alone to NumPy.

    With an array among the positional arguments, or with `out`, they stay what they are.
    """
    for name in names:
        twin = _host_twin(name)
        if twin is not None:
            namespace[name].of_numbers = twin
