"""Simulated GPUs, as programs see them."""

import gc
import os
import pathlib
import re
import subprocess
import sys

import numpy as onp
import pytest

import headrace as mx
from headrace import autograd, gluon, nd, np, npx, sim
from headrace.base import MXNetError

GPU0, GPU1 = mx.gpu(0), mx.gpu(1)


@pytest.fixture(autouse=True)
def two_gpus():
    sim.configure(gpus=2, topology="", clock="virtual", memory=0)
    yield
    sim.repair()
    while True:  # errors that a test left behind on purpose
        try:
            mx.waitall()
            break
        except MXNetError:
            pass
    gc.collect()
    sim.configure(gpus=0, topology="", clock="real", memory=0)


def test_arrays_are_where_they_were_asked_for():
    x = nd.ones((2, 3), ctx=GPU1)
    assert x.context == GPU1
    y = (x + 1) * x - x[0]
    assert y.context == GPU1
    assert y.asnumpy().tolist() == [[1.0] * 3] * 2
    with GPU0:
        assert nd.zeros((2,)).context == GPU0
    assert "@gpu(1)" in repr(x)
    assert mx.num_gpus() == 2


@pytest.mark.parametrize("array", [nd.array, lambda *a, **k: np.array(*a, **k)], ids=["nd", "np"])
def test_copies(array):
    x = array([[1, 2], [3, 4]])
    there = x.as_in_context(GPU0)
    assert there.context == GPU0
    assert there.as_in_context(GPU0) is there
    back = there.copyto(GPU1).copyto(mx.cpu())
    assert onp.array_equal(back.asnumpy(), x.asnumpy())
    target = array([[0, 0], [0, 0]], ctx=GPU1)
    there.copyto(target)
    assert onp.array_equal(target.asnumpy(), x.asnumpy())


def test_assignment_indexing_and_scalars():
    x = np.zeros((3, 4), ctx=GPU0)
    x[1] = 5
    x[2, 1:3] = onp.array([7.0, 8.0])
    x[0] = np.arange(4)  # from the host
    x += onp.ones(4, "float32")
    assert x.context == GPU0
    assert x.asnumpy().tolist() == [[1, 2, 3, 4], [6, 6, 6, 6], [1, 8, 9, 1]]
    assert float(x[1, 1]) == 6.0
    assert x[0, 1].item() == 2.0
    assert int(x.sum()) == 53
    assert bool(x[0, 0] == 1)
    assert onp.asarray(x).shape == (3, 4)


@pytest.mark.parametrize("module", [nd, np])
@pytest.mark.parametrize("key", [[2, 0], ([1, 0], [3, 2]), (slice(None), [1, 1]), "array", "mask"])
def test_keys_and_values_come_from_anywhere(module, key):
    host = onp.arange(12, dtype="float32").reshape(3, 4)
    x = module.array(host, ctx=GPU1)
    if key == "array":
        key, same = module.array([2, 0], dtype="int64"), [2, 0]
    elif key == "mask" and module is np:
        key = same = host[:, 0] > 2
    elif key == "mask":
        pytest.skip("nd arrays have no masks")
    else:
        same = key
    assert x[key].context == GPU1
    assert x[key].asnumpy().tolist() == host[same].tolist()
    x[key] = module.array(-host[same])  # from the host
    x[key] *= 2
    host[same] *= -2
    assert x.context == GPU1 and x.asnumpy().tolist() == host.tolist()


def test_devices_do_not_mix():
    with pytest.raises(MXNetError, match="all arrays must be on the same device"):
        nd.ones((2,), ctx=GPU0) + nd.ones((2,), ctx=GPU1)


def test_a_gpu_that_is_not_there():
    with pytest.raises(MXNetError, match="HEADRACE_SIM_GPUS"):
        nd.ones((2,), ctx=mx.gpu(5))


def test_memory_is_the_hosts_business_only_through_copies():
    x = np.ones((2,), ctx=GPU0)
    with pytest.raises((BufferError, MXNetError), match="memory of gpu"):
        memoryview(x)
    with pytest.raises((BufferError, MXNetError), match="memory of gpu"):
        x.__dlpack__()


def test_gradients_on_a_device_and_across():
    x = np.array([1.0, 2.0, 3.0], ctx=GPU0)
    x.attach_grad()
    with autograd.record():
        y = (x * x).as_in_context(GPU1)
        z = (y * 3).sum()
    z.backward()
    assert x.grad.context == GPU0
    assert x.grad.asnumpy().tolist() == [6.0, 12.0, 18.0]


def test_training_step_on_a_device():
    def losses(ctx):
        mx.random.seed(1)
        npx.set_np()
        try:
            net = gluon.nn.HybridSequential()
            net.add(
                gluon.nn.Conv2D(4, 3), gluon.nn.BatchNorm(), gluon.nn.Activation("relu"), gluon.nn.Dense(3)
            )
            net.initialize(ctx=ctx)
            net.hybridize()
            trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
            loss = gluon.loss.SoftmaxCrossEntropyLoss()
            random = onp.random.RandomState(0)
            x = np.array(random.rand(8, 1, 6, 6), dtype="float32", ctx=ctx)
            y = np.array(random.randint(3, size=8), ctx=ctx)
            result = []
            for _ in range(4):
                with autograd.record():
                    value = loss(net(x), y).mean()
                value.backward()
                trainer.step(1)
                result.append(float(value))
            return result
        finally:
            npx.reset_np()

    assert losses(GPU1) == losses(mx.cpu())


def test_saving_and_loading(tmp_path):
    path = str(tmp_path / "arrays.params")
    nd.save(path, {"x": nd.array([1, 2, 3], ctx=GPU0)})
    assert nd.load(path)["x"].asnumpy().tolist() == [1, 2, 3]


def test_gpu_memory_info():
    free, total = mx.context.gpu_memory_info(0)
    assert total == 16 << 30
    x = nd.ones((1024, 1024), ctx=GPU0)
    x.wait_to_read()
    assert mx.context.gpu_memory_info(0)[0] <= free - 4 * 1024 * 1024
    with pytest.raises(MXNetError, match="there is no gpu"):
        mx.context.gpu_memory_info(7)


def test_memory_that_runs_out_is_an_error_of_the_array():
    sim.set_memory(GPU0, "1MB")
    big = nd.ones((1000, 1000), ctx=GPU0)
    with pytest.raises(MemoryError, match="^ones: gpu.*out of memory"):
        big.wait_to_read()
    assert nd.ones((2,), ctx=GPU0).asnumpy().tolist() == [1, 1]


def test_faults():
    x = nd.ones((2,), ctx=GPU0)
    x.wait_to_read()
    sim.fail_copy(GPU0)
    with pytest.raises(MXNetError, match="injected"):
        x.asnumpy()
    assert x.asnumpy().tolist() == [1, 1]
    y = nd.ones((2,), ctx=GPU1)
    y.wait_to_read()
    sim.lose(0)
    with pytest.raises(MXNetError, match="the device is lost"):
        (x + 1).wait_to_read()
    assert y.asnumpy().tolist() == [1, 1]
    with pytest.raises(ValueError, match="no simulated GPU"):
        sim.lose(mx.cpu())


def test_nothing_comes_from_a_lost_gpu():
    x, existing = nd.ones((4,), ctx=GPU1), nd.zeros((4,), ctx=GPU0)
    nd.waitall()
    sim.lose(GPU1)
    for copy in (x.copyto(GPU0), x.copyto(existing), x.as_in_context(GPU0)):
        with pytest.raises(MXNetError, match=r"gpu\(1\): the device is lost"):
            copy.asnumpy()


def test_a_repaired_gpu_is_empty():
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize(ctx=[GPU0, GPU1])
    weight = net.weight.data(GPU0).asnumpy()
    x = nd.ones((4,), ctx=GPU1)
    nd.waitall()  # the weights, too, are there
    sim.lose(GPU1)
    sim.repair()
    for use in (x, x + 1, x.copyto(GPU0), net(nd.ones((1, 3), ctx=GPU1))):
        with pytest.raises(MXNetError, match=r"gpu\(1\): the device was lost.*Make the array anew"):
            use.asnumpy()
    assert onp.array_equal(net.weight.data(GPU0).asnumpy(), weight)
    net.initialize(force_reinit=True, ctx=[GPU0, GPU1])
    net.weight.set_data(nd.array(weight))
    expected = weight.sum(axis=1)
    assert onp.allclose(net(nd.ones((1, 3), ctx=GPU1)).asnumpy(), expected)


def test_a_fault_of_the_sender_reaches_a_key_value_store():
    store = mx.kv.create("device")
    store.init(0, nd.zeros((4,), ctx=GPU0))
    values = [nd.ones((4,), ctx=gpu) for gpu in (GPU0, GPU1)]
    nd.waitall()
    sim.fail_copy(GPU1)
    out = nd.zeros((4,), ctx=GPU0)
    with pytest.raises(MXNetError, match="injected"):
        store.push(0, values)
        store.pull(0, out=out)
        out.wait_to_read()


def test_a_stall_takes_virtual_time():
    sim.stall(GPU0, 3600)
    begin = sim.now()
    nd.ones((4,), ctx=GPU0).wait_to_read()
    assert 3600 <= sim.now() - begin < 3600.001
    assert "compute: stall" in sim.report()


def test_configure_and_options():
    sim.configure(topology="pcie4")
    assert sim.options() == {"gpus": 4, "topology": "pcie4", "clock": "virtual", "memory": 16 << 30}
    assert mx.num_gpus() == 4
    sim.configure(gpus=3, topology="", memory="1GB")
    assert sim.options()["gpus"] == 3
    assert sim.options()["memory"] == 10**9


FORKS_AFTER_COPIES = """
import os
import headrace as hr
hr.sim.configure(gpus=1, clock={clock!r})
assert (hr.nd.ones((2,), ctx=hr.gpu(0)) + 1).asnumpy().sum() == 4
child = os.fork()
if child == 0:
    os._exit(int((hr.nd.ones((3,)) * 2).asnumpy().sum()))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6
assert (hr.nd.ones((2,), ctx=hr.gpu(0)) + 2).asnumpy().sum() == 6
"""


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_a_process_forks_after_copies(clock):
    """The threads of streams end before anything is locked."""
    done = subprocess.run([sys.executable, "-c", FORKS_AFTER_COPIES.format(clock=clock)], timeout=60)
    assert done.returncode == 0


def test_a_pull_makes_up_for_an_error():
    """Of an array that it overwrites whole, wherever what is stored lies."""
    for device, stored in ((GPU0, GPU0), (GPU0, GPU1), (GPU1, mx.cpu()), (mx.cpu(), GPU0)):
        store = mx.kv.create("device")
        store.init(0, nd.ones((4,), ctx=stored) * 3)
        out = nd.random.normal(0, -1, shape=(4,), ctx=device)
        with pytest.raises(MXNetError):
            out.asnumpy()
        store.pull(0, out=out)
        assert (out.asnumpy() == 3).all()
        out = nd.random.normal(0, -1, shape=(4,), ctx=device)
        store.pushpull(0, nd.ones((4,), ctx=stored), out=out)
        assert (out.asnumpy() == 1).all()


def test_priorities_decide_what_goes_first():
    """Over a link that is busy: the call that began, then the others by priority."""
    store = mx.kv.create("device")
    keys, size = list(range(5)), 1 << 20
    store.init(keys, [nd.zeros((size,), ctx=GPU0)] * 5)
    values = [[nd.ones((size,), ctx=ctx) for ctx in (GPU0, GPU1)] for _ in keys]
    outs = [nd.zeros((size,), ctx=GPU1) for _ in keys]
    mx.waitall()
    for priorities in ([0, 0, 0, 0, 0], [0, -4, -3, -2, -1]):
        for key in keys:
            store.pushpull(key, values[key], out=outs[key], priority=priorities[key])
        ended = {}
        for key in sorted(keys, key=lambda key: (priorities[key], -key), reverse=True):
            outs[key].wait_to_read()
            ended[key] = sim.now()
        order = sorted(keys, key=ended.get)
        assert order == [0, *sorted(keys[1:], key=lambda key: -priorities[key])]
        assert len(set(ended.values())) == len(keys)


WRONG_USE = {
    "clock": (
        lambda: sim.configure(clock="slow"),
        ValueError,
        "configure: clock must be one of real, virtual",
    ),
    "negative": (lambda: sim.configure(gpus=-1), ValueError, "configure: gpus must be from 0 to 64, got -1"),
    "many": (
        lambda: sim.configure(gpus=10**12),
        ValueError,
        "configure: gpus must be from 0 to 64, got 1000",
    ),
    "parts": (lambda: sim.configure(gpus=2.7), TypeError, "configure: gpus must be a whole number, got 2.7"),
    "text": (lambda: sim.configure(gpus="3"), TypeError, "configure: gpus must be a whole number, got '3'"),
    "more than linked": (lambda: sim.configure(gpus=5, topology="pcie4"), ValueError, "pcie4"),
    "topology": (lambda: sim.configure(topology="nowhere"), OSError, "'nowhere' is neither a preset"),
    "memory": (
        lambda: sim.configure(memory="lots"),
        ValueError,
        "configure: memory: 'lots' is no number of by",
    ),
    "no memory": (
        lambda: sim.configure(memory=-1),
        ValueError,
        "configure: memory: '-1' is no number of bytes",
    ),
    "part of a byte": (
        lambda: sim.configure(memory=1.5),
        TypeError,
        "configure: memory: expected bytes as an i",
    ),
    "set": (
        lambda: sim.set_memory(0, "lots"),
        ValueError,
        "set_memory: memory: 'lots' is no number of bytes",
    ),
    "advance": (lambda: sim.advance(-1), ValueError, "advance: expected seconds from 0 to 1e.06, got -1"),
    "too far": (lambda: sim.advance(2e6), ValueError, "advance: expected seconds from 0 to 1e.06, got 2"),
    "after": (
        lambda: sim.fail_copy(0, after=1.5),
        TypeError,
        "fail_copy: after must be a whole number, got 1.5",
    ),
    "before": (lambda: sim.fail_copy(0, after=-1), ValueError, "fail_copy: after must be from 0 to"),
    "long": (lambda: sim.stall(0, "x"), TypeError, "stall: seconds must be a number, got 'x'"),
    "nan": (
        lambda: sim.stall(0, float("nan")),
        ValueError,
        "stall: expected seconds from 0 to 3600, got nan",
    ),
    "host": (lambda: sim.lose(mx.cpu()), ValueError, r"lose: cpu\(0\) is no simulated GPU"),
    "third": (lambda: sim.lose(2), ValueError, r"lose: gpu\(2\) is no simulated GPU; there are 2"),
    "name": (lambda: sim.lose("gpu"), TypeError, "lose: gpu must be a whole number, got 'gpu'"),
}


@pytest.mark.parametrize("case", WRONG_USE)
def test_wrong_use(case):
    call, kind, text = WRONG_USE[case]
    with pytest.raises(MXNetError, match=text) as raised:
        call()
    assert isinstance(raised.value, kind)
    assert sim.options()["gpus"] == 2


def test_limits_are_possible():
    sim.advance(1e6)
    assert sim.now() >= 1e6
    sim.set_memory(0, 0)
    with pytest.raises(MemoryError):
        nd.ones((1,), ctx=GPU0).wait_to_read()


def run(program, **variables):
    command = [sys.executable, "-c", "import headrace as mx\n" + program]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **variables}
    )


def test_memory_of_the_environment():
    done = run("print(mx.sim.options()['memory'])", HEADRACE_SIM_GPUS="1", HEADRACE_SIM_MEMORY="4GB")
    assert done.stdout.split() == ["4000000000"], done.stderr


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"HEADRACE_SIM_GPUS": "100"}, "100 GPUs were asked for (gpus, HEADRACE_SIM_GPUS); from 0 to 64 are"),
        ({"HEADRACE_SIM_TOPOLOGY": "nowhere"}, "'nowhere' is neither a preset"),
    ],
)
@pytest.mark.parametrize("call", ["mx.num_gpus()", "mx.nd.ones((2,))", "mx.waitall()", "mx.memory_report()"])
def test_an_environment_that_cannot_be(variables, text, call, tmp_path):
    program = f"try:\n    {call}\nexcept mx.MXNetError as error:\n    print(error)"
    for more in ({}, {"HEADRACE_TIMELINE": str(tmp_path / "run.json")}):
        done = run(program, **variables, **more)
        assert text in done.stdout
        assert done.stderr == ""
        assert done.returncode == 0


def test_the_topology_of_the_documentation(tmp_path):
    page = pathlib.Path(__file__).parents[2] / "docs" / "planner.md"
    (example,) = re.findall(r"```json\n(.*?)```", page.read_text(), re.DOTALL)
    path = tmp_path / "machines.json"
    path.write_text(example)
    sim.configure(topology=str(path))
    assert mx.num_gpus() == 2
    nd.ones((4,), ctx=GPU0).copyto(GPU1).asnumpy()
    assert sim.now() > 2e-5  # the network
    path.write_text("{}")
    with pytest.raises(MXNetError, match="machines.json: topology file: the topology has no 'devices'"):
        sim.configure(topology=str(path))
