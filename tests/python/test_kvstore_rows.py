"""Key-value stores of row_sparse arrays."""

import numpy as onp
import pytest

import headrace as mx
from headrace import kv, nd
from headrace.base import MXNetError

CPUS = [mx.cpu(i) for i in range(4)]


@pytest.fixture(params=["local", "device", "device ring"])
def store(request):
    name, _, strategy = request.param.partition(" ")
    return kv.create(name, strategy=strategy or None)


def row_zeros(count):
    return [nd.sparse.zeros("row_sparse", (3, 2), ctx=ctx) for ctx in CPUS[:count]]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_row_sparse_pull_gives_rows(store, stype):
    store.init("t", nd.array([[1, 2], [3, 4], [5, 6]]).tostype(stype))
    outs = row_zeros(2)
    store.row_sparse_pull("t", out=outs, row_ids=nd.array([2, 0, 2]))
    for out in outs:
        assert out.indices.asnumpy().tolist() == [0, 2]
        assert out.asnumpy().tolist() == [[1, 2], [0, 0], [5, 6]]
    store.row_sparse_pull("t", out=outs, row_ids=[nd.array([[1]], dtype="int64"), nd.array([0])])
    assert [out.asnumpy().tolist() for out in outs] == [[[0, 0], [3, 4], [0, 0]], [[1, 2], [0, 0], [0, 0]]]
    store.row_sparse_pull(["t"], out=[outs[0]], row_ids=[nd.array([0])])
    with pytest.raises(ValueError, match="row_sparse_pull: key 't'"):
        store.row_sparse_pull("t", out=outs, row_ids=[nd.array([0])] * 3)
    with pytest.raises(AssertionError, match="row_ids is missing"):
        store.row_sparse_pull("t", out=outs)
    with pytest.raises(MXNetError, match="expected row_sparse arrays to write into"):
        store.row_sparse_pull("t", out=nd.zeros((3, 2)), row_ids=nd.array([0]))
    for row in [3, -1]:
        with pytest.raises(IndexError, match=f"index {row} is out of bounds for axis 0 with size 3"):
            store.row_sparse_pull("t", out=outs[0], row_ids=nd.array([row]))
            outs[0].wait_to_read()


def rows_at(values, index, ctx=None):
    return nd.sparse.row_sparse_array((values, index), shape=(3, 2), ctx=ctx)


def test_row_sparse_arrays_are_summed(store):
    store.init("t", nd.ones((3, 2)).tostype("row_sparse"))
    pushed = [rows_at([[1, 2]], [0], CPUS[0]), rows_at([[3, 4], [5, 6]], [0, 2], CPUS[1])]
    store.push("t", pushed)
    outs = row_zeros(2)
    store.pull("t", out=outs, ignore_sparse=False)
    for out in outs:
        assert out.indices.asnumpy().tolist() == [0, 2]
        assert out.asnumpy().tolist() == [[4, 6], [0, 0], [5, 6]]
    dense = nd.zeros((3, 2))
    store.pull("t", out=dense)
    assert dense.asnumpy().tolist() == [[4, 6], [0, 0], [5, 6]]
    with pytest.warns(UserWarning, match="row_sparse_pull"):
        store.pull("t", out=pushed[0])
    assert pushed[0].asnumpy().tolist() == [[1, 2], [0, 0], [0, 0]]
    store.pushpull("t", pushed)
    for out in pushed:
        assert out.asnumpy().tolist() == [[4, 6], [0, 0], [5, 6]]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_an_optimizer_updates_the_rows_that_are_pushed(store, stype):
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5, wd=0.1))
    store.init(0, nd.ones((3, 2)).tostype(stype))
    for _ in range(2):
        store.push(0, [rows_at([[1, 2]], [1], ctx) for ctx in CPUS[:2]])
    out = nd.zeros((3, 2))
    store.pull(0, out=out)
    # m = 0.5 m - 0.5 (g + 0.1 w), w += m, of row 1 alone
    onp.testing.assert_allclose(out.asnumpy(), [[1, 1], [-1.5725, -4.0225], [1, 1]], rtol=1e-6)


def test_stores_hold_no_csr_arrays(store):
    with pytest.raises(MXNetError, match="stored as csr"):
        store.init("t", nd.ones((3, 2)).tostype("csr"))
