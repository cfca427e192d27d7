"""Imports headrace, matplotlib and torch in the order given, and lets each of them compute in this process.

Their wheels bring libraries of the same names (OpenMP, oneDNN, libpng), of which none must take another's.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path


def train_with_headrace() -> float:
    """Loss of a small convolutional network after five steps."""
    from headrace import autograd, gluon, nd

    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(8, 3, activation="relu"), gluon.nn.Dense(10))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    data, label = nd.random.uniform(shape=(16, 1, 12, 12)), nd.arange(16) % 10
    for _ in range(5):
        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(16)
    return loss.mean().asscalar()


def train_with_torch() -> float:
    """Loss of a small convolutional network after five steps."""
    import torch

    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(800, 10)
    )
    trainer = torch.optim.Adam(net.parameters(), lr=0.01)
    data, label = torch.rand(16, 1, 12, 12), torch.arange(16) % 10
    for _ in range(5):
        trainer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(data), label)
        loss.backward()
        trainer.step()
    return loss.item()


def draw_with_matplotlib() -> int:
    """Bytes of a picture with one line."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    pyplot.plot([1, 2, 3])
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "line.png"
        pyplot.savefig(picture)
        return picture.stat().st_size


WORK = {"headrace": train_with_headrace, "torch": train_with_torch, "matplotlib": draw_with_matplotlib}


def main(names: Sequence[str]) -> None:
    for name in names:
        importlib.import_module(name)
    for name in names:
        print(f"{name}: {WORK[name]():.4g}")


if __name__ == "__main__":
    main(sys.argv[1:])
