"""headrace.mxnet.test_utils: random arrays, shapes and matrices, and checks of generators."""

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet import test_utils as tools


@pytest.fixture(autouse=True)
def seeded():
    np.random.seed(7)


def test_arrays():
    one, many = tools.random_arrays((2, 3)), tools.random_arrays((2,), ())
    assert one.dtype == np.float32 and one.shape == (2, 3)
    assert [x.shape for x in many] == [(2,), ()]
    (uniform,) = tools.random_uniform_arrays((100,), low=3, high=4, dtype="float64")
    assert uniform.dtype == np.float64 and 3 <= uniform.min() <= uniform.max() < 4
    with pytest.raises(TypeError):
        tools.random_uniform_arrays((1,), hihg=2)
    drawn = tools.rand_ndarray((2, 3), dtype="float64")
    assert type(drawn) is mx.nd.NDArray and drawn.dtype == np.float64 and drawn.shape == (2, 3)
    population = list(range(10))
    sample = tools.random_sample(population, 4)
    assert len(set(sample)) == 4 and population == list(range(10))
    assert tools.create_2d_tensor(3, 2).asnumpy().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert tools.create_vector(3).dtype == np.int64
    assert (tools.get_identity_mat_batch(2).asnumpy() == np.eye(2)).all()


def test_sparse_arrays():
    rows, (data, indices) = tools.rand_sparse_ndarray((5, 3), "row_sparse", density=0.5)
    assert rows.stype == "row_sparse" and (rows.data.asnumpy() == data).all()
    assert (rows.indices.asnumpy() == indices).all()
    matrix, (indptr, columns, values) = tools.rand_sparse_ndarray((6, 4), "csr", density=0.25, data_init=2)
    assert matrix.stype == "csr" and values.asnumpy().tolist() == [2] * 6
    assert indptr[-1].asscalar() == columns.size == 6
    assert tools.create_sparse_array((4, 2), "row_sparse", rsp_indices=[3, 0]).indices.asnumpy().tolist() == [
        0,
        3,
    ]
    assert tools.create_sparse_array((3, 3), "csr", density=1, dtype="float64").dtype == np.float64
    assert tools.create_sparse_array_zd((4, 2), "row_sparse", 0.5).indices.shape == (0,)
    tripled = tools.rand_sparse_ndarray((3, 1), "row_sparse", 1, data_init=1, modifier_func=lambda x: 3 * x)[
        0
    ]
    assert tripled.asnumpy().tolist() == [[3]] * 3
    with pytest.raises(AssertionError, match="unknown storage type"):
        tools.rand_sparse_ndarray((2, 2), "coo")


# As MXNet 1.9.1 draws them.
@pytest.mark.parametrize(
    "shape, density, indptr",
    [
        ((5, 16), 0.5, [0, 2, 6, 14, 30, 40]),
        ((4, 8), 0.5, [0, 2, 6, 14, 16]),
        ((6, 10), 0.25, [0, 2, 6, 12, 13, 14, 15]),
        ((8, 6), 0.4, [0, 2, 6, 12, 15, 16, 17, 18, 19]),
    ],
)
def test_rows_of_a_power_law(shape, density, indptr):
    np.random.seed(3)
    matrix = tools.rand_ndarray(shape, "csr", density=density, distribution="powerlaw")
    assert matrix.indptr.asnumpy().tolist() == indptr
    assert round(float(matrix.data[0].asscalar()), 3) == 2.102
    assert matrix.data.min().asscalar() >= 1 and matrix.data.max().asscalar() < 3


@pytest.mark.parametrize("density, distribution", [(0.05, "powerlaw"), (1, "powerlaw"), (1.5, "uniform")])
def test_densities_that_are_not_reached(density, distribution):
    with pytest.raises(ValueError, match="density"):
        tools.rand_sparse_ndarray((5, 16), "csr", density, distribution=distribution)


def test_shapes():
    shapes = [tools.rand_shape_2d(3, 4) for _ in range(200)]
    assert {s[0] for s in shapes} == {1, 2, 3} and {s[1] for s in shapes} == {1, 2, 3, 4}
    assert {len(tools.rand_shape_nd(k, 2)) for k in (1, 5)} == {1, 5}
    assert any(0 in tools.rand_shape_3d(2, 2, 2, allow_zero_size=True) for _ in range(50))
    assert all(type(extent) is int for extent in tools.rand_shape_nd(4))
    x, y = tools.rand_coord_2d(2, 3, 5, 7)
    assert x == 2 and y in (5, 6)


def test_element_by_element():
    x = np.array([[1.0, 2], [3, 4]])
    assert tools.assign_each(x, lambda v: v + 1).tolist() == (x + 1).tolist()
    assert tools.assign_each2(x, x.T, lambda v, w: v - w).tolist() == (x - x.T).tolist()
    assert tools.assign_each(x, None).tolist() == x.tolist() and tools.assign_each(x, None) is not x


def test_reductions():
    x = np.arange(24.0).reshape(2, 3, 4)
    for axis in (None, 1, -1, [0, 2], (0, -1)):
        wanted = x.max(axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=True)
        assert tools.np_reduce(x, axis, True, np.max).tolist() == wanted.tolist()
        assert np.array_equal(tools.np_reduce(x, axis, False, np.max), np.squeeze(wanted))
    assert tools.collapse_sum_like(x, (3, 1)).tolist() == x.sum(axis=(0, 2)).reshape(3, 1).tolist()
    assert tools.collapse_sum_like(x, (0, 3)).shape == (0, 3)
    with pytest.raises(AssertionError):
        tools.collapse_sum_like(x, (2, 4))


def test_matrices():
    values = np.linalg.eigvals(tools.new_matrix_with_real_eigvals_nd((2, 4, 4)))
    assert values.shape == (2, 4) and np.abs(values.imag).max() < 1e-9 and np.abs(values).max() <= 10 + 1e-9
    q = tools.new_orthonormal_matrix_2d(5)
    np.testing.assert_allclose(q @ q.T, np.eye(5), atol=1e-9)
    symmetric = tools.new_sym_matrix_with_real_eigvals_nd((2, 3, 3))
    np.testing.assert_allclose(symmetric, symmetric.swapaxes(-1, -2), atol=1e-9)


def test_indices_of_a_csr_matrix_are_shuffled_row_by_row():
    class Matrix:
        indptr, indices = np.array([0, 5, 6]), np.array([0, 1, 2, 3, 4, 9])

    before = Matrix.indices.copy()
    tools.shuffle_csr_column_indices(Matrix)
    assert sorted(Matrix.indices[:5]) == [0, 1, 2, 3, 4] and Matrix.indices[5] == 9
    assert not np.array_equal(before, Matrix.indices)


def test_mean_and_variance():
    def normal(n):
        return np.random.normal(1, 2, n)

    assert tools.mean_check(normal, 1, 2, nsamples=10000)
    assert not tools.mean_check(normal, 1.5, 2, nsamples=10000)
    assert tools.var_check(normal, 2, nsamples=10000)
    assert not tools.var_check(normal, 2.5, nsamples=10000)


def test_quantiles():
    buckets, probabilities = tools.gen_buckets_probs_with_ppf(lambda p: 2 * p, 4)
    assert buckets == [(0, 0.5), (0.5, 1), (1, 1.5), (1.5, 2)] and probabilities == [0.25] * 4


def test_chi_square():
    pytest.importorskip("scipy")
    buckets, probabilities = tools.gen_buckets_probs_with_ppf(lambda p: 2 * p, 4)

    def uniform(n):
        return mx.nd.random.uniform(0, 2, shape=(n,))

    mx.random.seed(5)
    assert len(tools.verify_generator(uniform, buckets, probabilities, nsamples=5000)) == 5
    with pytest.raises(AssertionError, match="Generator test fails: 0 of 5"):
        tools.verify_generator(lambda n: uniform(n) ** 2 / 2, buckets, probabilities, nsamples=5000)
    fair = [1 / 6] * 6
    p, found, expected = tools.chi_square_check(
        lambda n: np.arange(n) % 6, list(range(6)), fair, nsamples=600
    )
    assert p == 1 and found.tolist() == expected.tolist() == [100] * 6


def test_chi_square_needs_scipy(monkeypatch):
    monkeypatch.setattr(tools.generators, "ss", None)
    with pytest.raises(ImportError, match="install scipy"):
        tools.chi_square_check(np.ones, [0, 1], [0.5, 0.5])
