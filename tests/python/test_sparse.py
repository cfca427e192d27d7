"""nd.sparse: arrays made of parts, what operators give, gradients, and SciPy both ways."""

import pickle

import numpy as np
import pytest

import headrace as hr
from headrace import nd

sparse = nd.sparse


MATRIX = np.array([[0, 2, 0], [0, 0, 0], [1, 0, 3], [0, 0, 4]], "float32")


def matrix(dtype="float32"):
    return nd.array(MATRIX, dtype=dtype).tostype("csr")


def rows(dtype="float32"):
    return nd.array(MATRIX, dtype=dtype).tostype("row_sparse")


def test_arrays_know_what_they_are():
    dense = nd.array(MATRIX)
    assert dense.stype == "default" and type(dense.tostype("default")) is nd.NDArray
    assert not isinstance(dense, sparse.BaseSparseNDArray)
    assert type(matrix()) is sparse.CSRNDArray and type(rows()) is sparse.RowSparseNDArray
    assert repr(matrix()) == "\n<CSRNDArray 4x3 @cpu(0)>"
    assert matrix().shape == (4, 3) and matrix().dtype == np.float32 and matrix().ndim == 2
    assert matrix().data.asnumpy().tolist() == [2, 1, 3, 4]
    assert matrix().indices.asnumpy().tolist() == [1, 0, 2, 2]
    assert matrix().indptr.asnumpy().tolist() == [0, 1, 1, 3, 4]
    assert rows().indices.asnumpy().tolist() == [0, 2, 3] and rows().data.shape == (3, 3)
    assert rows().indices.dtype == np.int64
    with pytest.raises(NotImplementedError, match="ambiguous"):
        len(str(matrix().size))
    with pytest.raises(hr.base.NotSupportedForSparseNDArray, match="one shape"):
        rows().reshape((3, 4))
    assert matrix().tostype("row_sparse").stype == "row_sparse"
    with pytest.raises(ValueError, match="storage type 'coo' is unknown"):
        matrix().tostype("coo")


@pytest.mark.parametrize("make", [matrix, rows])
def test_values_come_back(make):
    array = make("float64")
    assert (array.asnumpy() == MATRIX).all() and array.asnumpy().dtype == np.float64
    assert (array.astype("int32").asnumpy() == MATRIX).all() and array.astype("int32").stype == array.stype
    again = pickle.loads(pickle.dumps(array))
    assert type(again) is type(array) and (again.asnumpy() == MATRIX).all()
    copy = array.copyto(hr.cpu())
    assert copy.stype == array.stype and (copy.asnumpy() == MATRIX).all()
    target = nd.zeros((4, 3), stype=array.stype)
    target[:] = array
    assert (target.asnumpy() == MATRIX).all()
    target[:] = np.ones((4, 3))
    assert target.asnumpy().sum() == 12
    if array.stype == "row_sparse":
        target[:] = 3
        assert target.asnumpy().tolist() == [[3] * 3] * 4
    array.data[:] = 7  # a copy
    assert (array.asnumpy() == MATRIX).all()
    array.check_format()


def test_csr_matrices_are_made_of_what_users_have():
    parts = [2, 1, 3, 4], [1, 0, 2, 2], [0, 1, 1, 3, 4]
    assert (sparse.csr_matrix(parts, shape=(4, 3)).asnumpy() == MATRIX).all()
    assert sparse.csr_matrix(tuple(map(nd.array, parts))).shape == (4, 3)
    mixed = sparse.csr_matrix(
        ([3, 1, 2, 4], [2, 0, 1, 2], [0, 0, 0, 2, 4]), (4, 3)
    )  # columns in another order
    assert mixed.asnumpy()[2].tolist() == [1, 0, 3]
    coordinates = sparse.csr_matrix(([4, 2, 1, 1.5, 1.5], ([3, 0, 2, 2, 2], [2, 1, 0, 2, 2])))
    assert (coordinates.asnumpy() == MATRIX).all() and coordinates.dtype == np.float64
    assert sparse.csr_matrix((5, 2)).asnumpy().tolist() == [[0, 0]] * 5
    assert sparse.csr_matrix(MATRIX.astype("float64")).dtype == np.float64
    assert sparse.csr_matrix(MATRIX.tolist(), dtype="float16").dtype == np.float16
    for wrong, text in [
        (lambda: sparse.csr_matrix(([1], [0])), "got 1 lists of coordinates"),
        (lambda: sparse.csr_matrix(([1, 2], [0], [0, 1]), (1, 1)), r"indices must have the shape \(2,\)"),
        (lambda: sparse.csr_matrix(MATRIX, shape=(3, 4)), "shape=\\(3, 4\\) was given"),
        (lambda: sparse.csr_matrix(([], [], [0, 0])), "invalid shape"),
        (lambda: sparse.csr_matrix(([1], ([5], [0])), (2, 2)), "out of bounds"),
        (lambda: sparse.csr_matrix(rows()), "Unexpected input type"),
        (lambda: nd.ones(3).tostype("csr"), "two axes"),
    ]:
        with pytest.raises((ValueError, TypeError), match=text):
            wrong()
    broken = sparse.csr_matrix(([1.0], [9], [0, 1]), (1, 3))
    with pytest.raises(ValueError, match="index 9 is out of bounds"):
        broken.check_format()


def test_row_sparse_arrays_are_made_of_what_users_have():
    made = sparse.row_sparse_array(([[1, 2], [3, 4]], [3, 1]), shape=(5, 2))
    assert made.asnumpy().tolist() == [[0, 0], [3, 4], [0, 0], [1, 2], [0, 0]]
    assert sparse.row_sparse_array((nd.ones((2, 3)), nd.array([4, 0]))).shape == (5, 3)
    assert sparse.row_sparse_array((4, 2)).asnumpy().sum() == 0
    with pytest.raises(ValueError, match="Unexpected length of input tuple: 3"):
        sparse.row_sparse_array((nd.ones((2, 3)), nd.array([4, 0]), nd.array([1])))
    assert sparse.row_sparse_array(MATRIX).indices.asnumpy().tolist() == [0, 2, 3]
    assert sparse.row_sparse_array(made, dtype="float64").dtype == np.float64
    with pytest.raises(ValueError, match=r"values must have the shape \(2, 3\)"):
        sparse.row_sparse_array((np.ones((2, 2)), [0, 1]), (4, 3))
    with pytest.raises(ValueError, match="Unexpected input type"):
        sparse.row_sparse_array(matrix())


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_zeros(stype):
    for made in (
        sparse.zeros(stype, (2, 3)),
        sparse.empty(stype, (2, 3)),
        nd.zeros((2, 3), stype=stype),
        nd.empty((2, 3), stype=stype),
    ):
        assert made.stype == stype and made.asnumpy().tolist() == [[0] * 3] * 2
    assert sparse.zeros("default", (2,)).stype == "default" and sparse.empty("default", 2).shape == (2,)
    assert nd.zeros_like(rows()).asnumpy().sum() == 0
    with pytest.raises(ValueError, match="dense"):
        sparse.array(nd.ones(2))


def test_storage_types_of_results():
    a, b = matrix(), rows()
    for result, stype in [
        (a + a, "csr"),
        (a * a, "csr"),
        (a - a, "csr"),
        (b + b, "row_sparse"),
        (a * 2, "csr"),
        (b / 2, "row_sparse"),
        (b + 0, "row_sparse"),
        (a + 1, "default"),
        (a / a, "default"),
        (nd.exp(a), "default"),
        (nd.relu(b), "row_sparse"),
        (nd.sqrt(a), "csr"),
        (a + nd.ones((4, 3)), "default"),
        (a + b, "default"),
        (a * nd.ones((4, 3)), "csr"),
        (a.sum(), "default"),
        (-a, "csr"),
        (nd.dot(a, nd.ones((3, 2))), "default"),
        (nd.dot(a, nd.ones((4, 2)), transpose_a=True), "row_sparse"),
        (sparse.add(a, a), "csr"),
        (sparse.multiply(a, a), "csr"),
        (sparse.subtract(a, a), "csr"),
        (sparse.divide(a, 2), "csr"),
        (a[1:3], "csr"),
        (a[2], "csr"),
        (b.retain(nd.array([0])), "row_sparse"),
        (nd.concat(a, a, dim=0), "csr"),
        (nd.concat(a, a, dim=1), "default"),
        (nd.concat(a, nd.ones((1, 3)), dim=0), "default"),
    ]:
        assert result.stype == stype
    for made, expected in [
        (a + a, 2 * MATRIX),
        (a * a, MATRIX**2),
        (a + 1, MATRIX + 1),
        (a + b, 2 * MATRIX),
        (a.sum(), [MATRIX.sum()]),
        (a[1:3], MATRIX[1:3]),
        (a[-1], MATRIX[3:]),
        (a[:2], MATRIX[:2]),
        (b.retain(nd.array([3, 1])), [[0] * 3] * 3 + [[0, 0, 4]]),
        (nd.slice(a, begin=(0, 1), end=(4, 3)), MATRIX[:, 1:]),
        (a.T, MATRIX.T),
        (
            nd.concat(a, sparse.zeros("csr", (2, 3)), a[1:3], dim=0),
            np.vstack([MATRIX, [[0] * 3] * 2, MATRIX[1:3]]),
        ),
        (nd.concat(a, a, dim=-2), np.vstack([MATRIX, MATRIX])),
    ]:
        assert (made.asnumpy() == np.asarray(expected)).all()


def test_rows_that_are_not_there_are_not_retained():
    for array in [rows(), rows().tostype("default")]:
        for row in [4, -1]:
            with pytest.raises(
                IndexError, match=f"retain: index {row} is out of bounds for axis 0 with size 4"
            ):
                nd.sparse_retain(array, nd.array([0, row])).wait_to_read()


def test_indices_that_sparse_arrays_do_not_take():
    assert matrix()[:].asnumpy().shape == (4, 3) and rows()[:].stype == "row_sparse"
    with pytest.raises(IndexError, match="row 4 is out of bounds"):
        matrix()[4]
    for key in [(0, 1), slice(0, 4, 2), [1]]:
        with pytest.raises(ValueError):
            matrix()[key]
    for key in [0, slice(0, 1)]:
        with pytest.raises(Exception, match="RowSparseNDArray"):
            rows()[key]
    with pytest.raises(ValueError, match="numeric types"):
        matrix()[:] = 1
    with pytest.raises(ValueError, match="only array"):
        matrix()[0] = nd.ones(3)


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_gradients_are_stored_as_asked(stype):
    weight, data = nd.array([[1, 2], [3, 4], [5, 6]]), matrix()
    weight.attach_grad(stype=stype)
    with hr.autograd.record():
        loss = (nd.dot(data, weight) ** 2).sum()
    loss.backward()
    expected = 2 * MATRIX.T @ (MATRIX @ weight.asnumpy())
    assert weight.grad.stype == stype and (weight.grad.asnumpy() == expected).all()
    array = matrix()
    array.attach_grad()
    with hr.autograd.record():
        loss = (array * array).tostype("default").sum()
    loss.backward()
    assert array.grad.stype == "csr" and (array.grad.asnumpy() == 2 * MATRIX).all()


def test_a_hybridized_block_takes_dense_copies():
    net = hr.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    expected = net(nd.array(MATRIX)).asnumpy()
    net.hybridize()
    assert np.allclose(net(matrix()).asnumpy(), expected)


def test_what_takes_dense_copies_is_counted():
    before = hr.runtime.detours().get("exp: computed on dense copies of sparse arrays", 0)
    nd.exp(matrix()).wait_to_read()
    assert hr.runtime.detours()["exp: computed on dense copies of sparse arrays"] == before + 1


def test_scipy_both_ways():
    scipy = pytest.importorskip("scipy.sparse")
    given = scipy.csr_matrix(MATRIX.astype("float64"))
    for make in (nd.array, nd.sparse.array):
        assert make(given).stype == "csr" and make(given).dtype == np.float64
        assert (make(given.tocoo(), dtype="float32").asnumpy() == MATRIX).all()
    for made in (sparse.csr_matrix(given), sparse.array(given), sparse.csr_matrix(given.tocoo())):
        assert made.dtype == np.float64 and (made.asnumpy() == MATRIX).all()
    back = matrix().asscipy()
    assert scipy.issparse(back) and back.dtype == np.float32 and (back.toarray() == MATRIX).all()


def test_strided_parts_and_symbols():
    made = sparse.row_sparse_array((nd.array(MATRIX).T, [2, 0, 1]), shape=(3, 4))
    assert (made.asnumpy() == MATRIX.T[[1, 2, 0]]).all()
    product = hr.sym.sparse.dot(hr.sym.var("a"), hr.sym.var("b"))
    bound = product.bind(hr.cpu(), {"a": nd.array(MATRIX), "b": nd.ones((3, 1))})
    assert (bound.forward()[0].asnumpy().ravel() == MATRIX.sum(1)).all()
    assert hr.sym.sparse.retain(hr.sym.var("a"), hr.sym.var("i")).list_arguments() == ["a", "i"]


def test_sparse_arrays_know_which_host_device_they_are_on():
    there = hr.cpu(1)
    made = sparse.csr_matrix(MATRIX, ctx=there)
    results = (
        made,
        made + made,
        sparse.dot(made, nd.ones((3, 2), ctx=there)),
        made.tostype("default"),
        made.data,
    )
    assert all(array.context == there for array in results)
    assert sparse.zeros("row_sparse", (2, 2), ctx=there).context == there
    assert made.as_in_context(hr.cpu()).context == hr.cpu()
    assert (made.as_in_context(hr.cpu()).asnumpy() == MATRIX).all()


@pytest.mark.parametrize("stype", [3, float("inf"), (), None, "dense"])
def test_storage_types_that_there_are_not(stype):
    with pytest.raises(hr.base.MXNetError, match="default"):
        sparse.zeros(stype or 0, (2, 2))


def test_names_that_programs_look_up():
    assert matrix()._num_aux == 2 and rows()._num_aux == 1 and rows()._aux_types == [np.int64]
    assert (matrix()._aux_data(0).asnumpy() == matrix().indptr.asnumpy()).all()
    assert (rows()._data().asnumpy() == rows().data.asnumpy()).all()
    for name in ("dot", "retain", "elemwise_add", "sum", "sqrt", "cast_storage", "Embedding", "clip"):
        assert callable(getattr(sparse, name)), name
    assert (sparse.dot(matrix(), nd.ones((3, 1))).asnumpy().ravel() == MATRIX.sum(1)).all()


def test_files_keep_the_storage_type(tmp_path):
    path = str(tmp_path / "sparse.nd")
    nd.save(path, {"csr": matrix("float64"), "rows": rows(), "none": nd.zeros((3, 2), stype="row_sparse")})
    loaded = nd.load(path)
    assert {name: array.stype for name, array in loaded.items()} == {
        "csr": "csr",
        "rows": "row_sparse",
        "none": "row_sparse",
    }
    assert (loaded["csr"].asnumpy() == MATRIX).all() and loaded["csr"].dtype == np.float64
    assert (loaded["rows"].asnumpy() == MATRIX).all() and loaded["none"].asnumpy().sum() == 0


@pytest.mark.parametrize("stype", ["default", "row_sparse", "csr"])
def test_scattered_numbers_change_what_is_stored(stype):
    array = nd.array(MATRIX).tostype(stype)
    plus, minus = nd._internal._scatter_plus_scalar, nd._internal._scatter_minus_scalar
    if stype == "default":
        wanted = MATRIX + 3
    elif stype == "csr":
        wanted = np.where(MATRIX != 0, MATRIX + 3, 0)
    else:
        wanted = np.where((MATRIX != 0).any(1, keepdims=True), MATRIX + 3, 0)
    result = plus(array, scalar=3)
    assert result.stype == stype and (result.asnumpy() == wanted).all()
    assert (minus(result, scalar=3).asnumpy() == MATRIX).all()
    assert (array.asnumpy() == MATRIX).all()


@pytest.mark.parametrize("lhs_stype", ["default", "row_sparse"])
@pytest.mark.parametrize("rhs_stype", ["default", "row_sparse", "csr"])
def test_scattered_quotients_are_those_of_stored_rows(lhs_stype, rhs_stype):
    divisor = np.array([[2, 4, 8], [1, 1, 1], [0, 0, 0], [1, 2, 5]], "float32")
    lhs, rhs = nd.array(MATRIX).tostype(lhs_stype), nd.array(divisor).tostype(rhs_stype)
    result = nd._internal._scatter_elemwise_div(lhs, rhs)
    with np.errstate(all="ignore"):
        wanted = MATRIX / divisor
    if lhs_stype == "row_sparse":
        wanted[1] = 0
        assert result.stype == "row_sparse" and result.indices.asnumpy().tolist() == [0, 2, 3]
    np.testing.assert_array_equal(result.asnumpy(), wanted)


def test_scattered_arithmetic_in_graphs_and_its_gradients():
    a, b = hr.sym.var("a"), hr.sym.var("b")
    net = hr.sym._internal._scatter_elemwise_div(hr.sym._internal._scatter_plus_scalar(a, scalar=1), b)
    values = {"a": nd.array([1.0, 3.0]), "b": nd.array([2.0, 4.0])}
    executor = net.bind(hr.cpu(), values, {name: nd.zeros(2) for name in values})
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [1, 1]
    executor.backward(nd.array([1.0, 2.0]))
    assert executor.grad_dict["a"].asnumpy().tolist() == [0.5, 0.5]
    assert executor.grad_dict["b"].asnumpy().tolist() == [-0.5, -0.5]


@pytest.mark.parametrize("shape", [(1,), (4,), (1, 4), (3, 1), (1, 1)])
def test_csr_beside_smaller_dense_arrays_stays_csr(shape):
    dense = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 4]], dtype="float32")
    small = np.arange(1, np.prod(shape) + 1, dtype="float32").reshape(shape)
    csr, other = nd.array(dense).tostype("csr"), nd.array(small)
    for found, expected in (
        (nd.broadcast_mul(csr, other), dense * small),
        (nd.broadcast_div(csr, other), dense / small),
        (csr * other, dense * small),
        (csr / other, dense / small),
    ):
        assert found.stype == "csr" and found.indices.asnumpy().tolist() == [0, 2, 1, 3]
        np.testing.assert_array_equal(found.asnumpy(), expected)
    assert (csr + other).stype == "default"
    divided = csr / nd.zeros(shape)
    assert divided.stype == "csr" and np.isinf(divided.data.asnumpy()).all()


def test_rows_of_csr_are_normalised_where_they_are_stored():
    csr = nd.array([[1, 0, 2], [0, 0, 3]]).tostype("csr")
    csr.attach_grad()
    normalised = csr / nd.sparse.sum(csr, axis=1).reshape((-1, 1))
    assert normalised.stype == "csr" and normalised.indices.asnumpy().tolist() == [0, 2, 2]
    np.testing.assert_allclose(normalised.asnumpy(), [[1 / 3, 0, 2 / 3], [0, 0, 1]], rtol=1e-6)
