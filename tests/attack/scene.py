"""What programs of the chaos do in threads: `thread([action, ...])` repeats actions until the end."""

import contextlib
import copy
import gc
import os
import random
import sys
import tempfile
import threading
import time

import headrace as mx
from headrace import autograd, gluon, nd, np, npx, profiler, sim

sim.configure(gpus=2, clock="virtual")
_folder = tempfile.mkdtemp()
_ending = threading.Event()
_lock = threading.Lock()
# Errors of ours are part of the game: another thread deleted, moved or poisoned what this one uses.
OURS = (mx.MXNetError, ValueError, RuntimeError, AssertionError, OSError)


def make():
    """A small network with parameters."""
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Dense(8, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dropout(0.2), gluon.nn.Dense(3)
    )
    net.initialize()
    return net


nets = [make() for _ in range(3)]


def forward(dice):
    dice.choice(nets)(nd.ones((4, 5))).asnumpy()


def train(dice):
    net = dice.choice(nets)
    with autograd.record():
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(nd.ones((4, 5))), nd.array([0, 1, 2, 0]))
    loss.backward()
    gluon.Trainer(net.collect_params(), "adam").step(4, ignore_stale_grad=True)


def set_data(dice):
    for parameter in dice.choice(nets).collect_params().values():
        parameter.set_data(nd.ones(parameter.shape) * dice.random())


def hybridize(dice):
    dice.choice(nets).hybridize(dice.random() < 0.7)


def save_and_load(dice):
    path = os.path.join(_folder, f"{dice.randrange(3)}.params")
    net = dice.choice(nets)
    net.save_parameters(path)
    net.load_parameters(path)


def reset_ctx(dice):
    dice.choice(nets).collect_params().reset_ctx(dice.choice([mx.cpu(), mx.gpu(0), mx.gpu(1)]))


def fail(dice):
    bad = nd.take(nd.ones((3,)), nd.array([9]), mode="raise") + 1
    if dice.random() < 0.7:
        bad.asnumpy()


def profile(dice):
    profiler.set_config(filename=os.path.join(_folder, "run.json"), profile_all=True, aggregate_stats=True)
    profiler.set_state("run")
    time.sleep(dice.random() * 0.02)
    profiler.set_state("stop")
    profiler.dumps()
    profiler.dump()


def copies(dice):
    net = copy.deepcopy(dice.choice(nets))
    net(nd.ones((2, 5)))


def gpus(dice):
    x = nd.ones((50, 50), ctx=mx.gpu(dice.randrange(2)))
    for _ in range(dice.randrange(5)):
        x = nd.dot(x, x).as_in_context(mx.gpu(dice.randrange(2)))
    if dice.random() < 0.5:
        x.asnumpy()


def random_numbers(dice):
    mx.random.seed(dice.randrange(100))
    np.random.normal(size=(100,)) + np.random.gamma(2.0, size=(100,))


def wait(dice):
    nd.waitall()


def delete(dice):
    nets[dice.randrange(3)] = make()
    gc.collect()


def unread():
    """Leaves an error that nobody reads."""
    global _unread
    _unread = nd.take(nd.ones((3,)), nd.array([9]), mode="raise")


def thread(actions, seed=0, daemon=True):
    """A thread that repeats actions; one that is no daemon until the program's own code has ended."""

    def repeat():
        dice = random.Random(seed)
        while not _ending.is_set():
            with contextlib.suppress(OURS):
                dice.choice(actions)(dice)

    made = threading.Thread(target=repeat, daemon=daemon)
    made.start()
    if not daemon:
        threading.Thread(target=lambda: (threading.main_thread().join(), _ending.set())).start()
