"""Functions of mxnet.util that only MXNet's own kind of code needs."""

import ctypes
import functools

from .._semantics import _Scope, is_np_array, is_np_shape, set_np

# Keywords of NumPy's ufuncs: their defaults, and what NumPy takes.
_UFUNC_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
_UFUNC_OPTIONS = {
    "where": (True, False),
    "casting": ("no", "equiv", "safe", "same_kind", "unsafe"),
    "order": ("C", "F", "A", "K"),
    "dtype": ("int8", "uint8", "int32", "int64", "float16", "float32", "float64", "int", "float"),
    "subok": (True, False),
}


class _NumpyArrayScope(_Scope):
    """What np_array() gives, by the name and with the field that MXNet's has."""

    def __init__(self, is_np_array):
        super().__init__(array=bool(is_np_array))
        self._is_np_array = is_np_array


class _NumpyShapeScope(_Scope):
    """The same of np_shape()."""

    def __init__(self, is_np_shape):
        super().__init__(shape=bool(is_np_shape))
        self._is_np_shape = is_np_shape


def set_module(module):
    """A decorator that sets where a function or class says it is from."""

    def decorate(target):
        if module is not None:
            target.__module__ = module
        return target

    return decorate


def _set_np_array(active):
    """Switches NumPy array semantics; returns the previous setting."""
    previous = is_np_array()
    set_np(shape=is_np_shape() or active, array=active)
    return previous


def np_ufunc_legal_option(key, value):
    """Whether ufuncs of NumPy take a value for a keyword: where, casting, order, dtype, subok."""
    if key == "dtype":
        value = getattr(value, "__name__", value)
    return any(value is known or value == known for known in _UFUNC_OPTIONS.get(key, ()))


def _refuse_options(kwargs):
    """TypeError: another keyword than a ufunc's, or a value that it does not take. NotImplementedError: a
    value other than the default.
    """
    for key, value in kwargs.items():
        if key not in _UFUNC_DEFAULTS:
            raise TypeError(f"{key} is an invalid keyword to this function")
        if value != _UFUNC_DEFAULTS[key]:
            if np_ufunc_legal_option(key, value):
                raise NotImplementedError(f"{key}={value} is not implemented yet; leave {key} out")
            raise TypeError(f"{key} {value} not understood")


def wrap_np_unary_func(func):
    """A decorator of `func(x, out=None)`: takes the keywords of a ufunc, with their defaults."""

    @functools.wraps(func)
    def wrapped(x, out=None, **kwargs):
        _refuse_options(kwargs)
        return func(x, out=out)

    return wrapped


def wrap_np_binary_func(func):
    """A decorator of `func(x1, x2, out=None)`: takes the keywords of a ufunc, with their defaults."""

    @functools.wraps(func)
    def wrapped(x1, x2, out=None, **kwargs):
        _refuse_options(kwargs)
        return func(x1, x2, out=out)

    return wrapped


def get_cuda_compute_capability(ctx):
    """The compute capability of a real GPU: 70 for sm_70.

    ValueError: `ctx` is no GPU. OSError: there is no CUDA driver. RuntimeError: it refuses.
    """
    if ctx.device_type != "gpu":
        raise ValueError(f"get_cuda_compute_capability: expected a gpu context, got {ctx}")
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise OSError(f"get_cuda_compute_capability: there is no CUDA driver ({error})") from error
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    for name, *arguments in (
        ("cuInit", 0),
        ("cuDeviceGet", ctypes.byref(device), ctx.device_id),
        ("cuDeviceComputeCapability", ctypes.byref(major), ctypes.byref(minor), device),
    ):
        if status := getattr(cuda, name)(*arguments):
            raise RuntimeError(f"get_cuda_compute_capability: {name} failed with status {status}")
    return major.value * 10 + minor.value
