"""FeedForward: training and prediction with arrays."""

import numpy
import pytest

import headrace as mx

pytestmark = pytest.mark.filterwarnings("ignore:mxnet.model.FeedForward has been deprecated")


@pytest.mark.parametrize("size, numbers", [(None, [1, 2, 3] * 2), (2, [1, 2] * 2), (4, [1, 2, 3, 4] * 2)])
def test_an_iterator_may_have_no_method_but_iter(symbol, size, numbers):
    class Batches(mx.io.DataIter):
        provide_data, provide_label = [("data", (2, 4))], [("softmax_label", (2,))]

        def __iter__(self):
            for _ in range(3):
                yield mx.io.DataBatch([mx.nd.ones((2, 4))], [mx.nd.zeros(2)], pad=0)

    seen = []
    model = mx.model.FeedForward(symbol, num_epoch=2, epoch_size=size)
    model.fit(Batches(2), batch_end_callback=lambda param: seen.append(param.nbatch))
    assert seen == numbers


def test_learns_predicts_and_comes_back(symbol, samples, tmp_path):
    numpy.random.seed(0)
    mx.random.seed(0)
    model = mx.model.FeedForward.create(
        symbol, *samples, num_epoch=60, initializer=mx.init.Xavier(), eval_data=samples, learning_rate=0.3
    )
    predicted = model.predict(samples[0])
    assert isinstance(predicted, numpy.ndarray) and predicted.shape == (22, 3)
    assert (predicted.argmax(axis=1) == samples[1]).mean() > 0.9
    data_iter = mx.io.NDArrayIter(*samples, 4)
    outputs, data, labels = model.predict(data_iter, return_data=True)
    numpy.testing.assert_allclose(outputs, predicted, rtol=1e-5)
    numpy.testing.assert_array_equal(data, samples[0])
    numpy.testing.assert_array_equal(labels, samples[1])
    assert model.score(data_iter) > 0.9
    model.save(str(tmp_path / "net"))
    loaded = mx.model.FeedForward.load(str(tmp_path / "net"), 60)
    assert loaded.begin_epoch == 60
    numpy.testing.assert_array_equal(loaded.predict(samples[0]), predicted)


def test_epoch_size(symbol, samples):
    seen = []
    model = mx.model.FeedForward(symbol, num_epoch=2, epoch_size=3, numpy_batch_size=2)
    model.fit(*samples, batch_end_callback=lambda param: seen.append((param.epoch, param.nbatch)))
    assert seen == [(epoch, number) for epoch in range(2) for number in (1, 2, 3)]


@pytest.mark.parametrize(("options", "count"), [({}, 1), ({"eval_end_callback": None}, 0)])
def test_validation_is_logged_once(symbol, samples, caplog, options, count):
    with caplog.at_level("INFO"):
        mx.model.FeedForward(symbol, num_epoch=1).fit(*samples, eval_data=samples, **options)
    assert sum("Validation-accuracy" in line for line in caplog.messages) == count


# What MXNet 1.9.1 logs.
@pytest.mark.parametrize(("size", "passes"), [(None, (1, 1)), (3, (0, 1)), (9, (2, 2))])
def test_passes_over_the_data_are_logged(symbol, caplog, size, passes):
    batches = mx.io.NDArrayIter(numpy.zeros((8, 4), "float32"), numpy.zeros(8), 2)
    with caplog.at_level("INFO"):
        mx.model.FeedForward(symbol, num_epoch=2, epoch_size=size).fit(batches)
    lines = [line.split("=")[0] for line in caplog.messages]
    wanted = ["Start training with [cpu(0)]"]
    for epoch, count in enumerate(passes):
        wanted += [f"Epoch[{epoch}] Resetting Data Iterator"] * count + [f"Epoch[{epoch}] Time cost"]
    assert lines == wanted


# What MXNet 1.9.1 gives with these seeds: how often the iterators shuffle, and when, decides the batches.
@pytest.mark.parametrize(
    "size, evaluates, bias, numbers",
    [
        (20, False, 0.028910115, [1, 1, 1]),
        (20, True, 0.028910115, [1, 1, 1]),
        (10, False, 0.052515257, [1, 2, 1, 2, 1, 2]),
        (10, True, 0.056156475, [1, 2, 1, 2, 1, 2]),
        (8, False, 0.052463353, [1, 2, 1, 2, 3, 1, 2]),
        (8, True, 0.055838533, [1, 2, 1, 2, 3, 1, 2]),
    ],
)
def test_numbers_are_those_of_mxnet(size, evaluates, bias, numbers):
    x = numpy.random.RandomState(0).rand(20, 4).astype("float32")
    y = (x.sum(axis=1) > 2).astype("float32")
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    numpy.random.seed(1)
    seen = []
    model = mx.model.FeedForward(
        mx.sym.SoftmaxOutput(layer, name="softmax"),
        num_epoch=3,
        learning_rate=0.1,
        numpy_batch_size=size,
        initializer=mx.init.One(),
    )
    callback = lambda param: seen.append(param.nbatch)  # noqa: E731
    model.fit(x, y, eval_data=(x, y) if evaluates else None, batch_end_callback=callback)
    assert model.arg_params["fc_bias"].asnumpy()[0] == pytest.approx(bias, rel=1e-5) and seen == numbers


def test_errors(symbol, samples):
    model = mx.model.FeedForward(symbol, num_epoch=1)
    with pytest.raises(ValueError, match="y must be specified"):
        model.fit(samples[0])
    with pytest.raises(ValueError, match="number for each of 22 samples"):
        model.fit(samples[0], samples[0])
    with pytest.raises(AssertionError, match="give the epoch"):
        mx.model.FeedForward(symbol).save("net")
    with pytest.raises(AttributeError, match="Nope"):
        mx.model.Nope  # noqa: B018


def test_functions_that_make_symbols_are_for_another_module(symbol):
    with pytest.raises(TypeError, match="belongs into mx.mod.BucketingModule"):
        mx.model.FeedForward(lambda key: symbol)


def test_is_deprecated(symbol):
    with pytest.warns(DeprecationWarning, match="use mxnet.mod.Module"):
        mx.model.FeedForward(symbol)


def test_labels_of_any_name_are_not_needed_to_predict():
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), mx.sym.var("classes")
    )
    parameters = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.array([0, 1])}
    model = mx.model.FeedForward(net, mx.cpu(), arg_params=parameters, aux_params={}, numpy_batch_size=4)
    found = model.predict(numpy.ones((6, 3), "float32"))
    assert model.ctx == [mx.cpu()]
    numpy.testing.assert_allclose(found, numpy.tile([0.26894142, 0.7310586], (6, 1)), rtol=1e-5)


def test_parameters_that_the_symbol_lacks_are_left_out_where_that_is_allowed():
    inner = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    given = {name: mx.nd.ones((2, 3)) for name in ("fc_weight", "other_weight")}
    given["fc_bias"] = mx.nd.zeros((2,))
    model = mx.model.FeedForward(inner, arg_params=given, allow_extra_params=True)
    assert sorted(model.arg_params) == ["fc_bias", "fc_weight"] and model.aux_params is None
    assert model.predict(numpy.ones((4, 3), "float32")).tolist() == [[3, 3]] * 4
    with pytest.raises(ValueError, match="other_weight"):
        mx.model.FeedForward(inner, arg_params=given).predict(numpy.ones((4, 3), "float32"))
