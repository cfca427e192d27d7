"""One step of training: forward, backward, update."""

import torch
from torch import nn


def step(net, loss_of, optimizer, x, y):
    def run():
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()

    return run


def linear():
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.03)
    return step(net, nn.MSELoss(), optimizer, torch.randn(10, 2), torch.randn(10, 1))


def mlp(make_optimizer):
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    x, y = torch.randn(256, 784), torch.zeros(256, dtype=torch.long)
    return step(net, nn.CrossEntropyLoss(), make_optimizer(net.parameters(), lr=0.01), x, y)


def update(make_optimizer):
    """The shapes of ResNet-18's parameters: 11.7 million numbers in 62 arrays."""
    shapes = [(64, 3, 7, 7), (64,), (64,)]
    channels = 64
    for stage, width in enumerate((64, 128, 256, 512)):
        for block in range(2):
            shapes += [(width, channels, 3, 3), (width,), (width,), (width, width, 3, 3), (width,), (width,)]
            if block == 0 and stage > 0:
                shapes += [(width, channels, 1, 1), (width,), (width,)]
            channels = width
    shapes += [(1000, 512), (1000,)]
    parameters = [nn.Parameter(torch.randn(shape)) for shape in shapes]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    return make_optimizer(parameters).step


CASES = {
    "update of ResNet-18, SGD with momentum": lambda: update(
        lambda p: torch.optim.SGD(p, lr=1e-9, momentum=0.9, fused=True)
    ),
    "update of ResNet-18, Adam": lambda: update(lambda p: torch.optim.Adam(p, lr=1e-9, fused=True)),
    "linear regression step, batch 10": linear,
    "MLP 784-256-10 step, batch 256, SGD": lambda: mlp(torch.optim.SGD),
    "MLP 784-256-10 step, batch 256, Adam": lambda: mlp(torch.optim.Adam),
}
