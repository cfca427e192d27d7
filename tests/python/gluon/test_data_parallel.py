"""Training on several contexts: what one device learns, several learn."""

import contextlib
import gc
import json
import time

import numpy
import pytest

import headrace as hr
from headrace import autograd, gluon, init, nd, npx, sim
from headrace.gluon import nn
from headrace.gluon.model_zoo import vision
from headrace.gluon.utils import split_and_load


@pytest.fixture
def contexts(at):
    """Makes a list of contexts."""
    return lambda count: [at(i) for i in range(count)]


def loss_curve(net, trainer, images, labels, ctx, steps=6):
    """The mean loss of each step on one batch, which may not divide evenly."""
    loss_of, curve = gluon.loss.SoftmaxCrossEntropyLoss(), []
    for _ in range(steps):
        parts = zip(*(split_and_load(one, ctx, even_split=False) for one in (images, labels)))
        with autograd.record():
            losses = [loss_of(net(x), y) for x, y in parts]
        autograd.backward(losses)
        trainer.step(len(images))
        curve.append(sum(loss.sum().asnumpy() for loss in losses) / len(images))
    return numpy.array(curve).ravel()


def small_network(ctx, hybridize):
    hr.random.seed(3)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(6, 3, activation="relu"), nn.MaxPool2D(), nn.Dense(300, activation="relu"))
    net.add(nn.Dense(1000, activation="relu"), nn.Dense(10))
    net.initialize(init.Xavier(), ctx=ctx)
    net.hybridize(hybridize)
    return net


@pytest.fixture
def rng():
    return numpy.random.default_rng(5)


@pytest.fixture
def batch(rng):
    return nd.array(rng.random((22, 1, 14, 14))), nd.array(rng.integers(0, 10, 22))


class TestCurves:
    """Of the same global batch on one context and on several; 22 samples do not divide by 4."""

    @pytest.mark.parametrize("hybridize", [False, True])
    @pytest.mark.parametrize("update_on_kvstore", [None, False])
    @pytest.mark.parametrize(
        ("optimizer", "settings"),
        [
            ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-3}),
            ("adam", {"learning_rate": 3e-3}),
            ("dcasgd", {"learning_rate": 0.1, "momentum": 0.5}),  # written with array operations
        ],
    )
    def test_optimizers(self, contexts, batch, optimizer, settings, update_on_kvstore, hybridize):
        curves = []
        for count in (1, 2, 4):
            ctx = contexts(count)
            net = small_network(ctx, hybridize)
            trainer = gluon.Trainer(
                net.collect_params(), optimizer, dict(settings), update_on_kvstore=update_on_kvstore
            )
            curves.append(loss_curve(net, trainer, *batch, ctx))
        one, *several = curves
        assert one[-1] < one[0]
        for curve in several:
            numpy.testing.assert_allclose(curve, one, rtol=1e-5)

    @pytest.mark.parametrize("hybridize", [False, True])
    def test_resnet(self, contexts, rng, hybridize):
        """Every device gets the same images, so that its batch statistics are those of the global batch."""
        images, labels = rng.random((4, 1, 16, 16)), rng.integers(0, 10, 4)
        curves = []
        for count in (1, 2, 4):
            ctx = contexts(count)
            hr.random.seed(3)
            net = vision.ResNetV1(
                vision.BasicBlockV1, [1, 1, 1, 1], [8, 8, 12, 16, 32], classes=10, thumbnail=True
            )
            net.initialize(init.Xavier(), ctx=ctx)
            net.hybridize(hybridize)
            trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.02, "momentum": 0.9})
            repeated = nd.array(numpy.tile(images, (4, 1, 1, 1))), nd.array(numpy.tile(labels, 4))
            curves.append(loss_curve(net, trainer, *repeated, ctx))
        for curve in curves[1:]:
            numpy.testing.assert_allclose(curve, curves[0], rtol=1e-5)

    def test_fewer_samples_than_devices(self, contexts, batch):
        images, labels = batch[0][:3], batch[1][:3]
        curves = []
        for count in (1, 4):
            ctx = contexts(count)
            net = small_network(ctx, True)
            net(images.as_in_context(ctx[0]))  # the shapes do not follow from an empty slice
            trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
            curves.append(loss_curve(net, trainer, images, labels, ctx))
        numpy.testing.assert_allclose(curves[1], curves[0], rtol=1e-5)

    def test_replicas_stay_equal(self, contexts, batch):
        for update_on_kvstore in (True, False):
            ctx = contexts(4)
            net = small_network(ctx, True)
            trainer = gluon.Trainer(
                net.collect_params(), "adam", {"learning_rate": 3e-3}, update_on_kvstore=update_on_kvstore
            )
            loss_curve(net, trainer, *batch, ctx, steps=3)
            for param in net.collect_params().values():
                first, *others = (data.asnumpy() for data in param.list_data())
                assert all((first == other).all() for other in others)


def test_lenet_from_raw_arrays(contexts, rng, np_mode):
    """Parameters copied to every device, gradients summed by the program itself, as a book does it."""
    np = hr.np
    shapes = [(20, 1, 3, 3), (20,), (50, 20, 5, 5), (50,), (800, 128), (128,), (128, 10), (10,)]
    start = [rng.normal(scale=0.1, size=shape) if len(shape) > 1 else numpy.zeros(shape) for shape in shapes]
    images, labels = np.array(rng.random((16, 1, 28, 28))), np.array(rng.integers(0, 10, 16))
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    def lenet(x, params):
        w1, b1, w2, b2, w3, b3, w4, b4 = params
        h = npx.relu(npx.convolution(data=x, weight=w1, bias=b1, kernel=(3, 3), num_filter=20))
        h = npx.pooling(data=h, pool_type="avg", kernel=(2, 2), stride=(2, 2))
        h = npx.relu(npx.convolution(data=h, weight=w2, bias=b2, kernel=(5, 5), num_filter=50))
        h = npx.pooling(data=h, pool_type="avg", kernel=(2, 2), stride=(2, 2))
        return np.dot(npx.relu(np.dot(h.reshape(h.shape[0], -1), w3) + b3), w4) + b4

    def allreduce(data):
        for i in range(1, len(data)):
            data[0][:] += data[i].copyto(data[0].context)
        for i in range(1, len(data)):
            data[0].copyto(data[i])

    def curve(ctx):
        replicas = [[np.array(value).copyto(one) for value in start] for one in ctx]
        for params in replicas:
            for param in params:
                param.attach_grad()
        found = []
        for _ in range(4):
            xs, ys = split_and_load(images, ctx), split_and_load(labels, ctx)
            with autograd.record():
                losses = [loss_of(lenet(x, w), y) for x, y, w in zip(xs, ys, replicas)]
            for loss in losses:
                loss.backward()
            for i in range(len(start)):
                allreduce([params[i].grad for params in replicas])
            for params in replicas:
                for param in params:
                    param[:] = param - 0.1 * param.grad / len(images)
            found.append(sum(float(loss.sum()) for loss in losses) / len(images))
        return found

    one = curve(contexts(1))
    assert one[-1] < one[0]
    for count in (2, 4):
        numpy.testing.assert_allclose(curve(contexts(count)), one, rtol=1e-5)


class TestCompiledNetworks:
    def test_results_are_where_the_data_are(self, at, contexts):
        net = small_network(contexts(2), True)
        first, second = (net(nd.ones((2, 1, 14, 14), ctx=one)) for one in contexts(2))
        assert (first.context, second.context) == (at(0), at(1))
        assert (first.asnumpy() == second.asnumpy()).all()

    def test_blocks_that_define_forward(self, contexts, np_mode):
        class Affine(gluon.HybridBlock):
            def __init__(self):
                super().__init__()
                self.scale = self.params.get("scale", shape=(3,), init=init.Constant(2))
                self.shift = hr.np.array([1.0, 2.0, 3.0])  # becomes a constant of the graph

            def forward(self, x):
                return x * self.scale.data(x.ctx) + self.shift.as_in_ctx(x.ctx)

        net = Affine()
        net.initialize(ctx=contexts(2))
        net.hybridize()
        for ctx in contexts(2):
            with autograd.record():
                y = net(hr.np.ones((2, 3), ctx=ctx))
            y.backward()
            assert y.ctx == ctx and y.tolist() == [[3, 4, 5]] * 2
            assert net.scale.grad(ctx).ctx == ctx and net.scale.grad(ctx).tolist() == [2, 2, 2]

    def test_running_statistics_belong_to_the_context(self, at, contexts):
        norm = nn.BatchNorm(in_channels=2)
        norm.initialize(ctx=contexts(2))
        norm.hybridize()
        with autograd.record():
            norm(nd.ones((4, 2), ctx=at(1)))
        assert norm.running_mean.data(at(0)).asnumpy().tolist() == [0, 0]
        numpy.testing.assert_allclose(norm.running_mean.data(at(1)).asnumpy(), 0.1, rtol=1e-6)

    def test_two_contexts_in_one_call(self, at):
        class Sum(gluon.HybridBlock):
            def hybrid_forward(self, F, x, y):
                return x + y

        net = Sum()
        net.hybridize()
        with pytest.raises(ValueError, match=r"Find multiple contexts in the input.*\(0\) and .*\(1\)"):
            net(nd.ones((2,), ctx=at(0)), nd.ones((2,), ctx=at(1)))

    def test_deferred_initialization_on_several_contexts(self, at, contexts):
        for hybridize in (False, True):
            net = nn.HybridSequential()
            net.add(nn.Dense(4), nn.Dense(2))
            net.initialize(ctx=contexts(2))
            net.hybridize(hybridize)
            assert net[0].weight.list_ctx() == contexts(2)
            net(nd.ones((1, 3), ctx=at(1)))
            first, second = net[0].weight.list_data()
            assert (first.asnumpy() == second.asnumpy()).all()


class TestCopies:
    """Between contexts; gradients flow through them."""

    @pytest.mark.parametrize("name", ["as_in_context", "copyto"])
    def test_gradient(self, at, array, name):
        x = array([1.0, 2.0]).as_in_context(at(0))
        x.attach_grad()
        with autograd.record():
            there = getattr(x, name)(at(1))
            y = (there * there).as_in_context(at(2)).sum()
        y.backward()
        assert (there.context, y.context, x.grad.context) == (at(1), at(2), at(0))
        assert x.grad.asnumpy().tolist() == [2, 4]
        assert type(there) is type(x)

    def test_gradient_of_second_order(self, at):
        x = nd.array([3.0])
        x.attach_grad()
        with autograd.record():
            y = x.as_in_context(at(1))
            (first,) = autograd.grad(y * y * y, [x], create_graph=True)
        first.backward()
        assert (first.asscalar(), x.grad.asscalar()) == (27, 18)

    def test_a_copy_is_another_array(self, at):
        x = nd.array([1.0], ctx=at(0))
        y = x.copyto(at(0))
        x[:] = 5
        assert y.asscalar() == 1 and x.as_in_context(at(0)) is x


def test_heads_on_several_contexts(at):
    x, y = nd.array([1.0, 2.0], ctx=at(0)), nd.array([3.0], ctx=at(1))
    x.attach_grad()
    y.attach_grad()
    with autograd.record():
        heads = [(x * x).sum(), y * y]
    autograd.backward(heads, [None, nd.array([10.0], ctx=at(1))])
    assert x.grad.asnumpy().tolist() == [2, 4] and y.grad.asnumpy().tolist() == [60]


def test_metrics_of_lists(contexts):
    labels = split_and_load(nd.array([0, 1, 1, 0]), contexts(2))
    scores = split_and_load(nd.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.6, 0.4]]), contexts(2))
    metric = hr.metric.Accuracy()
    metric.update(labels, scores)
    assert metric.get() == ("accuracy", 0.75) and metric.num_inst == 4
    loss = hr.metric.Loss()
    loss.update(None, scores)
    assert loss.get()[1] == pytest.approx(0.5)


@pytest.mark.parametrize("hybridize", [False, True])
def test_gradients_travel_while_backward_still_runs(tmp_path, hybridize):
    """The timeline of a step whose backward takes far longer than queueing it."""
    ctx = [hr.cpu(0), hr.cpu(1)]
    net = nn.HybridSequential()
    for _ in range(8):
        net.add(nn.Dense(768, activation="relu", in_units=768))
    net.initialize(ctx=ctx)
    net.hybridize(hybridize)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3})
    data = [nd.ones((512, 768), ctx=one) for one in ctx]

    def step():
        with autograd.record():
            losses = [net(x).mean() for x in data]
        autograd.backward(losses)
        trainer.step(1)

    step()  # compiles
    nd.waitall()
    file = tmp_path / "profile.json"
    hr.profiler.set_config(profile_all=True, filename=str(file))
    hr.profiler.start()
    step()
    nd.waitall()
    hr.profiler.stop()
    hr.profiler.dump()
    events = [one for one in json.loads(file.read_text())["traceEvents"] if one.get("ph") == "X"]
    exchanged = [one["ts"] for one in events if one["name"].startswith("kvstore")]
    backward_ends = max(one["ts"] + one["dur"] for one in events if one["name"] == "_backward_relu")
    assert len(exchanged) >= 16
    assert sum(ts < backward_ends for ts in exchanged) >= 6


def test_a_lost_device(tmp_path):
    """What other devices have can be saved, and training goes on there."""
    sim.configure(gpus=2, topology="", clock="virtual")
    ctx = [hr.gpu(0), hr.gpu(1)]
    net = small_network(ctx, True)
    images, labels = nd.ones((4, 1, 14, 14)), nd.ones((4,))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    loss_curve(net, trainer, images, labels, ctx, steps=2)
    before = {name: param.data(ctx[0]).asnumpy() for name, param in net.collect_params().items()}
    sim.lose(ctx[1])
    with pytest.raises(hr.MXNetError, match=r"gpu\(1\)"):
        net(images.as_in_context(ctx[1])).wait_to_read()
    with pytest.warns(UserWarning, match=r"is not readable on all of \[gpu\(0\), gpu\(1\)\]"):
        net.collect_params().save(str(tmp_path / "params"))
    for name, array in nd.load(str(tmp_path / "params")).items():
        assert (array.asnumpy() == before[name]).all()
    with pytest.warns(UserWarning, match="is taken from the others"):
        net.collect_params().reset_ctx(ctx[0])
    assert (loss_curve(net, trainer, images, labels, ctx[:1], steps=2) < 10).all()
    sim.repair()
    del net, trainer
    with contextlib.suppress(hr.MXNetError):
        hr.waitall()
    gc.collect()
    sim.configure(gpus=0, topology="", clock="real")


@pytest.fixture
def two_gpus():
    sim.configure(gpus=2, topology="", clock="real")
    yield [hr.gpu(0), hr.gpu(1)]
    sim.repair()
    while True:  # errors that a test left behind on purpose
        with contextlib.suppress(hr.MXNetError):
            hr.waitall()
            break
    gc.collect()
    sim.configure(gpus=0, topology="", clock="real")


@pytest.mark.parametrize("store", ["device", "local", None])
@pytest.mark.parametrize("on_store", [None, False])
@pytest.mark.parametrize("lost", [0, 1])
def test_a_device_lost_in_a_step(two_gpus, store, on_store, lost, tmp_path):
    """A step says so, once; what the other device has stays as it was, can be read and saved."""
    net = small_network(two_gpus, True)
    images, labels = nd.ones((4, 1, 14, 14)), nd.ones((4,))
    rates = {"learning_rate": 0.1, "momentum": 0.9}
    trainer = gluon.Trainer(net.collect_params(), "sgd", rates, kvstore=store, update_on_kvstore=on_store)
    loss_curve(net, trainer, images, labels, two_gpus, steps=2)
    kept = two_gpus[1 - lost]
    before = {name: param.data(kept).asnumpy() for name, param in net.collect_params().items()}
    with autograd.record():
        losses = [net(part).sum() for part in split_and_load(images, two_gpus)]
    autograd.backward(losses)
    hr.waitall()
    sim.lose(lost)
    with pytest.raises(hr.MXNetError, match=rf"gpu\({lost}\): the device is lost"):
        for _ in range(500):
            trainer.step(4, ignore_stale_grad=True)
            time.sleep(0.01)
    for name, param in net.collect_params().items():
        after = param.data(kept).asnumpy()
        assert store is None or (after == before[name]).all()
    with pytest.warns(UserWarning, match="is not readable on all of"):
        net.collect_params().save(str(tmp_path / "params"))


def test_shared_parameters(contexts):
    first = nn.Dense(3, in_units=3)
    second = nn.Dense(3, in_units=3, params=first.params)
    first.initialize(ctx=contexts(2))
    trainer = gluon.Trainer(first.collect_params(), "sgd", {"learning_rate": 1})
    assert second.weight is first.weight
    before = first.weight.data(contexts(1)[0]).asnumpy()
    with autograd.record():
        losses = [second(first(nd.ones((2, 3), ctx=one))).sum() for one in contexts(2)]
    autograd.backward(losses)
    expected = before - sum(grad.asnumpy() for grad in first.weight.list_grad()) / 4
    trainer.step(4)
    for data in second.weight.list_data():
        numpy.testing.assert_allclose(data.asnumpy(), expected, rtol=1e-5)
