"""Nothing touches host memory beyond its arrays, whichever instructions the processor has."""

import os
import subprocess
import sys

import pytest

TRAINING = """
import headrace as hr
from headrace import autograd, nd
from headrace.gluon import nn
from headrace.gluon.model_zoo import vision

for make, size in [
    (lambda: vision.BottleneckV1(8, 2, True, in_channels=3), 8),
    (lambda: vision.VGG([1, 1], [4, 8], classes=5, batch_norm=True), 8),
    (lambda: vision.MobileNetV2(0.25, classes=5), 32),
    (lambda: vision.DenseNet(8, 4, [2, 2], 2, 0.1, 5), 64),
]:
    net = make()
    net.initialize(hr.init.Xavier())
    x = nd.random.normal(shape=(2, 3, size, size))
    for hybrid in (False, True):
        net.hybridize(hybrid)
        with autograd.record():
            out = net(x)
        out.backward()
        net(x)
nd.waitall()
"""

# Windows of one element that step over their data, with fewer channels than vectors have elements.
CONVOLUTIONS = """
import numpy
from headrace import autograd, nd

for channels in (1, 3, 5, 7, 13, 17):
    for size, stride in ((8, 2), (14, 2), (14, 3)):
        rng = numpy.random.default_rng(channels)
        x = rng.integers(-3, 4, (2, channels, size, size)).astype("float32")
        data, weight = nd.array(x), nd.array(rng.integers(-3, 4, (8, channels, 1, 1)).astype("float32"))
        data.attach_grad()
        weight.attach_grad()
        with autograd.record():
            out = nd.Convolution(data, weight, None, (1, 1), (stride, stride), num_filter=8, no_bias=True)
        out.backward()
        seen = x[:, :, ::stride, ::stride]
        expected = numpy.broadcast_to(seen.sum((0, 2, 3))[None, :, None, None], weight.shape)
        assert (weight.grad.asnumpy() == expected).all()
        slope = numpy.zeros_like(x)
        slope[:, :, ::stride, ::stride] = weight.asnumpy().sum(0)[None]
        assert (data.grad.asnumpy() == slope).all()
"""

# Products whose factors lie in lines that meet in few sets of the caches.
PRODUCTS = """
import numpy
from headrace import np, npx

rng = numpy.random.default_rng(3)

def whole(*shape):
    return rng.integers(-3, 4, shape).astype("float32")

for m, k, n in ((9, 20, 1024), (130, 17, 256), (40, 9, 512), (1024, 33, 40), (256, 20, 130)):
    a, b = whole(m, k), whole(k, n)
    expected = a @ b
    for x in (np.array(a), np.array(a.T).T):
        for y in (np.array(b), np.array(b.T).T):
            assert (np.dot(x, y).asnumpy() == expected).all(), (m, k, n)
    weight, bias = np.array(b.T), np.array(whole(n))
    for _ in range(4):  # a copy of the weights is kept
        out = npx.fully_connected(np.array(a), weight, bias, num_hidden=n)
        assert (out.asnumpy() == expected + bias.asnumpy()).all()

a, b = whole(3, 20, 24), whole(24, 3, 512)  # between the rows of a matrix lie those of the others
found = np.matmul(np.array(a), np.array(b).transpose(1, 0, 2)).asnumpy()
assert (found == numpy.matmul(a, b.transpose(1, 0, 2))).all()
"""


@pytest.mark.parametrize("isa", ["SSE41", "AVX2", "AVX512_CORE", "ALL"])
@pytest.mark.parametrize(
    "program", [TRAINING, CONVOLUTIONS, PRODUCTS], ids=["training", "convolutions", "products"]
)
def test_nothing_is_touched_beyond_arrays(program, isa):
    environment = {**os.environ, "HEADRACE_MEMORY_GUARD": "1", "ONEDNN_MAX_CPU_ISA": isa}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
