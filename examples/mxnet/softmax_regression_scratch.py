"""Softmax regression, the simplest classifier, written out: it learns handwritten digits.

Run it with `python -m headrace.mxnet examples/mxnet/softmax_regression_scratch.py`.
"""

import numpy
from mxnet import autograd, gluon, np, npx

npx.set_np()

NUM_INPUTS, NUM_CLASSES = 64, 10
BATCH_SIZE = 50
LEARNING_RATE = 0.5
EPOCHS = 20


def load(train):
    to_tensor = gluon.data.vision.transforms.ToTensor()
    digits = gluon.data.vision.Digits(train=train).transform_first(to_tensor)
    return gluon.data.DataLoader(digits, BATCH_SIZE, shuffle=train)


def softmax(scores):
    """Probabilities from scores; taking the largest score away first keeps exp in range."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def cross_entropy(probabilities, labels):
    return -np.log(probabilities[np.arange(len(labels)), labels])


def probabilities_of(images, weight, bias):
    return softmax(np.dot(images.reshape(-1, NUM_INPUTS), weight) + bias)


def accuracy(data, weight, bias):
    right = seen = 0
    for images, labels in data:
        chosen = probabilities_of(images, weight, bias).argmax(axis=1)
        right += float((chosen.astype(labels.dtype) == labels).sum())
        seen += len(labels)
    return right / seen


def main():
    numpy.random.seed(1)  # for the order of the batches
    npx.random.seed(1)
    train, test = load(train=True), load(train=False)
    weight = np.random.normal(0, 0.01, (NUM_INPUTS, NUM_CLASSES))
    bias = np.zeros(NUM_CLASSES)
    weight.attach_grad()
    bias.attach_grad()
    for epoch in range(1, EPOCHS + 1):
        total = seen = 0
        for images, labels in train:
            with autograd.record():
                loss = cross_entropy(probabilities_of(images, weight, bias), labels)
            loss.backward()
            for parameter in (weight, bias):
                parameter[:] = parameter - LEARNING_RATE / len(labels) * parameter.grad
            total += float(loss.sum())
            seen += len(labels)
        if epoch % 5 == 0:
            print(f"epoch {epoch}, loss {total / seen:.3f}")
    print(f"test accuracy: {accuracy(test, weight, bias):.2f}")


if __name__ == "__main__":
    main()
