"""The profiler: timelines, tables, and what programs mark themselves."""

import gc
import json
import os
import subprocess
import sys
import threading
import time
import warnings

import pytest

from headrace import autograd, base, gluon, nd, np, npx, operator, profiler


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "timeline.json"
    profiler.set_config(filename=str(path))
    profiler.dumps(reset=True)
    yield path
    profiler.stop()
    profiler.set_config()


def work():
    x = np.ones((64, 64))
    (np.dot(x, x) + 1).wait_to_read()


def statistics():
    return json.loads(profiler.dumps(format="json"))


def events_of(path):
    return json.loads(path.read_text())["traceEvents"]


def test_timeline_names_what_ran_while_recording(path):
    profiler.start()
    work()
    profiler.pause()
    np.exp(np.ones((3,))).wait_to_read()
    profiler.resume()
    work()
    profiler.dump()
    names = [event["name"] for event in events_of(path) if event["ph"] == "X" and event["cat"] == "operator"]
    assert names.count("_np_dot") == 2
    assert "_npi_exp" not in names


def test_names_outlive_the_graphs_that_ran(path):
    profiler.start()
    for width in range(2, 32):
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(width, activation="tanh"), gluon.nn.Dense(3, activation="sigmoid"))
        net.initialize()
        net.hybridize(static_alloc=bool(width % 2))
        net(nd.ones((2, 4)) * 2).wait_to_read()
        net.hybridize()
        net(nd.ones((2, 4)) * 2).wait_to_read()
        del net
    gc.collect()
    nd.waitall()
    names = {name for table in statistics()["Time"].values() for name in table}
    profiler.dump()
    names |= {event["name"] for event in events_of(path)}
    assert any("fused" in name for name in names)
    for name in names:
        assert name.isascii() and name.isprintable(), name


def test_table_counts_and_resets(path):
    profiler.set_state("run")
    for _ in range(3):
        work()
    npx.waitall()
    table = profiler.dumps(reset=True)
    row = next(line for line in table.splitlines() if line.split()[:1] == ["_np_dot"])
    assert row.split()[1] == "3"
    work()
    assert (
        next(line for line in profiler.dumps().splitlines() if line.startswith("_np_dot")).split()[1] == "1"
    )


def test_tables_go_on_from_run_to_run(path):
    for _ in range(2):
        profiler.set_state("run")
        work()
        profiler.set_state("stop")
    rows = [line.split() for line in profiler.dumps(reset=True).splitlines() if line.startswith("_np_dot")]
    assert [row[1] for row in rows] == ["2"]
    profiler.dump()
    operators = [event["name"] for event in events_of(path) if event.get("cat") == "operator"]
    assert operators.count("_np_dot") == 1  # of the last run
    assert "_np_dot" not in profiler.dumps()


def test_the_timeline_keeps_what_tables_have_reset(path):
    profiler.start()
    for _ in range(3):
        work()
        profiler.dumps(reset=True)
    profiler.dump()
    operators = [event["name"] for event in events_of(path) if event.get("cat") == "operator"]
    assert operators.count("_np_dot") == 3


def run(program, **variables):
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **variables}
    )


def test_nothing_recorded_is_nothing_to_dump(tmp_path):
    program = f"""
from headrace import MXNetError, profiler
profiler.set_config(filename={str(tmp_path / "empty.json")!r})
try:
    profiler.dump()
except MXNetError as error:
    print(error)
"""
    done = run(program)
    assert done.returncode == 0, done.stderr
    assert "profiler.dump: nothing was recorded: the profiler has not been run" in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_timeline_that_cannot_be_written_is_told_at_the_start(tmp_path):
    bad = tmp_path / "no such folder" / "run.json"
    done = run("import sys, headrace; print('running', file=sys.stderr)", HEADRACE_TIMELINE=str(bad))
    warning, running, *at_exit = done.stderr.splitlines()
    assert f"HEADRACE_TIMELINE: '{bad}' cannot be written" in warning
    assert running == "running"
    assert at_exit

    good = tmp_path / "run.json"
    done = run("import headrace as mx; (mx.np.ones((3,)) + 1).wait_to_read()", HEADRACE_TIMELINE=str(good))
    assert done.stderr == ""
    assert events_of(good)


def test_json_has_mxnets_fields_in_the_order_asked_for(path):
    profiler.start()
    work()
    np.ones((3,)).wait_to_read()
    profiler.stop()
    found = statistics()
    assert found["Unit"] == {"Time": "ms", "Memory": "kB", "Counter": "number"}
    row = found["Time"]["operator"]["_np_dot"]
    assert list(row) == ["Count", "Total", "Min", "Max", "Avg"]
    assert row["Count"] == 1 and row["Total"] == row["Min"] == row["Max"] == row["Avg"] > 0
    assert "Memory: cpu/0" in found["Memory"]["Device Storage"]
    for key, field in zip(("total", "avg", "min", "max", "count"), ("Total", "Avg", "Min", "Max", "Count")):
        for ascending in (False, True):
            text = profiler.dumps(format="json", sort_by=key, ascending=ascending)
            values = [row[field] for row in json.loads(text)["Time"]["operator"].values()]
            assert values == sorted(values, reverse=not ascending)


def test_objects_of_a_domain(path):
    profiler.start()
    domain = profiler.Domain("training")
    task, frame, event = domain.new_task("epoch"), domain.new_frame("picture"), profiler.Event("reading")
    for thing in (task, frame, event):
        thing.start()
        work()
        thing.stop()
        thing.stop()  # nothing began
    counter = domain.new_counter("images", 5)
    same = counter
    counter += 3
    counter -= 1
    assert counter is same
    counter.increment()
    counter.decrement(4)
    counter.set_value(2.7)
    assert counter.value == 2
    for scope in ("global", "process", "thread", "task", "marker"):
        domain.new_marker("here").mark(scope)
    with pytest.raises(ValueError, match="global, process, thread, task or marker, got 'nowhere'"):
        domain.new_marker("here").mark("nowhere")
    assert [str(thing) for thing in (domain, task, frame, event, counter)] == [
        "training", "epoch", "picture", "reading", "images",
    ]  # fmt: skip
    profiler.dump()
    found = statistics()
    assert found["Time"]["training"]["epoch"]["Count"] == 1
    assert found["Time"]["training,frame"]["picture"]["Count"] == 1
    assert found["Time"]["event"]["reading"]["Count"] == 1
    assert found["Counter"]["training"]["images"] == {"Count": 6, "Min": 2.0, "Max": 8.0, "Avg": 17 / 3}
    marks = [event for event in events_of(path) if event["ph"] == "i"]
    assert [mark["s"] for mark in marks] == ["g", "p", "t", "p", "p"]
    values = [
        event["args"]["value"]
        for event in events_of(path)
        if event["ph"] == "C" and event["name"] == "images"
    ]
    assert values == [5, 8, 7, 8, 4, 2]


def test_a_counter_without_a_value_records_none(path):
    profiler.start()
    counter = profiler.Counter(profiler.Domain("quiet"), "images")
    assert counter.value == 0
    assert "quiet" not in statistics()["Counter"]


def test_a_task_may_end_in_another_thread(path):
    profiler.start()
    task = profiler.Task(profiler.Domain("mine"), "hand-over")
    task.start()
    thread = threading.Thread(target=task.stop)
    thread.start()
    thread.join()
    profiler.dump()
    halves = [event["ph"] for event in events_of(path) if event["name"] == "hand-over"]
    assert halves == ["b", "e"]


def test_scopes_nest_and_are_undone_by_errors(path):
    profiler.start()
    with pytest.raises(KeyError), profiler.scope("epoch 1:") as outer:
        assert outer == "epoch 1:"
        with profiler.scope("forward") as inner:
            assert inner == "epoch 1:forward:"
        with profiler.scope("data", append_mode=False) as alone:
            assert alone == "data:"
        raise KeyError
    with profiler.scope() as unnamed:
        assert unnamed == "<unk>:"
    assert set(statistics()["Time"]["scope"]) == {"epoch 1:", "epoch 1:forward:", "data:", "<unk>:"}


def hybrid_net():
    net = gluon.nn.Dense(3, in_units=2)
    net.initialize()
    net.hybridize()
    net(np.ones((1, 2))).wait_to_read()
    return net


@pytest.mark.parametrize(
    ("options", "operators", "steps", "memory", "api"),
    [
        ({}, True, True, True, True),
        ({"profile_imperative": False}, False, True, True, True),
        ({"profile_symbolic": False}, True, False, True, True),
        ({"profile_memory": False}, True, True, False, True),
        ({"profile_api": False}, True, True, True, False),
        ({"profile_all": True, "profile_memory": False, "profile_imperative": "0"}, True, True, True, True),
    ],
)
def test_what_is_recorded_can_be_chosen(path, options, operators, steps, memory, api):
    net = hybrid_net()
    profiler.set_config(filename=str(path), **options)
    profiler.start()
    net(np.ones((1, 2))).wait_to_read()
    profiler.stop()
    found = statistics()
    names = found["Time"].get("operator", {})
    assert ("CachedOp" in names) == operators
    assert ("FullyConnected" in names) == steps
    assert bool(found["Memory"]) == memory
    assert ("MXNET_C_API" in found["Time"]) == api


def test_set_config_sets_all_options(path):
    """As in MXNet: what is not named gets its default."""
    profiler.set_config(filename=str(path), profile_imperative=False)
    profiler.set_config(filename=str(path))
    profiler.start()
    work()
    assert "_np_dot" in statistics()["Time"]["operator"]


def test_continuous_dump_writes_while_recording(path):
    profiler.set_config(filename=str(path), continuous_dump=True, dump_period=0.01)
    profiler.start()
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        work()
    assert path.exists()
    np.exp(np.ones((3,))).wait_to_read()
    profiler.stop()
    assert "_npi_exp" in {event["name"] for event in events_of(path)}


def test_queued_operations_have_arrows(path):
    profiler.start()
    x = np.ones((400, 400))
    for _ in range(20):
        x = np.dot(x, x) * 1e-3
    x.wait_to_read()
    profiler.dump()
    events = events_of(path)
    tails = {event["id"]: event for event in events if event["ph"] == "s"}
    heads = {event["id"]: event for event in events if event["ph"] == "f"}
    assert tails and set(tails) == set(heads)
    assert all(tails[key]["ts"] <= heads[key]["ts"] for key in tails)


def test_deprecated_names(path):
    with pytest.warns(UserWarning, match="use profiler.set_config"):
        profiler.profiler_set_config("all", str(path))
    with pytest.warns(UserWarning, match="use profiler.set_state"):
        profiler.profiler_set_state("run")
    work()
    with pytest.warns(UserWarning, match="use profiler.dump"):
        profiler.dump_profile()
    assert "_np_dot" in {event["name"] for event in events_of(path)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(base.MXNetError, match="no option 'profile_bogus'"):
            profiler.profiler_set_config("bogus")


def test_wrong_use_is_refused(path):
    for options, text in (
        ({"colour": True}, "no option 'colour'"),
        ({"profile_all": "x"}, "profile_all must be True or False, got 'x'"),
        ({"dump_period": "soon"}, "dump_period must be a number of seconds"),
        ({"dump_period": -1}, "dump_period must be a positive number of seconds, got -1"),
        ({"profile_process": "server"}, "there is no store with servers to profile"),
    ):
        with pytest.raises(base.MXNetError, match=text):
            profiler.set_config(**options)
    for call, text in (
        (lambda: profiler.set_state("maybe"), "'run' or 'stop'"),
        (lambda: profiler.pause("z"), "'worker' or 'server', got 'z'"),
        (lambda: profiler.dumps(format="xml"), "format must be one of table, json; got 'xml'"),
        (lambda: profiler.dumps(sort_by="colour"), "sort_by must be one of .*; got 'colour'"),
    ):
        with pytest.raises(base.MXNetError, match=text) as raised:
            call()
        assert isinstance(raised.value, ValueError)
    profiler.start()
    profiler.stop()
    profiler.set_config(filename="/no/such/folder/run.json")
    with pytest.raises(OSError, match="Name a file in a folder that exists"):
        profiler.dump()


MXNET_TABLE = """
import json
import mxnet as mx
from mxnet import profiler
profiler.set_config(profile_all=True, aggregate_stats=True, filename={path!r})
profiler.set_state("run")
x = mx.nd.ones((10, 10))
for i in range(5):
    x = mx.nd.dot(x, x)
x.wait_to_read()
profiler.Domain("mine").new_task("epoch").start()
profiler.set_state("stop")
print(json.dumps([dir(profiler), profiler.dumps(), profiler.dumps(format="json")]))
"""


def test_beside_mxnet(path, mxnet_peer, tmp_path):
    names, table, text = mxnet_peer(MXNET_TABLE.format(path=str(tmp_path / "mxnet.json")))
    inner = {"KVStoreHandle", "ProfileHandle", "c_str", "c_str_array", "check_call", "ctypes", "py_str"}
    assert {name for name in names if not name.startswith("_")} - inner <= set(dir(profiler))

    profiler.start()
    x = np.ones((10, 10))
    for _ in range(5):
        x = np.dot(x, x)
    x.wait_to_read()
    profiler.stop()

    def heads(table):
        return {line for line in table.splitlines() if line.startswith(("Name", "---", "\tNote", "Profile"))}

    assert heads(table) <= heads(profiler.dumps())
    theirs, ours = json.loads(text), statistics()
    assert ours["Time"]["operator"]["_np_dot"].keys() == theirs["Time"]["operator"]["dot"].keys()
    assert ours["Time"]["operator"]["_np_dot"]["Count"] == theirs["Time"]["operator"]["dot"]["Count"] == 5
    memory = "Device Storage", "Memory: cpu/0"
    assert ours["Memory"][memory[0]][memory[1]].keys() == theirs["Memory"][memory[0]][memory[1]].keys()
    assert ours["Unit"].items() >= theirs["Unit"].items()


def test_code_of_custom_operators_has_a_section_with_what_it_issues(path):
    class Halved(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] / 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 0.5)

    @operator.register("halved")
    class HalvedProp(operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Halved()

    def run():
        x = nd.ones((3,))
        x.attach_grad()
        with autograd.record():
            y = nd.Custom(x + 1, op_type="halved")
        y.backward()
        assert x.grad.asnumpy().tolist() == [0.5] * 3

    run()
    profiler.start()
    run()
    profiler.stop()
    found = statistics()["Time"]
    counts = {name: row["Count"] for name, row in found["Custom Operator"].items()}
    for name in ("pure_python", "_div_scalar"):
        assert counts[f"halved::{name}"] == 1
    for name in ("pure_python", "_mul_scalar"):
        assert counts[f"_backward_halved::{name}"] == 1
    assert not any("::" in name for name in found["operator"])
    assert "_plus_scalar" in found["operator"]
