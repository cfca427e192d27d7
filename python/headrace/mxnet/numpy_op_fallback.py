"""Custom operators that compute with NumPy, or with np functions, what MXNet 1.9.1 has no operator for."""

import ast

import numpy

from .. import numpy as mnp
from .. import operator
from .._semantics import np_array

__all__ = [
    "EmptyLike",
    "EmptyLikeProp",
    "MultivariateNormal",
    "MultivariateNormalProp",
    "Resize",
    "ResizeProp",
    "Unravel_index",
    "Unravel_indexProp",
    "register",
]


def register(op_name, imperative=True, symbolic=True):
    """Class decorator: makes a CustomOpProp known whose operators get np arrays.

    Examples
    --------
    >>> from headrace.mxnet import numpy_op_fallback
    >>> class Same(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         print(type(in_data[0]).__name__)
    ...         self.assign(out_data[0], req[0], in_data[0])
    >>> @numpy_op_fallback.register("doc_same")
    ... class SameProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, shapes, dtypes):
    ...         return Same()
    >>> nd.Custom(nd.array([1, 2]), op_type="doc_same").asnumpy()
    ndarray
    array([1., 2.], dtype=float32)
    """

    def decorate(prop_cls):
        with np_array(True):
            return operator.register(op_name)(prop_cls)

    return decorate


def _as_shape(size):
    return (size,) if numpy.isscalar(size) else tuple(size)


class _WithoutGradient(operator.CustomOp):
    """What all of them have in common; `_name` is that of the function in NumPy."""

    _name = ""

    def _write(self, req, out_data, values):
        with np_array(True):
            self.assign(out_data[0], req[0], values)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        raise NotImplementedError(f"Operator {self._name} does not support gradient computation")


class EmptyLike(_WithoutGradient):
    """The computation of `empty_like_fallback`: numpy.empty_like. It has no gradient: NotImplementedError.

    Examples
    --------
    >>> import headrace.mxnet.numpy_op_fallback
    >>> settings = {"dtype": "int32", "order": "C", "subok": True, "shape": None}
    >>> made = nd.Custom(nd.ones((2, 3)), op_type="empty_like_fallback", **settings)
    >>> made.shape, made.dtype
    ((2, 3), <class 'numpy.int32'>)
    """

    _name = "empty_like"

    def __init__(self, dtype, order, subok, shape):
        self._dtype, self._order, self._subok, self._shape = dtype, order, subok, shape

    def forward(self, is_train, req, in_data, out_data, aux):
        made = numpy.empty_like(in_data[0].asnumpy(), self._dtype, self._order, self._subok)
        self._write(req, out_data, mnp.array(made, dtype=made.dtype, ctx=out_data[0].ctx))


@register("empty_like_fallback")
class EmptyLikeProp(operator.CustomOpProp):
    """The operator `empty_like_fallback`. Arguments: dtype, order, subok and shape, as text.

    Examples
    --------
    >>> from headrace.mxnet.numpy_op_fallback import EmptyLikeProp
    >>> prop = EmptyLikeProp("int32", "C", "True", "None")
    >>> prop.infer_shape([(2, 3)])
    ([(2, 3)], [(2, 3)], [])
    """

    def __init__(self, dtype, order, subok, shape):
        super().__init__()
        self._dtype = None if dtype == "None" else dtype
        self._order, self._subok, self._shape = order, ast.literal_eval(subok), ast.literal_eval(shape)

    def list_arguments(self):
        return ["prototype"]

    def infer_type(self, in_type):
        return in_type, [in_type[0] if self._dtype is None else numpy.dtype(self._dtype).type], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return EmptyLike(self._dtype, self._order, self._subok, self._shape)


class Resize(_WithoutGradient):
    """The computation of `resize_fallback`: numpy.resize. It has no gradient: NotImplementedError.

    Examples
    --------
    >>> import headrace.mxnet.numpy_op_fallback
    >>> nd.Custom(nd.array([1, 2, 3]), op_type="resize_fallback", new_shape=(2, 2))
    [[1. 2.]
     [3. 1.]]
    <NDArray 2x2 @cpu(0)>
    """

    _name = "resize"

    def __init__(self, new_shape):
        self._new_shape = new_shape

    def forward(self, is_train, req, in_data, out_data, aux):
        made = numpy.resize(in_data[0].asnumpy(), self._new_shape)
        self._write(req, out_data, mnp.array(made, dtype=made.dtype, ctx=out_data[0].ctx))


@register("resize_fallback")
class ResizeProp(operator.CustomOpProp):
    """The operator `resize_fallback`. Argument: new_shape, as text.

    Examples
    --------
    >>> from headrace.mxnet.numpy_op_fallback import ResizeProp
    >>> ResizeProp("(2, 2)").infer_shape([(3,)])
    ([(3,)], [(2, 2)], [])
    """

    def __init__(self, new_shape):
        super().__init__()
        self._new_shape = _as_shape(ast.literal_eval(new_shape))

    def list_arguments(self):
        return ["a"]

    def infer_shape(self, in_shape):
        return in_shape, [self._new_shape], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Resize(self._new_shape)


class Unravel_index(_WithoutGradient):  # noqa: N801
    """The computation of `unravel_index_fallback`: numpy.unravel_index, whose coordinates are stacked.

    It has no gradient: NotImplementedError.

    Examples
    --------
    >>> import headrace.mxnet.numpy_op_fallback
    >>> nd.Custom(nd.array([1, 5], dtype="int64"), op_type="unravel_index_fallback", shape=(2, 3))
    [[0 1]
     [1 2]]
    <NDArray 2x2 @cpu(0)>
    """

    _name = "Unravel_index"

    def __init__(self, shape):
        self._shape = shape

    def forward(self, is_train, req, in_data, out_data, aux):
        made = numpy.stack(numpy.unravel_index(in_data[0].asnumpy(), self._shape))
        self._write(req, out_data, mnp.array(made, dtype=made.dtype, ctx=out_data[0].ctx))


@register("unravel_index_fallback")
class Unravel_indexProp(operator.CustomOpProp):  # noqa: N801
    """The operator `unravel_index_fallback`. Argument: shape, as text.

    Examples
    --------
    >>> from headrace.mxnet.numpy_op_fallback import Unravel_indexProp
    >>> Unravel_indexProp("(2, 3)").infer_shape([(4,)])
    ([(4,)], [(2, 4)], [])
    """

    def __init__(self, shape):
        super().__init__()
        self._shape = _as_shape(ast.literal_eval(shape))

    def list_arguments(self):
        return ["indices"]

    def infer_shape(self, in_shape):
        return in_shape, [(len(self._shape), *in_shape[0])], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Unravel_index(self._shape)


class MultivariateNormal(_WithoutGradient):
    """The computation of `mvn_fallback`: numpy.random.multivariate_normal. It has no gradient:
    NotImplementedError.

    Examples
    --------
    >>> import headrace.mxnet.numpy_op_fallback
    >>> mean, cov = nd.zeros((2,)), nd.array([[1, 0], [0, 1]])
    >>> nd.Custom(mean, cov, op_type="mvn_fallback", size=(5,)).shape
    (5, 2)
    """

    _name = "random.multivariate_normal"

    def __init__(self, size=None):
        self._size = size

    def forward(self, is_train, req, in_data, out_data, aux):
        self._write(req, out_data, mnp.random.multivariate_normal(*in_data, size=self._size))


@register("mvn_fallback")
class MultivariateNormalProp(operator.CustomOpProp):
    """The operator `mvn_fallback`. Argument: size, as text.

    Examples
    --------
    >>> from headrace.mxnet.numpy_op_fallback import MultivariateNormalProp
    >>> prop = MultivariateNormalProp(size="(3,)")
    >>> prop.list_arguments(), prop.infer_shape([(2,), (2, 2)])
    (['mean', 'cov'], ([(2,), (2, 2)], [(3, 2)], []))
    """

    def __init__(self, size=None):
        super().__init__()
        size = None if size is None else ast.literal_eval(size)
        self._size = () if size is None else _as_shape(size)

    def list_arguments(self):
        return ["mean", "cov"]

    def infer_shape(self, in_shape):
        mean, cov = map(tuple, in_shape)
        if not mean:
            raise ValueError("mean must be at least 1 dimensional")
        if len(cov) < 2:
            raise ValueError("cov must be at least 2 dimensional")
        if not cov[-1] == cov[-2] == mean[-1]:
            raise ValueError(
                f"cov must be square and as long as mean; mean has shape {mean}, cov has shape {cov}"
            )
        return in_shape, [self._size + numpy.broadcast_shapes(mean, cov[:-1])], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return MultivariateNormal(self._size)
