"""What LeNet and ResNet-18 gain from 1, 2, 4 and 8 GPUs, in virtual time on a p3 (eight V100, NVLink).

    python benchmarks/devices/scaling.py [-o scaling.svg]

Each GPU gets the same number of samples, so the ideal is that a step takes as long as with one. Nothing of
this computer counts but its correctness: the figures are those of the modelled machine, and the same on
every computer.
"""

import argparse
import pathlib

import numpy

import headrace as mx
from headrace import autograd, gluon, nd, sim
from headrace.gluon import nn
from headrace.gluon.model_zoo import vision

COUNTS = (1, 2, 4, 8)
COLORS = ("#888888", "#1f77b4", "#2ca02c", "#d62728")


def lenet():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(20, 3, activation="relu"), nn.AvgPool2D(), nn.Conv2D(50, 5, activation="relu"))
    net.add(nn.AvgPool2D(), nn.Dense(128, activation="relu"), nn.Dense(10))
    return net


def resnet18():
    return vision.resnet18_v1(classes=10)


# Name: (network, shape of an image, samples of each GPU). This computer has to compute them all.
CASES = {
    "LeNet, 256 images of 28 x 28": (lenet, (1, 28, 28), 256),
    "LeNet, 4096 images of 28 x 28": (lenet, (1, 28, 28), 4096),
    "ResNet-18, 64 images of 96 x 96": (resnet18, (3, 96, 96), 64),
}


def step_time(make, shape, samples, count):
    """Virtual seconds of one training step with `samples` on each of `count` GPUs."""
    sim.configure(gpus=count, topology="p3", clock="virtual")
    ctx = [mx.gpu(i) for i in range(count)]
    net = make()
    net.initialize(mx.init.Xavier(), ctx=ctx)
    net.hybridize(static_alloc=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    random = numpy.random.default_rng(0)
    images = [nd.array(random.random((samples, *shape)), ctx=one) for one in ctx]
    labels = [nd.array(random.integers(0, 10, samples), ctx=one) for one in ctx]

    def step():
        with autograd.record():
            losses = [loss_of(net(x), y) for x, y in zip(images, labels)]
        autograd.backward(losses)
        trainer.step(samples * count)
        mx.nd.waitall()

    step()
    begin = sim.now()
    step()
    return sim.now() - begin


def svg(rows):
    """A chart of the speed-up, as the text of an SVG file."""
    left, bottom, width, height = 50, 260, 400, 230

    def at(count, gain):
        return f"{left + (count - 1) / 7 * width:.1f},{bottom - (gain - 1) / 7 * height:.1f}"

    lines = {"ideal": [(count, count) for count in COUNTS]}
    for name, times in rows.items():
        lines[name] = [(count, count * times[0] / time) for count, time in zip(COUNTS, times)]
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="310" '
        'font-family="sans-serif" font-size="11">'
    ]
    for count in COUNTS:
        x, y = at(count, count).split(",")
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{count}</text>')
        parts.append(f'<text x="{left - 10}" y="{float(y) + 4:.1f}" text-anchor="end">{count}</text>')
    for points, color in zip(lines.values(), COLORS):
        path = " ".join(at(*point) for point in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
    for row, (name, color) in enumerate(zip(lines, COLORS)):
        parts.append(f'<text x="{left + 10}" y="{30 + 15 * row}" fill="{color}">{name}</text>')
    parts.append(f'<text x="{left + width / 2}" y="{bottom + 38}" text-anchor="middle">GPUs</text>')
    parts.append('<text x="8" y="16">samples per second, 1 GPU = 1</text></svg>')
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=pathlib.Path, help="SVG file for the plot")
    options = parser.parse_args()
    rows = {}
    print("| on each GPU | " + " | ".join(f"{count}" for count in COUNTS) + " | efficiency at 8 |")
    print("|---" * (len(COUNTS) + 2) + "|")
    for name, case in CASES.items():
        times = rows[name] = [step_time(*case, count) for count in COUNTS]
        cells = " | ".join(f"{time * 1e3:.3f} ms" for time in times)
        print(f"| {name} | {cells} | {times[0] / times[-1]:.2f} |", flush=True)
    if options.output:
        options.output.write_text(svg(rows))


if __name__ == "__main__":
    main()
