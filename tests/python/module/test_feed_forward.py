"""FeedForward: training and prediction with arrays."""

import numpy
import pytest

import headrace as mx

pytestmark = pytest.mark.filterwarnings("ignore:mxnet.model.FeedForward has been deprecated")


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
    assert seen == [(epoch, number) for epoch in range(2) for number in range(3)]


def test_errors(symbol, samples):
    model = mx.model.FeedForward(symbol, num_epoch=1)
    with pytest.raises(ValueError, match="y must be specified"):
        model.fit(samples[0])
    with pytest.raises(ValueError, match="number for each of 22 samples"):
        model.fit(samples[0], samples[0])
    with pytest.raises(AssertionError, match="give the epoch"):
        mx.model.FeedForward(symbol).save("net")
    with pytest.raises(AttributeError, match="has no attribute 'Nope'"):
        mx.model.Nope  # noqa: B018


def test_is_deprecated(symbol):
    with pytest.warns(DeprecationWarning, match="use mxnet.mod.Module"):
        mx.model.FeedForward(symbol)
