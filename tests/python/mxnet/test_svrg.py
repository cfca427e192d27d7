"""contrib.svrg_optimization: gradients of reduced variance, by hand and by the module."""

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet.contrib.svrg_optimization.svrg_module import SVRGModule
from headrace.mxnet.contrib.svrg_optimization.svrg_optimizer import _SVRGOptimizer

ROWS, BATCH, RATE = 12, 4, 0.05
DATA = np.random.RandomState(5).uniform(-1, 1, (ROWS, 2)).astype("float32")
LABELS = DATA @ np.array([1, -2], "float32") + np.sin(9 * DATA[:, 0])


def regression():
    output = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    return mx.sym.LinearRegressionOutput(output, mx.sym.Variable("label"), name="lro")


def data_iter(rows=ROWS):
    return mx.io.NDArrayIter(DATA[:rows], LABELS[:rows], BATCH, label_name="label")


def module(**kwargs):
    return SVRGModule(regression(), label_names=["label"], **{"update_freq": 2, **kwargs})


def gradient(weights, rows):
    """Of half the sum of squared errors; the last weight is the bias."""
    inputs = np.concatenate([DATA[rows], np.ones((len(DATA[rows]), 1))], 1)
    return (inputs @ weights - LABELS[rows]) @ inputs


def by_hand(epochs, update_freq=2):
    weights = np.array([0.5, 0.5, 0])  # MXNet's rule for biases is zero
    batches = [slice(start, start + BATCH) for start in range(0, ROWS, BATCH)]
    for epoch in range(epochs):
        if epoch % update_freq == 0:
            kept = weights.copy()
            full = np.mean([gradient(kept, rows) for rows in batches], axis=0)
        for rows in batches:
            weights -= RATE * (gradient(weights, rows) - gradient(kept, rows) + full) / BATCH
    return weights


@pytest.mark.parametrize(
    ("contexts", "kvstore", "update_on_kvstore"),
    [(1, None, "1"), (1, "local", "1"), (2, "local", "1"), (2, "device", "0")],
)
def test_training_is_svrg(contexts, kvstore, update_on_kvstore, monkeypatch):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", update_on_kvstore)
    made = module(context=[mx.cpu(i) for i in range(contexts)])
    made.fit(
        data_iter(),
        eval_metric="mse",
        optimizer_params={"learning_rate": RATE},
        initializer=mx.init.Constant(0.5),
        kvstore=kvstore,
        num_epoch=5,
    )
    args, _ = made.get_params()
    found = np.append(args["fc_weight"].asnumpy(), args["fc_bias"].asnumpy())
    np.testing.assert_allclose(found, by_hand(5), rtol=1e-4)


def prepared(**kwargs):
    made, batches = module(**kwargs), data_iter()
    made.bind(batches.provide_data, batches.provide_label)
    made.init_params(mx.init.Constant(0.5))
    made.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": RATE, "momentum": 0.9})
    return made, batches


def test_the_optimizer_wraps_the_one_that_was_asked_for():
    made, _ = prepared()
    assert isinstance(made._optimizer, _SVRGOptimizer)
    assert isinstance(made._optimizer.default_opt, mx.optimizer.SGD)
    assert made._optimizer.default_opt.momentum == 0.9 and made._optimizer.learning_rate == RATE
    made._optimizer.set_learning_rate(1)
    assert made._optimizer.default_opt.lr == 1
    assert _SVRGOptimizer("sgd", learning_rate=-1.0).default_opt.lr == -1.0


def test_full_gradients_are_assigned_in_a_store():
    store = mx.kv.create("local")
    store.set_optimizer(_SVRGOptimizer("sgd", param_idx2name={0: "w", 1: "w_full"}, learning_rate=1.0))
    for key, expected in ((0, -1), (1, 1)):
        value = mx.nd.zeros(3)
        store.init(key, value)
        store.push(key, value + 1)
        store.pull(key, value)
        assert value.asnumpy().tolist() == [expected] * 3


def test_padding_counts_as_rows_that_are_there():
    made, _ = prepared()
    made.update_full_grads(data_iter(rows=10))  # the last batch has two rows twice
    rows = [*range(10), 0, 1]
    expected = gradient(np.array([0.5, 0.5, 0]), rows) / 2.5
    np.testing.assert_allclose(made._param_dict[0]["fc_weight"].asnumpy()[0], expected[:2], rtol=1e-4)


def test_other_batches_and_wrong_order():
    made, batches = prepared()
    small = mx.io.DataBatch([mx.nd.ones((2, 2))], [mx.nd.ones(2)])
    with pytest.raises(AssertionError, match="call update_full_grads"):
        made.forward_backward(small)
    made.update_full_grads(batches)
    made.forward_backward(small)
    made.update()
    assert made.get_outputs()[0].shape == (2, 1)
    made.forward(small, is_train=False)
    for wrong, error in ((0, ValueError), (None, TypeError), (1.5, TypeError)):
        with pytest.raises(error, match="must be a positive integer"):
            module(update_freq=wrong)
