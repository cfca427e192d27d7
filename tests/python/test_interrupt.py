"""Ctrl-C ends a wait; the work goes on, and later waits work as ever."""

import subprocess
import sys

import pytest

# Many seconds of products, one after the other; the signal comes while the main thread waits for the last.
PROGRAM = """
import os, signal, sys
import headrace
from headrace import np, npx

y = x = np.ones((64, 64)) / 64
headrace.waitall()
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
big = np.ones((2000, 2000)) / 2000
chain = big
for _ in range(100):
    chain = np.dot(chain, big)
try:
    {wait}
except KeyboardInterrupt:
    assert (y + 1).shape == (64, 64)
    assert float((y + 1)[0, 0]) == 1 + 1 / 64
    print("interrupted", flush=True)
    os._exit(0)
print("finished")
"""


@pytest.mark.parametrize(
    "wait", ["chain.wait_to_read()", "npx.waitall()", "chain.asnumpy()", "float(chain[0, 0])"]
)
def test_signal_ends_a_wait(wait):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(wait=wait)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "interrupted", done.stdout + done.stderr


# The code of a custom operator never ends.
ENDLESS = """
import os, signal
import headrace as mx
from headrace import autograd, gluon, nd, operator, sym


class Endless(operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        if {hangs_forward}:
            hang()
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        hang()


@operator.register("endless")
class EndlessProp(operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Endless()


def hang():
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    while True:
        pass


class Block(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.Custom(x, op_type="endless") * 2


def backward():
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="endless")
    y.backward()


def hybridized():
    block = Block()
    block.hybridize()
    block(x).wait_to_read()


signal.signal(signal.SIGALRM, signal.default_int_handler)
x = nd.ones((2,))
before = x + 1
try:
    {call}
except KeyboardInterrupt:
    assert before.asnumpy().tolist() == (x + 1).asnumpy().tolist() == [2, 2]
    mx.waitall()
    print("interrupted")
"""


@pytest.mark.parametrize(
    "call",
    [
        "nd.Custom(x, op_type='endless').wait_to_read()",
        "backward()",
        "hybridized()",
        "sym.Custom(sym.var('x'), op_type='endless').bind(mx.cpu(), [x]).forward()[0].asnumpy()",
    ],
)
def test_signal_ends_code_of_a_custom_operator_that_hangs(call):
    program = ENDLESS.format(call=call, hangs_forward=call != "backward()")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "interrupted", done.stdout + done.stderr
