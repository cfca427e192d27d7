"""Times Headrace or PyTorch on one GPU. Usage: gpu.py {headrace|torch} [RESULTS.json] [-k WORDS]

Each framework runs in the Python that has it, one after the other on the same machine. After each case comes
a line of JSON, name to number, so that a run which is cut short leaves what it has. Names end in their unit.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

Work = Callable[[], Any]
Wait = Callable[[], None]
MEGA = 1 << 20
SECONDS = 0.25  # that a measurement takes, about


def seconds_of(work: Work, wait: Wait, least: int = 5) -> float:
    """The median of five repetitions, each of as many calls as a clock reading needs."""
    for _ in range(3):
        work()
    wait()
    start = time.perf_counter()
    work()
    wait()
    count = max(least, int(SECONDS / 5 / max(time.perf_counter() - start, 1e-6)))
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            work()
        wait()
        taken.append((time.perf_counter() - start) / count)
    return statistics.median(taken)


class Headrace:
    """The cases as a user of Headrace writes them."""

    def __init__(self) -> None:
        self.mx = importlib.import_module("headrace")
        self.gpu = self.mx.gpu(0)
        self.nd = self.mx.nd

    def wait(self) -> None:
        self.nd.waitall()

    def random(self, *shape: int, dtype: str = "float32") -> Any:
        return self.nd.random.uniform(-1, 1, shape=shape, ctx=self.gpu).astype(dtype)

    def add_one(self, x: Any) -> Work:
        return lambda: x + 1

    def total(self, x: Any) -> Work:
        return x.sum

    def softmax(self, x: Any) -> Work:
        return lambda: self.nd.softmax(x)

    def layer_norm(self, x: Any) -> Work:
        scale, shift = self.random(x.shape[-1]), self.random(x.shape[-1])
        return lambda: self.nd.LayerNorm(x, scale, shift)

    def transpose(self, x: Any) -> Work:
        return lambda: x.T.copy()

    def gelu_chain(self, x: Any) -> Work:
        class Chain(self.mx.gluon.HybridBlock):
            def hybrid_forward(self, F: Any, x: Any) -> Any:
                return F.tanh(x * 0.8 + x * x * 0.04) * x + 1

        block = Chain()
        block.hybridize(static_alloc=True, static_shape=True)
        return lambda: block(x)

    def product(self, a: Any, b: Any) -> Work:
        return lambda: self.nd.dot(a, b)

    def sort(self, x: Any) -> Work:
        return lambda: self.nd.sort(x)

    def to_host(self, x: Any, pinned: bool) -> Work:
        target = self.nd.zeros(x.shape, ctx=self.mx.cpu_pinned() if pinned else self.mx.cpu())
        return lambda: x.copyto(target)

    def to_device(self, x: Any, pinned: bool) -> Work:
        source = x.as_in_context(self.mx.cpu_pinned() if pinned else self.mx.cpu())
        target = self.nd.zeros(x.shape, ctx=self.gpu)
        return lambda: source.copyto(target)

    def training(self, net: Any, data: Any, labels: Any, rate: float = 0.01) -> Work:
        gluon, autograd = self.mx.gluon, self.mx.autograd
        net.hybridize(static_alloc=True, static_shape=True)
        loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
        net(data)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate, "momentum": 0.9})

        def step() -> None:
            with autograd.record():
                loss = loss_of(net(data), labels)
            loss.backward()
            trainer.step(data.shape[0])

        return step

    def labels(self, count: int, classes: int) -> Any:
        return self.nd.arange(count, ctx=self.gpu) % classes

    def lenet(self, batch: int) -> Work:
        nn = self.mx.gluon.nn
        net = nn.HybridSequential()
        net.add(nn.Conv2D(20, 5, activation="relu"), nn.MaxPool2D(2, 2), nn.Conv2D(50, 3, activation="relu"))
        net.add(nn.MaxPool2D(2, 2), nn.Dense(128, activation="relu"), nn.Dense(10))
        net.initialize(self.mx.init.Xavier(), ctx=self.gpu)
        return self.training(net, self.random(batch, 1, 28, 28), self.labels(batch, 10))

    def resnet(self, depth: int, batch: int, dtype: str) -> Work:
        net = getattr(self.mx.gluon.model_zoo.vision, f"resnet{depth}_v1")()
        net.initialize(self.mx.init.Xavier(), ctx=self.gpu)
        net.cast(dtype)
        return self.training(net, self.random(batch, 3, 224, 224, dtype=dtype), self.labels(batch, 1000))

    def resnet_inference(self, depth: int, batch: int, dtype: str) -> Work:
        net = getattr(self.mx.gluon.model_zoo.vision, f"resnet{depth}_v1")()
        net.initialize(self.mx.init.Xavier(), ctx=self.gpu)
        net.cast(dtype)
        net.hybridize(static_alloc=True, static_shape=True)
        data = self.random(batch, 3, 224, 224, dtype=dtype)
        return lambda: net(data)

    def lstm(self, steps: int, batch: int, width: int) -> Work:
        mx, autograd = self.mx, self.mx.autograd
        layer = mx.gluon.rnn.LSTM(width, input_size=width)
        layer.initialize(ctx=self.gpu)
        data = self.random(steps, batch, width)

        def step() -> None:
            with autograd.record():
                out = layer(data)
            out.backward()

        return step


class Torch:
    """The same as a user of PyTorch writes them."""

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        self.torch.backends.cuda.matmul.allow_tf32 = False
        self.torch.backends.cudnn.allow_tf32 = False
        self.torch.backends.cudnn.benchmark = True

    def wait(self) -> None:
        self.torch.cuda.synchronize()

    def random(self, *shape: int, dtype: str = "float32") -> Any:
        return (self.torch.rand(shape, device="cuda") * 2 - 1).to(getattr(self.torch, dtype))

    def add_one(self, x: Any) -> Work:
        return lambda: x + 1

    def total(self, x: Any) -> Work:
        return x.sum

    def softmax(self, x: Any) -> Work:
        return lambda: self.torch.softmax(x, -1)

    def layer_norm(self, x: Any) -> Work:
        scale, shift = self.random(x.shape[-1]), self.random(x.shape[-1])
        return lambda: self.torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift)

    def transpose(self, x: Any) -> Work:
        return lambda: x.T.contiguous()

    def gelu_chain(self, x: Any) -> Work:
        return lambda: self.torch.tanh(x * 0.8 + x * x * 0.04) * x + 1

    def product(self, a: Any, b: Any) -> Work:
        return lambda: a @ b

    def sort(self, x: Any) -> Work:
        return lambda: self.torch.sort(x, stable=True)[0]

    def to_host(self, x: Any, pinned: bool) -> Work:
        target = self.torch.zeros(x.shape, pin_memory=pinned)
        return lambda: target.copy_(x, non_blocking=True)

    def to_device(self, x: Any, pinned: bool) -> Work:
        source = x.cpu().pin_memory() if pinned else x.cpu()
        target = self.torch.zeros_like(x)
        return lambda: target.copy_(source, non_blocking=True)

    def labels(self, count: int, classes: int) -> Any:
        return self.torch.arange(count, device="cuda") % classes

    def training(self, net: Any, data: Any, labels: Any) -> Work:
        optimizer = self.torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
        loss_of = self.torch.nn.CrossEntropyLoss()

        def step() -> None:
            optimizer.zero_grad()
            loss_of(net(data), labels).backward()
            optimizer.step()

        return step

    def lenet(self, batch: int) -> Work:
        nn = self.torch.nn
        net = nn.Sequential(
            nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Conv2d(20, 50, 3), nn.ReLU()
        )
        net.extend([nn.MaxPool2d(2, 2), nn.Flatten(), nn.Linear(1250, 128), nn.ReLU(), nn.Linear(128, 10)])
        return self.training(net.cuda(), self.random(batch, 1, 28, 28), self.labels(batch, 10))

    def network(self, depth: int, batch: int, dtype: str) -> tuple[Any, Any]:
        net = getattr(importlib.import_module("torchvision").models, f"resnet{depth}")()
        last = self.torch.channels_last
        net = net.cuda().to(getattr(self.torch, dtype)).to(memory_format=last)
        return net, self.random(batch, 3, 224, 224, dtype=dtype).to(memory_format=last)

    def resnet(self, depth: int, batch: int, dtype: str) -> Work:
        return self.training(*self.network(depth, batch, dtype), self.labels(batch, 1000))

    def resnet_inference(self, depth: int, batch: int, dtype: str) -> Work:
        net, data = self.network(depth, batch, dtype)
        net.eval()

        def run() -> Any:
            with self.torch.no_grad():
                return net(data)

        return run

    def lstm(self, steps: int, batch: int, width: int) -> Work:
        layer = self.torch.nn.LSTM(width, width).cuda()
        data = self.random(steps, batch, width)

        def step() -> None:
            layer(data)[0].sum().backward()

        return step


Framework = Headrace | Torch


def of_bytes(megabytes: int, make: Callable[[Framework], Work]) -> Callable[[Framework], float]:
    """GB/s of what moves so many megabytes."""
    return lambda framework: megabytes * MEGA / 1e9 / seconds_of(make(framework), framework.wait)


def of_product(edge: int, dtype: str) -> Callable[[Framework], float]:
    """TFLOPS."""

    def rate(f: Framework) -> float:
        work = f.product(f.random(edge, edge, dtype=dtype), f.random(edge, edge, dtype=dtype))
        return 2 * edge**3 / 1e12 / seconds_of(work, f.wait)

    return rate


def milliseconds(make: Callable[[Framework], Work]) -> Callable[[Framework], float]:
    return lambda framework: 1e3 * seconds_of(make(framework), framework.wait)


CASES: dict[str, Callable[[Framework], float]] = {
    "x + 1 of 16 elements, us": lambda f: 1e6 * seconds_of(f.add_one(f.random(16)), f.wait, 2000),
    "x + 1 of 64M elements, GB/s": of_bytes(512, lambda f: f.add_one(f.random(64 * MEGA))),
    "tanh(0.8 x + 0.04 x x) x + 1 of 64M elements, GB/s": of_bytes(
        512, lambda f: f.gelu_chain(f.random(64 * MEGA))
    ),
    "sum of 64M elements, GB/s": of_bytes(256, lambda f: f.total(f.random(64 * MEGA))),
    "softmax of 16K x 1K, GB/s": of_bytes(128, lambda f: f.softmax(f.random(16384, 1024))),
    "layer norm of 16K x 1K, GB/s": of_bytes(128, lambda f: f.layer_norm(f.random(16384, 1024))),
    "transpose of 8K x 4K, GB/s": of_bytes(256, lambda f: f.transpose(f.random(8192, 4096))),
    "product of 512, float32, TFLOPS": of_product(512, "float32"),
    "product of 4096, float32, TFLOPS": of_product(4096, "float32"),
    "product of 8192, bfloat16, TFLOPS": of_product(8192, "bfloat16"),
    "host to device, pinned, GB/s": of_bytes(64, lambda f: f.to_device(f.random(16 * MEGA), True)),
    "host to device, pageable, GB/s": of_bytes(64, lambda f: f.to_device(f.random(16 * MEGA), False)),
    "device to host, pinned, GB/s": of_bytes(64, lambda f: f.to_host(f.random(16 * MEGA), True)),
    "device to host, pageable, GB/s": of_bytes(64, lambda f: f.to_host(f.random(16 * MEGA), False)),
    "LeNet, batch 256, step, ms": milliseconds(lambda f: f.lenet(256)),
    "ResNet-18, batch 64, float32, step, ms": milliseconds(lambda f: f.resnet(18, 64, "float32")),
    "ResNet-50, batch 64, bfloat16, step, ms": milliseconds(lambda f: f.resnet(50, 64, "bfloat16")),
    "ResNet-50, batch 64, bfloat16, forward, ms": milliseconds(
        lambda f: f.resnet_inference(50, 64, "bfloat16")
    ),
    "LSTM of 512, 32 steps, batch 64, forward and backward, ms": milliseconds(lambda f: f.lstm(32, 64, 512)),
    "sort of 4M elements, ms": milliseconds(lambda f: f.sort(f.random(4 * MEGA))),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("framework", choices=["headrace", "torch"])
    parser.add_argument("results", nargs="?", type=pathlib.Path)
    parser.add_argument(
        "-k", dest="words", default="", help="cases whose name contains one of these, split at |"
    )
    arguments = parser.parse_args()
    framework = {"headrace": Headrace, "torch": Torch}[arguments.framework]()
    found: dict[str, float | str] = {}
    for name, measure in CASES.items():
        if not any(word in name for word in arguments.words.split("|")):
            continue
        try:
            found[name] = round(measure(framework), 4)
        except Exception as failure:  # the other cases are timed all the same
            traceback.print_exc()
            found[name] = f"{type(failure).__name__}: {failure}"[:300]
        print(json.dumps({name: found[name]}), flush=True)
        if arguments.results:
            arguments.results.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
