"""Memory follows what runs, however far the program is ahead of it."""

import subprocess
import sys

import headrace
from headrace import autograd, engine, nd, np, npx
from headrace.gluon import nn

PROGRAM = """
from headrace import engine, np, npx

x = np.ones((256, 1024))
y = x
for _ in range(10_000):
    noise = np.random.uniform(size=x.shape)
    y = (y + noise) * 0.5 + x
npx.waitall()
print(engine.memory_stats()["peak"] / (x.size * 4))
"""


def test_ten_thousand_steps_without_a_wait():
    """Four results a step, a megabyte each: the peak is a few dozen of them, not thousands."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=600, check=True
    )
    assert 4 < float(done.stdout) < 32


def test_report_has_devices_and_the_largest_arrays():
    held = {"large": np.ones((1000, 1000)), "small": nd.zeros((10,))}
    npx.waitall()
    report = headrace.memory_report(arrays=1000)  # others may live
    (row,) = report.devices
    assert row.device == headrace.cpu()
    assert row.peak >= row.live >= 4_000_000
    sizes = [array.nbytes for array in report.arrays]
    assert sizes == sorted(sizes, reverse=True)
    assert (4_000_000, (1000, 1000), "float32", headrace.cpu()) in report.arrays
    assert "cpu(0)" in str(report) and "(1000, 1000), float32" in str(report)
    assert headrace.memory_report(arrays=0).arrays == []
    held.clear()
    assert (4_000_000, (1000, 1000), "float32", headrace.cpu()) not in headrace.memory_report(1000).arrays


def test_gradients_take_memory_when_they_are_written():
    net = nn.Dense(1000, in_units=1000, use_bias=False)
    x = nd.ones((2, 1000))

    def live():
        npx.waitall()
        return engine.memory_stats()["live"]

    before = live()
    net.initialize()
    net(x)
    assert 4_000_000 <= live() - before < 6_000_000
    assert not net.weight.grad().asnumpy().any()
    with autograd.record():
        loss = net(x).sum()
    loss.backward()
    assert live() - before >= 8_000_000
    assert (net.weight.grad().asnumpy() == 2).all()


def test_report_of_bfloat16():
    held = [np.ones((1 << 20,), dtype="bfloat16")]
    rows = [array for array in headrace.memory_report().arrays if array.shape == held[0].shape]
    assert [(row.nbytes, row.dtype) for row in rows] == [(2 << 20, "bfloat16")]
