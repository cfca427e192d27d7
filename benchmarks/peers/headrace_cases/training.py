"""One step of training: forward, backward, update."""

from headrace import autograd, gluon, np, npx


def step(net, loss_of, optimizer, x, y):
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), *optimizer)

    def run():
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(x.shape[0])
        npx.waitall()

    return run


def linear():
    x, y = np.random.normal(size=(10, 2)), np.random.normal(size=(10, 1))
    return step(gluon.nn.Dense(1), gluon.loss.L2Loss(), ("sgd", {"learning_rate": 0.03}), x, y)


def mlp(optimizer):
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(256, activation="relu"), gluon.nn.Dense(10))
    x, y = np.random.normal(size=(256, 784)), np.zeros((256,))
    return step(net, gluon.loss.SoftmaxCrossEntropyLoss(), (optimizer, {"learning_rate": 0.01}), x, y)


CASES = {
    "linear regression step, batch 10": linear,
    "MLP 784-256-10 step, batch 256, SGD": lambda: mlp("sgd"),
    "MLP 784-256-10 step, batch 256, Adam": lambda: mlp("adam"),
}
