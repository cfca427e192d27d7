"""What Gluon and optimizers need to know about arrays so that nd and np blocks can share their code."""

from . import _core
from . import ndarray as nd
from . import numpy as mnp
from . import numpy_extension as npx
from ._semantics import is_np_array
from .base import ArrayValueError, MXNetError
from .ndarray import NDArray

NpArray = mnp.ndarray


def zeros(shape, ctx, dtype):
    """Zeros of the current mode's array class."""
    if is_np_array():
        return mnp.zeros(shape, dtype=dtype, ctx=ctx)
    return nd.zeros(shape, ctx=ctx, dtype=dtype)


def array(values, ctx=None, dtype=None):
    """An array of the current mode's class."""
    if is_np_array():
        return mnp.array(values, dtype=dtype, ctx=ctx)
    return nd.array(values, ctx=ctx, dtype=dtype)


dtype_name = _core.dtype_name  # 'float32' and the like, of anything that means a dtype


def zeros_like(array, dtype=None):
    """Zeros with the shape, context and class of `array`, and its dtype unless `dtype` is given."""
    return like(zeros(array.shape, array.ctx, dtype or array._dtype_name), array)


def holds_sparse(ctx):
    """Whether arrays on a context may be sparse; on others dense ones take their place."""
    return ctx is None or ctx.device_type != "gpu"


def state_like(weight):
    """Zeros for a state of `weight`, stored as it is."""
    if weight.stype == "default":
        return zeros_like(weight)
    return nd.zeros(weight.shape, ctx=weight.ctx, dtype=weight._dtype_name, stype=weight.stype)


def like(array, reference):
    """`array` as the class (nd or np) of `reference`; shares memory, keeps other values (numbers) as they
    are.
    """
    if not isinstance(array, NDArray):
        return array
    if isinstance(reference, NpArray):
        return array if isinstance(array, NpArray) else array.as_np_ndarray()
    return array.as_nd_ndarray() if isinstance(array, NpArray) else array


def statistics_dtype(dtype):
    """The dtype of what a batch normalisation keeps beside data of `dtype`: float32 beside halves."""
    return "float32" if dtype_name(dtype) in ("float16", "bfloat16") else dtype


def write(values, target, name):
    """Writes an array into `target`. ArrayValueError, which says what `name` is: it has another shape."""
    if tuple(values.shape) != target.shape:
        raise ArrayValueError(f"{name} must have shape {target.shape}, got {tuple(values.shape)}")
    target[:] = like(values, target)


def in_mode(array):
    """`array` as the class (nd or np) of the current mode."""
    if is_np_array():
        return array if isinstance(array, NpArray) else array.as_np_ndarray()
    return array.as_nd_ndarray() if isinstance(array, NpArray) else array


def save(filename, named_arrays):
    """Writes a dictionary of arrays in MXNet's `.params` format, as arrays of the current mode."""
    named_arrays = {name: in_mode(array) for name, array in named_arrays.items()}
    if is_np_array():
        npx.save(filename, named_arrays)
    else:
        nd.save(filename, named_arrays)


def load(filename):
    """Reads a `.params` file as a dictionary of arrays of the current mode.

    MXNetError: the file is missing, broken, or holds a list without names.
    """
    loaded = npx.load(filename) if is_np_array() else nd.load(filename)
    if isinstance(loaded, dict):
        return {name: in_mode(value) for name, value in loaded.items()}
    if not loaded:
        return {}
    raise MXNetError(
        f"load parameters: file '{filename}' holds {len(loaded)} arrays without names; "
        "expected a file written by save_parameters or ParameterDict.save"
    )


def shape_is_known(shape):
    """Whether every dimension of `shape` (None: nothing known) is known; 0 and -1 mean unknown."""
    return shape is not None and all(size > 0 for size in shape)
