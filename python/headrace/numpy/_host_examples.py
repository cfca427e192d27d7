"""Which functions NumPy computes for np, with an example of each."""

EXAMPLES = {
    "apply_along_axis": """
    >>> np.apply_along_axis(lambda row: row.max() - row.min(), 1, np.array([[1, 4], [2, 8]]))
    array([3., 6.])
    """,
    "apply_over_axes": """
    >>> import numpy
    >>> np.apply_over_axes(numpy.sum, np.ones((2, 3, 4)), [0, 2])
    array([[[8.],
            [8.],
            [8.]]])
    """,
    "argpartition": """
    >>> order = np.argpartition(np.array([7, 1, 5, 3]), 2)
    >>> sorted(order[:2].tolist())  # the places of the two smallest
    [1, 3]
    """,
    "array_equiv": """
    >>> np.array_equiv(np.array([1, 2]), np.array([[1, 2], [1, 2]]))  # equal once broadcast
    True
    """,
    "choose": """
    >>> np.choose(np.array([0, 1, 0], dtype="int64"), [np.array([1, 2, 3]), np.array([10, 20, 30])])
    array([ 1., 20.,  3.])
    """,
    "compress": """
    >>> np.compress(np.array([True, False, True]), np.array([[1, 2, 3], [4, 5, 6]]), axis=1)
    array([[1., 3.],
           [4., 6.]])
    """,
    "corrcoef": """
    >>> np.corrcoef(np.array([[1, 2, 3], [6, 4, 2]]))
    array([[ 1., -1.],
           [-1.,  1.]], dtype=float64)
    """,
    "correlate": """
    >>> np.correlate(np.array([1, 2, 3, 4]), np.array([1, 0, -1]))
    array([-2., -2.])
    """,
    "cov": """
    >>> np.cov(np.array([[0, 1, 2], [2, 1, 0]]))
    array([[ 1., -1.],
           [-1.,  1.]], dtype=float64)
    """,
    "digitize": """
    >>> np.digitize(np.array([0.2, 6.4, 3.0]), np.array([0, 1, 2.5, 4, 10]))
    array([1, 4, 3], dtype=int64)
    """,
    "divmod": """
    >>> quotient, rest = np.divmod(np.array([7, -7]), np.array([3, 3]))
    >>> quotient, rest
    (array([ 2., -3.]), array([1., 2.]))
    """,
    "extract": """
    >>> a = np.array([1, 5, 2, 8])
    >>> np.extract(a > 2, a)
    array([5., 8.])
    """,
    "frexp": """
    >>> mantissa, exponent = np.frexp(np.array([8.0, 0.75]))  # mantissa * 2 ** exponent
    >>> mantissa, exponent
    (array([0.5 , 0.75]), array([4, 0], dtype=int32))
    """,
    "histogram2d": """
    >>> counts, x_edges, y_edges = np.histogram2d(np.array([0, 0, 1]), np.array([0, 1, 1]), bins=2)
    >>> counts
    array([[1., 1.],
           [0., 1.]], dtype=float64)
    """,
    "histogram_bin_edges": """
    >>> np.histogram_bin_edges(np.array([0, 1, 4]), bins=4)
    array([0., 1., 2., 3., 4.])
    """,
    "histogramdd": """
    >>> counts, edges = np.histogramdd(np.array([[0, 0], [0, 1], [1, 1]]), bins=2)
    >>> counts
    array([[1., 1.],
           [0., 1.]], dtype=float64)
    """,
    "i0": """
    >>> np.i0(np.array([0, 1, 2]))
    array([0.99999994, 1.2660661 , 2.2795851 ])
    """,
    "imag": """
    >>> np.imag(np.array([1, 2]))  # there are no complex np arrays
    array([0., 0.])
    """,
    "interp": """
    >>> places, values = np.array([0, 1, 2]), np.array([0, 10, 40])
    >>> np.interp(np.array([0.5, 1.5, 9]), places, values)
    array([ 5., 25., 40.], dtype=float64)
    """,
    "intersect1d": """
    >>> np.intersect1d(np.array([3, 1, 2]), np.array([2, 3, 5]))
    array([2., 3.])
    """,
    "isclose": """
    >>> np.isclose(np.array([1, 1]), np.array([1.000001, 1.1]))
    array([ True, False])
    """,
    "isin": """
    >>> np.isin(np.array([[1, 2], [3, 4]]), np.array([2, 4]))
    array([[False,  True],
           [False,  True]])
    """,
    "ix_": """
    >>> rows, columns = np.ix_(np.array([0, 2]), np.array([1, 3]))
    >>> rows.shape, columns.shape
    ((2, 1), (1, 2))
    >>> np.arange(12).reshape(3, 4)[rows.astype("int64"), columns.astype("int64")]
    array([[ 1.,  3.],
           [ 9., 11.]])
    """,
    "lexsort": """
    >>> first, last = np.array([2, 1, 1]), np.array([0, 1, 0])
    >>> np.lexsort((first, last))  # by the last key, then by those before it
    array([2, 0, 1], dtype=int64)
    """,
    "min_scalar_type": """
    >>> np.min_scalar_type(300)
    dtype('uint16')
    """,
    "modf": """
    >>> fraction, whole = np.modf(np.array([1.25, -2.5]))
    >>> fraction, whole
    (array([ 0.25, -0.5 ]), array([ 1., -2.]))
    """,
    "nanargmax": """
    >>> np.nanargmax(np.array([[np.nan, 4], [2, 3]]), axis=1)
    array([1, 1], dtype=int64)
    """,
    "nanargmin": """
    >>> np.nanargmin(np.array([[np.nan, 4], [2, 3]]), axis=1)
    array([1, 0], dtype=int64)
    """,
    "nancumprod": """
    >>> np.nancumprod(np.array([2, np.nan, 3]))
    array([2., 2., 6.])
    """,
    "nancumsum": """
    >>> np.nancumsum(np.array([2, np.nan, 3]))
    array([2., 2., 5.])
    """,
    "nanmax": """
    >>> np.nanmax(np.array([[1, np.nan], [3, 2]]), axis=0)
    array([3., 2.])
    """,
    "nanmean": """
    >>> np.nanmean(np.array([[1, np.nan], [3, 2]]), axis=0)
    array([2., 2.])
    """,
    "nanmedian": """
    >>> np.nanmedian(np.array([[1, np.nan, 5], [3, 2, 9]]), axis=1)
    array([3., 3.])
    """,
    "nanmin": """
    >>> np.nanmin(np.array([[1, np.nan], [3, 2]]), axis=0)
    array([1., 2.])
    """,
    "nanpercentile": """
    >>> np.nanpercentile(np.array([1, np.nan, 3, 5]), np.array([0, 50, 100]))
    array([1., 3., 5.])
    """,
    "nanquantile": """
    >>> np.nanquantile(np.array([1, np.nan, 3, 5]), np.array([0, 0.5, 1]))
    array([1., 3., 5.])
    """,
    "nanstd": """
    >>> np.nanstd(np.array([[1, np.nan], [3, 2]]), axis=0)
    array([1., 0.])
    """,
    "nanvar": """
    >>> np.nanvar(np.array([[1, np.nan], [3, 2]]), axis=0)
    array([1., 0.])
    """,
    "packbits": """
    >>> np.packbits(np.array([1, 0, 0, 0, 0, 0, 1, 1], dtype="uint8"))
    array([131], dtype=uint8)
    """,
    "partition": """
    >>> np.partition(np.array([7, 1, 5, 3]), 1)[1]  # what would be there in a sorted array
    array(3.)
    """,
    "piecewise": """
    >>> x = np.array([-2, -1, 1, 2])
    >>> np.piecewise(x, [x < 0, x >= 0], [lambda part: -part, 0])
    array([2., 1., 0., 0.])
    """,
    "poly": """
    >>> np.poly(np.array([1, 2]))  # (x - 1) (x - 2) = x^2 - 3 x + 2
    array([ 1., -3.,  2.])
    """,
    "polyadd": """
    >>> np.polyadd(np.array([1, 0, 2]), np.array([3, 1]))  # (x^2 + 2) + (3 x + 1)
    array([1., 3., 3.])
    """,
    "polydiv": """
    >>> quotient, rest = np.polydiv(np.array([1, -3, 2]), np.array([1, -1]))
    >>> quotient, rest
    (array([ 1., -2.]), array([0.]))
    """,
    "polyfit": """
    >>> x = np.array([0, 1, 2, 3])
    >>> np.polyfit(x, 2 * x + 1, 1).round(3)
    array([2., 1.], dtype=float64)
    """,
    "polyint": """
    >>> np.polyint(np.array([6, 2]))  # 3 x^2 + 2 x, and 0
    array([3., 2., 0.], dtype=float64)
    """,
    "polymul": """
    >>> np.polymul(np.array([1, -1]), np.array([1, -2]))  # (x - 1) (x - 2)
    array([ 1., -3.,  2.])
    """,
    "polysub": """
    >>> np.polysub(np.array([1, 0, 2]), np.array([3, 1]))  # (x^2 + 2) - (3 x + 1)
    array([ 1., -3.,  1.])
    """,
    "promote_types": """
    >>> np.promote_types("int32", "float32")
    dtype('float64')
    """,
    "real": """
    >>> np.real(np.array([1, 2]))
    array([1., 2.])
    """,
    "roots": """
    >>> np.roots(np.array([1, -3, 2]))  # of x^2 - 3 x + 2
    array([2., 1.])
    """,
    "searchsorted": """
    >>> np.searchsorted(np.array([1, 3, 5]), np.array([0, 3, 4]))
    array([0, 1, 2], dtype=int64)
    """,
    "select": """
    >>> x = np.array([1, 5, 9])
    >>> np.select([x < 3, x > 7], [x, x * 10], default=-1)
    array([ 1., -1., 90.])
    """,
    "setdiff1d": """
    >>> np.setdiff1d(np.array([3, 1, 2, 1]), np.array([2]))
    array([1., 3.])
    """,
    "setxor1d": """
    >>> np.setxor1d(np.array([1, 2, 3]), np.array([2, 3, 4]))
    array([1., 4.])
    """,
    "spacing": """
    >>> np.spacing(np.array([1.0, 1024.0]))  # to the next number of that dtype
    array([1.1920929e-07, 1.2207031e-04])
    """,
    "take_along_axis": """
    >>> a = np.array([[3, 1, 2], [6, 5, 4]])
    >>> np.take_along_axis(a, np.argsort(a, axis=1), axis=1)
    array([[1., 2., 3.],
           [4., 5., 6.]])
    """,
    "tril_indices_from": """
    >>> rows, columns = np.tril_indices_from(np.zeros((2, 2)))
    >>> rows, columns
    (array([0, 1, 1], dtype=int64), array([0, 0, 1], dtype=int64))
    """,
    "trim_zeros": """
    >>> np.trim_zeros(np.array([0, 0, 1, 0, 2, 0]))
    array([1., 0., 2.])
    """,
    "triu_indices_from": """
    >>> rows, columns = np.triu_indices_from(np.zeros((2, 2)))
    >>> rows, columns
    (array([0, 0, 1], dtype=int64), array([0, 1, 1], dtype=int64))
    """,
    "union1d": """
    >>> np.union1d(np.array([3, 1]), np.array([2, 3]))
    array([1., 2., 3.])
    """,
    "unpackbits": """
    >>> np.unpackbits(np.array([131], dtype="uint8"))
    array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """,
    "unwrap": """
    >>> np.unwrap(np.array([0, 3, 6, -1]))  # -1 and 2 pi - 1 are the same angle
    array([0.       , 3.       , 6.       , 5.2831855])
    """,
    "vander": """
    >>> np.vander(np.array([1, 2, 3]), 3)
    array([[1., 1., 1.],
           [4., 2., 1.],
           [9., 3., 1.]], dtype=float64)
    """,
    "genfromtxt": """
    >>> import io
    >>> np.genfromtxt(io.StringIO("1, 2, , 4"), delimiter=",", filling_values=0)
    array([1., 2., 0., 4.], dtype=float64)
    """,
}
