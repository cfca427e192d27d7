"""Training with sparse arrays: gradients by rows, lazy updates, row_sparse parameters, csr batches."""

import subprocess
import sys

import numpy as np
import pytest

import headrace as mx
from headrace import autograd, gluon, nd
from headrace.gluon import nn

TWO = [mx.cpu(0), mx.cpu(1)]
VALUES = np.arange(10, dtype="float32").reshape(5, 2) + 1


def rows(values, index, shape=(5, 2)):
    return nd.sparse.row_sparse_array((np.array(values, "float32"), index), shape=shape)


def assert_rows(array, index, values):
    assert array.stype == "row_sparse"
    assert array.indices.asnumpy().tolist() == index
    np.testing.assert_allclose(array.data.asnumpy(), values, rtol=1e-6)


class TestGradients:
    def table(self, stype="default"):
        table = nd.array(VALUES).tostype(stype)
        table.attach_grad(stype="row_sparse")
        return table

    @pytest.mark.parametrize("stype", ["default", "row_sparse"])
    def test_of_embedding_are_the_rows_that_were_taken(self, stype):
        table = self.table(stype)
        with autograd.record():
            out = nd.Embedding(nd.array([3, 1, 3]), table, input_dim=5, output_dim=2, sparse_grad=True)
        assert out.asnumpy().tolist() == VALUES[[3, 1, 3]].tolist()
        out.backward(nd.array([[1, 2], [3, 4], [5, 6]]))
        assert_rows(table.grad, [1, 3], [[3, 4], [6, 8]])

    def test_are_added_up(self):
        table = nd.array(VALUES)
        table.attach_grad(grad_req="add", stype="row_sparse")
        for taken in ([0], [4, 0]):
            with autograd.record():
                out = nd.contrib.SparseEmbedding(nd.array(taken), table, input_dim=5, output_dim=2)
                out = out + nd.Embedding(nd.array(taken), table, input_dim=5, output_dim=2, sparse_grad=True)
            out.backward()
        assert_rows(table.grad, [0, 4], [[4, 4], [2, 2]])
        table.grad[:] = 0
        assert_rows(table.grad, [], np.zeros((0, 2)))

    def test_without_sparse_grad_are_stored_as_the_array_of_the_program(self):
        table = self.table()
        with autograd.record():
            out = nd.Embedding(nd.array([2]), table, input_dim=5, output_dim=2)
        out.backward()
        assert_rows(table.grad, [2], [[1, 1]])

    def test_of_a_table_that_was_not_reached_are_empty(self):
        table, other = self.table(), nd.ones((2,))
        other.attach_grad()
        with autograd.record():
            out = other * 2 + nd.BlockGrad(table.sum())
        out.backward()
        assert_rows(table.grad, [], np.zeros((0, 2)))

    def test_indices_out_of_range_are_refused(self):
        table = self.table()
        with autograd.record():
            out = nd.Embedding(nd.array([5]), table, input_dim=5, output_dim=2, sparse_grad=True)
        out.backward()
        with pytest.raises(IndexError):
            table.grad.wait_to_read()

    @pytest.mark.parametrize("stype", ["default", "row_sparse"])
    def test_of_csr_products(self, stype):
        matrix = np.array([[0, 2, 0, 0, 0], [1, 0, 0, 0, 3]], "float32")
        weight = self.table(stype)
        with autograd.record():
            out = nd.dot(nd.array(matrix).tostype("csr"), weight)
        np.testing.assert_allclose(out.asnumpy(), matrix @ VALUES)
        out.backward(nd.array([[1, 2], [3, 4]]))
        assert_rows(weight.grad, [0, 1, 4], (matrix.T @ [[1, 2], [3, 4]])[[0, 1, 4]])

    def test_of_csr_products_with_few_rows(self):
        matrix = np.array([[0, 2, 0, 0, 0], [1, 0, 0, 0, 3]], "float32")
        weight = rows([[1, 2], [3, 4]], [0, 3])
        out = nd.dot(nd.array(matrix).tostype("csr"), weight)
        assert out.asnumpy().tolist() == [[0, 0], [1, 2]]
        few = nd.sparse.row_sparse_array(([[1.0, 2.0]], [1]), shape=(2, 2))
        product = nd.dot(nd.array(matrix).tostype("csr"), few, transpose_a=True)
        assert_rows(product, [0, 1, 4], [[1, 2], [0, 0], [3, 6]])

    def test_of_sums_of_squares_by_row(self):
        table = rows([[1, 2], [3, 4]], [0, 3])
        table.attach_grad(stype="row_sparse")
        with autograd.record():
            out = nd._internal._square_sum(table, axis=1, keepdims=True)
        assert_rows(out, [0, 3], [[5], [25]])
        out.backward(nd.array([[2], [1], [1], [1], [1]]))
        assert_rows(table.grad, [0, 3], [[4, 8], [6, 8]])
        assert nd._internal._square_sum(table, axis=1).asnumpy().tolist() == [5, 0, 0, 25, 0]


def test_rows_of_a_csr_matrix_are_taken():
    matrix = np.array([[0, 2, 0], [0, 0, 0], [1, 0, 3]], "float32")
    taken = nd.take(nd.array(matrix).tostype("csr"), nd.array([2, 0, 7, 2]))
    assert taken.stype == "csr"
    assert taken.asnumpy().tolist() == matrix[[2, 0, 2, 2]].tolist()


# --- updates ---

GRADIENT = [[0.5, -1], [2, 0.25]]
AT = [1, 3]


def updated(name, stype, steps=2, **options):
    weight = nd.array(VALUES).tostype(stype)
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options))
    for _ in range(steps):
        updater(0, rows(GRADIENT, AT), weight)
    assert weight.stype == stype
    return weight.asnumpy(), updater.states[0]


def dense_updated(name, gradient, weight, **options):
    """The same by dense arrays."""
    weight = nd.array(weight)
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options))
    for _ in range(2):
        updater(0, nd.array(gradient), weight)
    return weight.asnumpy()


LAZY = [
    ("sgd", {"wd": 0.1, "clip_gradient": 0.7}),
    ("sgd", {"momentum": 0.9, "wd": 0.1, "rescale_grad": 0.5}),
    ("adam", {"wd": 0.1, "clip_gradient": 0.7}),
    ("adagrad", {"clip_gradient": 0.7, "rescale_grad": 2.0}),
    ("groupadagrad", {"rescale_grad": 2.0}),
    ("nag", {"wd": 0.1}),
    ("lbsgd", {"wd": 0.1, "momentum": 0.9}),
]
STANDARD = [
    ("sgd", {"momentum": 0.9, "wd": 0.1, "lazy_update": False}),
    ("sgd", {"wd": 0.1, "lazy_update": False}),
    ("adam", {"wd": 0.1, "lazy_update": False}),
    ("nag", {"momentum": 0.9, "wd": 0.1}),
    ("signum", {"wd": 0.1}),
    ("rmsprop", {"wd": 0.1}),
    ("ftml", {"wd": 0.1}),
]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
class TestUpdates:
    @pytest.mark.parametrize("name, options", LAZY)
    def test_lazy_ones_change_the_rows_of_the_gradient(self, name, options, stype):
        weight, _ = updated(name, stype, **options)
        expected = VALUES.copy()
        expected[AT] = dense_updated(name, GRADIENT, VALUES[AT], **options)
        np.testing.assert_allclose(weight, expected, rtol=1e-6)

    @pytest.mark.parametrize("name, options", STANDARD)
    def test_others_change_all_rows(self, name, options, stype):
        weight, _ = updated(name, stype, **options)
        gradient = np.zeros_like(VALUES)
        gradient[AT] = GRADIENT
        np.testing.assert_allclose(weight, dense_updated(name, gradient, VALUES, **options), rtol=1e-5)

    def test_ftrl_is_lazy_when_all_is_row_sparse(self, stype):
        weight, _ = updated("ftrl", stype)
        gradient = np.zeros_like(VALUES)
        gradient[AT] = GRADIENT
        expected = dense_updated("ftrl", gradient, VALUES)
        if stype == "row_sparse":
            expected[[0, 2, 4]] = VALUES[[0, 2, 4]]
        np.testing.assert_allclose(weight, expected, rtol=1e-6)

    def test_states_are_stored_as_the_weight(self, stype):
        assert updated("sgd", stype, momentum=0.9)[1].stype == stype
        assert updated("sgd", stype, momentum=0.9, lazy_update=False)[1].stype == "default"
        assert [one.stype for one in updated("adam", stype)[1]] == [stype] * 2
        assert updated("adagrad", stype)[1].stype == stype

    def test_an_out_of_its_own_leaves_the_weight(self, stype):
        weight = nd.array(VALUES).tostype(stype)
        made = nd.sgd_update(weight, rows([[1, 1]], [2]), lr=1)
        assert made.asnumpy()[2].tolist() == [4, 5] and weight.asnumpy().tolist() == VALUES.tolist()
        out = nd.zeros((5, 2)).tostype(stype)
        nd.sgd_update(weight, rows([[1, 1]], [2]), lr=1, out=out)
        assert out.asnumpy().tolist() == made.asnumpy().tolist()

    def test_copies_do_not_change(self, stype):
        weight = nd.array(VALUES).tostype(stype)
        copy, other = weight.copy(), nd.zeros((5, 2)).tostype(stype)
        weight.copyto(other)
        nd.sgd_update(weight, rows([[1, 1]], [2]), lr=1, out=weight)
        assert weight.asnumpy()[2].tolist() == [4, 5]
        assert copy.asnumpy().tolist() == VALUES.tolist() == other.asnumpy().tolist()


def test_adagrad_has_no_weight_decay_of_rows():
    with pytest.raises(ValueError, match="wd"):
        updated("adagrad", "default", wd=0.1)


STEPS = """
import headrace as mx
from headrace import autograd, gluon, nd

layer = gluon.nn.Embedding(200_000, 64, sparse_grad=True)
layer.initialize(mx.init.Zero())
trainer = gluon.Trainer(layer.collect_params(), "{}")
x = nd.arange(512) * 300
for _ in range(3):
    before = sum(device.live for device in mx.memory.memory_report().devices)
    with autograd.record():
        loss = layer(x).sum()
    loss.backward()
    trainer.step(1)
    mx.waitall()
print(max(0, sum(device.peak for device in mx.memory.memory_report().devices) - before))
"""


@pytest.mark.parametrize("name", ["sgd", "adam", "adagrad", "groupadagrad"])
def test_a_lazy_step_makes_nothing_of_the_size_of_the_table(name):
    done = subprocess.run(
        [sys.executable, "-c", STEPS.format(name)], capture_output=True, text=True, check=True, timeout=300
    )
    assert int(done.stdout) < 8 << 20  # the table has 49 MiB


# --- layers, parameters, Trainer ---


@pytest.mark.parametrize("is_hybrid", [False, True])
def test_a_layer_trains_by_rows(is_hybrid):
    net = nn.HybridSequential()
    net.add(nn.Embedding(5, 2, sparse_grad=True), nn.Dense(1))
    net.initialize(mx.init.One())
    if is_hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "wd": 0.1})
    with autograd.record():
        loss = net(nd.array([[1, 3], [1, 3]])).sum()
    loss.backward()
    assert_rows(net[0].weight.grad(), [1, 3], [[2, 2], [2, 2]])
    trainer.step(2)
    assert trainer._kvstore is None
    # w - 0.5 (2 / 2 + 0.1 w)
    np.testing.assert_allclose(net[0].weight.data().asnumpy()[:, 0], [1, 0.45, 1, 0.45, 1], rtol=1e-6)


def test_on_devices_gradients_are_dense(at):
    layer = nn.Embedding(5, 2, sparse_grad=True)
    layer.initialize(mx.init.One(), ctx=[at(0), at(1)])
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        losses = [layer(nd.array([1, 3], ctx=at(i))).sum() for i in range(2)]
    autograd.backward(losses)
    expected = "default" if at(0).device_type == "gpu" else "row_sparse"
    assert layer.weight.grad(at(1)).stype == expected
    trainer.step(2)
    assert layer.weight.data(at(0)).asnumpy()[:, 0].tolist() == [1, 0, 1, 0, 1]
    table = mx.sym.var("w", stype="row_sparse")
    out = mx.sym.Embedding(mx.sym.var("x"), table, input_dim=5, output_dim=2, sparse_grad=True)
    assert out.simple_bind(at(0), x=(2,)).grad_dict["w"].stype == expected


def sparse_parameter(ctx=None, **options):
    param = gluon.Parameter("w", shape=(5, 2), stype="row_sparse", grad_stype="row_sparse", **options)
    param.initialize(mx.init.One(), ctx=ctx)
    return param


class TestParameter:
    def test_gives_the_rows_that_are_asked_for(self):
        param = sparse_parameter(TWO)
        trainer = gluon.Trainer([param], "sgd")
        assert param._trainer is trainer
        data = param.row_sparse_data(nd.array([3, 0], ctx=TWO[1]))
        assert data.ctx == TWO[1]
        assert_rows(data, [0, 3], np.ones((2, 2)))
        assert [one.ctx for one in param.list_row_sparse_data(nd.array([1]))] == TWO
        for asked in (param.data, param.list_data):
            with pytest.raises(RuntimeError, match="row_sparse"):
                asked()
        with pytest.raises(TypeError, match="NDArray"):
            param.row_sparse_data([1])
        with pytest.raises(RuntimeError, match="More than one trainers"):
            gluon.Trainer([param], "sgd")

    @pytest.mark.parametrize("kvstore", ["local", "device"])
    @pytest.mark.parametrize("ctx", [TWO[:1], TWO])
    def test_trains_in_a_store(self, kvstore, ctx):
        param = sparse_parameter(ctx)
        trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5}, kvstore=kvstore)
        for _ in range(2):
            with autograd.record():
                for one in ctx:
                    x = nd.array([1, 3], ctx=one)
                    weight = param.row_sparse_data(x)
                    out = nd.Embedding(x, weight, input_dim=5, output_dim=2, sparse_grad=True)
                    out.backward()
            trainer.step(len(ctx))
        assert trainer._update_on_kvstore is True and trainer._kvstore.type == kvstore
        assert param._reduce().asnumpy()[:, 0].tolist() == [1, 0, 1, 0, 1]

    def test_is_saved_moved_and_set(self, tmp_path):
        param = sparse_parameter()
        trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1})
        with autograd.record():
            out = param.row_sparse_data(nd.array([2])) * 3
        out.backward()
        trainer.step(1)
        expected = param._reduce().asnumpy().tolist()
        params = gluon.ParameterDict()
        params._params["w"] = param
        params.save(str(tmp_path / "w.params"))
        dense = gluon.ParameterDict()
        dense.get("w", shape=(5, 2))
        dense.load(str(tmp_path / "w.params"), ctx=mx.cpu())
        assert dense["w"].data().asnumpy().tolist() == expected
        other = gluon.ParameterDict()
        other.get("w", shape=(5, 2), stype="row_sparse")
        other.load(str(tmp_path / "w.params"), ctx=mx.cpu())
        gluon.Trainer(other, "sgd")
        assert other["w"].row_sparse_data(nd.arange(5)).asnumpy().tolist() == expected
        param.row_sparse_data(nd.array([0]))
        param.reset_ctx(TWO)
        assert param.row_sparse_data(nd.arange(5)).asnumpy().tolist() == expected
        param.set_data(nd.array(VALUES))
        assert param.row_sparse_data(nd.array([4, 1])).asnumpy()[[1, 4]].tolist() == VALUES[[1, 4]].tolist()

    def test_other_parameters_may_come_later(self):
        param = sparse_parameter()
        dense = nn.Dense(1)
        dense.initialize(mx.init.One())
        trainer = gluon.Trainer([param, *dense.collect_params().values()], "sgd", {"learning_rate": 1})
        assert len(trainer._params_to_init) == 3
        x = nd.array([0, 1])
        with autograd.record():
            taken = nd.Embedding(x, param.row_sparse_data(x), input_dim=5, output_dim=2, sparse_grad=True)
            loss = dense(taken).sum()
        loss.backward()
        trainer.step(1)
        assert not trainer._params_to_init
        assert param.row_sparse_data(nd.arange(5)).asnumpy()[:, 1].tolist() == [0, 0, 1, 1, 1]
        assert dense.weight.data().asnumpy().tolist() == [[-1, -1]]

    def test_needs_a_store_that_updates(self):
        trainer = gluon.Trainer([sparse_parameter()], "sgd", update_on_kvstore=False)
        with pytest.raises(ValueError, match="Cannot set update_on_kvstore=False when sparse weights"):
            trainer._init_kvstore()
        with pytest.raises(TypeError, match="KVStore with row_sparse parameters"):
            gluon.Trainer([sparse_parameter()], "sgd", kvstore=None)._init_kvstore()


@pytest.mark.parametrize("update_on_kvstore", [None, True, False])
def test_sparse_gradients_of_several_contexts(update_on_kvstore):
    layer = nn.Embedding(5, 2, sparse_grad=True)
    layer.initialize(mx.init.One(), ctx=TWO)
    trainer = gluon.Trainer(
        layer.collect_params(), "sgd", {"learning_rate": 1}, update_on_kvstore=update_on_kvstore
    )
    with autograd.record():
        losses = [layer(nd.array([i, 4], ctx=ctx)).sum() for i, ctx in enumerate(TWO)]
    autograd.backward(losses)
    trainer.step(1)
    assert trainer._update_on_kvstore is bool(update_on_kvstore)
    for ctx in TWO:
        assert layer.weight.data(ctx).asnumpy()[:, 0].tolist() == [0, 0, 1, 1, -1]


# --- symbols, Module, iterators ---


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("sparse_grad", [True, False])
def test_executors_store_arrays_as_symbols_say(stype, sparse_grad):
    out = mx.sym.Embedding(
        mx.sym.var("x"), mx.sym.var("w", stype=stype), input_dim=5, output_dim=2, sparse_grad=sparse_grad
    )
    executor = out.simple_bind(grad_req={"w": "write"}, x=(2,))
    assert executor.arg_dict["w"].stype == stype
    assert executor.grad_dict["w"].stype == ("row_sparse" if sparse_grad else "default")
    executor.arg_dict["w"][:] = nd.array(VALUES)
    executor.arg_dict["x"][:] = nd.array([3, 1])
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == VALUES[[3, 1]].tolist()
    executor.backward(nd.ones((2, 2)))
    assert executor.grad_dict["w"].asnumpy()[:, 0].tolist() == [0, 1, 0, 1, 0]


def test_simple_bind_takes_storage_types():
    out = mx.sym.dot(mx.sym.var("x"), mx.sym.var("w"))
    executor = out.simple_bind(stype_dict={"x": "csr"}, x=(3, 5), w=(5, 2))
    assert {name: array.stype for name, array in executor.arg_dict.items()} == {"x": "csr", "w": "default"}
    assert {name: array.stype for name, array in executor.grad_dict.items()} == {
        "x": "default",
        "w": "row_sparse",
    }


def regression():
    x, label = mx.sym.var("data", stype="csr"), mx.sym.var("label")
    weight = mx.sym.var("out_weight", shape=(6, 1), stype="row_sparse")
    out = mx.sym.broadcast_add(mx.sym.dot(x, weight), mx.sym.var("out_bias", shape=(1,)))
    return mx.sym.LinearRegressionOutput(out, label)


@pytest.mark.parametrize("contexts", [1, 2])
@pytest.mark.parametrize("in_store", [False, True])
def test_a_module_trains_sparse_weights(contexts, in_store):
    random = np.random.RandomState(0)
    x = (random.rand(16, 6) * (random.rand(16, 6) < 0.4)).astype("float32")
    y = x @ np.arange(6, dtype="float32")[:, None]
    batches = mx.io.NDArrayIter(
        nd.array(x).tostype("csr"), {"label": y}, batch_size=8, last_batch_handle="discard"
    )
    module = mx.mod.Module(regression(), label_names=("label",), context=[mx.cpu(i) for i in range(contexts)])
    store = mx.kv.create("local") if in_store else None if contexts == 1 else "local"

    def needed(batch):
        return {"out_weight": batch.data[0].indices}

    module.fit(
        batches,
        kvstore=store,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.5},
        initializer=mx.init.Zero(),
        eval_metric="mse",
        num_epoch=60,
        sparse_row_id_fn=needed if in_store or contexts > 1 else None,
    )
    weight = module.get_params()[0]["out_weight"]
    assert weight.stype == "row_sparse"
    np.testing.assert_allclose(weight.asnumpy().ravel(), range(6), atol=0.2)


def test_prepare_says_when_there_is_nothing_to_bring():
    batches = mx.io.NDArrayIter(nd.ones((4, 6)).tostype("csr"), {"label": nd.ones((4, 1))}, 2,
                                last_batch_handle="discard")  # fmt: skip
    module = mx.mod.Module(regression(), label_names=("label",))
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params()
    module.init_optimizer(kvstore=None)
    with pytest.warns(UserWarning, match="not updated in the KVStore"):
        module.prepare(batches.next(), lambda batch: {})
    module.init_optimizer(kvstore=mx.kv.create("local"), force_init=True)
    with pytest.warns(UserWarning, match=r"out_bias\.stype is not 'row_sparse'"):
        module.prepare(None, lambda batch: {"out_bias": nd.array([0])})


class TestIterators:
    @pytest.mark.parametrize("shuffle", [False, True])
    def test_arrays_of_csr_matrices(self, shuffle):
        matrix = np.diag(np.arange(1.0, 6.0)).astype("float32")
        batches = mx.io.NDArrayIter(nd.array(matrix).tostype("csr"), matrix, 2, shuffle, "discard")
        found = list(batches)
        assert len(found) == 2
        for batch in found:
            assert batch.data[0].stype == "csr"
            assert batch.data[0].asnumpy().tolist() == batch.label[0].asnumpy().tolist()
        with pytest.raises(NotImplementedError, match="discard"):
            mx.io.NDArrayIter(nd.array(matrix).tostype("csr"), batch_size=2)

    def test_matrices_of_scipy(self):
        scipy = pytest.importorskip("scipy.sparse")
        batches = mx.io.NDArrayIter(scipy.eye(4), batch_size=2, last_batch_handle="discard")
        assert [batch.data[0].stype for batch in batches] == ["csr", "csr"]

    @pytest.fixture
    def files(self, tmp_path):
        (tmp_path / "data").write_text("1.0 0:0.5 2:1.2\n-2.0\n-3.0 0:0.6 1:2.4 2:1.2 # all\n4 2:-1.2\n")
        (tmp_path / "label").write_text("1.0\n-2.0 0:0.125\n-3.0 2:1.2\n4 1:1.0 2:-1.2\n")
        return {"data": str(tmp_path / "data"), "label": str(tmp_path / "label")}

    def test_lines_of_libsvm(self, files):
        batches = mx.io.LibSVMIter(data_libsvm=files["data"], data_shape=(3,), batch_size=3)
        assert batches.provide_data[0].shape == (3, 3) and batches.provide_label[0].shape == (3,)
        x = np.array([[0.5, 0, 1.2], [0, 0, 0], [0.6, 2.4, 1.2], [0, 0, -1.2]], "float32")
        y = np.array([1, -2, -3, 4])
        for order in ([0, 1, 2], [3, 0, 1]):
            batch = batches.next()
            assert batch.data[0].stype == "csr"
            assert batch.data[0].asnumpy().tolist() == x[order].tolist()
            assert batch.label[0].asnumpy().tolist() == y[order].tolist()
        assert batch.pad == 2
        with pytest.raises(StopIteration):
            batches.next()
        batches.reset()
        assert batches.next().label[0].asnumpy().tolist() == [-3, 4, 1]

    def test_libsvm_takes_texts(self, files):
        batches = mx.io.LibSVMIter(data_libsvm=files["data"], data_shape="(3,)", batch_size="3")
        assert next(batches).data[0].shape == (3, 3)

    def test_labels_of_libsvm_may_be_rows(self, files):
        batches = mx.io.LibSVMIter(files["data"], (3,), files["label"], (3,), batch_size=2)
        label = batches.next().label[0]
        assert label.stype == "csr"
        assert label.asnumpy().tolist() == [[0, 0, 0], [0.125, 0, 0]]

    def test_parts_of_libsvm(self, files):
        parts = [mx.io.LibSVMIter(files["data"], (3,), num_parts=2, part_index=part) for part in range(2)]
        found = [batch.label[0].asscalar() for part in parts for batch in part]
        assert found == [1, -2, -3, 4]

    def test_wrong_lines_of_libsvm(self, files, tmp_path):
        def made(**changed):
            return mx.io.LibSVMIter(**{"data_libsvm": files["data"], "data_shape": (3,), **changed})

        for changed, text in (
            ({"data_shape": (2,)}, "must be below 2"),
            ({"data_shape": (3, 1)}, "dimension of data_shape"),
            ({"label_shape": (3,)}, "label_shape is expected to be"),
            ({"data_libsvm": str(tmp_path / "none")}, "cannot be read"),
            ({"round_batch": False}, "round_batch"),
            ({"num_parts": 2, "part_index": 2}, "from 0 to num_parts - 1, got 2 of 2"),
        ):
            with pytest.raises(mx.base.MXNetError, match=text):
                made(**changed)
        (tmp_path / "bad").write_text("1 -1:2\n")
        with pytest.raises(mx.base.MXNetError, match="count from 0"):
            made(data_libsvm=str(tmp_path / "bad"))
        (tmp_path / "bad").write_text("1 a:2\n")
        with pytest.raises(mx.base.MXNetError, match="row 0"):
            made(data_libsvm=str(tmp_path / "bad"))


@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
@pytest.mark.parametrize("name", ["arccosh", "log", "log10", "sin", "square"])
def test_gradients_of_elements_that_are_not_stored_are_those_of_zeros(name, stype):
    values, head = np.array([[2, 3], [0, 0]], "float32"), np.array([[1, 0], [0, 0]], "float32")

    def gradient(stype):
        x = nd.array(values).tostype(stype)
        x.attach_grad(stype="default")
        with autograd.record():
            y = getattr(nd, name)(x)
        y.backward(nd.array(head).tostype(stype))
        return x.grad.asnumpy()

    np.testing.assert_array_equal(gradient(stype), gradient("default"))
