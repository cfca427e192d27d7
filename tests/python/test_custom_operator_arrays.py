"""Custom operators on np and sparse arrays and on simulated GPUs; the operators that came before them."""

import numpy
import pytest

import headrace as mx
from headrace import autograd, nd, sim

OP = mx.operator


def test_np_arrays():
    seen = []

    class Op(OP.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            seen.append(type(in_data[0]))
            self.assign(out_data[0], req[0], mx.np.exp(in_data[0]))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * out_data[0])

    class Prop(OP.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Op()

    mx.npx.set_np()
    try:
        OP.register("test_np")(Prop)
        x = mx.np.array(2.0)
        x.attach_grad()
        with autograd.record():
            y = mx.np._internal.Custom(x, op_type="test_np")
        y.backward()
    finally:
        mx.npx.reset_np()
    assert seen == [mx.np.ndarray] and y.shape == ()
    numpy.testing.assert_allclose(x.grad.asnumpy(), numpy.exp(2), rtol=1e-6)


def test_sparse_arrays():
    class Op(OP.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0]
            y = nd.sparse.csr_matrix((x.data * x.data, x.indices, x.indptr), shape=x.shape)
            self.assign(out_data[0], req[0], y)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], 2 * nd.sparse.elemwise_mul(in_data[0], out_grad[0]))

    @OP.register("test_csr")
    class Prop(OP.CustomOpProp):
        def infer_storage_type(self, in_stype):
            return in_stype, in_stype, []

        def infer_storage_type_backward(self, ograd_stype, in_stype, out_stype, igrad_stype, aux_stype):
            return ["default"], ["csr"], ["csr"], ["csr"], []

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Op()

    dense = numpy.array([[0, 2, 0], [3, 0, 4]], "float32")
    x = nd.array(dense).tostype("csr")
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_csr")
    y.backward()
    assert y.stype == "csr"
    numpy.testing.assert_array_equal(y.asnumpy(), dense**2)
    numpy.testing.assert_array_equal(x.grad.asnumpy(), 2 * dense)
    with pytest.raises(mx.MXNetError, match="array 0 is stored as 'csr'"):
        nd.Custom(x, op_type="custom_op")


def test_python_operators_before_custom_op():
    class Twice(OP.NumpyOp):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] * 2

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = out_grad[0] * 2

    class Thrice(OP.NDArrayOp):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] * 3

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = out_grad[0] * 3

    for kind, factor in ((Twice, 2), (Thrice, 3)):
        with pytest.warns(UserWarning, match="deprecated"):
            op = kind()
        symbol = op(data=mx.sym.var("x"), name="op")
        executor = symbol.simple_bind(mx.cpu(), x=(2,))
        executor.arg_dict["x"][:] = [1, 2]
        assert executor.forward(is_train=True)[0].asnumpy().tolist() == [factor, 2 * factor]
        executor.backward(nd.ones(2))
        assert executor.grad_dict["x"].asnumpy().tolist() == [factor, factor]


@pytest.fixture
def gpus():
    sim.configure(gpus=2, topology="", clock="virtual", memory=0)
    yield [mx.gpu(0), mx.gpu(1)]
    nd.waitall()
    sim.configure(gpus=0, topology="", clock="real", memory=0)


def test_simulated_gpus(gpus):
    contexts = []

    class Op(OP.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            contexts.append((mx.current_context(), out_data[0].ctx))
            self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * 3, ctx=in_data[0].ctx))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 3)

    @OP.register("test_gpus")
    class Prop(OP.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            assert ctx in gpus
            return Op()

    for ctx in gpus:
        x = nd.array([1, 2], ctx=ctx)
        x.attach_grad()
        with autograd.record():
            y = nd.Custom(x, op_type="test_gpus")
        y.backward()
        assert y.ctx == x.grad.ctx == ctx and contexts.pop() == (ctx, ctx)
        assert y.asnumpy().tolist() == [3, 6] and x.grad.asnumpy().tolist() == [3, 3]


def test_numpy_operators_of_mxnet():
    from headrace.mxnet import numpy_op_fallback  # noqa: F401

    custom = mx.np._internal.Custom
    mx.npx.set_np()
    try:
        x = mx.np.arange(6)
        resized = custom(x, op_type="resize_fallback", new_shape=(2, 4))
        assert resized.asnumpy().tolist() == [[0, 1, 2, 3], [4, 5, 0, 1]]
        empty = custom(x, op_type="empty_like_fallback", dtype="int32", order="C", subok=True, shape=None)
        assert empty.shape == (6,) and empty.dtype == numpy.int32
        places = custom(mx.np.array([5, 2], dtype="int64"), op_type="unravel_index_fallback", shape=(2, 3))
        assert places.asnumpy().tolist() == [[1, 0], [2, 2]]
        drawn = custom(mx.np.zeros(2), mx.np.eye(2), op_type="mvn_fallback", size=(50,))
        assert drawn.shape == (50, 2) and drawn.asnumpy().std() > 0.5
        with pytest.raises(ValueError, match="cov must be square"):
            custom(mx.np.zeros(2), mx.np.eye(3), op_type="mvn_fallback")
    finally:
        mx.npx.reset_np()
