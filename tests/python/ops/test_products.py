"""Products against NumPy: values, gradients, dtypes, empty arrays, errors."""

import numpy
import pytest

import headrace
from headrace import autograd, gluon, nd, np, npx, sym
from headrace.base import MXNetError

RANDOM = numpy.random.RandomState(3)


def random(*shape):
    return RANDOM.uniform(-1, 1, shape)


CASES = {
    "dot": (lambda m, a, b: m.dot(a, b), (3, 4), (4, 5)),
    "dot of vectors": (lambda m, a, b: m.dot(a, b), (4,), (4,)),
    "dot with a number": (lambda m, a, b: m.dot(a, b), (2, 3), ()),
    "dot of more axes": (lambda m, a, b: m.dot(a, b), (2, 3, 4), (2, 4, 3)),
    "matmul": (lambda m, a, b: m.matmul(a, b), (2, 1, 3, 4), (5, 4, 2)),
    "matmul with a vector": (lambda m, a, b: m.matmul(a, b), (2, 3, 4), (4,)),
    "matmul of a vector": (lambda m, a, b: m.matmul(a, b), (4,), (2, 4, 3)),
    "inner": (lambda m, a, b: m.inner(a, b), (2, 3), (4, 3)),
    "outer": (lambda m, a, b: m.outer(a, b), (2, 3), (4,)),
    "vdot": (lambda m, a, b: m.vdot(a, b), (2, 3), (2, 3)),
    "tensordot": (lambda m, a, b: m.tensordot(a, b, 2), (2, 3, 4), (3, 4, 2)),
    "tensordot of nothing": (lambda m, a, b: m.tensordot(a, b, 0), (2,), (3,)),
    "tensordot of axes": (lambda m, a, b: m.tensordot(a, b, ((0, 2), (1, 0))), (2, 3, 4), (4, 2, 5)),
    "einsum": (lambda m, a, b: m.einsum("bij,bkj->kbi", a, b), (2, 3, 4), (2, 5, 4)),
    "einsum with an ellipsis": (lambda m, a, b: m.einsum("...ij,jk", a, b), (2, 2, 3, 4), (4, 2)),
    "einsum with a diagonal": (lambda m, a, b: m.einsum("iij,j->i", a, b), (3, 3, 4), (4,)),
    "einsum of matrices between each other": (
        lambda m, a, b: m.einsum("abce,fgdb->aebcfgd", a, b),
        (2, 3, 4, 2),
        (2, 5, 6, 3),
    ),
    "einsum that repeats": (lambda m, a, b: m.einsum("ij,ij->j", a, b), (3, 4), (1, 4)),
    "einsum that only sums": (lambda m, a, b: m.einsum("ij,k->i", a, b), (3, 4), (2,)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    function, *shapes = CASES[name]
    hosts = [random(*shape) for shape in shapes]
    arrays = [np.array(host, dtype="float64") for host in hosts]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        y = function(np, *arrays)
    expected = numpy.asarray(function(numpy, *hosts))
    assert y.shape == expected.shape
    numpy.testing.assert_allclose(y.asnumpy(), expected, atol=1e-12)
    head = random(*expected.shape)
    y.backward(np.array(head, dtype="float64"))
    for i, host in enumerate(hosts):
        moved, slope = list(hosts), numpy.zeros_like(host)
        for index in numpy.ndindex(host.shape):
            change = numpy.zeros_like(host)
            change[index] = 1  # each factor is linear
            moved[i] = host + change
            slope[index] = ((function(numpy, *moved) - expected) * head).sum()
        numpy.testing.assert_allclose(arrays[i].grad.asnumpy(), slope, atol=1e-11)


def test_second_derivative_of_dot():
    a, b = np.array(random(2, 3), dtype="float64"), np.array(random(3, 2), dtype="float64")
    for array in (a, b):
        array.attach_grad()
    with autograd.record():
        y = (np.dot(a, b) ** 2).sum()
        first = autograd.grad(y, [a], create_graph=True)[0]
        z = first.sum()
    z.backward()
    ones = numpy.ones((2, 3))
    expected = 2 * (ones @ b.asnumpy()) @ b.asnumpy().T
    numpy.testing.assert_allclose(a.grad.asnumpy(), expected, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "int64"])
@pytest.mark.parametrize("m, n, k", [(3, 5, 2), (64, 48, 96), (1, 130, 70), (130, 1, 70), (97, 61, 300)])
def test_dtypes_and_sizes(dtype, m, n, k):
    a, b = (RANDOM.randint(-3, 4, shape).astype("float32") for shape in ((m, k), (k, n)))
    c = nd.dot(nd.array(a).astype(dtype), nd.array(b).astype(dtype)).astype("float32").asnumpy()
    tolerance = {"bfloat16": 1 / 128, "float16": 1 / 1024}.get(dtype, 0)
    numpy.testing.assert_allclose(c, a @ b, rtol=tolerance)


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_batch_dot_and_gemm(ta, tb):
    a, b = random(2, 4, 3) if ta else random(2, 3, 4), random(2, 5, 4) if tb else random(2, 4, 5)
    x, y = nd.array(a, dtype="float64"), nd.array(b, dtype="float64")
    expected = (a.swapaxes(1, 2) if ta else a) @ (b.swapaxes(1, 2) if tb else b)
    numpy.testing.assert_allclose(
        nd.batch_dot(x, y, transpose_a=ta, transpose_b=tb).asnumpy(), expected, atol=1e-12
    )
    numpy.testing.assert_allclose(
        nd.linalg.gemm2(x, y, transpose_a=ta, transpose_b=tb, alpha=0.5).asnumpy(), 0.5 * expected, atol=1e-12
    )


def test_dot_reads_views():
    a = random(40, 30).astype("float32")
    x = np.array(a)
    numpy.testing.assert_allclose(np.dot(x.T, x[:, ::2]).asnumpy(), a.T @ a[:, ::2], rtol=1e-4, atol=1e-5)
    numpy.testing.assert_allclose(np.dot(np.flip(x, 0).T, x).asnumpy(), a[::-1].T @ a, rtol=1e-4, atol=1e-5)


def test_empty_sums_are_zero():
    assert np.dot(np.ones((2, 0)), np.ones((0, 3))).asnumpy().tolist() == [[0] * 3] * 2
    assert np.matmul(np.ones((0, 2, 3)), np.ones((3, 4))).shape == (0, 2, 4)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: nd.dot(nd.ones((2, 3)), nd.ones((2, 3))), "axis 1 of shape (2, 3)"),
        (lambda: np.dot(np.ones((2, 3)), np.ones((3,), dtype="float64")), "astype"),
        (lambda: nd.batch_dot(nd.ones((2, 3, 4)), nd.ones((3, 4, 5))), "batch_dot"),
        (lambda: np.matmul(np.ones((2, 3)), np.ones((2, 3))), "matmul"),
        (lambda: np.matmul(np.ones((2, 3)), np.array(2.0)), "shape ()"),
    ],
)
def test_what_does_not_fit_is_named(call, text):
    with pytest.raises((MXNetError, ValueError)) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize("subscripts", ["ij,jk->iz", "ij", "i#,jk", "ij,jk,kl->il", "ijk,jk->i", "ij,kj->ik"])
def test_einsum_names_bad_labels(subscripts):
    with pytest.raises(ValueError):
        np.einsum(subscripts, np.ones((2, 3)), np.ones((3, 4)))


@pytest.mark.parametrize("flatten, shape", [(True, (4, 2, 3)), (False, (4, 2, 3)), (True, (5,))])
@pytest.mark.parametrize("no_bias", [False, True])
def test_fully_connected(flatten, shape, no_bias):
    data = random(*shape)
    rows = data.reshape(shape[0], -1) if flatten else data
    weight, bias = random(6, rows.shape[-1]), random(6)
    arrays = [np.array(one, dtype="float64") for one in ((data, weight) if no_bias else (data, weight, bias))]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        y = npx.fully_connected(*arrays, num_hidden=6, no_bias=no_bias, flatten=flatten)
    expected = rows @ weight.T + (0 if no_bias else bias)
    numpy.testing.assert_allclose(y.asnumpy(), expected, atol=1e-12)
    head = random(*expected.shape)
    y.backward(np.array(head, dtype="float64"))
    flat = head.reshape(-1, 6)
    numpy.testing.assert_allclose(arrays[0].grad.asnumpy(), (flat @ weight).reshape(shape), atol=1e-12)
    numpy.testing.assert_allclose(arrays[1].grad.asnumpy(), flat.T @ rows.reshape(len(flat), -1), atol=1e-12)
    if not no_bias:
        numpy.testing.assert_allclose(arrays[2].grad.asnumpy(), flat.sum(0), atol=1e-12)


@pytest.mark.parametrize("hybridize", [False, True])
def test_the_bias_of_fully_connected_may_be_a_column(hybridize):
    x, weight, bias = (nd.array(random(*shape)) for shape in ((3, 4), (2, 4), (2, 1)))

    class Layer(gluon.HybridBlock):
        def hybrid_forward(self, F, x, weight, bias):
            return F.tanh(F.FullyConnected(x, weight, bias, num_hidden=2))

    layer = Layer()
    layer.hybridize(hybridize)
    grads = []
    for one in (bias, bias.reshape((2,))):
        one.attach_grad()
        with autograd.record():
            y = layer(x, weight, one)
        y.backward()
        grads.append((y, one.grad))
        assert one.grad.shape == one.shape
    numpy.testing.assert_array_equal(*(y.asnumpy() for y, _ in grads))
    numpy.testing.assert_array_equal(*(grad.asnumpy().ravel() for _, grad in grads))
    rows = bias.tostype("row_sparse")
    numpy.testing.assert_array_equal(
        nd.sparse.FullyConnected(x.tostype("csr"), weight, rows, num_hidden=2).asnumpy(),
        nd.FullyConnected(x, weight, bias, num_hidden=2).asnumpy(),
    )
    graph = sym.FullyConnected(sym.var("x"), bias=sym.var("b", shape=(5, 1)), num_hidden=5)
    assert graph.infer_shape(x=(2, 3))[0][-1] == (5, 1)


def test_fully_connected_names_the_weight_it_wants():
    with pytest.raises(headrace.base.MXNetError, match=r"weight must have shape \(4, 3\)"):
        nd.FullyConnected(nd.ones((2, 3)), nd.ones((4, 2)), nd.ones((4,)), num_hidden=4)


def heads_of(projections, heads, parts):
    """(parts, batch * heads, time, size) of projections (time, batch, heads * parts * size)."""
    time, batch, _ = projections.shape
    return (
        projections.reshape(time, batch, heads, parts, -1)
        .transpose(3, 1, 2, 0, 4)
        .reshape(parts, batch * heads, time, -1)
    )


def joined_heads(values, batch):
    """(time, batch, heads * size) of values (batch * heads, time, size)."""
    time, size = values.shape[1:]
    return values.reshape(batch, -1, time, size).transpose(2, 0, 1, 3).reshape(time, batch, -1)


def test_products_of_self_attention():
    projections, weights = random(5, 2, 3 * 3 * 4), random(6, 5, 5)
    q, k, v = heads_of(projections, 3, 3)
    x = nd.array(projections, dtype="float64")
    scores = nd.contrib.interleaved_matmul_selfatt_qk(x, heads=3).asnumpy()
    numpy.testing.assert_allclose(scores, q @ k.swapaxes(1, 2) / 2, atol=1e-12)
    mixed = nd.contrib.interleaved_matmul_selfatt_valatt(x, nd.array(weights, dtype="float64"), heads=3)
    numpy.testing.assert_allclose(mixed.asnumpy(), joined_heads(weights @ v, 2), atol=1e-12)


def test_products_of_attention_to_an_encoder():
    queries, projections, weights = random(5, 2, 3 * 4), random(6, 2, 3 * 2 * 4), random(6, 5, 6)
    (q,), (k, v) = heads_of(queries, 3, 1), heads_of(projections, 3, 2)
    x, y = nd.array(queries, dtype="float64"), nd.array(projections, dtype="float64")
    scores = nd.contrib.interleaved_matmul_encdec_qk(x, y, heads=3).asnumpy()
    numpy.testing.assert_allclose(scores, q @ k.swapaxes(1, 2) / 2, atol=1e-12)
    mixed = nd.contrib.interleaved_matmul_encdec_valatt(y, nd.array(weights, dtype="float64"), heads=3)
    numpy.testing.assert_allclose(mixed.asnumpy(), joined_heads(weights @ v, 2), atol=1e-12)


def test_scores_leave_out_what_the_heads_cannot_share():
    projections = random(5, 2, 3 * 3 * 4 + 7)
    few, all_of_them = (nd.array(x, dtype="float64") for x in (projections[..., :36], projections))
    scores = nd.contrib.interleaved_matmul_selfatt_qk
    numpy.testing.assert_array_equal(scores(all_of_them, heads=3).asnumpy(), scores(few, heads=3).asnumpy())


def test_attention_refuses_what_does_not_fit():
    with pytest.raises(MXNetError, match="multiple of 6"):
        nd.contrib.interleaved_matmul_selfatt_qk(nd.ones((3, 2, 5)), heads=2)
    with pytest.raises(MXNetError, match="multiple of 6"):
        nd.contrib.interleaved_matmul_selfatt_valatt(nd.ones((3, 2, 10)), nd.ones((4, 3, 3)), heads=2)
    with pytest.raises(MXNetError, match="3 axes"):
        nd.contrib.interleaved_matmul_encdec_qk(nd.ones((3, 2)), nd.ones((3, 2, 8)), heads=2)
    with pytest.raises(MXNetError, match="keys_values"):
        nd.contrib.interleaved_matmul_encdec_qk(nd.ones((3, 2, 4)), nd.ones((3, 1, 8)), heads=2)
    with pytest.raises(MXNetError, match="attention"):
        nd.contrib.interleaved_matmul_selfatt_valatt(nd.ones((3, 2, 12)), nd.ones((4, 2, 2)), heads=2)
