"""Training loops older than Module: mx.executor_manager."""

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet.executor_manager import DataParallelExecutorManager, _check_arguments, _split_input_slice

CONTEXTS = [mx.cpu(0), mx.cpu(1)]


def classifier(length=None):
    data = mx.sym.var("data") if length is None else mx.sym.mean(mx.sym.var("data"), axis=1)
    dense = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(mx.sym.BatchNorm(dense, name="bn"), name="softmax")


def manager_of(symbol, data, **kwargs):
    names = symbol.list_arguments()
    params = [name for name in names if name not in ("data", "softmax_label")]
    made = DataParallelExecutorManager(
        symbol, CONTEXTS, data, names, params, symbol.list_auxiliary_states(), **kwargs
    )
    random = np.random.RandomState(1)
    shapes = {name: copies[0].shape for name, copies in zip(made.param_names, made.param_arrays)}
    args = {name: mx.nd.array(random.uniform(-1, 1, shape)) for name, shape in sorted(shapes.items())}
    states = {"bn_moving_mean": mx.nd.zeros(3), "bn_moving_var": mx.nd.ones(3)}
    made.set_params(args, states)
    return made, args, states


def batches():
    random = np.random.RandomState(0)
    return mx.io.NDArrayIter(random.uniform(size=(8, 5)), random.randint(0, 3, 8), batch_size=4)


def test_a_training_loop():
    data = batches()
    manager, args, states = manager_of(classifier(), data)
    metric = mx.metric.create("acc")
    for batch in data:
        manager.load_data_batch(batch)
        manager.forward(is_train=True)
        manager.backward()
        manager.update_metric(metric, batch.label)
        for params, grads in zip(manager.param_arrays, manager.grad_arrays):
            total = sum(grad.as_in_context(mx.cpu()) for grad in grads)
            for param in params:
                param -= 0.1 * total.as_in_context(param.ctx)
    before = args["fc_weight"].asnumpy()
    manager.copy_to(args, states)
    assert not np.array_equal(args["fc_weight"].asnumpy(), before)
    np.testing.assert_array_equal(manager.param_arrays[0][1].asnumpy(), args["fc_weight"].asnumpy())
    means = [copy.asnumpy() for copy in manager.aux_arrays[0]]
    assert not np.array_equal(*means)
    np.testing.assert_allclose(states["bn_moving_mean"].asnumpy(), np.mean(means, 0), rtol=1e-6)
    assert metric.num_inst == 8
    wrong = mx.io.DataBatch([mx.nd.ones((2, 5))], [mx.nd.ones(2)])
    with pytest.raises(AssertionError, match="Expected 4, got 2"):
        manager.load_data_batch(wrong)


def test_kinds_of_batches_share_parameters():
    def batch(length):
        shape = (4, length, 5)
        described = {"provide_data": [("data", shape)], "provide_label": [("softmax_label", (4,))]}
        return mx.io.DataBatch([mx.nd.ones(shape)], [mx.nd.zeros(4)], bucket_key=length, **described)

    first = batch(6)
    first.batch_size, first.default_bucket_key = 4, 6
    manager, _, _ = manager_of(classifier(6), first, sym_gen=classifier)
    outputs = []
    for length in (6, 3):
        manager.load_data_batch(batch(length))
        manager.forward()
        outputs.append(manager.curr_execgrp.train_execs[0].outputs[0].asnumpy())
    np.testing.assert_allclose(*outputs, rtol=1e-5)
    assert manager.curr_execgrp.param_arrays[0][0] is manager.param_arrays[0][0]
    with pytest.raises(NotImplementedError, match="bucketing"):
        manager.install_monitor(None)


def test_refused_settings():
    with pytest.raises(AssertionError, match="a list of 2 numbers"):
        manager_of(classifier(), batches(), work_load_list=[1])
    with pytest.raises(ValueError, match="Too many slices"):
        _split_input_slice(1, [1, 1])
    with pytest.raises(ValueError, match=r"work_load_list: .* above 0, got \[0, 0\]"):
        _split_input_slice(4, [0, 0])
    assert _split_input_slice(5, [1, 1]) == [slice(0, 2), slice(2, 5)]
    with pytest.raises(ValueError, match='duplicated argument name "x"'):
        _check_arguments(mx.sym.var("x") + mx.sym.var("x"))
