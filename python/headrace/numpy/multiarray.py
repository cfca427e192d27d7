"""The array of the NumPy front end."""

import importlib
import sys

import numpy as _numpy

from .. import _core
from ..base import ArrayNotImplementedError, ArrayTypeError, ArrayValueError, MXNetError
from ..context import current_context
from ..ndarray.ndarray import NDArray, _from_record, _placed
from ..ndarray.ndarray import from_dlpack as _nd_from_dlpack
from ..ndarray.ufuncs import call_with_copies

__all__ = ["ndarray", "array", "empty"]

_reshape = _core.function("_np_reshape", True)
_transpose = _core.function("_np_transpose", True)


class ndarray(NDArray):
    """A multi-dimensional array with NumPy's semantics whose operations run asynchronously.

    Made by ``np.array``, ``np.zeros`` and friends. Zero-dimensional and zero-size arrays are ordinary arrays.

    Examples
    --------
    >>> x = np.array([[1, 2], [3, 4]])
    >>> x + 1
    array([[2., 3.],
           [4., 5.]])
    >>> x.T, x.shape, x.dtype
    (array([[1., 3.],
           [2., 4.]]), (2, 2), dtype('float32'))
    >>> x.sum(axis=0)
    array([4., 6.])
    """

    __slots__ = ()
    _is_np = True

    @property
    def dtype(self):
        """NumPy's dtype of the elements."""
        return self._numpy_dtype

    @property
    def T(self):
        """The array with its axes reversed, sharing memory."""
        return self if self.ndim < 2 else _transpose(self)

    @property
    def asscalar(self):
        """Not there: np arrays have ``item``."""
        raise AttributeError("np.ndarray has no asscalar(); use item()")

    def __array_namespace__(self, *, api_version=None):
        """`headrace.array_api`: the functions of the Python array API standard for such arrays.

        ValueError: another version of the standard was asked for.
        """
        namespace = importlib.import_module("headrace.array_api")
        versions = ("2021.12", "2022.12", "2023.12", namespace.__array_api_version__)
        if api_version is not None and api_version not in versions:
            raise ArrayValueError(
                f"__array_namespace__: api_version must be one of {', '.join(versions)}, got {api_version!r}"
            )
        return namespace

    @property
    def mT(self):
        """The array with its last two axes exchanged. ValueError: it has fewer."""
        if self.ndim < 2:
            raise ArrayValueError(f"mT: at least two axes are needed, got shape {self.shape}")
        return self.swapaxes(-1, -2)

    def to_device(self, device, /, *, stream=None):
        """The array on a device: itself if it is there, otherwise a copy. Streams are the engine's own."""
        if stream is not None:
            raise ArrayValueError("to_device: the engine chooses streams itself; leave stream out")
        return self.as_in_context(device)

    device = property(lambda self: self.ctx, doc="Where the array is: its context.")

    # --- printing, as NumPy prints ---

    def __repr__(self):
        text = repr(self.__array__())
        dtype = self._dtype_name
        if dtype == "bfloat16":  # of which NumPy shows float32
            text = text.replace("dtype=float32", "dtype=bfloat16")
        if dtype == "float32":
            text = text.replace(", dtype=float32)", ")")
            lines = text.splitlines()
            if len(lines) > 1 and lines[-1].strip() == "dtype=float32)":
                text = "\n".join(lines[:-1]).rstrip(",") + ")"
        elif dtype != "bool" and "dtype=" not in text:
            text = text[:-1] + f", dtype={dtype})"
        if self._device[0] == 2:
            text = text[:-1] + f", ctx={self.context})"
        return text

    def __str__(self):
        text = str(self.__array__())
        return f"{text} @{self.context}" if self._device[0] == 2 and self.ndim > 0 else text

    def __format__(self, spec):
        if self.ndim == 0:
            return format(self.item(), spec)
        if spec:
            raise TypeError("unsupported format string passed to numpy.ndarray.__format__")
        return str(self)

    def __round__(self, ndigits=None):
        return front_end().around(self, ndigits or 0)

    def __floor__(self):
        return front_end().floor(self)

    def __ceil__(self):
        return front_end().ceil(self)

    def __trunc__(self):
        return front_end().trunc(self)

    # --- shape ---

    def reshape(self, *shape, **kwargs):
        """The same values in another shape, sharing memory when the array is packed. One extent may be -1."""
        if len(shape) == 1:
            shape = shape[0]
        if not kwargs:
            return _reshape(self, shape)
        order = kwargs.pop("order", "C")
        for name in ("shape", "newshape"):
            shape = kwargs.pop(name, shape)
        if kwargs:
            raise TypeError(f"reshape: unexpected arguments {sorted(kwargs)}; known are shape and order")
        return _reshape(self, shape, order=order)

    def reshape_view(self, *shape, **kwargs):
        """Like ``reshape``."""
        return self.reshape(*shape, **kwargs)

    def reshape_like(self, other):
        """The same values in the shape of another array."""
        return self.reshape(other.shape)

    def transpose(self, *axes):
        """The array with its axes permuted (reversed by default), sharing memory."""
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
            axes = axes[0]
        return _transpose(self, axes or None)

    def flatten(self, order="C"):
        """A one-dimensional copy."""
        return _reshape(self, -1, order=order).copy()

    def ravel(self, order="C"):
        """The values in one dimension, sharing memory when the array is packed."""
        return _reshape(self, -1, order=order)

    # --- with the options of NumPy's methods ---

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """The values converted to ``dtype``; the array itself when nothing changes and ``copy`` is False.

        Raises
        ------
        TypeError
            When ``casting``, as in NumPy, does not allow it.
        """
        if casting != "unsafe" and not _numpy.can_cast(self.dtype, dtype, casting):
            raise ArrayTypeError(
                f"astype: casting={casting!r} does not allow {self._dtype_name} to become {dtype}"
            )
        return NDArray.astype(self, dtype, copy)

    def copy(self, order="C"):
        """A copy with memory of its own, on the same device.

        Raises
        ------
        NotImplementedError
            For an ``order`` other than 'C'.
        """
        if order != "C":
            raise ArrayNotImplementedError(f"copy: only order='C', row-major, is there, got {order!r}")
        return super().copy()

    def sort(self, axis=-1, kind=None, order=None):
        """Sorts the array in place along an axis.

        Raises
        ------
        NotImplementedError
            For ``order``: arrays have no fields.
        """
        if order is not None:
            raise ArrayNotImplementedError("sort: order names fields, and arrays have none; leave it out")
        self[...] = front_end().sort(self, axis)

    # --- NumPy protocols ---

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        if method != "__call__":
            return call_on_host(getattr(ufunc, method), inputs, kwargs)
        function = getattr(front_end(), _UFUNC_NAMES.get(ufunc.__name__, ufunc.__name__), None)
        if function is None or not all(isinstance(one, NDArray) for one in out or ()):
            return call_on_host(ufunc, inputs, {**kwargs, "out": out})
        if out is not None:
            kwargs["out"] = out[0] if isinstance(out, tuple) and len(out) == 1 else out
        arrays = [array(i) if isinstance(i, (_numpy.ndarray, list)) else i for i in inputs]
        return function(*arrays, **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        name = function.__name__
        module = front_end()
        if function.__module__ == "numpy.linalg":
            module = module.linalg
        own = getattr(module, name, None)
        if own is None:
            return call_on_host(function, args, kwargs)
        try:
            result = own(*args, **kwargs)
        except (TypeError, NotImplementedError):  # arguments that NumPy takes and np does not
            return call_on_host(function, args, kwargs)
        if name == "count_nonzero" and isinstance(result, ndarray) and result.ndim == 0:
            return int(result)  # of NumPy's functions the one that gives a Python number
        gives_tuple = name in _OF_TUPLES and isinstance(result, list)
        return tuple(result) if gives_tuple else result

    def __reduce__(self):
        made = (_new_np_array, ()) if type(self) is ndarray else (_from_record, (type(self), None))
        return *made, {"handle": self._record()}


_core.set_class(ndarray, True)


def _new_np_array():
    return ndarray.__new__(ndarray)


# Functions whose several results NumPy gives as a tuple, np as a list.
_OF_TUPLES = {"histogram"}
if _numpy.lib.NumpyVersion(_numpy.__version__) >= "2.0.0":
    _OF_TUPLES |= {"broadcast_arrays", "meshgrid", "atleast_1d", "atleast_2d", "atleast_3d"}

# NumPy's names of ufuncs that have another name here.
_UFUNC_NAMES = {"divide": "true_divide", "conjugate": "positive", "invert": "bitwise_not"}


def front_end():
    """The module ``headrace.numpy``, for its own modules."""
    return sys.modules[__package__]


def _first_array(values):
    for value in values:
        found = _first_array(value) if isinstance(value, (list, tuple)) else value
        if isinstance(found, NDArray):
            return found
    return None


def call_on_host(function, args, kwargs):
    """Runs a NumPy function on copies of the arrays.

    Array results come back as np arrays on the device of the first array, those of a dtype that np arrays
    cannot have as they are; several in the list or tuple that NumPy's function gives. ``out``: an array, or a
    tuple of one for each result, that receives the results.
    """
    first = _first_array([*args, *kwargs.values()])

    def brought_back(value):
        if isinstance(value, (tuple, list)):
            return getattr(value, "_make", type(value))(map(brought_back, value))
        if not isinstance(value, _numpy.ndarray) or value.dtype.kind not in "biuf":
            return value
        return array(value, ctx=first.ctx if first is not None else None)

    result = call_with_copies(function, args, kwargs)
    return result if kwargs.get("out") is not None else brought_back(result)


def array(object, dtype=None, ctx=None):
    """An np array with a copy of the values of an array, NumPy array or nested sequence.

    ``dtype``: that of an array source, float32 for sequences and scalars, unless given.

    Raises
    ------
    TypeError
        For ragged sequences and for what are no numbers.

    Examples
    --------
    >>> np.array([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    >>> np.array([1, 2], dtype="int64")
    array([1, 2], dtype=int64)
    """
    if isinstance(object, NDArray):
        if not isinstance(object, ndarray):
            raise ValueError("array: the source is an nd.NDArray; use its as_np_ndarray()")
        made = _core.array(object, dtype, True)
        return _placed(made, ctx)
    if dtype is None and not hasattr(object, "__array_interface__"):
        dtype = "float32"
        object = _plain(object)
    try:
        made = _core.array(object, dtype, True)
    except (ValueError, TypeError) as error:
        if isinstance(error, MXNetError):
            raise
        raise TypeError(
            f"array: the source must be an array or a nested sequence of numbers: {error}"
        ) from None
    return _placed(made, ctx)


def _plain(values):
    """Nested sequences with arrays among them as sequences of NumPy arrays."""
    if isinstance(values, (list, tuple)):
        return [v.asnumpy() if isinstance(v, NDArray) else _plain(v) for v in values]
    return values


def empty(shape, dtype=None, order="C", ctx=None):
    """An np array of a shape, whose values are undefined; float32 unless ``dtype`` says otherwise.

    Raises
    ------
    NotImplementedError
        For an ``order`` other than row-major, 'C'.
    ValueError
        For a negative extent.

    Examples
    --------
    >>> np.empty((2, 3), dtype="int32").shape
    (2, 3)
    """
    if order != "C":
        raise NotImplementedError(f"empty: only order='C' is there, got {order!r}")
    ctx = ctx if ctx is not None else current_context()
    return _core.empty(shape, dtype or "float32", ctx.device_typeid, ctx.device_id, True)


def from_dlpack(x):
    """An np array over the memory of a DLPack capsule, or of an object with ``__dlpack__``: nothing is
    copied.

    TypeError: it is neither.

    Examples
    --------
    >>> import numpy
    >>> values = numpy.arange(3.0)
    >>> np.from_dlpack(values)
    array([0., 1., 2.], dtype=float64)
    """
    return _nd_from_dlpack(x).as_np_ndarray()
