"""The book's helpers for training: data, accuracy, a residual block.

The book trains on Fashion-MNIST; here the digits of the package stand in, stretched to 28 x 28 and few,
so that a program of ten epochs ends soon. Without GPUs the programs run on the CPU: gpu(i) means cpu(i).
"""

import numpy
from mxnet import context, gluon, npx
from mxnet import np as mnp
from mxnet.gluon import nn

SAMPLES = 128  # of each epoch

if context.num_gpus() == 0:
    npx.gpu = npx.cpu


def try_gpu(i=0):
    """The GPU with this number where there is one, else the CPU; without any GPU, cpu(i)."""
    count = context.num_gpus()
    return npx.gpu(i) if i < count else npx.cpu(0 if count else i)


def try_all_gpus():
    """All GPUs; two names of the CPU without any."""
    return [npx.gpu(i) for i in range(context.num_gpus())] or [npx.cpu(0), npx.cpu(1)]


def sgd(params, lr, batch_size):
    """One step of stochastic gradient descent, in place."""
    for param in params:
        param[:] = param - lr * param.grad / batch_size


def _batches(train, batch_size):
    digits = gluon.data.vision.Digits(train=train)
    images = numpy.stack([digits[i][0].asnumpy() for i in range(SAMPLES)])
    labels = numpy.array([int(digits[i][1]) for i in range(SAMPLES)], "float32")
    stretched = numpy.kron(images[:, :, :, 0], numpy.ones((1, 3, 3)))  # 8 x 8 to 24 x 24
    pixels = numpy.pad(stretched, ((0, 0), (2, 2), (2, 2)))[:, None].astype("float32") / 255
    return gluon.data.DataLoader(
        gluon.data.ArrayDataset(mnp.array(pixels), mnp.array(labels)), batch_size, shuffle=train
    )


def load_data_fashion_mnist(batch_size, resize=None):
    """(training batches, test batches) of images (n, 1, 28, 28) and labels (n,)."""
    return _batches(True, batch_size), _batches(False, batch_size)


def accuracy(y_hat, y):
    """How many of the predictions are right."""
    return float((y_hat.argmax(axis=1).astype("int32") == y.astype("int32")).sum())


class Accumulator:
    """Running sums of n numbers."""

    def __init__(self, n):
        self._sums = [0.0] * n

    def add(self, *values):
        self._sums = [total + float(value) for total, value in zip(self._sums, values)]

    def __getitem__(self, i):
        return self._sums[i]


class Animator:
    """Keeps what the book draws: `Y[k]` are the values of curve k."""

    def __init__(self, *_, **__):
        self.Y = None

    def add(self, x, y):
        values = y if hasattr(y, "__len__") else (y,)
        self.Y = self.Y or [[] for _ in values]
        for curve, value in zip(self.Y, values):
            curve.append(value)


def split_batch(X, y, ctx_list):  # noqa: N803
    """Features and labels, cut into one part per device."""
    return gluon.utils.split_and_load(X, ctx_list), gluon.utils.split_and_load(y, ctx_list)


def evaluate_accuracy_gpu(net, data_iter, ctx=None):
    """The fraction of right predictions over all batches."""
    totals = Accumulator(2)
    for X, y in data_iter:  # noqa: N806
        totals.add(accuracy(net(X.as_in_ctx(ctx)), y.as_in_ctx(ctx)), y.size)
    return totals[0] / totals[1]


class Residual(nn.Block):
    """Two 3 x 3 convolutions beside a shortcut, which a 1 x 1 convolution may carry."""

    def __init__(self, num_channels, use_1x1conv=False, strides=1, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = nn.Conv2D(num_channels, kernel_size=3, padding=1, strides=strides)
        self.conv2 = nn.Conv2D(num_channels, kernel_size=3, padding=1)
        self.conv3 = nn.Conv2D(num_channels, kernel_size=1, strides=strides) if use_1x1conv else None
        self.bn1 = nn.BatchNorm()
        self.bn2 = nn.BatchNorm()

    def forward(self, X):  # noqa: N803
        Y = self.bn2(self.conv2(npx.relu(self.bn1(self.conv1(X)))))  # noqa: N806
        shortcut = X if self.conv3 is None else self.conv3(X)
        return npx.relu(Y + shortcut)
