"""Arrays and shapes to test with, drawn from NumPy's global generator."""

import numpy as np

from ... import ndarray as nd
from .tolerances import default_dtype

__all__ = [
    "assign_each",
    "assign_each2",
    "collapse_sum_like",
    "create_2d_tensor",
    "create_vector",
    "get_identity_mat",
    "get_identity_mat_batch",
    "np_reduce",
    "rand_coord_2d",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
]


def random_arrays(*shapes):
    """Normal float32 NumPy arrays: a list, or the array itself for one shape.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> first, second = test_utils.random_arrays((2, 3), (4,))
    >>> first.shape, second.dtype
    ((2, 3), dtype('float32'))
    """
    drawn = [np.asarray(np.random.randn(*shape), dtype=default_dtype()) for shape in shapes]
    return drawn[0] if len(drawn) == 1 else drawn


def random_uniform_arrays(*shapes, low=0.0, high=1.0, dtype=None):
    """A list of uniform NumPy arrays, float32 by default.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> [array] = test_utils.random_uniform_arrays((2, 3), low=5, high=6)
    >>> array.shape, bool((array >= 5).all())
    ((2, 3), True)
    """
    dtype = default_dtype() if dtype is None else dtype
    return [np.random.uniform(low, high, size=shape).astype(dtype) for shape in shapes]


def random_sample(population, k):
    """`k` elements of a list in random order. AssertionError: there are not so many.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> sample = test_utils.random_sample([1, 2, 3, 4], 2)
    >>> len(sample), set(sample) <= {1, 2, 3, 4}
    (2, True)
    """
    assert 0 <= k <= len(population)
    shuffled = population[:]
    np.random.shuffle(shuffled)
    return shuffled[:k]


def rand_shape_2d(dim0=10, dim1=10, allow_zero_size=False):
    """A shape of two extents, from 1 (0 with `allow_zero_size`) to `dim0` and `dim1`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> rows, columns = test_utils.rand_shape_2d(dim0=4, dim1=1)
    >>> 1 <= rows <= 4, columns
    (True, 1)
    """
    return _rand_shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(dim0=10, dim1=10, dim2=10, allow_zero_size=False):
    """A shape of three extents, from 1 (0 with `allow_zero_size`) to `dim0`, `dim1` and `dim2`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> len(test_utils.rand_shape_3d()), test_utils.rand_shape_3d(1, 1, 1)
    (3, (1, 1, 1))
    """
    return _rand_shape((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim, dim=10, allow_zero_size=False):
    """A shape of `num_dim` extents from 1 (0 with `allow_zero_size`) to `dim`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> len(test_utils.rand_shape_nd(5)), test_utils.rand_shape_nd(2, dim=1)
    (5, (1, 1))
    """
    return tuple(np.random.randint(0 if allow_zero_size else 1, dim + 1, size=num_dim).tolist())


def _rand_shape(bounds, allow_zero_size):
    return tuple(int(np.random.randint(0 if allow_zero_size else 1, bound + 1)) for bound in bounds)


def rand_coord_2d(x_low, x_high, y_low, y_high):
    """A place (x, y) in a matrix: x in [x_low, x_high), y in [y_low, y_high).

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> x, y = test_utils.rand_coord_2d(0, 4, 10, 12)
    >>> bool(0 <= x < 4), bool(10 <= y < 12)
    (True, True)
    """
    x = np.random.randint(x_low, x_high, dtype=np.int64)
    y = np.random.randint(y_low, y_high, dtype=np.int64)
    return x, y


def assign_each(the_input, function):
    """A NumPy array of `function` of each element; a copy when it is None.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> test_utils.assign_each(numpy.array([1, 2]), lambda element: element + 0.5)
    array([1.5, 2.5])
    """
    return _each(function, the_input)


def assign_each2(input1, input2, function):
    """A NumPy array of `function` of each pair of elements; a copy of the first when it is None.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> test_utils.assign_each2(numpy.array([1, 2]), numpy.array([10, 20]), lambda a, b: a * b)
    array([10., 40.])
    """
    assert function is None or input1.shape == input2.shape
    return _each(function, input1, input2)


def _each(function, first, *others):
    if function is None:
        return np.array(first)
    output = np.zeros(first.shape)
    for place in np.ndindex(first.shape):
        output[place] = function(first[place], *(other[place] for other in others))
    return output


def np_reduce(dat, axis, keepdims, numpy_reduce_func):
    """A NumPy reduction over one axis, a list of axes or (None) all, one after another.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> test_utils.np_reduce(numpy.ones((2, 3, 4)), [0, 2], True, numpy.sum).tolist()
    [[[8.0], [8.0], [8.0]]]
    """
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = sorted(one % dat.ndim for one in axes)
    reduced = dat
    for one in reversed(axes):
        reduced = numpy_reduce_func(reduced, axis=one)
    if not keepdims:
        return reduced
    return reduced.reshape([1 if i in axes else extent for i, extent in enumerate(dat.shape)])


def collapse_sum_like(a, shape):
    """The sum of a NumPy array over what was broadcast to make it out of `shape`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> test_utils.collapse_sum_like(numpy.ones((2, 3, 4)), (3, 1)).tolist()
    [[8.0], [8.0], [8.0]]
    """
    assert a.ndim >= len(shape), f"collapse_sum_like: {shape} has more axes than {a.shape}"
    if np.prod(shape) == 0 or a.size == 0:
        return np.zeros(shape, dtype=a.dtype)
    extra = a.ndim - len(shape)
    axes = [*range(extra)]
    for i, extent in enumerate(shape, extra):
        if extent != a.shape[i]:
            assert extent == 1, f"collapse_sum_like: {shape} does not broadcast to {a.shape}"
            axes.append(i)
    return np.sum(a, axis=tuple(axes)).reshape(shape)


def create_2d_tensor(rows, columns, dtype=np.int64):
    """An nd array (rows, columns) whose rows hold their own numbers.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.create_2d_tensor(2, 3, dtype="int64")
    [[0 0 0]
     [1 1 1]]
    <NDArray 2x3 @cpu(0)>
    """
    return nd.broadcast_to(create_vector(rows, dtype).reshape((rows, 1)), shape=(rows, columns))


def create_vector(size, dtype=np.int64):
    """An nd array (size,) of 0, 1, ...

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.create_vector(3, dtype="int64")
    [0 1 2]
    <NDArray 3 @cpu(0)>
    """
    return nd.arange(0, size, dtype=dtype)


def get_identity_mat(size):
    """The identity matrix as an nd array (size, size) of float32.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.get_identity_mat(2)
    [[1. 0.]
     [0. 1.]]
    <NDArray 2x2 @cpu(0)>
    """
    return nd.eye(size)


def get_identity_mat_batch(size):
    """Two identity matrices as one nd array (2, size, size) of float32.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.get_identity_mat_batch(3).shape
    (2, 3, 3)
    """
    return nd.stack(get_identity_mat(size), get_identity_mat(size))
