"""Whole networks, channels-last; compiled or traced where the other side is hybridized."""

import torch
import torch.nn.functional as F
from torch import nn

CONVOLUTIONS = {  # name: (channels in, channels out, extent, kernel, stride, groups)
    "3x3 64 @56": (64, 64, 56, 3, 1, 1),
    "3x3 128 @28": (128, 128, 28, 3, 1, 1),
    "3x3 256 @14": (256, 256, 14, 3, 1, 1),
    "3x3 512 @7": (512, 512, 7, 3, 1, 1),
    "1x1s2 64-128 @56": (64, 128, 56, 1, 2, 1),
    "depthwise 3x3 128 @56": (128, 128, 56, 3, 1, 128),
}


def small_mlp(traced):
    net = nn.Sequential(
        nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2)
    ).eval()
    x = torch.randn(1, 512)
    if traced:
        net = torch.jit.freeze(torch.jit.trace(net, x))

    def run():
        with torch.no_grad():
            net(x)

    return run


def chain(count, compiled):
    def forward(x):
        for _ in range(5):
            x = x * 1.01 + 0.5
        return x

    x = torch.ones(count)
    call = torch.compile(forward) if compiled else forward
    call(x)  # compiles
    return lambda: call(x)


def chain_gradient(count):
    x = torch.ones(count, requires_grad=True)

    def run():
        y = x
        for _ in range(5):
            y = torch.tanh(y * 1.01 + 0.5)
        x.grad = None
        y.sum().backward()

    return run


def normalisation(function, shape):
    x = torch.rand(shape)
    if len(shape) == 4:
        x = x.to(memory_format=torch.channels_last)
    x.requires_grad_()
    heads = torch.ones_like(x)

    def run():
        x.grad = None
        function(x).backward(heads)

    return run


def layer_norm():
    gamma, beta = torch.ones(1024), torch.zeros(1024)
    return lambda x: F.layer_norm(x, (1024,), gamma, beta)


NORMALISATIONS = {  # name: (makes the function, shape)
    "softmax (4096, 1024)": (lambda: lambda x: F.softmax(x, 1), (4096, 1024)),
    "log_softmax (4096, 1024)": (lambda: lambda x: F.log_softmax(x, 1), (4096, 1024)),
    "layer_norm (4096, 1024)": (layer_norm, (4096, 1024)),
    "batch_norm (32, 64, 56, 56)": (lambda: nn.BatchNorm2d(64).train(), (32, 64, 56, 56)),
}


class Residual(nn.Module):
    def __init__(self, before, channels, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, channels, 3, stride, 1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, 1, 1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.shortcut = nn.Identity()
        if stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def resnet18(classes=1000):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(before, channels, stride), Residual(channels, channels, 1)]
        before = channels
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))
    return net.to(memory_format=torch.channels_last)


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10),
    )  # fmt: skip


def training(net, shape, half=False, compiled=False):
    x = torch.rand(shape).to(memory_format=torch.channels_last)
    y = torch.zeros(shape[0], dtype=torch.long)
    optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
    call = torch.compile(net) if compiled else net

    def run():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            out = call(x)
        F.cross_entropy(out.float(), y).backward()
        optimizer.step()

    run()  # compiles
    return run


def inference(batch):
    x = torch.rand(batch, 3, 224, 224).to(memory_format=torch.channels_last)
    net = torch.jit.freeze(torch.jit.trace(resnet18().eval(), x))

    def run():
        with torch.no_grad():
            net(x)

    return run


def convolution(channels, filters, extent, kernel, stride, groups):
    net = nn.Conv2d(channels, filters, kernel, stride, kernel // 2, groups=groups, bias=False)
    net = net.to(memory_format=torch.channels_last)
    x = torch.rand(32, channels, extent, extent).to(memory_format=torch.channels_last).requires_grad_()

    def run():
        y = net(x)
        y.backward(torch.ones_like(y))

    return run


def linear():
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.03)
    x, y = torch.randn(10, 2), torch.randn(10, 1)

    def run():
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()

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
    "LeNet step, batch 256": lambda: training(lenet(), (256, 1, 28, 28), compiled=True),
    "ResNet-18 step, 96x96, batch 32": lambda: training(resnet18(), (32, 3, 96, 96)),
    "ResNet-18 step, 96x96, batch 32, bfloat16": lambda: training(resnet18(), (32, 3, 96, 96), half=True),
    "ResNet-18 inference, 224x224, batch 1": lambda: inference(1),
    "ResNet-18 inference, 224x224, batch 32": lambda: inference(32),
}
