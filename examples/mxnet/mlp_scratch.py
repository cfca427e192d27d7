"""A multilayer perceptron with one hidden layer, from arrays: it learns handwritten digits.

Run it with `python -m headrace.mxnet examples/mxnet/mlp_scratch.py`.
"""

import numpy
from mxnet import autograd, gluon, np, npx

npx.set_np()

NUM_INPUTS, NUM_HIDDEN, NUM_CLASSES = 64, 128, 10
BATCH_SIZE = 50
LEARNING_RATE = 0.2
EPOCHS = 30


def load(train):
    to_tensor = gluon.data.vision.transforms.ToTensor()
    digits = gluon.data.vision.Digits(train=train).transform_first(to_tensor)
    return gluon.data.DataLoader(digits, BATCH_SIZE, shuffle=train)


def make_parameters():
    parameters = [
        np.random.normal(0, 0.1, (NUM_INPUTS, NUM_HIDDEN)),
        np.zeros(NUM_HIDDEN),
        np.random.normal(0, 0.1, (NUM_HIDDEN, NUM_CLASSES)),
        np.zeros(NUM_CLASSES),
    ]
    for parameter in parameters:
        parameter.attach_grad()
    return parameters


def relu(x):
    return np.maximum(x, 0)


def scores_of(images, parameters):
    weight1, bias1, weight2, bias2 = parameters
    hidden = relu(np.dot(images.reshape(-1, NUM_INPUTS), weight1) + bias1)
    return np.dot(hidden, weight2) + bias2


def accuracy(data, parameters):
    right = seen = 0
    for images, labels in data:
        chosen = scores_of(images, parameters).argmax(axis=1)
        right += float((chosen.astype(labels.dtype) == labels).sum())
        seen += len(labels)
    return right / seen


def main():
    numpy.random.seed(1)  # for the order of the batches
    npx.random.seed(1)
    train, test = load(train=True), load(train=False)
    parameters = make_parameters()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for epoch in range(1, EPOCHS + 1):
        total = seen = 0
        for images, labels in train:
            with autograd.record():
                loss = loss_of(scores_of(images, parameters), labels)
            loss.backward()
            for parameter in parameters:
                parameter[:] = parameter - LEARNING_RATE / len(labels) * parameter.grad
            total += float(loss.sum())
            seen += len(labels)
        if epoch % 10 == 0:
            print(f"epoch {epoch}, loss {total / seen:.3f}")
    print(f"test accuracy: {accuracy(test, parameters):.2f}")


if __name__ == "__main__":
    main()
