"""Whole networks: small and large, eager and hybridized, training and inference; chains of pointwise
operations.
"""

from headrace import autograd, context, gluon, io, nd, np, npx, util

nn = gluon.nn

CONVOLUTIONS = {  # name: (channels in, channels out, extent, kernel, stride, groups)
    "3x3 64 @56": (64, 64, 56, 3, 1, 1),
    "3x3 128 @28": (128, 128, 28, 3, 1, 1),
    "3x3 256 @14": (256, 256, 14, 3, 1, 1),
    "3x3 512 @7": (512, 512, 7, 3, 1, 1),
    "1x1s2 64-128 @56": (64, 128, 56, 1, 2, 1),
    "depthwise 3x3 128 @56": (128, 128, 56, 3, 1, 128),
}


def small_mlp(hybrid):
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    net.initialize()
    if hybrid:
        net.hybridize(static_alloc=True, static_shape=True)
    x = np.random.normal(size=(1, 512))

    def run():
        net(x).wait_to_read()

    return run


class Chain(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        for _ in range(5):
            x = x * 1.01 + 0.5
        return x


def chain(count, hybrid):
    net = Chain()
    if hybrid:
        net.hybridize(static_alloc=True, static_shape=True)
    x = np.ones((count,))

    def run():
        net(x).wait_to_read()

    return run


class CurvedChain(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        for _ in range(5):
            x = F.np.tanh(x * 1.01 + 0.5)
        return x


def chain_gradient(count):
    net = CurvedChain()
    net.hybridize(static_alloc=True, static_shape=True)
    x = np.ones((count,))
    x.attach_grad()

    def run():
        with autograd.record():
            y = net(x)
        y.backward()
        x.grad.wait_to_read()

    return run


def normalisation(function, shape):
    x = np.random.uniform(size=shape)
    x.attach_grad()
    heads = np.ones(shape)

    def run():
        with autograd.record():
            y = function(x)
        y.backward(heads)
        x.grad.wait_to_read()

    return run


def layer_norm():
    gamma, beta = np.ones((1024,)), np.zeros((1024,))
    return lambda x: npx.layer_norm(x, gamma, beta)


def batch_norm():
    layer = nn.BatchNorm(in_channels=64)
    layer.initialize()
    layer.hybridize()
    return layer


NORMALISATIONS = {  # name: (makes the function, shape)
    "softmax (4096, 1024)": (lambda: lambda x: npx.softmax(x, axis=1), (4096, 1024)),
    "log_softmax (4096, 1024)": (lambda: lambda x: npx.log_softmax(x, axis=1), (4096, 1024)),
    "layer_norm (4096, 1024)": (layer_norm, (4096, 1024)),
    "batch_norm (32, 64, 56, 56)": (batch_norm, (32, 64, 56, 56)),
}


def resnet18(classes=1000):
    def block(channels, count, first):
        stage = nn.HybridSequential()
        for i in range(count):
            stage.add(Residual(channels, 2 if i == 0 and not first else 1, i == 0 and not first))
        return stage

    net = nn.HybridSequential()
    net.add(nn.Conv2D(64, 7, 2, 3, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.MaxPool2D(3, 2, 1), block(64, 2, True), block(128, 2, False))
    net.add(block(256, 2, False), block(512, 2, False), nn.GlobalAvgPool2D(), nn.Dense(classes))
    return net


class Residual(nn.HybridBlock):
    def __init__(self, channels, stride, shortcut):
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(
            nn.Conv2D(channels, 3, stride, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu")
        )
        self.body.add(nn.Conv2D(channels, 3, 1, 1, use_bias=False), nn.BatchNorm())
        self.shortcut = nn.HybridSequential()
        if shortcut:
            self.shortcut.add(nn.Conv2D(channels, 1, stride, use_bias=False), nn.BatchNorm())

    def hybrid_forward(self, F, x):
        return F.npx.relu(self.body(x) + self.shortcut(x))


def lenet():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(20, 5, activation="relu"), nn.MaxPool2D(2, 2), nn.Conv2D(50, 5, activation="relu"))
    net.add(nn.MaxPool2D(2, 2), nn.Dense(500, activation="relu"), nn.Dense(10))
    return net


def training(net, shape, classes, dtype="float32", kvstore="device"):
    net.initialize()
    x, y = np.random.uniform(size=shape), np.zeros((shape[0],))
    if dtype != "float32":
        net.cast(dtype)
        x = x.astype(dtype)
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    loss_of.hybridize()
    rates = {"learning_rate": 0.01, "momentum": 0.9, "multi_precision": dtype != "float32"}
    trainer = gluon.Trainer(net.collect_params(), "sgd", rates, kvstore=kvstore)

    def run():
        with autograd.record():
            loss = loss_of(net(x).astype("float32"), y)
        loss.backward()
        trainer.step(shape[0])
        npx.waitall()

    return run


def inference(batch):
    net = resnet18()
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    x = np.random.uniform(size=(batch, 3, 224, 224))

    def run():
        net(x).wait_to_read()

    return run


def inference_with_bytes(batch):
    from headrace.mxnet.contrib import quantization

    with util.np_array(False), util.np_shape(False):
        net = gluon.model_zoo.vision.resnet18_v1()
        net.initialize()
        x = nd.random.uniform(shape=(batch, 3, 224, 224))
        net.hybridize()  # what MXNet wants
        net(x[:8])
        net = quantization.quantize_net_v2(
            net,
            quantized_dtype="auto",
            calib_mode="naive",
            calib_data=io.NDArrayIter(x[:8], batch_size=8),
            ctx=context.cpu(),
        )
        net.hybridize(static_alloc=True, static_shape=True)

    def run():
        with util.np_array(False), util.np_shape(False):
            net(x).wait_to_read()

    return run


def convolution(channels, filters, extent, kernel, stride, groups):
    net = nn.Conv2D(filters, kernel, stride, kernel // 2, groups=groups, use_bias=False, in_channels=channels)
    net.initialize()
    before = nn.Conv2D(
        channels, 1, use_bias=False, in_channels=channels
    )  # whatever order it gives, a network has
    before.initialize()
    x = before(np.random.uniform(size=(32, channels, extent, extent))).detach()
    x.attach_grad()

    def run():
        with autograd.record():
            y = net(x)
        y.backward()
        npx.waitall()

    return run


def linear():
    net = nn.Dense(1)
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.L2Loss()
    loss_of.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.03})
    x, y = np.random.normal(size=(10, 2)), np.random.normal(size=(10, 1))

    def run():
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(10)
        npx.waitall()

    return run


CASES = {
    "MLP 512-256-128-2, batch 1, eager": lambda: small_mlp(False),
    "MLP 512-256-128-2, batch 1, hybridized": lambda: small_mlp(True),
    **{
        f"10 pointwise operations, {count:.0e} floats, {mode}": lambda c=count, m=mode: chain(
            int(c), m == "hybridized"
        )
        for count in (1e3, 1e5, 1.6e7)
        for mode in ("eager", "hybridized")
    },
    **{
        f"15 pointwise operations with gradient, {count:.0e} floats, hybridized": lambda c=count: (
            chain_gradient(int(c))
        )
        for count in (1e3, 1e5, 1.6e7)
    },
    **{
        f"{name}, forward and backward": lambda m=make, s=shape: normalisation(m(), s)
        for name, (make, shape) in NORMALISATIONS.items()
    },
    **{
        f"convolution {name}, forward and backward": lambda a=arguments: convolution(*a)
        for name, arguments in CONVOLUTIONS.items()
    },
    "linear regression step, batch 10, hybridized": linear,
    "LeNet step, batch 256": lambda: training(lenet(), (256, 1, 28, 28), 10),
    "ResNet-18 step, 96x96, batch 32": lambda: training(resnet18(), (32, 3, 96, 96), 1000),
    "ResNet-18 step, 96x96, batch 32, bfloat16": lambda: training(
        resnet18(), (32, 3, 96, 96), 1000, "bfloat16"
    ),
    "ResNet-18 inference, 224x224, batch 1": lambda: inference(1),
    "ResNet-18 inference, 224x224, batch 32": lambda: inference(32),
    "ResNet-18 inference, 224x224, batch 32, int8": lambda: inference_with_bytes(32),
}
