"""np functions on symbols whose arguments the catalogue cannot express."""

import numpy as _numpy

from . import calls
from .parts import cut, histogram_of

__all__ = [
    "append",
    "array_split",
    "average",
    "dsplit",
    "einsum",
    "full",
    "histogram",
    "hsplit",
    "pad",
    "split",
    "tensordot",
    "vsplit",
    "where",
]


def _call(op, *symbols, **attributes):
    return calls.function(op, op.removeprefix("_npi_").removeprefix("_np_"), True)(*symbols, **attributes)


def split(ary, indices_or_sections, axis=0):
    """Parts of the array along one axis: a symbol with one output for each.

    An integer gives that many equal parts; a sequence says where the parts after the first begin.
    """
    return cut(ary, indices_or_sections, axis, np=True)


def array_split(ary, indices_or_sections, axis=0):
    """Like split; an integer need not divide the axis, the first parts are longer by one then."""
    if hasattr(indices_or_sections, "__index__"):
        return _call("_npi_array_split", ary, sections=indices_or_sections, axis=axis)
    return split(ary, indices_or_sections, axis)


def hsplit(ary, indices_or_sections):
    """Parts along the second axis; the array must have at least two."""
    return split(ary, indices_or_sections, 1)


def vsplit(ary, indices_or_sections):
    """Parts along the first axis."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    """Parts along the third axis."""
    return split(ary, indices_or_sections, 2)


def append(arr, values, axis=None):
    """`values` joined to the end of `arr` along an axis, both flattened with axis=None."""
    return _call("_npi_concatenate", arr, values, axis=axis)


def average(a, axis=None, weights=None, returned=False, out=None):
    """Mean of the elements along `axis`, weighted by `weights`, which are broadcast against `a`.

    With `returned` a pair: the mean, and the sum of the weights in its shape.
    """
    ones = _call("_np_ones_like", a)
    weighted = a if weights is None else a * weights
    total = _call("_np_sum", ones if weights is None else ones * weights, axis=axis)
    mean = _call("_np_sum", weighted, axis=axis) / total
    return (mean, total) if returned else mean


def einsum(subscripts, *operands, out=None, optimize=False):
    """Sums of products by Einstein's convention; see np.einsum."""
    return _call("_npi_einsum", *operands, subscripts=subscripts, optimize=int(bool(optimize)))


def tensordot(a, b, axes=2):
    """The sum of products over pairs of axes; see np.tensordot."""
    if hasattr(axes, "__index__"):
        return _call("_npi_tensordot_int_axes", a, b, axes=axes)
    left, right = ((one,) if hasattr(one, "__index__") else tuple(one) for one in axes)
    return _call("_npi_tensordot", a, b, a_axes_summed=left, b_axes_summed=right)


def histogram(a, bins=10, range=None, normed=None, weights=None, density=None):
    """How many elements fall into each bin, and the edges: a symbol of two outputs.

    NotImplementedError: `normed`, `weights` or `density`, which MXNet does not have either. ValueError:
    `range` is missing for a number of bins.
    """
    if normed or weights is not None or density:
        raise NotImplementedError("histogram: normed, weights and density are not there; divide the counts")
    return histogram_of(a, bins, range, True)


def pad(x, pad_width, mode="constant", **kwargs):
    """The array with a border around it; see np.pad.

    `pad_width` is ((before, after), ...) with a pair for each axis. ValueError: it is not, for the number of
    axes of a symbol is not known.
    """
    widths = _numpy.asarray(pad_width, dtype=_numpy.int64)
    if widths.ndim != 2 or widths.shape[1] != 2:
        raise ValueError(
            f"pad: pad_width needs a pair (before, after) for each axis, got {pad_width}; the number of axes "
            "is not known while a graph is built"
        )
    return _call("_npi_pad", x, pad_width=tuple(widths.ravel().tolist()), mode=mode, **kwargs)


def full(shape, fill_value, dtype=None, order="C", ctx=None, out=None):
    """An array of one value, or the values of a symbol repeated to `shape`; float32, of a bool bool, unless
    `dtype`.
    """
    if calls.is_symbol(fill_value):
        repeated = _call("_np_broadcast_to", fill_value, shape=shape)
        return repeated if dtype is None else repeated.astype(dtype)
    if dtype is None:
        dtype = "bool" if isinstance(fill_value, (bool, _numpy.bool_)) else "float32"
    return _call("_full", shape=shape, value=float(fill_value), dtype=dtype, ctx=ctx)


def where(condition, x=None, y=None):
    """x where the condition is not zero, y elsewhere; x and y may be numbers.

    ValueError: one of them is missing; the places of elements that are not zero depend on values.
    """
    if x is None or y is None:
        raise ValueError("where: both x and y are needed while a graph is built")
    form = {
        (False, False): "_npi_where",
        (True, False): "_npi_where_lscalar",
        (False, True): "_npi_where_rscalar",
        (True, True): "_npi_where_scalar2",
    }[calls.is_number(x), calls.is_number(y)]
    numbers = [float(one) for one in (x, y) if calls.is_number(one)]
    return _call(form, condition, *(one for one in (x, y) if not calls.is_number(one)), *numbers)
