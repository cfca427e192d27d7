"""MXNET_BACKWARD_DO_MIRROR: values that backward makes again."""

import json
import os
import subprocess
import sys

PROGRAM = """
import hashlib, json, re
import headrace as mx
from headrace import autograd, gluon, nd
from headrace.gluon import nn

class Block(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.first, self.norm = nn.Conv2D(8, 3, padding=1, use_bias=False), nn.BatchNorm()
            self.second, self.other = nn.Conv2D(8, 3, padding=1, use_bias=False), nn.BatchNorm()

    def hybrid_forward(self, F, x):
        inner = F.relu(self.norm(self.first(x)))
        return F.tanh(self.other(self.second(inner)) + x) * F.sigmoid(x)

mx.random.seed(3)
net = nn.HybridSequential()
net.add(nn.Conv2D(8, 1), Block(), nn.Dropout(0.5), Block(), Block(), nn.Dense(4))
net.initialize(mx.init.Xavier())
net.hybridize()
x = nd.random.normal(shape=(4, 3, 16, 16))
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
digest = hashlib.sha256()
for _ in range(3):
    with autograd.record():
        loss = (net(x) ** 2).mean()
    loss.backward()
    trainer.step(4)
    digest.update(loss.asnumpy().tobytes())
for name, parameter in sorted(net.collect_params().items()):
    digest.update(parameter.data().asnumpy().tobytes())
with autograd.record():
    plan = net.explain(x)
kept = float(re.search(r"([\\d.]+) MB kept for backward", plan)[1])
print(json.dumps({"digest": digest.hexdigest(), "kept": kept, "again": plan.count("_batch_norm_again")}))
"""


def run(mirror):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "MXNET_BACKWARD_DO_MIRROR": mirror},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_training_with_less_memory_has_the_same_bits():
    usual, less = run("0"), run("1")
    assert less["digest"] == usual["digest"]
    assert less["kept"] < 0.8 * usual["kept"]
    assert usual["again"] == 0 and less["again"] > 0
