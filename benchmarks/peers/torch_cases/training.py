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


CASES = {
    "linear regression step, batch 10": linear,
    "MLP 784-256-10 step, batch 256, SGD": lambda: mlp(torch.optim.SGD),
    "MLP 784-256-10 step, batch 256, Adam": lambda: mlp(torch.optim.Adam),
}
