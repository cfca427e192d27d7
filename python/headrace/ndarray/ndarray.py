"""NDArray: the array of MXNet's legacy front end, and what both front ends' arrays have in common."""

import ctypes
import numbers
import sys
import warnings
import weakref

import numpy as _numpy

from .. import _catalogue, _core
from ..base import MXNetError
from ..context import Context, context_of, cpu, current_context, named_context
from .handles import array_of, number_of, share
from .ufuncs import apply_ufunc

__all__ = [
    "NDArray",
    "array",
    "zeros",
    "empty",
    "from_numpy",
    "from_dlpack",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "power",
    "waitall",
    "concatenate",
    "moveaxis",
    "onehot_encode",
]

_DLPACK_CPU, _DLPACK_CUDA = 1, 2
_LEGACY_STREAM = 1  # CUDA's default stream, in the protocol of DLPack

_reshape = _core.function("Reshape", False)
_cast = {False: _core.function("Cast", False), True: _core.function("Cast", True)}
_contiguous = {np: _core.function("_contiguous", np) for np in (False, True)}
_zeros = _core.function("_zeros", False)
_broadcast_like = {np: _core.function("broadcast_like", np) for np in (False, True)}
# By whether they are np's, and whether the result shares memory.
_expand_dims, _squeeze, _flatten = (
    {(np, shares): _core.function(name, np, not shares) for np in (False, True) for shares in (False, True)}
    for name in ("expand_dims", "squeeze", "Flatten")
)
_slice_assign, _slice_assign_scalar = (
    {np: _core.function(name, np) for np in (False, True)}
    for name in ("_slice_assign", "_slice_assign_scalar")
)
_power = _catalogue.functions("nd")["power"]
waitall = _core.wait_all


class NDArray(_core.Array):
    """A multi-dimensional array whose operations run asynchronously.

    Operations return at once; ``asnumpy``, ``asscalar``, printing and ``wait_to_read`` wait for the values.
    Made by ``nd.array``, ``nd.zeros`` and friends. Calling the class with the ``handle`` of an array, or with
    an array, gives that array, with its memory and its gradient; without one, an array without elements.

    Examples
    --------
    >>> x = nd.array([[1, 2], [3, 4]])
    >>> x + 1
    [[2. 3.]
     [4. 5.]]
    <NDArray 2x2 @cpu(0)>
    >>> x[0], x.shape, x.dtype, x.context
    (
    [1. 2.]
    <NDArray 2 @cpu(0)>, (2, 2), <class 'numpy.float32'>, cpu(0))
    >>> x.asnumpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """

    __slots__ = ()
    __array_priority__ = 1000.0

    def __new__(cls, handle=None, writable=True):
        if handle is None:
            return super().__new__(cls)
        array = array_of(handle)
        return array.as_np_ndarray() if cls._is_np else array.as_nd_ndarray()

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        return apply_ufunc(NDArray, ufunc, method, inputs, out, kwargs)

    # --- what it is ---

    @property
    def dtype(self):
        """NumPy's scalar type of the elements (``numpy.float32``)."""
        dtype = self._numpy_dtype
        return dtype if dtype.names else dtype.type  # bfloat16 is a structured dtype there

    @property
    def __numpy_dtype__(self):
        """What ``numpy.dtype(array)`` gives, from NumPy 2.4 on."""
        return self._numpy_dtype

    @property
    def context(self):
        """The device on which the array lives."""
        return context_of(self._device)

    ctx = context

    @property
    def nbytes(self):
        """Bytes of all elements; of a sparse array as if it was dense."""
        return self.size * self._numpy_dtype.itemsize

    @property
    def handle(self):
        """A number that names the array object while it lives: ``NDArray(x.handle)`` is the same array."""
        return number_of(self)

    _to_shared_mem = share

    @property
    def _as_parameter_(self):
        return ctypes.c_void_p(self.handle)  # by which ctypes.cast(x, NDArrayHandle) takes an array

    @property
    def T(self):
        """The array with its axes reversed."""
        return self if self.ndim < 2 else self.transpose()

    def __repr__(self):
        values = str(self.__array__())
        return f"\n{values}\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self.context}>"

    __str__ = __repr__

    def __format__(self, spec):
        if spec:
            raise TypeError(f"unsupported format string passed to {type(self).__name__}.__format__")
        return str(self)

    @property
    def writable(self):
        """True: every array can be written to."""
        return True

    def _slice(self, start, stop):
        """Rows `start` to `stop`, sharing memory."""
        return self[start:stop]

    def _at(self, idx):
        """Row `idx`, sharing memory."""
        return self[idx]

    # --- values ---

    asscalar = _core.Array._asscalar
    item = _core.Array._item
    to_numpy = _core.Array.asnumpy  # the name that libraries of plots and tables look for

    def astype(self, dtype, copy=True):
        """The values converted to ``dtype``; the array itself when nothing changes and ``copy`` is False."""
        if not copy and _core.dtype_name(dtype) == self._dtype_name:
            return self
        return _cast[self._is_np](self, dtype=dtype)

    _is_np = False

    def copy(self):
        """A copy with memory of its own, row after row, on the same device."""
        return self._copy() if self._is_contiguous else _contiguous[self._is_np](self)

    def copyto(self, other):
        """Copies the values into an array (cast to its dtype), which is returned, or to a device, giving a
        new array that gradients flow back through.

        Raises
        ------
        MXNetError
            When the shapes differ.
        TypeError
            When ``other`` is neither an array nor a Context.
        """
        if isinstance(other, NDArray):
            if other is self:
                warnings.warn("You are attempting to copy an array to itself", RuntimeWarning, stacklevel=2)
                return False
            _core.copy_into(other, self)
            return other
        if isinstance(other, Context):
            return _core.copy_to_device(self, other.device_typeid, other.device_id)
        raise TypeError(f"copyto: the destination must be an array or a Context, got {type(other).__name__}")

    def as_in_context(self, context):
        """The array itself when it is on ``context`` already, a copy there otherwise."""
        if self.context == context:
            return self
        return self.copyto(context)

    def as_in_ctx(self, ctx):
        """The same as `as_in_context`."""
        return self.as_in_context(ctx)

    def to(self, device):
        """The array on a device: a Context, or its name ("gpu", "cpu(1)").

        The array itself when it is there already, a copy otherwise. ValueError: there is no such device.
        """
        return self.as_in_context(device if isinstance(device, Context) else named_context(device))

    def numpy(self):
        """The same as `asnumpy`: a NumPy array with a copy of the values."""
        return self.asnumpy()

    # --- shape ---

    # The results share memory with `inplace`; those of np arrays always do.

    def expand_dims(self, axis, inplace=False):
        """The values with an axis of one element before `axis`."""
        return _expand_dims[self._is_np, bool(self._is_np or inplace)](self, axis)

    def squeeze(self, axis=None, inplace=False):
        """The values without the axes (all, or those of `axis`) of one element."""
        return _squeeze[self._is_np, bool(self._is_np or inplace)](self, axis)

    def flatten(self, inplace=False):
        """The values as a matrix: one row for each element of the first axis."""
        return _flatten[self._is_np, bool(self._is_np or inplace)](self)

    def slice_assign(self, rhs, begin, end, step):
        """The array, in which the slice that ``begin``, ``end`` and ``step`` name now holds ``rhs``."""
        return _slice_assign[self._is_np](self, rhs, begin=begin, end=end, step=step, out=self)

    def slice_assign_scalar(self, value, begin, end, step):
        """The array, in which the slice now holds a number; see slice_assign."""
        return _slice_assign_scalar[self._is_np](self, value, begin=begin, end=end, step=step, out=self)

    def broadcast_like(self, other, **kwargs):
        """The values repeated along axes of one element to the shape of another array."""
        return _broadcast_like[self._is_np](self, other, **kwargs)

    def reshape(self, *shape, **kwargs):
        """The same values in another shape, sharing memory when the array is packed.

        Codes: 0 copies a dimension, -1 is inferred, -2 copies all remaining ones, -3 merges two, -4 splits
        one into the next two numbers; with ``reverse=True`` they are matched from the right.

        Raises
        ------
        ValueError
            When the number of elements does not agree.
        """
        reverse = kwargs.pop("reverse", False)
        if "shape" in kwargs:
            shape = kwargs.pop("shape")
        elif len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = shape[0]
        if kwargs:
            raise TypeError(f"reshape: unexpected arguments {sorted(kwargs)}; known are shape and reverse")
        if isinstance(shape, numbers.Integral):
            shape = (shape,)
        return _reshape(self, shape=tuple(shape), reverse=reverse)

    __len__ = _core.Array.__len__

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    # --- NumPy and other libraries ---

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError(
                "__array__: NumPy gets a copy here, which copy=False forbids; it sees the array's memory by "
                "memoryview(array) or numpy.from_dlpack(array)"
            )
        if self._dtype_name == "bfloat16":
            values = self.astype("float32").asnumpy()
        else:
            values = self.asnumpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        # Nothing is pending any more when the capsule is there, whatever the stream of the consumer.
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            if tuple(dl_device) != (_DLPACK_CPU, 0) or copy is False:
                remedy = " without a copy" if copy is False else "; move it with as_in_context"
                raise BufferError(
                    f"__dlpack__: an array on {self.context} cannot be given as DLPack device "
                    f"{tuple(dl_device)}{remedy}"
                )
            return _core.to_dlpack(self.as_in_context(cpu()))
        return _core.to_dlpack(self.copy() if copy else self)

    def __dlpack_device__(self):
        return _core.dlpack_device(self)

    def to_dlpack_for_read(self):
        """A DLPack capsule that shares the array's memory; of a view whose elements do not lie one after
        another that of a copy. Waits for pending writes.
        """
        return _core.to_dlpack(self if self._is_contiguous else _contiguous[self._is_np](self))

    def to_dlpack_for_write(self):
        """A DLPack capsule that shares the array's memory; waits for pending reads and writes."""
        self.wait_to_write()
        return _core.to_dlpack(self)

    # Python 2's names, which programs call.
    __div__, __rdiv__ = _core.Array.__truediv__, _core.Array.__rtruediv__
    __idiv__, __nonzero__ = _core.Array.__itruediv__, _core.Array.__bool__

    # --- copying and pickling ---

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        made = (_new_nd_array, ()) if type(self) is NDArray else (_from_record, (type(self), None))
        return *made, {"handle": self._record()}

    def __getstate__(self):
        return {"handle": self._record()}

    def __setstate__(self, state):
        record = state["handle"]
        if record is not None:
            _core.set_from_record(self, bytes(record))

    def _record(self):
        """The array as a bare NDArray record of MXNet's file format."""
        return None if self._is_none else bytearray(_core.to_record(self, self._is_np))


_core.set_class(NDArray, False)


def _from_record(cls, _):
    return cls.__new__(cls)


def _new_nd_array():
    return NDArray.__new__(NDArray)


def array(source_array, ctx=None, dtype=None):
    """An NDArray with a copy of the values of an array, NumPy array or nested sequence.

    ``dtype``: that of an NDArray source, else float32, unless given. A matrix of SciPy becomes a CSRNDArray,
    as in ``sparse.array``. TypeError: the sequence is ragged, or holds other things than numbers.

    Examples
    --------
    >>> nd.array([[1, 2], [3, 4]])
    [[1. 2.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    >>> nd.array([1, 2], dtype="int64").dtype
    <class 'numpy.int64'>
    """
    if isinstance(source_array, NDArray):
        if dtype is None:
            dtype = source_array._dtype_name
    elif hasattr(source_array, "tocsr"):
        return sys.modules[__package__].sparse.array(source_array, ctx, dtype)
    is_array = isinstance(source_array, NDArray) or hasattr(source_array, "__array_interface__")
    try:
        if dtype is not None and not is_array:
            source_array = _numpy.asarray(source_array)
        made = _core.array(source_array, dtype or "float32", False)
    except (ValueError, TypeError) as error:
        if isinstance(error, MXNetError):
            raise
        raise TypeError(
            f"array: the source must be an array or a nested sequence of numbers: {error}"
        ) from None
    return _placed(made, ctx)


def _shape_of(shape):
    return (shape,) if isinstance(shape, numbers.Integral) else tuple(shape)


def _placed(made, ctx):
    """`made` on the device that a creation function was asked for."""
    ctx = ctx if ctx is not None else current_context()
    return made if made._device == (ctx.device_typeid, ctx.device_id) else made.copyto(ctx)


def zeros(shape, ctx=None, dtype=None, stype=None, **kwargs):
    """Zeros, float32 by default, stored as `stype`: 'default' (dense), 'row_sparse' or 'csr'.

    Examples
    --------
    >>> nd.zeros((2, 2))
    [[0. 0.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    >>> nd.zeros((2, 2), stype="csr")
    <CSRNDArray 2x2 @cpu(0)>
    """
    if stype not in (None, "default"):
        return _placed(_core.sparse_zeros(stype, _shape_of(shape), dtype or "float32"), ctx)
    return _zeros(shape, ctx=ctx, dtype=dtype, **kwargs)


def empty(shape, ctx=None, dtype=None, stype=None):
    """An NDArray of a shape, whose values are undefined; float32 unless ``dtype`` says otherwise.

    Sparse ones of another `stype` than 'default' are zeros. ValueError: an extent is negative.

    Examples
    --------
    >>> nd.empty((2, 3), dtype="int32").shape
    (2, 3)
    """
    if stype not in (None, "default"):
        return zeros(shape, ctx, dtype, stype)
    ctx = ctx if ctx is not None else current_context()
    return _core.empty(shape, dtype or "float32", ctx.device_typeid, ctx.device_id, False)


def power(base, exp, **kwargs):
    """``base`` to the power ``exp``, element by element; either may be a number, arrays broadcast.

    Examples
    --------
    >>> nd.power(nd.array([1, 2, 3]), 2)
    [1. 4. 9.]
    <NDArray 3 @cpu(0)>
    >>> nd.power(2, nd.array([1, 2, 3]))
    [2. 4. 8.]
    <NDArray 3 @cpu(0)>
    """
    return _power(base, exp, **kwargs)


_lent = weakref.WeakValueDictionary()  # NumPy arrays whose memory from_numpy shares, by id


def _is_lent(values):
    """Whether a NumPy array is read-only because `from_numpy` shares it, or what it is a view of."""
    return any(_numpy.may_share_memory(values, lent) for lent in list(_lent.values()))


def from_numpy(ndarray, zero_copy=True, array_cls=NDArray):
    """An NDArray, or np array for that ``array_cls``, over a NumPy array's memory, which becomes read-only on
    NumPy's side.

    A copy if ``zero_copy`` is False, or if the array was read-only before: nobody may write to its memory.

    Raises
    ------
    ValueError
        For an array that is not C-contiguous, with ``zero_copy``.

    Examples
    --------
    >>> import numpy
    >>> values = numpy.ones(3, dtype="float32")
    >>> nd.from_numpy(values)
    [1. 1. 1.]
    <NDArray 3 @cpu(0)>
    >>> values.flags.writeable
    False
    """
    if not zero_copy:
        made = array(ndarray, dtype=ndarray.dtype)
        return made.as_np_ndarray() if array_cls._is_np else made
    if not ndarray.flags["C_CONTIGUOUS"]:
        raise ValueError(
            "from_numpy: only C-contiguous arrays can be shared; use numpy.ascontiguousarray or "
            "zero_copy=False"
        )
    if not ndarray.flags["WRITEABLE"] and not _is_lent(ndarray):
        return _core.array(ndarray, ndarray.dtype, array_cls._is_np)
    made = _core.borrow(ndarray, array_cls._is_np)
    ndarray.flags["WRITEABLE"] = False
    _lent[id(ndarray)] = ndarray
    return made


def from_dlpack(dlpack):
    """An NDArray over the memory of a DLPack capsule, or of an object with ``__dlpack__``: nothing is copied.

    Memory of an NVIDIA GPU gives an array on that ``gpu(id)``, with what any stream was asked to write
    before. TypeError: it is neither. MXNetError: memory of a device that is not used here.

    Examples
    --------
    >>> capsule = nd.to_dlpack_for_read(nd.array([1, 2]))
    >>> nd.from_dlpack(capsule)
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """
    if hasattr(dlpack, "__dlpack__"):
        device = getattr(dlpack, "__dlpack_device__", lambda: (_DLPACK_CPU, 0))()
        dlpack = (
            dlpack.__dlpack__(stream=_LEGACY_STREAM) if device[0] == _DLPACK_CUDA else dlpack.__dlpack__()
        )
    return _core.from_dlpack(dlpack, False)


def to_dlpack_for_read(data):
    """A DLPack capsule that shares an array's memory, for readers; waits for pending writes.

    Examples
    --------
    >>> capsule = nd.to_dlpack_for_read(nd.array([1, 2]))
    >>> np.from_dlpack(capsule)
    array([1., 2.])
    """
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data):
    """A DLPack capsule that shares an array's memory, for writers; waits for pending reads and writes.

    Examples
    --------
    >>> x = nd.array([1, 2])
    >>> shared = nd.from_dlpack(nd.to_dlpack_for_write(x))
    >>> shared[:] = 7
    >>> x
    [7. 7.]
    <NDArray 2 @cpu(0)>
    """
    return data.to_dlpack_for_write()


def concatenate(arrays, axis=0, always_copy=True):
    """Arrays joined along an axis; a single array is returned as it is when ``always_copy`` is False.

    ValueError: there are no arrays, or other extents than that of the axis differ. MXNetError: dtypes differ.

    Examples
    --------
    >>> nd.concatenate([nd.ones((2, 3)), nd.zeros((1, 3))]).shape
    (3, 3)
    """
    arrays = list(arrays)
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return sys.modules[__package__].concat(*arrays, dim=axis)


def moveaxis(tensor, source, destination):
    """The array with axes moved to new positions, the others in order.

    ValueError: an axis is out of range, or there are not as many sources as destinations.

    Examples
    --------
    >>> nd.moveaxis(nd.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    order = _moved_axes(tensor.ndim, source, destination)
    return tensor.transpose(order)


def _moved_axes(ndim, source, destination):
    source = [source] if isinstance(source, numbers.Integral) else list(source)
    destination = [destination] if isinstance(destination, numbers.Integral) else list(destination)
    if len(source) != len(destination):
        raise ValueError(
            f"moveaxis: {len(source)} source axes but {len(destination)} destinations were given"
        )
    for axis in source + destination:
        if not -ndim <= axis < ndim:
            raise ValueError(f"moveaxis: axis {axis} is out of range for an array of {ndim} dimensions")
    source, destination = [a % ndim for a in source], [a % ndim for a in destination]
    for axes in (source, destination):
        if len(set(axes)) < len(axes):
            raise ValueError(f"moveaxis: axes must differ, got {axes}")
    order = [axis for axis in range(ndim) if axis not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return tuple(order)


def onehot_encode(indices, out):
    """Writes the one-hot rows of ``indices`` (n,) into ``out`` (n, depth), which is returned.

    The row of an index that is not in [0, depth) is zero.

    Examples
    --------
    >>> nd.onehot_encode(nd.array([2, 0]), out=nd.zeros((2, 3)))
    [[0. 0. 1.]
     [1. 0. 0.]]
    <NDArray 2x3 @cpu(0)>
    """
    return sys.modules[__package__].one_hot(indices, depth=out.shape[1], out=out)
