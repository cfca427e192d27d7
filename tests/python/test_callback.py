"""Callbacks log what MXNet logs; the Monitor notes what executors compute."""

import logging

import numpy
import pytest

import headrace as mx
from headrace.model import BatchEndParam


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO)
    return caplog


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a second at each look."""
    seconds = iter(range(1000))
    monkeypatch.setattr("headrace.callback.time.time", lambda: float(next(seconds)))


@pytest.fixture
def metric():
    """An accuracy of 1/2."""
    made = mx.metric.Accuracy()
    made.update([mx.nd.array([0, 1])], [mx.nd.array([0, 0])])
    return made


def call(callback, count, metric=None, epoch=0):
    for number in range(count):
        callback(BatchEndParam(epoch, number, metric, None))


def test_speedometer(log, clock, metric):
    call(mx.callback.Speedometer(4, 2), 5, metric)
    assert log.messages == [
        "Epoch[0] Batch [0-2]\tSpeed: 8.00 samples/sec\taccuracy=0.500000",
        "Epoch[0] Batch [2-4]\tSpeed: 8.00 samples/sec\taccuracy=nan",
    ]
    assert metric.get_global()[1] == 0.5


def test_speedometer_without_reset_or_metric(log, clock, metric):
    call(mx.callback.Speedometer(4, 2, auto_reset=False), 5, metric, epoch=3)
    call(mx.callback.Speedometer(4, 3), 4, None, epoch=1)
    assert log.messages == [
        "Epoch[3] Batch [0-2]\tSpeed: 8.00 samples/sec\taccuracy=0.500000",
        "Epoch[3] Batch [0-4]\tSpeed: 8.00 samples/sec\taccuracy=0.500000",
        "Iter[1] Batch [3]\tSpeed: 12.00 samples/sec",
    ]


def test_speedometer_starts_anew_with_each_epoch(log, clock, metric):
    speedometer = mx.callback.Speedometer(4, 4)
    for epoch in range(2):
        call(speedometer, 6, metric, epoch)
    assert [line.split("\t")[0] for line in log.messages] == ["Epoch[0] Batch [0-4]", "Epoch[1] Batch [0-4]"]


def test_progress_bar(log):
    call(mx.callback.ProgressBar(6, 20), 6)
    assert log.messages[0] == "[--------------------] 0%\r"
    assert log.messages[1] == "[===-----------------] 17%\r"
    assert log.messages[5] == "[=================---] 84%\r"


def test_log_train_metric(log, metric):
    call(mx.callback.log_train_metric(2, auto_reset=True), 4, metric)
    assert log.messages == ["Iter[0] Batch[0] Train-accuracy=0.500000", "Iter[0] Batch[2] Train-accuracy=nan"]


def test_log_validation_metrics(log, metric):
    mx.callback.LogValidationMetricsCallback()(BatchEndParam(2, 7, metric, None))
    mx.callback.LogValidationMetricsCallback()(BatchEndParam(2, 7, None, None))
    assert log.messages == ["Epoch[2] Validation-accuracy=0.500000"]


def test_do_checkpoint(log, tmp_path):
    symbol = mx.sym.var("x") * 2
    callback = mx.callback.do_checkpoint(str(tmp_path / "net"), period=2)
    for epoch in range(4):
        callback(epoch, symbol, {"w": mx.nd.ones((1,))}, {})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["net-0002.params", "net-0004.params", "net-symbol.json"]
    assert log.messages[0] == f'Saved checkpoint to "{tmp_path}/net-0002.params"'


def test_module_checkpoint():
    calls = []

    class Module:
        def save_checkpoint(self, *arguments):
            calls.append(arguments)

    callback = mx.callback.module_checkpoint(Module(), "net", 2, save_optimizer_states=True)
    for epoch in range(3):
        callback(epoch)
    assert calls == [("net", 2, True)]


def watched(monitor, batches=3):
    """What a monitor notes in each of some batches, as (step, name, text without its tab)."""
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.Activation(layer, act_type="relu", name="r"), num_hidden=2, name="fc2")
    executor = net.simple_bind(mx.cpu(), data=(1, 3))
    for array in executor.arg_arrays:
        array[:] = 0.5
    monitor.install(executor)
    noted = []
    for _ in range(batches):
        monitor.tic()
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((1, 2)))
        noted.append([(step, name, text.rstrip("\t")) for step, name, text in monitor.toc()])
    return noted


def test_monitor():
    first, second, third = watched(mx.mon.Monitor(2))
    assert [name for _, name, _ in first] == [
        "fc1_output",
        "r_output",
        "fc2_output",
        "fc2_backward_output0",
        "fc2_backward_output1",
        "fc2_backward_output2",
        "r_backward_output",
        "fc1_backward_output0",
        "fc1_backward_output1",
        "fc1_backward_output2",
        "data",
        "fc1_weight",
        "fc1_bias",
        "fc2_weight",
        "fc2_bias",
    ]
    assert [text for _, _, text in first[:2]] == ["1.25", "1.25"]
    assert second == [] and [step for step, _, _ in third] == [3] * 15


def test_monitor_options(log):
    chosen = mx.monitor.Monitor(1, lambda x: [x.max(), x.min()], "(?!.*backward).*(weight|output)", sort=True)
    assert [item[1:] for item in watched(chosen, 1)[0]] == [
        ("fc1_output", "1.25\t1.25"),
        ("fc1_weight", "0.5\t0.5"),
        ("fc2_output", "1.75\t1.75"),
        ("fc2_weight", "0.5\t0.5"),
        ("r_output", "1.25\t1.25"),
    ]
    whole = watched(mx.mon.Monitor(1, lambda x: x, "fc1_bias|fc1_data|data", monitor_all=True), 1)[0]
    assert [item[1:] for item in whole] == [
        ("data", "[[0.5 0.5 0.5]]"),
        ("fc1_data", "[[0.5 0.5 0.5]]"),
        ("fc1_bias", "[0.5 0.5]"),
        ("fc1_bias", "[0.5 0.5]"),
        ("data", "[[0.5 0.5 0.5]]"),
        ("fc1_bias", "[0.5 0.5]"),
    ]
    monitor = mx.mon.Monitor(1, pattern="q")
    monitor.tic()
    monitor.queue.append((1, "name", mx.nd.ones((1,))))
    monitor.toc_print()
    assert log.messages[-1] == "Batch:       1 name                           1.0\t"


def test_monitor_wants_arrays():
    with pytest.raises(AssertionError, match="must give arrays"):
        watched(mx.mon.Monitor(1, lambda x: float(numpy.max(x.asnumpy()))))


def test_programs_have_rules_of_their_own_beside_the_speed():
    class Counting(mx.callback.Speedometer):
        def __call__(self, param):
            if not self.init:
                self.init, self.tic = True, 1

    speed = Counting(batch_size=1)
    speed(None)
    assert speed.init and speed.tic == 1
