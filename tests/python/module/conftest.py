"""A small classifier and its data."""

import numpy
import pytest

import headrace as mx


def make_symbol(prefix=""):
    """Two layers and a softmax: (batch, 5) to (batch, 3)."""
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name=prefix + "fc1")
    layer = mx.sym.Activation(layer, act_type="relu", name=prefix + "relu")
    layer = mx.sym.FullyConnected(layer, num_hidden=3, name=prefix + "fc2")
    return mx.sym.SoftmaxOutput(layer, name="softmax")


@pytest.fixture
def symbol():
    return make_symbol()


@pytest.fixture
def samples():
    """22 samples: (data, labels), where the label says which of the first three numbers is largest."""
    data = numpy.random.RandomState(0).randn(22, 5).astype("float32")
    return data, data[:, :3].argmax(axis=1).astype("float32")


@pytest.fixture
def bound():
    """Makes a bound Module with parameters: `bound(symbol, batch_size, **options of Module)`."""

    def make(symbol, batch_size=4, initializer=None, bind=(), **options):
        module = mx.mod.Module(symbol, **options)
        module.bind([("data", (batch_size, 5))], [("softmax_label", (batch_size,))], **dict(bind))
        mx.random.seed(7)
        module.init_params(initializer or mx.init.Uniform(0.5))
        return module

    return make


@pytest.fixture
def batch_of(samples):
    """Makes a DataBatch of the first samples."""

    def make(size):
        return mx.io.DataBatch([mx.nd.array(samples[0][:size])], [mx.nd.array(samples[1][:size])])

    return make
