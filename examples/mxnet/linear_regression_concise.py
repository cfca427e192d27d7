"""Linear regression with Gluon: a data loader, a layer, a loss and a trainer.

Run it with `python -m headrace.mxnet examples/mxnet/linear_regression_concise.py`.
"""

import numpy
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()

TRUE_WEIGHT = np.array([2, -3.4])
TRUE_BIAS = 4.2
EPOCHS = 3


def make_data(count):
    features = np.random.normal(0, 1, (count, 2))
    heights = np.dot(features, TRUE_WEIGHT) + TRUE_BIAS
    return features, heights + np.random.normal(0, 0.01, heights.shape)


def main():
    numpy.random.seed(1)  # for the order of the batches
    npx.random.seed(1)
    features, heights = make_data(1000)
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(features, heights), 10, shuffle=True)

    net = nn.Sequential()
    net.add(nn.Dense(1))
    net.initialize(init.Normal(sigma=0.01))
    loss_of = gluon.loss.L2Loss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.03})

    for epoch in range(1, EPOCHS + 1):
        for x, y in data:
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(len(x))
        error = loss_of(net(features), heights).mean()
        print(f"epoch {epoch}, loss {float(error):.6f}")

    weight, bias = net[0].weight.data(), net[0].bias.data()
    print(f"error in the weight: {np.abs(TRUE_WEIGHT - weight.reshape(2))}")
    print(f"error in the bias: {abs(TRUE_BIAS - float(bias)):.5f}")
    print(f"final loss: {float(error):.6f}")


if __name__ == "__main__":
    main()
