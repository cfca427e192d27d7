"""Linear regression with nothing but arrays and gradients.

Run it with `python -m headrace.mxnet examples/mxnet/linear_regression_scratch.py`.
"""

import random

from mxnet import autograd, np, npx

npx.set_np()

TRUE_WEIGHT = np.array([2, -3.4])
TRUE_BIAS = 4.2
BATCH_SIZE = 10
LEARNING_RATE = 0.03
EPOCHS = 3


def make_data(count):
    """Points on a plane, with a little noise in their heights."""
    features = np.random.normal(0, 1, (count, 2))
    heights = np.dot(features, TRUE_WEIGHT) + TRUE_BIAS
    return features, heights + np.random.normal(0, 0.01, heights.shape)


def batches(features, heights):
    order = list(range(len(features)))
    random.shuffle(order)
    for start in range(0, len(order), BATCH_SIZE):
        rows = np.array(order[start : start + BATCH_SIZE])
        yield features[rows], heights[rows]


def predict(features, weight, bias):
    return np.dot(features, weight) + bias


def squared_error(predicted, wanted):
    return (predicted - wanted.reshape(predicted.shape)) ** 2 / 2


def descend(parameters, batch_size):
    """One step of stochastic gradient descent, in place."""
    for parameter in parameters:
        parameter[:] = parameter - LEARNING_RATE * parameter.grad / batch_size


def main():
    random.seed(1)
    npx.random.seed(1)
    features, heights = make_data(1000)
    weight = np.random.normal(0, 0.01, (2, 1))
    bias = np.zeros(1)
    weight.attach_grad()
    bias.attach_grad()
    for epoch in range(1, EPOCHS + 1):
        for x, y in batches(features, heights):
            with autograd.record():
                loss = squared_error(predict(x, weight, bias), y)
            loss.backward()
            descend([weight, bias], len(x))
        error = squared_error(predict(features, weight, bias), heights).mean()
        print(f"epoch {epoch}, loss {float(error):.6f}")
    print(f"error in the weight: {np.abs(TRUE_WEIGHT - weight.reshape(2))}")
    print(f"error in the bias: {abs(TRUE_BIAS - float(bias)):.5f}")
    print(f"final loss: {float(error):.6f}")


if __name__ == "__main__":
    main()
