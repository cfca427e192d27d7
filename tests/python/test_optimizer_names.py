"""Names of MXNet's optimizers and training loops: numbers beside MXNet 1.9.1."""

import json
import subprocess
import sys

import numpy
import pytest

import headrace as mx
from headrace import autograd, gluon, nd, optimizer

RULES = """
import json
import numpy as onp
import {package} as mx

def curve(rule, dtype="float32", steps=7):
    random = onp.random.RandomState(3)
    updater = mx.optimizer.get_updater(rule)
    weights = [mx.nd.array(random.randn(3, 4), dtype=dtype) for _ in range(2)]
    for _ in range(steps):
        for i, weight in enumerate(weights):
            updater(i, mx.nd.array(random.randn(3, 4), dtype=dtype), weight)
    return [weight.asnumpy().astype("float64").tolist() for weight in weights]

create = mx.optimizer.create
results = {{}}
for strategy in ("linear", "power2", "sqrt", "lars", "none"):
    for momentum in (0.0, 0.9):
        options = dict(learning_rate=0.1, momentum=momentum, wd=0.01, rescale_grad=0.5, clip_gradient=0.4)
        options.update(warmup_strategy=strategy, warmup_epochs=2, updates_per_epoch=2)
        for scale in (1, 3):
            rule = create("lbsgd", batch_scale=scale, begin_epoch=1, **options)
            results["lbsgd %s %g %d" % (strategy, momentum, scale)] = curve(rule)
results["scheduled"] = curve(create(
    "lbsgd", batch_scale=2, lr_scheduler=mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)))
results["half"] = curve(create("lbsgd", learning_rate=0.1, momentum=0.9, multi_precision=True), "float16")
Group = mx.optimizer.contrib.GroupAdaGrad
results["group"] = curve(Group(learning_rate=0.1, rescale_grad=0.5, clip_gradient=0.3))
results["group by name"] = curve(create("groupadagrad", eps=0.01))
results["test"] = curve(mx.optimizer.Test(rescale_grad=0.5))
print(json.dumps(results))
"""

LOOP = """
import json
import {package} as mx

def trained(kvstore):
    names = ["w", "b"]
    contexts = [mx.cpu(0), mx.cpu(1)]
    first = {{"w": mx.nd.ones((2, 3)), "b": mx.nd.zeros((2,))}}
    params = [[first[name].copyto(ctx) for ctx in contexts] for name in names]
    grads = [
        [mx.nd.full(first[name].shape, i + 1, ctx=ctx) for i, ctx in enumerate(contexts)] for name in names
    ]
    rule = mx.optimizer.SGD(learning_rate=0.1, momentum=0.5)
    store, on_store = mx.model._create_kvstore(kvstore, len(contexts), first)
    if store:
        mx.model._initialize_kvstore(store, params, first, names, on_store)
    if on_store:
        store.set_optimizer(rule)
    updater = mx.optimizer.get_updater(rule)
    for _ in range(3):
        if on_store:
            mx.model._update_params_on_kvstore(params, grads, store, names)
        else:
            mx.model._update_params(params, grads, updater, len(contexts), store, names)
            for replicas in grads:  # the sums took their place
                for i, grad in enumerate(replicas):
                    grad[:] = i + 1
    return on_store, [[one.asnumpy().tolist() for one in replicas] for replicas in params]

print(json.dumps([trained("device"), trained("local"), trained(None)]))
"""


def ours(program):
    done = subprocess.run(
        [sys.executable, "-c", program.format(package="headrace")], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_rules_give_the_numbers_of_mxnet(mxnet_peer):
    found, wanted = ours(RULES), mxnet_peer(RULES.format(package="mxnet"))
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        tolerance = 2e-3 if name == "half" else 1e-6
        numpy.testing.assert_allclose(found[name], value, tolerance, tolerance, err_msg=name)


def test_training_loops_give_the_numbers_of_mxnet(mxnet_peer):
    assert json.dumps(ours(LOOP)) == json.dumps(mxnet_peer(LOOP.format(package="mxnet")))


def test_large_batches_on_several_contexts():
    """Each context sums its own gradients."""
    param = gluon.Parameter("w", shape=(2,))
    param.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    rule = optimizer.LBSGD(learning_rate=1, batch_scale=2, warmup_strategy="none", warmup_epochs=9)
    trainer = gluon.Trainer([param], rule, update_on_kvstore=False)
    for step in (1, 2):
        for factor, data in enumerate(param.list_data()):
            with autograd.record():
                loss = data * (factor + step)
            loss.backward()
        trainer.step(1)
    for data in param.list_data():
        assert data.asnumpy().tolist() == [1 - (3 + 5) / 2] * 2


def test_what_groups_of_rates_are_not_for():
    rule = optimizer.contrib.GroupAdaGrad(wd=0.1)
    with pytest.raises(AssertionError, match="Weight decay is not supported"):
        rule.update(0, nd.ones((2, 2)), nd.ones((2, 2)), nd.zeros((2, 1)))
    with pytest.raises(AssertionError, match=r"two dimensions, got shape \(2,\) for parameter 7"):
        rule.create_state(7, nd.ones((2,)))


def test_modules_and_names():
    assert mx.optimizer.optimizer.SGD is mx.optimizer.SGD
    assert mx.optimizer.optimizer.LBSGD is optimizer.LBSGD
    assert optimizer.Optimizer.opt_registry["groupadagrad"] is optimizer.contrib.GroupAdaGrad
    assert mx.kv.create("local")._send_command_to_servers(0, "body") is None
    param = gluon.Parameter("w", shape=(2,))
    param.initialize()
    with pytest.raises(RuntimeError, match="list_row_sparse_data.*Please use list_data"):
        param.list_row_sparse_data(nd.array([0]))


def test_the_default_context():
    assert mx.Context.default_ctx == mx.cpu(0)
    with mx.cpu(3):
        assert mx.Context.default_ctx == mx.cpu(3)
        assert mx.Context._default_ctx.value == mx.cpu(3)
    mx.Context.default_ctx = mx.cpu(2)
    try:
        assert mx.current_context() == mx.cpu(2) == nd.ones((1,)).ctx
    finally:
        mx.Context.default_ctx = mx.cpu(0)


def test_the_absolute_value_that_the_module_shows():
    assert optimizer.NDabs(nd.array([-2.0])).asscalar() == 2
