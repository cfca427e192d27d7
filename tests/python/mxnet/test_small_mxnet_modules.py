"""headrace.mxnet: small modules that exist for MXNet's sake alone."""

import logging
import types

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet import _np_fallback, _np_fallback_linalg, contrib, library, misc
from headrace.mxnet.numpy_op_signature import _get_builtin_op


def test_functions_by_operator_name():
    assert _get_builtin_op("_np_sum") is mx.np.sum and _get_builtin_op("_npx_relu") is mx.npx.relu
    assert _get_builtin_op("_np__linalg_norm") is mx.np.linalg.norm and _get_builtin_op("relu") is None
    with pytest.raises(ValueError, match="Cannot find operator nothing"):
        _get_builtin_op("_np_nothing")


def test_old_learning_rates(caplog):
    schedule = misc.FactorScheduler(step=2, factor=0.5)
    with caplog.at_level(logging.INFO):
        assert [schedule(i) for i in range(5)] == [0.01, 0.01, 0.005, 0.005, 0.0025]
    assert caplog.messages[0] == "At Iteration [2]: Switch to new learning rate 0.00500"
    for wrong in ({"step": 0}, {"step": 1, "factor": 1.0}):
        with pytest.raises(ValueError):
            misc.FactorScheduler(**wrong)
    with pytest.raises(NotImplementedError):
        misc.LearningRateScheduler()(0)


def test_libraries_are_refused(tmp_path):
    (tmp_path / "lib.txt").write_text("")
    (tmp_path / "lib.so").write_text("")
    with pytest.raises(mx.MXNetError, match="does NOT exist"):
        library.load(str(tmp_path / "nothing.so"))
    with pytest.raises(mx.MXNetError, match="NOT a library"):
        library.load(str(tmp_path / "lib.txt"))
    with pytest.raises(NotImplementedError, match="cannot be loaded yet"):
        library.load(str(tmp_path / "lib.so"))


def test_gradients_in_the_old_spelling():
    x, y = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    gradients, loss = contrib.autograd.grad_and_loss(lambda a, b: a * b)(x, y)
    assert [g.asnumpy().tolist() for g in gradients] == [[3, 4], [1, 2]]
    assert loss.asnumpy().tolist() == [3, 8]
    (only,) = contrib.autograd.grad(lambda a, b: a * b, argnum=1)(x, y)
    assert only.asnumpy().tolist() == [1, 2]
    assert len(contrib.autograd.grad(lambda a, b: a * b, argnum=[0, 1])(x, y)) == 2
    with pytest.raises(AssertionError, match="should NDArray"):
        contrib.autograd.grad(lambda a: a)(1.0)


def test_sections():
    x, slope = mx.nd.array([2.0]), mx.nd.zeros(1)
    contrib.autograd.mark_variables([x], [slope])
    with contrib.autograd.train_section():
        assert mx.autograd.is_recording() and mx.autograd.is_training()
        y = x * x
        with contrib.autograd.test_section():
            assert not mx.autograd.is_recording() and not mx.autograd.is_training()
        z = y * x
    assert not mx.autograd.is_recording()
    contrib.autograd.compute_gradient([z])
    assert slope.asnumpy().tolist() == [12]
    with pytest.raises(AssertionError, match="list or tuple"):
        contrib.autograd.backward(z)


def test_loaders_as_iterators():
    dataset = mx.gluon.data.ArrayDataset(np.arange(10.0).reshape(5, 2), np.arange(5))
    batches = contrib.io.DataLoaderIter(mx.gluon.data.DataLoader(dataset, batch_size=2), dtype="float64")
    assert batches.provide_data[0].shape == (2, 2) and batches.provide_label[0].name == "softmax_label"
    for _ in range(2):
        batches.reset()
        found = [(b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in batches]
        assert found[0] == ([[0, 1], [2, 3]], [0, 1], 0)
        assert found[2] == ([[8, 9], [0, 0]], [4, 0], 1) and len(found) == 3
    assert batches.provide_data[0].dtype == "float64"


def test_metrics_for_tensorboard(monkeypatch, caplog):
    written = []
    board = types.ModuleType("mxboard")
    board.SummaryWriter = lambda folder: types.SimpleNamespace(
        add_scalar=lambda tag, value, global_step: written.append((folder, tag, value, global_step))
    )
    accuracy = mx.metric.create("acc")
    accuracy.update(mx.nd.array([1, 0]), mx.nd.array([[0, 1], [0, 1]]))
    param = types.SimpleNamespace(eval_metric=accuracy, epoch=3)
    monkeypatch.setitem(__import__("sys").modules, "mxboard", board)
    contrib.tensorboard.LogMetricsCallback("logs", prefix="train")(param)
    assert written == [("logs", "train-accuracy", 0.5, 3)]
    contrib.tensorboard.LogMetricsCallback("logs")(types.SimpleNamespace(eval_metric=None, epoch=0))
    monkeypatch.setitem(__import__("sys").modules, "mxboard", None)
    missing = contrib.tensorboard.LogMetricsCallback("logs")
    assert "pip install mxboard" in caplog.text
    with pytest.raises(RuntimeError, match="install it"):
        missing(param)


def test_names_that_answer_protocols_of_numpy():
    from headrace.mxnet import numpy_dispatch_protocol as protocol

    for name in protocol._NUMPY_ARRAY_UFUNC_LIST:
        assert callable(getattr(mx.np, name))
    assert {"concatenate", "linalg.norm"} <= set(protocol._NUMPY_ARRAY_FUNCTION_LIST)

    @protocol.with_array_function_protocol
    def fails():
        raise ValueError("why")

    with pytest.raises(RuntimeError, match="fails with NumPy array function protocol failed .* why"):
        fails()
    assert protocol.with_array_ufunc_protocol(lambda: 3)() is None


def test_functions_that_mxnet_leaves_to_numpy():
    assert _np_fallback.interp is mx.np.interp and "interp" in _np_fallback.__all__
    assert _np_fallback_linalg.qr is mx.np.linalg.qr
