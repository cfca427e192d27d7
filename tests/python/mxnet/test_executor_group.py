"""module.executor_group.DataParallelExecutorGroup, on two contexts of the host."""

import subprocess
import sys

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet._executor_group import DataParallelExecutorGroup

TWO = [mx.cpu(0), mx.cpu(1)]
DATA, LABEL = [("data", (4, 3))], [("softmax_label", (4,))]


def group(shared=None, **more):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, mx.sym.var("softmax_label"), name="softmax")
    arguments = {"for_training": True, "inputs_need_grad": True, **more}
    return DataParallelExecutorGroup(
        net, TWO, None, DATA, LABEL, ["fc_weight", "fc_bias"], shared_group=shared, **arguments
    )


def batch(seed=0):
    data = mx.nd.array(np.random.RandomState(seed).rand(4, 3))
    return mx.io.DataBatch([data], [mx.nd.array([0, 1, 0, 1])])


def test_a_step():
    one = group()
    weight = mx.nd.array([[1, 2, 3], [3, 2, 1]])
    one.set_params({"fc_weight": weight, "fc_bias": mx.nd.zeros(2)}, {})
    one.forward(batch())
    expected = mx.nd.softmax(mx.nd.dot(batch().data[0], weight, transpose_b=True)).asnumpy()
    np.testing.assert_allclose(one.get_outputs()[0].asnumpy(), expected, rtol=1e-5)
    assert [part.shape for part in one.get_outputs(merge_multi_context=False)[0]] == [(2, 2), (2, 2)]
    one.backward()
    wrong = expected - np.eye(2)[[0, 1, 0, 1]]
    np.testing.assert_allclose(
        one.get_input_grads()[0].asnumpy(), wrong @ weight.asnumpy(), rtol=1e-4, atol=1e-6
    )
    gradient = sum(part.asnumpy() for part in one.grad_arrays[0])
    np.testing.assert_allclose(gradient, wrong.T @ batch().data[0].asnumpy(), rtol=1e-4, atol=1e-6)
    held = {}
    one.get_params(held, {})
    assert (held["fc_weight"].asnumpy() == weight.asnumpy()).all()
    accuracy = mx.metric.Accuracy()
    one.update_metric(accuracy, batch().label)
    assert accuracy.get()[1] == (expected.argmax(1) == [0, 1, 0, 1]).mean()
    assert one.get_output_shapes() == [("softmax_output", (4, 2))]


def test_groups_share_parameters():
    first = group()
    second = group(first)
    assert [sorted(one) for one in second.shared_data_arrays] == [["data", "softmax_label"]] * 2
    second.set_params({"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}, {})
    assert (first.param_arrays[0][1].asnumpy() == 1).all()
    assert (
        second.grad_req
        == first.grad_req
        == dict.fromkeys(["data", "fc_weight", "fc_bias"], "write") | {"softmax_label": "null"}
    )


def test_other_shapes():
    one = group()
    one.set_params({"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}, {})
    weights = one.param_arrays[0]
    one.reshape([("data", (6, 3))], [("softmax_label", (6,))])
    assert one.batch_size == 6 and one.get_output_shapes() == [("softmax_output", (6, 2))]
    assert all(now is before for now, before in zip(one.param_arrays[0], weights))
    one.forward(mx.io.DataBatch([mx.nd.ones((6, 3))], [mx.nd.zeros(6)]))
    assert one.get_outputs()[0].shape == (6, 2)
    with pytest.raises(ValueError, match="fc_weight of shape"):
        one.reshape([("data", (6, 4))], [("softmax_label", (6,))])


def test_what_was_not_asked_for():
    one = group(for_training=False, inputs_need_grad=False, fixed_param_names=["fc_bias"])
    with pytest.raises(AssertionError, match="for_training"):
        one.backward()
    with pytest.raises(AssertionError, match="inputs_need_grad"):
        one.get_input_grads()
    assert set(one.grad_req.values()) == {"null"}


def test_where_mxnet_has_it():
    code = """
from headrace.mxnet import install
install()
from mxnet.module.executor_group import DataParallelExecutorGroup
import mxnet as mx
assert mx.mod.executor_group.DataParallelExecutorGroup is DataParallelExecutorGroup
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
