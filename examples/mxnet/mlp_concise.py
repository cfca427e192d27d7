"""A multilayer perceptron with Gluon, with dropout against overfitting: it learns handwritten digits.

Run it with `python -m headrace.mxnet examples/mxnet/mlp_concise.py`.
"""

import mxnet as mx
import numpy
from mxnet import autograd, gluon, npx
from mxnet.gluon import nn

npx.set_np()

BATCH_SIZE = 50
EPOCHS = 30


def load(train):
    to_tensor = gluon.data.vision.transforms.ToTensor()
    digits = gluon.data.vision.Digits(train=train).transform_first(to_tensor)
    return gluon.data.DataLoader(digits, BATCH_SIZE, shuffle=train)


def make_network():
    net = nn.Sequential()
    net.add(nn.Flatten(), nn.Dense(128, activation="relu"), nn.Dropout(0.2), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    return net


def accuracy(data, net):
    metric = mx.metric.Accuracy()
    for images, labels in data:
        metric.update(labels, net(images))
    return metric.get()[1]


def main():
    numpy.random.seed(1)  # for the order of the batches
    npx.random.seed(1)
    train, test = load(train=True), load(train=False)
    net = make_network()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    for epoch in range(1, EPOCHS + 1):
        losses = mx.metric.Loss()
        for images, labels in train:
            with autograd.record():
                loss = loss_of(net(images), labels)
            loss.backward()
            trainer.step(len(labels))
            losses.update(None, loss)
        if epoch % 10 == 0:
            print(f"epoch {epoch}, loss {losses.get()[1]:.3f}")
    print(f"test accuracy: {accuracy(test, net):.2f}")


if __name__ == "__main__":
    main()
