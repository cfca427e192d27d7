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


def update(optimizer, settings):
    """The update alone, of all parameters of ResNet-18: 11.7 million numbers in 62 arrays with gradients."""
    net = gluon.model_zoo.vision.resnet18_v1()
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), optimizer, settings)
    with autograd.record():
        loss = net(np.ones((1, 3, 32, 32)).as_nd_ndarray()).sum()
    loss.backward()

    def run():
        for param in trainer._params:
            if param.grad_req != "null":
                param.data()._fresh_grad = True
        trainer.step(1)
        npx.waitall()

    return run


CASES = {
    "update of ResNet-18, SGD with momentum": lambda: update("sgd", {"learning_rate": 1e-9, "momentum": 0.9}),
    "update of ResNet-18, Adam": lambda: update("adam", {"learning_rate": 1e-9}),
    "linear regression step, batch 10": linear,
    "MLP 784-256-10 step, batch 256, SGD": lambda: mlp("sgd"),
    "MLP 784-256-10 step, batch 256, Adam": lambda: mlp("adam"),
}
