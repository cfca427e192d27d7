"""Calls of key-value stores: other dtypes, the order of updates, kinds of errors, what is not dropped."""

import json
import subprocess
import sys

import pytest

import headrace as mx
from headrace import MXNetError, gluon, kv, nd


@pytest.fixture(params=["local", "device"])
def store(request):
    return kv.create(request.param)


def filled(value, place=0, dtype="float32"):
    return nd.full((3, 5), value, ctx=mx.cpu(place), dtype=dtype)


def number(array):
    """The one value that all elements have."""
    (value,) = set(array.asnumpy().ravel().tolist())
    return value


def pulled(store, key):
    out = filled(0)
    store.pull(key, out=out)
    return number(out)


def test_nobody_is_lost_in_one_process(store):
    assert store.num_dead_node == store.get_num_dead_node(node_id=4, timeout=1) == 0


def test_dtypes_are_converted(store):
    store.init(1, filled(3.7))
    half, whole = filled(0, dtype="float16"), filled(0, 1, "int32")
    store.pull(1, out=[half, whole])
    assert (number(half), number(whole)) == (3.69921875, 3)
    store.push(1, filled(3.7, dtype="float16"))
    assert pulled(store, 1) == 3.69921875
    store.push(1, [filled(2048, dtype="float16"), filled(1, 1, "float16"), filled(1, 2)])
    assert pulled(store, 1) == 2050  # summed as float32
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1))
    store.push(1, filled(50, dtype="float16"))
    assert pulled(store, 1) == 2000


def test_priorities_are_whole_numbers_of_any_size(store):
    store.init(1, filled(0))
    store.push(1, filled(2), priority=2**40)
    store.push(1, filled(3), priority=-(2**40))
    assert pulled(store, 1) == 3
    for call in (store.push, store.pushpull):
        with pytest.raises(TypeError, match="priority must be an int, got 1.5"):
            call(1, filled(0), priority=1.5)


DTYPES = """
import json
import numpy as onp
import {package} as mx

def array(values, dtype, place=0):
    return mx.nd.array(values, dtype=dtype, ctx=mx.cpu(place))

results = []
values = [1.00107656, 3.7, 2048.5]
for kind in ("local", "device"):
    for inited in ("float32", "float16", "int32"):
        for pushed in ("float32", "float16", "float64", "int32"):
            for count in (0, 1) if kind == "local" else (0, 1, 2):  # its sums do not convert in MXNet
                store = mx.kv.create(kind)
                store.init(3, array(values, inited))
                for _ in range(2 if count else 0):
                    store.push(3, [array(values, pushed, i) for i in range(count)])
                for pulled in ("float64", "float16", "int32"):
                    out = array([0] * 3, pulled)
                    store.pull(3, out=out)
                    results.append([kind, inited, pushed, count, pulled, out.asnumpy().tolist()])
print(json.dumps(results))
"""


def test_dtypes_are_those_of_mxnet(mxnet_peer):
    done = subprocess.run(
        [sys.executable, "-c", DTYPES.format(package="headrace")], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == mxnet_peer(DTYPES.format(package="mxnet"))


def test_updates_come_in_the_order_of_keys(store):
    for keys, wanted in (([30, 4, 5], [4, 5, 30]), (["c", "a", "b"], [b"c", b"a", b"b"])):
        own, seen = kv.create(store.type), []
        own.init(keys, [filled(1)] * 3)
        own.set_updater(lambda key, reduced, stored, seen=seen: seen.append(key))
        own.push(keys[::-1], [filled(1)] * 3)
        own.pushpull(keys[::-1], [filled(1)] * 3)
        assert seen == wanted * 2


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda store: kv.create("dist_sync"), ValueError),
        (lambda store: kv.create("nowhere"), ValueError),
        (lambda store: kv.create("teststore", strategy="ring"), ValueError),
        (lambda store: kv.create(3), TypeError),
        (lambda store: kv.KVStoreBase.register(3), TypeError),
        (lambda store: store.push(0, 3.0), TypeError),
        (lambda store: store.push(0, [3.0]), TypeError),
        (lambda store: store.push(0, []), ValueError),
        (lambda store: store.push(0, nd.ones((7,))), ValueError),
        (lambda store: store.set_reduction(3), TypeError),
        (lambda store: store.set_reduction("nothing"), ValueError),
        (lambda store: store.set_optimizer("sgd"), TypeError),
        (lambda store: store.is_capable("flight"), ValueError),
        (lambda store: store.set_gradient_compression({"type": "1bit"}), ValueError),
        (lambda store: store.set_gradient_compression({"type": "2bit", "wide": 1}), ValueError),
        (lambda store: store.set_gradient_compression({"type": "2bit", "threshold": -1}), ValueError),
        (lambda store: store.set_gradient_compression({"type": "2bit", "threshold": "x"}), ValueError),
        (lambda store: store.set_gradient_compression({"type": "2bit", "threshold": None}), ValueError),
        (lambda store: step(kvstore=3), TypeError),
        (lambda store: step(kvstore="dist_sync"), ValueError),
        (lambda store: step(kvstore="teststore", update_on_kvstore=True), ValueError),
    ],
)
def test_errors_are_errors_of_mxnet_too(store, call, kind):
    store.init(0, filled(1))
    with pytest.raises(MXNetError) as caught:
        call(store)
    assert isinstance(caught.value, kind)


def step(**options):
    param = gluon.Parameter("w", shape=(2,))
    param.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    gluon.Trainer([param], "sgd", **options).step(1, ignore_stale_grad=True)


class TestGivingUpAnOptimizer:
    @pytest.fixture
    def trained(self, store):
        store.init(0, filled(0))
        store.set_optimizer(mx.optimizer.SGD(learning_rate=1, momentum=0.5))
        store.push(0, filled(1))
        return store

    def test_an_updater_does_not_drop_its_states(self, trained):
        with pytest.raises(MXNetError, match=r"has an optimizer, .* set_updater\(None\)"):
            trained.set_updater(lambda key, reduced, stored: None)
        trained.push(0, filled(0))
        assert pulled(trained, 0) == -1.5  # the momentum is still there

    def test_it_is_given_up_on_purpose(self, trained):
        trained.set_updater(None)
        trained.push(0, filled(5))
        assert pulled(trained, 0) == 5
        trained.set_updater(lambda key, reduced, stored: stored.__iadd__(reduced))
        trained.push(0, filled(5))
        assert pulled(trained, 0) == 10

    def test_programs_of_mxnet_may_replace_it(self, trained):
        trained._set_updater(lambda key, reduced, stored: stored.__iadd__(reduced * 2))
        trained.push(0, filled(5))
        assert pulled(trained, 0) == 9
