"""np functions on symbols whose arguments the catalogue cannot express."""

import numpy as _numpy

from . import calls
from .parts import cut, histogram_of

__all__ = [
    "append",
    "array_split",
    "average",
    "delete",
    "diff",
    "dsplit",
    "ediff1d",
    "einsum",
    "full",
    "histogram",
    "hsplit",
    "insert",
    "pad",
    "percentile",
    "polyval",
    "quantile",
    "split",
    "tensordot",
    "unravel_index",
    "vsplit",
    "where",
]


def _call(op, *symbols, **attributes):
    return calls.function(op, op.removeprefix("_npi_").removeprefix("_np_"), True)(*symbols, **attributes)


def split(ary, indices_or_sections, axis=0):
    """Parts of the array along one axis: a symbol with one output for each.

    An integer gives that many parts, the first longer by one where it does not divide the axis; a sequence
    says where the parts after the first begin.
    """
    return cut(ary, indices_or_sections, axis, np=True)


def array_split(ary, indices_or_sections, axis=0):
    """The same as split, which does not know the extent of the axis while a graph is built."""
    return split(ary, indices_or_sections, axis)


def hsplit(ary, indices_or_sections):
    """Parts along the second axis, of a vector along its only one."""
    return cut(ary, indices_or_sections, 1, np=True, op="_npi_hsplit")


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
    """Mean of the elements along `axis`, weighted by `weights`: of the shape of `a`, or as long as the axis.

    With `returned` a symbol of two outputs: the mean, and the sum of the weights.
    """
    if weights is None:
        return _call("_npi_average", a, axis=axis, returned=returned, weighted=False)
    return _call("_npi_average", a, weights, axis=axis, returned=returned)


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
    return _call("_np_pad", x, pad_width=tuple(widths.ravel().tolist()), mode=mode, **kwargs)


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """The n-th differences of neighbours along an axis; see np.diff.

    NotImplementedError: `prepend` or `append`, which MXNet does not have either; join them first.
    """
    if prepend is not None or append is not None:
        raise NotImplementedError("diff: prepend and append are not there; join them with concatenate first")
    return _call("_npi_diff", a, n=n, axis=axis)


def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours of the flattened array, between `to_begin` and `to_end`."""
    attributes, symbols = {}, []
    for name, one in (("to_begin", to_begin), ("to_end", to_end)):
        given = calls.is_symbol(one)
        symbols += [one] if given else []
        attributes |= {name + "_arr_given": given, name + "_scalar": None if given else one}
    return _call("_npi_ediff1d", ary, *symbols, **attributes)


def percentile(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False):
    """The q-th percentiles of the elements along `axis`; q is a number in [0, 100], or a symbol of them.

    NotImplementedError: `overwrite_input`, as symbols do not change.
    """
    if overwrite_input is not None:
        raise NotImplementedError("percentile: overwrite_input is not supported, symbols do not change")
    symbols = (q,) if calls.is_symbol(q) else ()
    number = None if symbols else q
    return _call(
        "_npi_percentile",
        a,
        *symbols,
        axis=axis,
        interpolation=interpolation,
        keepdims=keepdims,
        q_scalar=number,
    )


def quantile(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False):
    """The q-th quantiles of the elements along `axis`, q in [0, 1]; see percentile."""
    return percentile(a, q * 100, axis, out, overwrite_input, interpolation, keepdims)


def polyval(p, x):
    """The polynomial with the coefficients `p`, that of the highest power first, at `x`."""
    return _call("_npi_polyval", p, x)


def _places(obj, name):
    """(operator's ending, symbols, attributes) for places: a number, a slice, or a symbol."""
    if isinstance(obj, slice):
        return (
            "slice",
            (),
            {"start": obj.start, "stop": obj.stop, "step": 1 if obj.step is None else obj.step},
        )
    if hasattr(obj, "__index__"):
        return "scalar", (), {"int_ind": obj}
    if calls.is_symbol(obj):
        return "tensor", (obj,), {}
    raise TypeError(f"{name}: places must be an integer, a slice or a symbol, got {type(obj).__name__}")


def delete(arr, obj, axis=None):
    """The array without the places `obj` along an axis: an integer, a slice, or a symbol of integers."""
    _, symbols, attributes = _places(obj, "delete")
    return _call("_npi_delete", arr, *symbols, **attributes, axis=axis)


def insert(arr, obj, values, axis=None):
    """The array with `values`, a number or a symbol, before the places `obj` along an axis; see delete."""
    ending, symbols, attributes = _places(obj, "insert")
    if calls.is_symbol(values):
        symbols = (values, *symbols)
    else:
        attributes["val"] = values
    return _call("_npi_insert_" + ending, arr, *symbols, **attributes, axis=axis)


def unravel_index(indices, shape, order="C"):
    """Places in an array of `shape` for flat indices: a symbol with a row for each axis.

    NotImplementedError: an `order` other than row-major.
    """
    if order != "C":
        raise NotImplementedError("unravel_index: only order='C', row-major, is there")
    return _call("_unravel_index", indices, shape=shape)


def full(shape, fill_value, dtype=None, order="C", ctx=None, out=None):
    """An array of one value, or the values of a symbol repeated to `shape`; float32, of a bool bool, unless
    `dtype`.
    """
    if calls.is_symbol(fill_value):
        repeated = _call("_npi_broadcast_to", fill_value, shape=shape)
        return repeated if dtype is None else repeated.astype(dtype)
    if dtype is None:
        dtype = "bool" if isinstance(fill_value, (bool, _numpy.bool_)) else "float32"
    place = {} if ctx is None else {"ctx": ctx}
    return _call("_full", shape=shape, value=float(fill_value), dtype=dtype, **place)


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
