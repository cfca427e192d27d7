"""BucketingModule, SequentialModule, PythonModule."""

import numpy
import pytest

import headrace as mx


def sum_of_steps(length):
    """One layer, used at every step of a sequence (batch, length, 3): a bucket for each length."""
    weight, bias = mx.sym.var("fc_weight"), mx.sym.var("fc_bias")
    data, total = mx.sym.var("data"), None
    for step in range(length):
        own = mx.sym.slice_axis(data, axis=1, begin=step, end=step + 1)
        out = mx.sym.FullyConnected(own, weight, bias, num_hidden=2)
        total = out if total is None else total + out
    return mx.sym.SoftmaxOutput(total, name="softmax"), ["data"], ["softmax_label"]


def test_automatic_names_are_those_of_all_buckets():
    def unnamed(length):
        return mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), ["data"], []

    mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1)
    module = mx.mod.BucketingModule(unnamed, default_bucket_key=4)
    module.bind([("data", (2, 4))], for_training=False)
    module.init_params()
    module.switch_bucket(2, [("data", (3, 4))])
    assert module.symbol.list_arguments() == ["data", "fullyconnected0_weight", "fullyconnected0_bias"]
    assert module.output_names == ["fullyconnected0_output"]


def bucket(length, seed=0):
    data = numpy.random.RandomState(seed).randn(4, length, 3).astype("float32")
    label = (data.sum(axis=(1, 2)) > 0).astype("float32")
    return mx.io.DataBatch(
        [mx.nd.array(data)],
        [mx.nd.array(label)],
        bucket_key=length,
        provide_data=[("data", data.shape)],
        provide_label=[("softmax_label", label.shape)],
    )


@pytest.fixture
def bucketing():
    module = mx.mod.BucketingModule(sum_of_steps, default_bucket_key=5)
    module.bind([("data", (4, 5, 3))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    return module


def test_buckets_compress_gradients():
    module = mx.mod.BucketingModule(
        sum_of_steps, 5, context=[mx.cpu(0), mx.cpu(1)], compression_params={"type": "unknown"}
    )
    module.bind([("data", (4, 5, 3))], [("softmax_label", (4,))])
    module.init_params()
    with pytest.raises(ValueError, match="unknown"):
        module.init_optimizer()


def test_buckets_share_parameters_and_optimizer(bucketing):
    bucketing.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    metric = mx.metric.Accuracy()
    for seed in range(30):
        batch = bucket((5, 2, 3)[seed % 3], seed)
        bucketing.prepare(batch)
        bucketing.forward_backward(batch)
        bucketing.update()
        assert bucketing.data_shapes == [("data", batch.data[0].shape)]
        if seed > 15:
            bucketing.update_metric(metric, batch.label)
    assert metric.get()[1] > 0.8
    params = [module.get_params()[0] for module in bucketing._buckets.values()]
    assert len(params) == 3
    for other in params[1:]:
        for name, array in other.items():
            numpy.testing.assert_array_equal(array.asnumpy(), params[0][name].asnumpy())
    assert bucketing.get_params()[0]["fc_weight"].shape == (2, 3)
    assert len(bucketing._buckets[5]._updaters[0].states) == 2


def test_bucketing_properties(bucketing):
    assert bucketing.data_names == ["data"] and bucketing.output_names == ["softmax_output"]
    bucketing.switch_bucket(2, [("data", (4, 2, 3))], [("softmax_label", (4,))])
    assert bucketing.data_shapes == [("data", (4, 2, 3))]
    assert bucketing.label_shapes == [("softmax_label", (4,))]
    assert bucketing.output_shapes == [("softmax_output", (4, 2))]
    assert bucketing.symbol.list_arguments() == sum_of_steps(2)[0].list_arguments()
    unbound = mx.mod.BucketingModule(sum_of_steps, 5)
    assert unbound.data_names == ["data"] and unbound.output_names == ["softmax_output"]
    with pytest.raises(AssertionError, match="default_bucket_key"):
        mx.mod.BucketingModule(sum_of_steps)


def test_bucketing_files(bucketing, tmp_path):
    prefix = str(tmp_path / "net")
    bucketing.forward(bucket(2), is_train=False)
    bucketing.save_checkpoint(prefix, 1)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["net-0001.params", "net-2-symbol.json", "net-5-symbol.json", "net.buckets"]
    assert mx.nd.load(f"{prefix}.buckets")[0].asnumpy().tolist() == [5, 2]
    arg_params, aux_params = mx.model.load_params(prefix, 1)
    bucketing.forward(bucket(3), is_train=False)
    for other in (
        mx.mod.BucketingModule.load(prefix, 1, sym_gen=sum_of_steps, default_bucket_key=5),
        mx.mod.BucketingModule.load_dict(
            sym_gen=sum_of_steps, default_bucket_key=5, arg_params=arg_params, aux_params=aux_params
        ),
    ):
        other.bind([("data", (4, 5, 3))], [("softmax_label", (4,))], for_training=False)
        other.forward(bucket(3), is_train=False)
        numpy.testing.assert_array_equal(
            other.get_outputs()[0].asnumpy(), bucketing.get_outputs()[0].asnumpy()
        )


def test_buckets_of_a_checkpoint_have_its_symbols(bucketing, tmp_path):
    prefix = str(tmp_path / "net")
    bucketing.save_checkpoint(prefix, 1)

    def unlike(steps):
        _, data, labels = sum_of_steps(steps)
        return mx.sym.var("data") * 2, data, labels

    loaded = mx.mod.BucketingModule.load(prefix, 1, sym_gen=unlike, default_bucket_key=5)
    loaded.bind([("data", (4, 5, 3))], [("softmax_label", (4,))], for_training=False)
    assert loaded.symbol.list_arguments() == bucketing.symbol.list_arguments()
    with pytest.raises(AssertionError, match="sym_gen is needed"):
        mx.mod.BucketingModule.load(prefix, 1)


def two_modules():
    first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
    second = mx.sym.FullyConnected(mx.sym.var("hidden"), num_hidden=3, name="fc2")
    second = mx.sym.SoftmaxOutput(second, name="softmax")
    whole = mx.mod.SequentialModule()
    whole.add(mx.mod.Module(first, label_names=None))
    return whole.add(mx.mod.Module(second, ["hidden"]), take_labels=True, auto_wiring=True)


def test_sequential_module_equals_one_module(batch_of):
    whole = two_modules()
    first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
    one = mx.mod.Module(
        mx.sym.SoftmaxOutput(mx.sym.FullyConnected(first, num_hidden=3, name="fc2"), name="softmax")
    )
    results = []
    for module in (whole, one):
        module.bind([("data", (4, 5))], [("softmax_label", (4,))], inputs_need_grad=True)
        module.init_params(mx.init.Constant(0.1))
        module.init_optimizer(optimizer_params={"learning_rate": 0.3})
        for _ in range(2):
            module.forward_backward(batch_of(4))
            module.update()
        metric = mx.metric.Accuracy()
        module.update_metric(metric, batch_of(4).label)
        params = [array.asnumpy() for array in module.get_params()[0].values()]
        results.append(
            [
                metric.num_inst,
                module.get_outputs()[0].asnumpy(),
                module.get_input_grads()[0].asnumpy(),
                *params,
            ]
        )
    for mine, theirs in zip(*results):
        numpy.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-7)
    assert whole.data_names == ["data"] and whole.output_names == ["softmax_output"]
    assert whole.data_shapes == [("data", (4, 5))] and whole.output_shapes == [("softmax_output", (4, 3))]
    assert whole.label_shapes == [("softmax_label", (4,))]


def test_sequential_module_errors():
    with pytest.raises(AssertionError, match="Unknown meta"):
        mx.mod.SequentialModule().add(two_modules(), take_label=True)
    with pytest.raises(AssertionError, match="empty SequentialModule"):
        mx.mod.SequentialModule().bind([("data", (4, 5))])
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc")
    twice = mx.mod.SequentialModule()
    twice.add(mx.mod.Module(layer, label_names=None))
    twice.add(mx.mod.Module(layer, label_names=None), auto_wiring=True)
    twice.bind([("data", (4, 5))])
    with pytest.raises(ValueError, match='Duplicated parameter names: name "fc_weight" in layer 1'):
        twice.init_params()


def test_python_loss(batch_of):
    def gradient(scores, labels):
        softmax = mx.nd.softmax(scores).asnumpy()
        softmax[numpy.arange(len(softmax)), labels.asnumpy().astype(int)] -= 1
        return softmax

    first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    whole = mx.mod.SequentialModule()
    whole.add(mx.mod.Module(first, label_names=None))
    whole.add(mx.mod.PythonLossModule(grad_func=gradient), take_labels=True, auto_wiring=True)
    one = mx.mod.Module(mx.sym.SoftmaxOutput(first, name="softmax"))
    biases = []
    for module in (whole, one):
        module.bind([("data", (4, 5))], [("softmax_label", (4,))])
        module.init_params(mx.init.Zero())
        module.init_optimizer()
        module.forward_backward(batch_of(4))
        module.update()
        biases.append(module.get_params()[0]["fc_bias"].asnumpy())
    numpy.testing.assert_allclose(*biases, rtol=1e-5)
    assert biases[0].any()
    assert whole.output_names == ["pyloss_output"] and whole.output_shapes == [("pyloss_output", (4, 3))]


def test_python_module():
    class Double(mx.mod.PythonModule):
        def _compute_output_shapes(self):
            return [("out", self.data_shapes[0].shape)]

        def forward(self, data_batch, is_train=None):
            self._out = data_batch.data[0] * 2

        def get_outputs(self, merge_multi_context=True):
            return [self._out]

    module = Double(["data"], None, ["out"])
    module.bind([("data", (2, 3))])
    module.init_params()
    assert module.get_params() == ({}, {})
    assert module.predict(mx.nd.ones((2, 3))).asnumpy().tolist() == [[2, 2, 2]] * 2
    with pytest.raises(AssertionError, match="write gradient"):
        module.bind([("data", (2, 3))], force_rebind=True, grad_req="add")
