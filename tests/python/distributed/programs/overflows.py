"""Gradients of one worker overflow where losses are scaled; `overflows.py KIND`."""

import sys

import numpy

import headrace as mx
from headrace import autograd, distributed, gluon, nd
from headrace.mxnet.contrib import amp

net = gluon.nn.Dense(1, in_units=4, use_bias=False)
net.initialize(mx.init.One())
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0}, kvstore=sys.argv[1])
trainer._amp_loss_scaler = amp.loss_scaler.LossScaler()
seen = []
for step in range(4):
    factor = numpy.inf if step == 1 and distributed.rank() == 1 else 1.0
    with autograd.record():
        loss = net(nd.ones((1, 4))) * factor
    loss.backward()
    trainer.step(1)
    seen.append(net.weight.data()[0, 0].asscalar())
assert seen == [-1.0, -1.0, -3.0, -5.0], seen  # two workers
assert trainer._amp_loss_scaler.loss_scale == 2.0**15
print("all as it should be")
