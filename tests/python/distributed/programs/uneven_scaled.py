"""One rank has more batches than the other, and gradients overflow in two; `uneven_scaled.py UPDATE`."""

import sys

import numpy

import headrace as mx
from headrace import autograd, distributed, gluon, nd
from headrace.mxnet.contrib import amp

amp.init()
net = gluon.nn.Dense(1, in_units=1, use_bias=False)
net.initialize(mx.init.One())
trainer = gluon.Trainer(
    net.collect_params(),
    "sgd",
    {"learning_rate": 0.0005},
    kvstore="mpi",
    update_on_kvstore=sys.argv[1] == "True",
)
amp.init_trainer(trainer)
for step in range(8 if distributed.rank() == 1 else 3):
    x = nd.ones((1, 1)) * (numpy.inf if step in (3, 4) else 1)
    with autograd.record():
        loss = net(x).astype("float32")
        with amp.scale_loss(loss, trainer) as scaled:
            scaled.backward()
    trainer.step(1)
trainer.join(1)
weight = net.weight.data().asscalar()
# One step by two gradients of 1, three by one; 2 ** 16 in float16 is infinite, in the first two.
print(f"weight {weight:.4f}, losses times {trainer._amp_loss_scaler._next_loss_scale}")
