"""A small ResNet-18 learns handwritten digits on several devices at once: a plain MXNet Gluon program.

Each batch is split over the devices, which compute gradients on their slices with replicas of the network;
the trainer sums the gradients and keeps the replicas equal. Run it with

    python -m headrace.mxnet examples/mxnet/train_data_parallel.py --num-devices 4

on the first GPUs, or, with `--ctx cpu` or where there are too few, on as many contexts of the CPU.
"""

import argparse
import time

import mxnet as mx
import numpy
from mxnet import autograd, gluon
from mxnet.gluon.data.vision import transforms
from mxnet.gluon.model_zoo import vision
from tqdm import tqdm


def load_digits(train, batch_size, samples=None):
    """Batches of 28 x 28 images, mean 0 and deviation 1, and their labels; the first `samples` of them."""
    digits = gluon.data.vision.Digits(train=train).take(samples)
    to_input = transforms.Compose(
        [transforms.Resize(28), transforms.ToTensor(), transforms.Normalize(mean=0.3, std=0.35)]
    )
    return gluon.data.DataLoader(digits.transform_first(to_input), batch_size, shuffle=train)


def devices(kind, count):
    """`count` contexts: GPUs unless `kind` is 'cpu', or there are fewer and it is not 'gpu'."""
    on_gpus = kind == "gpu" or (kind == "auto" and mx.context.num_gpus() >= count)
    return [mx.gpu(i) if on_gpus else mx.cpu(i) for i in range(count)]


def make_network(ctx):
    """ResNet-18 for small images, with an eighth to a quarter of the usual channels, on all of `ctx`."""
    network = vision.ResNetV1(
        vision.BasicBlockV1, [2, 2, 2, 2], [16, 16, 32, 64, 128], classes=10, thumbnail=True
    )
    network.initialize(mx.init.Xavier(magnitude=2), ctx=ctx)
    network.hybridize()
    return network


def split(batch, ctx):
    """The slice of images and labels for each device; the last batch need not divide evenly."""
    return zip(*(gluon.utils.split_and_load(part, ctx, even_split=False) for part in batch))


def train_epoch(network, batches, trainer, ctx, title):
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    start, seen, totals = time.time(), 0, [mx.nd.zeros((1,), ctx=one) for one in ctx]
    with tqdm(total=len(batches), desc=title, unit="batch") as bar:
        for batch in batches:
            with autograd.record():
                losses = [loss_of(network(images), labels) for images, labels in split(batch, ctx)]
            autograd.backward(losses)
            trainer.step(len(batch[0]))
            for total, loss in zip(totals, losses):
                total += loss.sum()  # queued like all the rest: nothing waits here
            seen += len(batch[0])
            bar.update()
        mean = sum(total.asscalar() for total in totals) / seen  # waits for the whole epoch
        bar.set_postfix_str(f"loss {mean:.3f}, {seen / (time.time() - start):,.0f} samples/s")


def test_accuracy(network, batches, ctx):
    accuracy = mx.metric.Accuracy()
    for batch in batches:
        slices = list(split(batch, ctx))
        accuracy.update([labels for _, labels in slices], [network(images) for images, _ in slices])
    return accuracy.get()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-devices", type=int, default=2, help="default: 2")
    parser.add_argument("--ctx", choices=["auto", "cpu", "gpu"], default="auto", help="kind of device")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=50, help="of all devices together; default: 50")
    parser.add_argument("--samples", type=int, help="train on the first so many images (default: all)")
    arguments = parser.parse_args()
    mx.random.seed(1)
    numpy.random.seed(1)  # for the order of the images
    ctx = devices(arguments.ctx, arguments.num_devices)
    train = load_digits(True, arguments.batch_size, arguments.samples)
    test = load_digits(False, arguments.batch_size)
    network = make_network(ctx)
    steps = arguments.epochs * len(train)
    rates = mx.lr_scheduler.CosineScheduler(steps, base_lr=0.1, warmup_steps=max(1, steps // 10))
    trainer = gluon.Trainer(
        network.collect_params(), "sgd", {"momentum": 0.9, "wd": 5e-4, "lr_scheduler": rates}
    )
    print("devices:", ", ".join(map(str, ctx)))
    for epoch in range(1, arguments.epochs + 1):
        train_epoch(network, train, trainer, ctx, f"epoch {epoch:2d}/{arguments.epochs}")
    print(f"test accuracy: {test_accuracy(network, test, ctx):.3f}")


if __name__ == "__main__":
    main()
