"""`headrace.array_api`, the namespace of the Python array API standard."""

import numpy as onp
import pytest

import headrace as mx
from headrace import array_api as xp
from headrace import np
from headrace.base import MXNetError


def test_arrays_lead_to_the_namespace():
    x = np.ones((2, 3))
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2022.12") is xp
    with pytest.raises(ValueError, match="api_version must be one of"):
        x.__array_namespace__(api_version="1999.12")
    assert x.device == mx.cpu()
    assert x.to_device(mx.cpu()) is x
    assert x.mT.shape == (3, 2)
    with pytest.raises(ValueError, match="mT: at least two axes"):
        _ = x[0].mT


def test_all_names_are_there():
    assert [name for name in xp.__all__ if not hasattr(xp, name)] == []
    assert len(xp.__all__) == len(set(xp.__all__))
    assert all(hasattr(xp.linalg, name) for name in xp.linalg.__all__)


@pytest.mark.parametrize(
    "array, dtype",
    [
        (lambda: xp.arange(3), "int64"),
        (lambda: xp.arange(0, 1, 0.5), "float32"),
        (lambda: xp.asarray([1, 2]), "int64"),
        (lambda: xp.asarray([1.5]), "float32"),
        (lambda: xp.asarray(True), "bool"),
        (lambda: xp.asarray(onp.zeros(2)), "float64"),
        (lambda: xp.full((2,), 3), "int64"),
        (lambda: xp.zeros(2), "float32"),
        (lambda: xp.ones_like(xp.arange(2)), "int64"),
        (lambda: xp.linspace(0, 1, 3), "float32"),
        (lambda: xp.sum(xp.ones(3, dtype=xp.int8)), "int64"),
        (lambda: xp.prod(xp.ones(3, dtype=xp.uint8)), "uint64"),
        (lambda: xp.sum(xp.ones(3)), "float32"),
        (lambda: xp.astype(xp.ones(3), xp.int16), "int16"),
    ],
)
def test_dtypes_of_results(array, dtype):
    assert array().dtype == onp.dtype(dtype)


def test_common_dtypes():
    i8, u8 = xp.asarray([1, -2], dtype=xp.int8), xp.asarray([250, 1], dtype=xp.uint8)
    both = xp.add(i8, u8)
    assert both.dtype == onp.int16
    assert both.asnumpy().tolist() == [251, -1]
    assert xp.result_type(xp.float32, xp.float64) == onp.float64
    assert xp.result_type(i8, 3) == onp.int8
    assert xp.concat([i8, u8]).dtype == onp.int16
    assert not xp.can_cast(xp.int64, xp.int32)
    for pair in ((xp.int32, xp.float32), (xp.uint64, xp.int64), (xp.bool, xp.int8)):
        with pytest.raises(TypeError, match="no common dtype"):
            xp.result_type(*pair)
    with pytest.raises(MXNetError, match="divide: arrays of float32 or float64"):
        xp.divide(i8, i8)


def test_kinds():
    assert xp.isdtype(onp.dtype("int8"), ("bool", "integral"))
    assert not xp.isdtype(onp.dtype("uint8"), "signed integer")
    assert xp.isdtype(onp.dtype("float64"), xp.float64)
    with pytest.raises(ValueError, match="kind must be"):
        xp.isdtype(xp.int8, "whole")
    assert list(xp.__array_namespace_info__().dtypes(kind="real floating")) == ["float32", "float64"]
    assert xp.__array_namespace_info__().default_dtypes()["integral"] == onp.int64
    assert mx.cpu() in xp.__array_namespace_info__().devices()
    assert (xp.finfo(xp.float32).bits, xp.iinfo(xp.int8).max) == (32, 127)


def test_copies_of_asarray():
    x = xp.asarray([1.0, 2.0])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(x, dtype=xp.float64, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([1, 2], copy=False)


def test_order_and_sets():
    x = xp.asarray([[3, 1, 3], [2, 2, 1]])
    assert xp.sort(x, descending=True).asnumpy().tolist() == [[3, 3, 1], [2, 2, 1]]
    assert xp.argsort(x, descending=True).asnumpy().tolist() == [[0, 2, 1], [0, 1, 2]]  # equal ones in order
    found = xp.unique_all(x)
    assert found.values.asnumpy().tolist() == [1, 2, 3]
    assert found.counts.asnumpy().tolist() == [2, 2, 2]
    assert found.values[found.inverse_indices].asnumpy().tolist() == x.asnumpy().tolist()
    assert len(xp.unique_values(xp.asarray([float("nan"), float("nan")]))) == 2


def test_reductions_and_running_sums():
    x = xp.asarray([[1.0, 2.0], [4.0, 8.0]])
    assert xp.argmax(x, keepdims=True).shape == (1, 1)
    assert float(xp.var(x, correction=1)) == pytest.approx(onp.var(x.asnumpy(), ddof=1))
    assert xp.cumulative_sum(x, axis=1, include_initial=True).asnumpy().tolist() == [[0, 1, 3], [0, 4, 12]]
    assert xp.cumulative_prod(xp.asarray([2, 3]), include_initial=True).asnumpy().tolist() == [1, 2, 6]
    assert int(xp.count_nonzero(x)) == 4
    assert xp.clip(x, 2, xp.asarray([3.0, 4.0])).asnumpy().tolist() == [[2, 2], [3, 4]]


def test_matrices():
    x = xp.asarray([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    for a in (x, x.mT):
        u, s, vh = xp.linalg.svd(a, full_matrices=False)
        assert onp.allclose(((u * s) @ vh).asnumpy(), a.asnumpy())
    square = x @ x.mT
    assert xp.linalg.matrix_power(square, 2).asnumpy().tolist() == [[16, 0], [0, 81]]
    assert onp.allclose(xp.linalg.matrix_power(square, -1).asnumpy(), onp.linalg.inv(square.asnumpy()))
    assert xp.vecdot(xp.asarray([1, 2]), xp.asarray([3, 4])).item() == 11
    assert xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4])).asnumpy().tolist() == [[3, 4], [6, 8]]
    assert xp.tril(xp.ones((2, 3)), k=-1).asnumpy().tolist() == [[0, 0, 0], [1, 0, 0]]
    with pytest.raises(ValueError, match="extents along axis -1 differ"):
        xp.vecdot(xp.ones(2), xp.ones(3))


def test_products_ranks_and_factors():
    a, b = onp.random.RandomState(1).rand(2, 4, 3)
    assert onp.allclose(xp.linalg.cross(xp.asarray(a), xp.asarray(b)).asnumpy(), onp.cross(a, b))
    ranks = xp.linalg.matrix_rank(xp.asarray([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]]))
    assert ranks.asnumpy().tolist() == [1, 2]
    q, r = xp.linalg.qr(xp.asarray(a))
    assert onp.allclose((q @ r).asnumpy(), a)


def test_grids_and_repetitions():
    x, y = xp.meshgrid(xp.arange(3), xp.arange(2))
    assert x.asnumpy().tolist() == [[0, 1, 2], [0, 1, 2]]
    assert y.asnumpy().tolist() == [[0, 0, 0], [1, 1, 1]]
    assert xp.meshgrid(xp.arange(0), xp.arange(2), indexing="ij")[1].shape == (0, 2)
    assert xp.repeat(xp.asarray([5, 6]), xp.asarray([2, 1])).asnumpy().tolist() == [5, 5, 6]
    with pytest.raises(ValueError, match="nonzero: at least one axis"):
        xp.nonzero(xp.asarray(1))
    shared = xp.from_dlpack(onp.ones(2), device=mx.cpu())
    assert shared.asnumpy().tolist() == [1, 1]
