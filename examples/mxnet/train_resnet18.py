"""A small ResNet-18 of the model zoo learns handwritten digits: a plain MXNet Gluon program.

Run it with `python -m headrace.mxnet examples/mxnet/train_resnet18.py`, or as two workers that share each
batch by the same command and `--kvstore`, after `python -m headrace.launch -n 2`: `dist_sync` with a server,
or `mpi` after `python -m headrace.launch -n 2 --mpi`.
"""

import argparse
import time

import mxnet as mx
import numpy
from mxnet import autograd, gluon, nd
from mxnet.gluon.data.vision import transforms
from mxnet.gluon.model_zoo import vision
from tqdm import tqdm

BATCH_SIZE = 50  # of all workers together


def load_digits(train, samples=None, workers=1, rank=0):
    """A worker's batches of the first `samples`: 28 x 28 images, mean 0 and deviation 1, and labels."""
    digits = gluon.data.vision.Digits(train=train).take(samples)
    digits = digits.shard(workers, rank).take(len(digits) // workers)  # as many for each
    to_input = transforms.Compose(
        [transforms.Resize(28), transforms.ToTensor(), transforms.Normalize(mean=0.3, std=0.35)]
    )
    batch_size = max(1, BATCH_SIZE // workers)
    return gluon.data.DataLoader(digits.transform_first(to_input), batch_size, shuffle=train)


def make_network():
    """ResNet-18 for small images, with an eighth to a quarter of the usual channels."""
    network = vision.ResNetV1(
        vision.BasicBlockV1, [2, 2, 2, 2], [16, 16, 32, 64, 128], classes=10, thumbnail=True
    )
    network.initialize(mx.init.Xavier(magnitude=2))
    network.hybridize()
    return network


def train_epoch(network, batches, trainer, store, title):
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    start, seen, total = time.time(), 0, nd.zeros((1,))
    with tqdm(total=len(batches), desc=title, unit="batch", disable=store.rank > 0) as bar:
        for images, labels in batches:
            with autograd.record():
                loss = loss_of(network(images), labels)
            loss.backward()
            trainer.step(len(images) * store.num_workers)
            total += loss.sum()  # queued like all the rest: nothing waits here
            seen += len(images)
            bar.update()
        mean = total.asscalar() / seen  # waits for the whole epoch
        speed = seen * store.num_workers / (time.time() - start)
        bar.set_postfix_str(f"loss {mean:.3f}, {speed:,.0f} samples/s")


def test_accuracy(network, batches):
    accuracy = mx.metric.Accuracy()
    for images, labels in batches:
        accuracy.update(labels, network(images))
    return accuracy.get()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--samples", type=int, help="train on the first so many images (default: all)")
    parser.add_argument("--kvstore", default="device", help="device, or of several workers dist_sync or mpi")
    arguments = parser.parse_args()
    store = mx.kv.create(arguments.kvstore)
    mx.random.seed(1)  # the same first parameters for all
    numpy.random.seed(1 + store.rank)  # for the order of the images
    train = load_digits(True, arguments.samples, store.num_workers, store.rank)
    network = make_network()
    steps = arguments.epochs * len(train)
    rates = mx.lr_scheduler.CosineScheduler(steps, base_lr=0.1, warmup_steps=max(1, steps // 10))
    trainer = gluon.Trainer(
        network.collect_params(), "sgd", {"momentum": 0.9, "wd": 5e-4, "lr_scheduler": rates}, kvstore=store
    )
    for epoch in range(1, arguments.epochs + 1):
        train_epoch(network, train, trainer, store, f"epoch {epoch:2d}/{arguments.epochs}")
    if store.rank == 0:
        print(f"test accuracy: {test_accuracy(network, load_digits(False)):.3f}")


if __name__ == "__main__":
    main()
