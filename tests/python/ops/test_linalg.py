"""nd.linalg and np.linalg: values against NumPy, MXNet's conventions, gradients, and what is refused."""

import itertools
import threading

import numpy
import pytest

from headrace import autograd, gluon, nd, np, npx, sym
from headrace.base import MXNetError

RNG = numpy.random.RandomState(7)
BATCHES = [(), (3,), (2, 2)]
DTYPES = ["float32", "float64"]


@pytest.fixture
def np_mode():
    npx.set_np()
    yield
    npx.reset_np()


def normal(*shape):
    return RNG.normal(size=shape)


def definite(*batch, n=3):
    """Symmetric positive definite matrices."""
    x = normal(*batch, n, n)
    return x @ transposed(x) + numpy.eye(n)


def transposed(matrices):
    return numpy.swapaxes(matrices, -1, -2)


def check(got, expected, dtype="float64"):
    assert got.dtype == numpy.dtype(dtype)
    tolerance = 1e-3 if dtype == "float32" else 1e-9
    numpy.testing.assert_allclose(got.asnumpy(), expected, rtol=tolerance, atol=tolerance)


def check_slope(function, *arrays):
    """The gradients of the weighted results of `function` are their slopes in a random direction."""
    inputs = [nd.array(a, dtype="float64") for a in arrays]
    for one in inputs:
        one.attach_grad()

    def results(values):
        found = function(*values)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    with autograd.record():
        found = results(inputs)
    heads = [normal(*one.shape) for one in found]
    autograd.backward(found, [nd.array(h, dtype="float64") for h in heads])
    directions = [normal(*a.shape) for a in arrays]

    def value(step):
        moved = [nd.array(a + step * d, dtype="float64") for a, d in zip(arrays, directions)]
        return sum((one.asnumpy() * h).sum() for one, h in zip(results(moved), heads))

    slope = (value(1e-6) - value(-1e-6)) / 2e-6
    along = sum((one.grad.asnumpy() * d).sum() for one, d in zip(inputs, directions))
    numpy.testing.assert_allclose(along, slope, rtol=1e-5, atol=1e-7)


def symmetric(x):
    """Positive definite matrices, as a function of any."""
    return nd.linalg.syrk(x) + nd.array(numpy.eye(x.shape[-1]), dtype="float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_factors_and_inverses(batch, dtype, lower):
    matrices = definite(*batch)
    factor = numpy.linalg.cholesky(matrices)
    factor = factor if lower else transposed(factor)
    array = nd.array(matrices, dtype=dtype)
    check(nd.linalg.potrf(array, lower=lower), factor, dtype)
    check(nd.linalg.potri(nd.array(factor, dtype=dtype), lower=lower), numpy.linalg.inv(matrices), dtype)
    # The other triangle is not read.
    other = numpy.triu(numpy.ones((3, 3)), 1)
    read = nd.array(matrices + 9 * (other if lower else other.T), dtype=dtype)
    check(nd.linalg.potrf(read, lower=lower), factor, dtype)
    if lower:
        check(np.linalg.cholesky(np.array(matrices, dtype=dtype)), factor, dtype)


@pytest.mark.parametrize("lower", [True, False])
def test_gradient_of_cholesky_is_that_of_symmetric_matrices(lower):
    check_slope(lambda x: nd.linalg.potrf(symmetric(x), lower=lower), normal(2, 3, 3))
    array = nd.array(definite(), dtype="float64")
    array.attach_grad()
    with autograd.record():
        factor = nd.linalg.potrf(array, lower=lower)
    factor.backward(nd.array(normal(3, 3), dtype="float64"))
    numpy.testing.assert_allclose(array.grad.asnumpy(), array.grad.asnumpy().T, atol=1e-12)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("lower, transpose, right", list(itertools.product([True, False], repeat=3)))
def test_triangular_products_and_systems(batch, lower, transpose, right):
    matrices = normal(*batch, 3, 3) + 3 * numpy.eye(3)
    other = normal(*batch, 2, 3) if right else normal(*batch, 3, 2)
    factor = numpy.tril(matrices) if lower else numpy.triu(matrices)
    factor = transposed(factor) if transpose else factor
    a, b = nd.array(matrices, dtype="float64"), nd.array(other, dtype="float64")
    options = {"lower": lower, "transpose": transpose, "rightside": right, "alpha": -0.5}
    check(nd.linalg.trmm(a, b, **options), -0.5 * (other @ factor if right else factor @ other))
    inverse = numpy.linalg.inv(factor)
    check(nd.linalg.trsm(a, b, **options), -0.5 * (other @ inverse if right else inverse @ other))


@pytest.mark.parametrize("batch", BATCHES)
def test_diagonals(batch):
    matrices = normal(*batch, 3, 3)
    for offset in range(-2, 3):
        line = numpy.diagonal(matrices, offset, -2, -1)
        got = nd.linalg.extractdiag(nd.array(matrices, dtype="float64"), offset=offset)
        check(got, line)
        made = nd.linalg.makediag(got, offset=offset).asnumpy()
        assert made.shape == matrices.shape
        numpy.testing.assert_array_equal(numpy.diagonal(made, offset, -2, -1), line)
        assert (made != 0).sum() == line.size
    positive = numpy.abs(matrices)
    expected = numpy.log(numpy.diagonal(positive, 0, -2, -1)).sum(-1)
    check(nd.linalg.sumlogdiag(nd.array(positive, dtype="float64")), expected.reshape(batch or (1,)))


def test_triangles_are_read_by_rows_below_and_by_columns_above():
    matrix = numpy.arange(1.0, 10).reshape(3, 3)
    for offset, lower, expected in (
        (0, True, [1, 4, 5, 7, 8, 9]),
        (0, False, [1, 2, 5, 3, 6, 9]),
        (-1, False, [4, 7, 8]),  # the offset decides, not `lower`
        (1, True, [2, 3, 6]),
        (-2, True, [7]),
    ):
        options = {"offset": offset, "lower": lower}
        got = nd.linalg.extracttrian(nd.array(matrix), **options)
        assert got.asnumpy().tolist() == expected
        back = (
            numpy.tril(matrix, offset)
            if offset < 0 or (offset == 0 and lower)
            else numpy.triu(matrix, offset)
        )
        assert nd.linalg.maketrian(got, **options).asnumpy().tolist() == back.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_lq_factors(batch, dtype):
    matrices = normal(*batch, 2, 4)
    q, low = nd.linalg.gelqf(nd.array(matrices, dtype=dtype))
    check(nd.linalg.gemm2(low, q), matrices, dtype)
    check(nd.linalg.syrk(q), numpy.broadcast_to(numpy.eye(2), (*batch, 2, 2)), dtype)
    numpy.testing.assert_array_equal(low.asnumpy(), numpy.tril(low.asnumpy()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_symmetric_eigenvectors(batch, dtype):
    matrices = definite(*batch, n=4)
    values = numpy.linalg.eigvalsh(matrices)
    u, w = nd.linalg.syevd(nd.array(matrices, dtype=dtype))
    check(w, values, dtype)
    found = u.asnumpy().astype("float64")
    numpy.testing.assert_allclose(
        transposed(found) @ (values[..., None] * found),
        matrices,
        rtol=1e-3,
        atol=1e-3 if dtype == "float32" else 1e-9,
    )
    # Eigenvectors are rows whose greatest element is positive.
    farthest = numpy.take_along_axis(found, numpy.abs(found).argmax(-1)[..., None], -1)
    assert (farthest > 0).all()
    pair = np.linalg.eigh(np.array(matrices, dtype=dtype))
    assert isinstance(pair, tuple)
    w, v = pair
    check(w, values, dtype)
    check(v, transposed(found), dtype)


def test_eigh_reads_the_triangle_that_it_is_told():
    matrix = normal(3, 3)
    for uplo in "LU":
        w, v = np.linalg.eigh(np.array(matrix, dtype="float64"), UPLO=uplo)
        expected, _ = numpy.linalg.eigh(matrix, uplo)
        check(w, expected)
        check(np.linalg.eigvalsh(np.array(matrix, dtype="float64"), uplo), expected)
        half = numpy.tril(matrix) if uplo == "L" else numpy.triu(matrix)
        both = half + half.T - numpy.diag(numpy.diag(half))
        numpy.testing.assert_allclose(both @ v.asnumpy(), w.asnumpy() * v.asnumpy(), atol=1e-9)
    with pytest.raises(ValueError, match="UPLO"):
        np.linalg.eigh(np.array(matrix), UPLO="X")


def test_gradients_of_symmetric_eigenvectors():
    check_slope(lambda x: nd.linalg.syevd(symmetric(x)), normal(2, 3, 3))
    check_slope(lambda x: nd.linalg.syevd(symmetric(x))[0], normal(3, 3))
    check_slope(lambda x: np.linalg.eigvalsh(symmetric(x).as_np_ndarray()).as_nd_ndarray(), normal(3, 3))


def test_eigenvalues_of_other_matrices():
    basis = normal(2, 3, 3)
    values = numpy.array([3.0, -1.0, 0.5])
    matrices = basis @ (values[:, None] * numpy.linalg.inv(basis))
    w, v = np.linalg.eig(np.array(matrices, dtype="float64"))
    numpy.testing.assert_allclose(numpy.sort(w.asnumpy()), numpy.sort([values, values]), atol=1e-9)
    found = v.asnumpy()
    numpy.testing.assert_allclose(matrices @ found, w.asnumpy()[:, None, :] * found, atol=1e-9)
    numpy.testing.assert_allclose(numpy.linalg.norm(found, axis=1), 1)
    check(np.linalg.eigvals(np.array(matrices, dtype="float64")), w.asnumpy())
    for name in ("eig", "eigvals"):
        with pytest.raises(MXNetError, match=r"matrix 1 has complex eigenvalues"):
            first = getattr(np.linalg, name)(np.array([numpy.eye(2), [[0, 1], [-1, 0]]]))
            (first[0] if name == "eig" else first).asnumpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_singular_values(batch, dtype):
    matrices = normal(*batch, 3, 5)
    u, s, v = np.linalg.svd(np.array(matrices, dtype=dtype))
    check(s, numpy.linalg.svd(matrices, compute_uv=False), dtype)
    check(np.matmul(u * np.expand_dims(s, -2), v), matrices, dtype)
    found = v.asnumpy()
    assert (numpy.take_along_axis(found, numpy.abs(found).argmax(-1)[..., None], -1) > 0).all()
    with pytest.raises(MXNetError, match="more rows than columns"):
        np.linalg.svd(np.array(transposed(matrices)))


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 4, 4), (2, 2, 4, 3)])
def test_pseudo_inverses(shape):
    matrices = normal(*shape)
    check(np.linalg.pinv(np.array(matrices, dtype="float64")), numpy.linalg.pinv(matrices))
    for share in (0.5, numpy.full(shape[:-2], 0.5)):
        expected = numpy.linalg.pinv(matrices, share)
        given = share if numpy.isscalar(share) else np.array(share, dtype="float64")
        check(np.linalg.pinv(np.array(matrices, dtype="float64"), given), expected)
    with pytest.raises(NotImplementedError, match="hermitian"):
        np.linalg.pinv(np.array(matrices), hermitian=True)


def test_pseudo_inverse_of_rounded_zeros():
    check(np.linalg.pinv(np.ones((3, 2))), numpy.full((2, 3), 1 / 6), "float32")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_inverses_determinants_and_solutions(batch, dtype):
    matrices, right = normal(*batch, 4, 4) + 2 * numpy.eye(4), normal(*batch, 4, 2)
    array = np.array(matrices, dtype=dtype)
    check(np.linalg.inv(array), numpy.linalg.inv(matrices), dtype)
    check(np.linalg.det(array), numpy.linalg.det(matrices), dtype)
    for got, expected in zip(np.linalg.slogdet(array), numpy.linalg.slogdet(matrices)):
        check(got, expected, dtype)
    check(np.linalg.solve(array, np.array(right, dtype=dtype)), numpy.linalg.solve(matrices, right), dtype)
    vector = numpy.linalg.solve(matrices, right[..., :1])[..., 0]
    check(np.linalg.solve(array, np.array(right[..., 0], dtype=dtype)), vector, dtype)
    # nd arrays have a dimension.
    assert nd.linalg.det(nd.array(matrices)).shape == (batch or (1,))
    assert [one.shape for one in nd.linalg.slogdet(nd.array(matrices))] == [batch or (1,)] * 2


def test_gradients_of_inverses_determinants_and_solutions():
    matrices = normal(2, 3, 3) + 2 * numpy.eye(3)
    for function in (nd.linalg.inverse, nd.linalg.det, nd.linalg.slogdet):
        check_slope(function, matrices)
    for right in (normal(2, 3, 2), normal(2, 3)):
        check_slope(
            lambda a, b: np.linalg.solve(a.as_np_ndarray(), b.as_np_ndarray()).as_nd_ndarray(),
            matrices,
            right,
        )


def test_singular_matrices_have_determinant_0_and_no_gradient():
    array = nd.array([[[1, 2], [2, 4]], [[1, 2], [3, 4]]], dtype="float64")
    array.attach_grad()
    with autograd.record():
        sign, log = nd.linalg.slogdet(array)
        both = nd.linalg.det(array) + log
    both.backward()
    assert sign.asnumpy().tolist() == [0, -1] and log.asnumpy()[0] == -numpy.inf
    expected = -2 * numpy.linalg.inv([[1, 2], [3, 4]]).T + numpy.linalg.inv([[1, 2], [3, 4]]).T
    numpy.testing.assert_allclose(array.grad.asnumpy(), [numpy.zeros((2, 2)), expected], atol=1e-12)


def test_gradients_of_gradients():
    array = nd.array(definite(), dtype="float64")

    def slope(function):
        def of(x):
            with autograd.record():
                y = function(x)
                (first,) = autograd.grad(y, [x], create_graph=True, retain_graph=True)
            return first

        return of

    def twice(function):
        x = array.copy()
        x.attach_grad()
        with autograd.record():
            first = slope(function)(x)
            total = (first * first).sum()
        total.backward()
        direction, h = nd.array(normal(3, 3), dtype="float64"), 1e-5

        def value(step):
            moved = array + step * direction
            moved.attach_grad()
            return (slope(function)(moved) ** 2).sum().asscalar()

        expected = (value(h) - value(-h)) / (2 * h)
        numpy.testing.assert_allclose((x.grad * direction).sum().asscalar(), expected, rtol=1e-5)

    for function in (nd.linalg.det, nd.linalg.inverse, lambda x: nd.linalg.trsm(x, x), nd.linalg.potri):
        twice(function)


def test_tensors():
    a = normal(4, 6, 8, 3)
    inverse = np.linalg.tensorinv(np.array(a, dtype="float64"))
    check(inverse, numpy.linalg.tensorinv(a))
    b = normal(4, 6)
    check(
        np.linalg.tensorsolve(np.array(a, dtype="float64"), np.array(b, dtype="float64")),
        numpy.linalg.tensorsolve(a, b),
    )
    moved = normal(2, 4, 2)
    got = np.linalg.tensorsolve(np.array(moved, dtype="float64"), np.ones((4,), dtype="float64"), axes=(0, 2))
    check(got, numpy.linalg.tensorsolve(moved, numpy.ones(4), axes=(0, 2)))
    for a_shape, b_shape, shape in (
        ((1, 1), (1, 1), (1, 1)),
        ((1,), (1, 1), ()),
        ((), (1,), ()),
        ((1, 1), (), (1, 1)),
    ):
        got = np.linalg.tensorsolve(np.full(a_shape, 2.0), np.full(b_shape, 3.0))
        assert got.shape == shape and float(got) == 1.5
    with pytest.raises(MXNetError, match="tensorinv: the first 1 extents"):
        np.linalg.tensorinv(np.ones((2, 3)), ind=1)
    with pytest.raises(MXNetError, match="tensorsolve: a of shape"):
        np.linalg.tensorsolve(np.ones((2, 3)), np.ones((2,)))


def test_what_has_no_answer_is_an_error_with_the_name_of_the_operation():
    for function, message in (
        (
            lambda: nd.linalg.potrf(nd.array([[1, 2], [2, 1]])),
            "potrf: matrix 0 is not positive definite",
        ),
        (lambda: np.linalg.cholesky(-np.ones((2, 1, 1))), "cholesky: matrix 0 is not positive definite"),
        (lambda: nd.linalg.potri(nd.zeros((2, 2))), "potri: matrix 0 has no inverse"),
        (lambda: nd.linalg.inverse(nd.ones((2, 2))), "inverse: matrix 0 is singular"),
        (lambda: np.linalg.inv(np.zeros((2, 2))), "inverse: matrix 0 is singular"),
        (lambda: np.linalg.solve(np.zeros((2, 2)), np.ones((2,))), "_solve_matrices: matrix 0 is singular"),
        (lambda: np.linalg.eigvals(np.full((2, 2), numpy.nan)), "_eigenvalues: matrix 0 has NaN"),
    ):
        with pytest.raises(MXNetError, match=message):
            function().asnumpy()


def test_wrong_shapes_and_dtypes_are_refused():
    square = (
        "potrf",
        "potri",
        "sumlogdiag",
        "extractdiag",
        "extracttrian",
        "syevd",
        "inverse",
        "det",
        "slogdet",
    )
    for name in square:
        for shape in ((3,), (2, 3)):
            with pytest.raises(MXNetError, match=f"{name}.*shape"):
                getattr(nd.linalg, name)(nd.ones(shape))
    for name in (*square, "gelqf", "makediag", "maketrian"):
        for dtype in ("int32", "float16"):
            with pytest.raises(MXNetError, match=f"{name}.*float32 or float64.*astype"):
                getattr(nd.linalg, name)(nd.ones((2, 2), dtype=dtype))
    with pytest.raises(MXNetError, match="outside"):
        nd.linalg.extractdiag(nd.ones((2, 2)), offset=2)
    with pytest.raises(MXNetError, match="no triangle"):
        nd.linalg.maketrian(nd.ones((4,)))
    with pytest.raises(MXNetError, match="more rows than columns"):
        nd.linalg.gelqf(nd.ones((3, 2)))
    for a, b in (((2, 2), (3, 2)), ((2, 2), (1, 2, 2)), ((3, 2, 2), (2, 2, 2))):
        with pytest.raises(MXNetError, match="trsm"):
            nd.linalg.trsm(nd.ones(a), nd.ones(b))
        with pytest.raises(MXNetError, match="solve"):
            np.linalg.solve(np.ones(a), np.ones(b))
    with pytest.raises(MXNetError, match="float16"):
        np.linalg.eigh(np.ones((2, 2), dtype="float16"))


def test_integers_are_computed_with_in_float64_where_numpy_does():
    a, b = np.array([[2, 1], [1, 3]], dtype="int32"), np.array([3, 4], dtype="int32")
    check(np.linalg.solve(a, b), [1, 1])
    check(np.linalg.eigvalsh(a), numpy.linalg.eigvalsh([[2, 1], [1, 3]]))
    check(np.linalg.tensorinv(a, ind=1), numpy.linalg.inv([[2, 1], [1, 3]]))


def test_no_matrices_and_matrices_of_nothing():
    for shape in ((0, 3, 3), (2, 0, 0)):
        array = np.zeros(shape)
        for name in ("cholesky", "inv", "pinv"):
            assert getattr(np.linalg, name)(array).asnumpy().shape == shape
        for name in ("eigh", "eig"):
            assert [one.shape for one in getattr(np.linalg, name)(array)] == [shape[:-1], shape]
        assert [one.asnumpy().shape for one in np.linalg.svd(array)] == [shape, shape[:-1], shape]
        assert np.linalg.solve(array, array).asnumpy().shape == shape
        assert np.linalg.det(array).asnumpy().tolist() == [1] * shape[0]
        assert nd.linalg.sumlogdiag(array.as_nd_ndarray()).asnumpy().tolist() == [0] * shape[0]
        array.attach_grad()
        with autograd.record():
            parts = np.linalg.svd(array)
        autograd.backward(list(parts))
        assert array.grad.shape == shape


def test_nan_goes_through_symmetric_and_singular_decompositions():
    array = np.array([[[numpy.nan, 1], [1, 2]], [[2, 0], [0, 1]]])
    for parts in (np.linalg.eigh(array), np.linalg.svd(array)):
        for part in parts:
            assert numpy.isnan(part.asnumpy()[0]).all() and not numpy.isnan(part.asnumpy()[1]).any()


def test_hybridized_blocks_give_the_same(np_mode):
    class Likelihood(gluon.HybridBlock):
        def hybrid_forward(self, F, x, y):
            factor = F.np.linalg.cholesky(x)
            w, v = F.np.linalg.eigh(x)
            return F.np.linalg.solve(factor, y) + F.np.linalg.slogdet(x)[1] + F.np.matmul(v, F.np.diag(w))

    net, (x, y) = Likelihood(), (np.array(definite(n=3)), np.array(normal(3, 3)))
    results = []
    for _ in range(2):
        x.attach_grad()
        with autograd.record():
            out = net(x, y)
        out.backward()
        results.append((out.asnumpy(), x.grad.asnumpy()))
        net.hybridize()
    for eager, compiled in zip(*results):
        numpy.testing.assert_array_equal(eager, compiled)


def test_symbols_complete_the_shape_of_the_third_matrix_of_gemm():
    a, b, c = (sym.var(name) for name in "abc")
    shapes, _, _ = sym.linalg.gemm(a, b, c, transpose_b=True, axis=0).infer_shape(a=(2, 3, 4), b=(5, 3, 4))
    assert shapes == [(2, 3, 4), (5, 3, 4), (2, 3, 5)]


@pytest.mark.usefixtures("on_host")  # cuSOLVER has other functions for one matrix
def test_threads_and_batches_give_the_same_bits():
    matrices = normal(40, 30, 30).astype("float32")
    together = [np.linalg.inv(np.array(matrices)).asnumpy(), np.linalg.svd(np.array(matrices))[1].asnumpy()]
    found = {}

    def work(first):
        for k in range(first, 40, 4):
            one = np.array(matrices[k])
            found[k] = (np.linalg.inv(one).asnumpy(), np.linalg.svd(one)[1].asnumpy())

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, parts in found.items():
        for part, stack in zip(parts, together):
            numpy.testing.assert_array_equal(part, stack[k])


@pytest.mark.parametrize("function", ["eig", "eigh", "qr", "slogdet", "svd"])
def test_several_results_come_as_numpy_names_them(function):
    matrix = numpy.array([[2.0, 1.0], [1.0, 3.0]])
    expected = getattr(numpy.linalg, function)(matrix)
    for result in (
        getattr(np.linalg, function)(np.array(matrix)),
        getattr(numpy.linalg, function)(np.array(matrix)),
    ):
        assert type(result) is type(expected) and isinstance(result[0], np.ndarray)
