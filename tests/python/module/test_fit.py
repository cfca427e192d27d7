"""Training, evaluation, prediction and checkpoints of a Module."""

import logging

import numpy
import pytest

import headrace as mx


@pytest.fixture
def data_iter(samples):
    return mx.io.NDArrayIter(*samples, 4)


def fitted(symbol, data_iter, **options):
    numpy.random.seed(0)
    mx.random.seed(0)
    module = mx.mod.Module(symbol)
    options = {"num_epoch": 2, "optimizer_params": {"learning_rate": 0.5, "momentum": 0.9}, **options}
    module.fit(data_iter, **options)
    return module


def test_data_without_batches_are_an_error(symbol):
    class Empty(mx.io.DataIter):
        provide_data, provide_label = [("data", (4, 3))], [("softmax_label", (4,))]

        def next(self):
            raise StopIteration

    with pytest.raises(ValueError, match="gave no batch in epoch 0"):
        mx.mod.Module(symbol).fit(Empty(), num_epoch=1)


def test_fit_logs_as_mxnet(symbol, data_iter, caplog):
    caplog.set_level(logging.INFO)
    fitted(
        symbol,
        data_iter,
        eval_data=data_iter,
        eval_metric=["acc", "ce"],
        batch_end_callback=[mx.callback.Speedometer(4, 2), mx.callback.Speedometer(4, 3, auto_reset=False)],
        eval_end_callback=mx.callback.LogValidationMetricsCallback(),
    )
    kinds = [message.split("=")[0].split("\t")[0] for message in caplog.messages]
    assert kinds[: len(kinds) // 2] == [
        "Epoch[0] Batch [0-2]",
        "Epoch[0] Batch [0-3]",
        "Epoch[0] Batch [2-4]",
        "Epoch[0] Train-accuracy",
        "Epoch[0] Train-cross-entropy",
        "Epoch[0] Time cost",
        "Epoch[0] Validation-accuracy",
        "Epoch[0] Validation-cross-entropy",
        "Epoch[0] Validation-accuracy",
        "Epoch[0] Validation-cross-entropy",
    ]


def test_fit_learns(symbol, data_iter):
    module = fitted(
        symbol, data_iter, num_epoch=40, initializer=mx.init.Xavier(), optimizer_params={"learning_rate": 0.3}
    )
    assert module.score(data_iter, "acc")[0][1] > 0.9


def test_fit_starts_from_given_parameters(symbol, data_iter):
    given = fitted(symbol, data_iter).get_params()
    module = fitted(symbol, data_iter, num_epoch=3, begin_epoch=3, arg_params=given[0], aux_params=given[1])
    for name, array in module.get_params()[0].items():
        numpy.testing.assert_array_equal(array.asnumpy(), given[0][name].asnumpy())


def test_callbacks_of_fit(symbol, data_iter):
    seen = []
    fitted(
        symbol,
        data_iter,
        eval_data=data_iter,
        num_epoch=1,
        batch_end_callback=lambda param: seen.append((param.epoch, param.nbatch, param.eval_metric.name)),
        epoch_end_callback=lambda epoch, sym, arg, aux: seen.append((epoch, sym.name, sorted(arg)[0], aux)),
        eval_batch_end_callback=lambda param: seen.append(param.nbatch),
        eval_end_callback=lambda param: seen.append((param.epoch, param.nbatch)),
    )
    batches = [(0, i, "accuracy") for i in range(6)]
    assert seen == [*batches, (0, "softmax", "fc1_bias", {}), *range(6), (0, 6)]


def test_score(symbol, data_iter):
    module = fitted(symbol, data_iter)
    metric = mx.metric.Accuracy()
    assert module.score(data_iter, metric, num_batch=2) == [("accuracy", metric.get()[1])]
    assert metric.num_inst == 8
    assert module.score(data_iter, ["acc", "ce"])[1][0] == "cross-entropy"


def test_predict(symbol, data_iter, samples):
    module = fitted(symbol, data_iter)
    together = module.predict(data_iter)
    assert together.shape == (22, 3)  # without the padding of the last batch
    assert [array.shape for array in module.predict(data_iter, always_output_list=True)] == [(22, 3)]
    apart = module.predict(data_iter, merge_batches=False)
    assert [len(one[0]) for one in apart] == [4, 4, 4, 4, 4, 2]
    assert module.predict(data_iter, num_batch=2).shape == (8, 3)
    for array in (mx.nd.array(samples[0]), samples[0]):
        numpy.testing.assert_allclose(module.predict(array).asnumpy(), together.asnumpy(), rtol=1e-5)
    found = [(outputs[0].shape, number) for outputs, number, _ in module.iter_predict(data_iter)]
    assert found[4:] == [((4, 3), 4), ((2, 3), 5)]
    with pytest.raises(ValueError, match="eval_data must be of type NDArray or DataIter"):
        module.predict("x")


def test_checkpoints_continue_where_training_stopped(symbol, data_iter, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    prefix = str(tmp_path / "net")
    module = fitted(symbol, data_iter)
    module.save_checkpoint(prefix, 3, save_optimizer_states=True)
    assert caplog.messages[-2:] == [
        f'Saved checkpoint to "{prefix}-0003.params"',
        f'Saved optimizer state to "{prefix}-0003.states"',
    ]
    other = mx.mod.Module.load(prefix, 3, load_optimizer_states=True)
    assert other.params_initialized
    for one in (module, other):
        data_iter.reset()
        with pytest.warns(UserWarning, match="Parameters already initialized"):
            one.fit(data_iter, num_epoch=1, optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    for name, array in module.get_params()[0].items():
        numpy.testing.assert_array_equal(array.asnumpy(), other.get_params()[0][name].asnumpy())


def test_a_monitor_watches_training(symbol, data_iter, caplog):
    caplog.set_level(logging.INFO)
    fitted(symbol, data_iter, num_epoch=1, monitor=mx.mon.Monitor(4, pattern=".*output$|fc2_bias", sort=True))
    lines = [message for message in caplog.messages if message.startswith("Batch:")]
    assert [line.split()[1:3] for line in lines] == [
        [step, name]
        for step in ("1", "5")
        for name in (
            "fc1_output",
            "fc2_bias",
            "fc2_output",
            "relu_backward_output",
            "relu_output",
            "softmax_output",
        )
    ]


PROGRAM = """
import json, logging, sys
import numpy as np

def run(mx):
    lines = []
    class Handler(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())
    handler = Handler()
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.INFO)
    np.random.seed(0)
    x = np.random.randn(22, 5).astype("float32")
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
    layer = mx.sym.BatchNorm(layer, name="bn", fix_gamma=False)
    layer = mx.sym.Activation(layer, act_type="relu")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(layer, num_hidden=3, name="fc2"), name="softmax")
    train = mx.io.NDArrayIter(x, x[:, :3].argmax(axis=1), 4, shuffle=True, last_batch_handle="roll_over")
    module = mx.mod.Module(net, context=[mx.cpu(0), mx.cpu(1)])
    module.bind(train.provide_data, train.provide_label)
    module.init_params(mx.init.One())
    start = {"fc1_weight": mx.nd.array(np.linspace(-1, 1, 20).reshape(4, 5)),
             "fc2_weight": mx.nd.array(np.linspace(1, -1, 12).reshape(3, 4))}
    module.set_params(start, {}, allow_missing=True)
    module.fit(train, eval_data=train, num_epoch=3, eval_metric=["acc", "ce"], optimizer="nag",
               optimizer_params={"learning_rate": 0.2, "momentum": 0.9, "wd": 0.01})
    logging.getLogger().removeHandler(handler)
    arg, aux = module.get_params()
    return [[line for line in lines if "=" in line and "Time" not in line],
            {k: v.asnumpy().tolist() for k, v in {**arg, **aux}.items()}, module._optimizer.num_update]
"""


def test_trains_as_mxnet(mxnet_peer):
    scope = {}
    exec(PROGRAM, scope)
    with pytest.warns(UserWarning, match="Parameters already initialized"):
        lines, params, updates = scope["run"](mx)
    theirs = mxnet_peer(PROGRAM + "import mxnet\nprint(json.dumps(run(mxnet)))")
    assert [line.split("=")[0] for line in lines] == [line.split("=")[0] for line in theirs[0]]
    numpy.testing.assert_allclose(
        [float(line.split("=")[1]) for line in lines],
        [float(line.split("=")[1]) for line in theirs[0]],
        rtol=1e-3,
    )
    assert sorted(params) == sorted(theirs[1])
    for name, array in params.items():
        numpy.testing.assert_allclose(array, theirs[1][name], rtol=1e-3, atol=1e-4, err_msg=name)
    assert updates == theirs[2]


def test_callbacks_see_the_variables_of_the_loop():
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3), name="softmax")
    seen = []
    batches = mx.io.NDArrayIter(numpy.ones((8, 2)), numpy.zeros(8), 4)
    module = mx.mod.Module(net)
    module.fit(batches, num_epoch=1, batch_end_callback=lambda param: seen.append(param.locals))
    wanted = {
        "self",
        "train_data",
        "data_batch",
        "next_data_batch",
        "nbatch",
        "epoch",
        "num_epoch",
        "optimizer",
    }
    assert all(wanted <= one.keys() for one in seen)
    assert [one["nbatch"] for one in seen] == [0, 1] and seen[1]["next_data_batch"] is None
    seen.clear()
    module.score(batches, "acc", batch_end_callback=lambda param: seen.append(dict(param.locals)))
    assert [one["nbatch"] for one in seen] == [0, 1] and {"eval_batch", "actual_num_batch"} <= seen[0].keys()
