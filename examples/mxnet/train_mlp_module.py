"""A multilayer perceptron learns handwritten digits: a plain MXNet program with symbols and a Module.

Run it with `python -m headrace.mxnet examples/mxnet/train_mlp_module.py`.
"""

import argparse
import logging

import mxnet as mx
import numpy
from mxnet import gluon

BATCH_SIZE = 50


def make_symbol():
    layer = mx.sym.Variable("data")
    layer = mx.sym.Flatten(layer)
    for number, width in enumerate((128, 64), start=1):
        layer = mx.sym.FullyConnected(layer, num_hidden=width, name=f"fc{number}")
        layer = mx.sym.Activation(layer, act_type="relu", name=f"relu{number}")
    layer = mx.sym.FullyConnected(layer, num_hidden=10, name="fc3")
    return mx.sym.SoftmaxOutput(layer, name="softmax")


def load_digits(train):
    """Images (n, 8, 8) with grey levels from 0 to 1, and labels (n,)."""
    images, labels = zip(*gluon.data.vision.Digits(train=train))
    images = numpy.stack([image.asnumpy() for image in images]).reshape((-1, 8, 8))
    return images.astype("float32") / 255, numpy.array(labels, "float32")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    mx.random.seed(1)
    numpy.random.seed(1)  # for the order of the images
    train = mx.io.NDArrayIter(*load_digits(True), BATCH_SIZE, shuffle=True)
    test = mx.io.NDArrayIter(*load_digits(False), BATCH_SIZE)
    symbol = make_symbol()
    mx.viz.print_summary(symbol, shape={"data": (BATCH_SIZE, 8, 8)})
    module = mx.mod.Module(symbol)
    module.fit(
        train,
        eval_data=test,
        eval_metric=["acc", "ce"],
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
        initializer=mx.init.Xavier(),
        batch_end_callback=mx.callback.Speedometer(BATCH_SIZE, 10),
        num_epoch=arguments.epochs,
    )
    predicted = module.predict(test).asnumpy().argmax(axis=1)
    print(f"test accuracy: {(predicted == load_digits(False)[1]).mean():.2f}")


if __name__ == "__main__":
    main()
