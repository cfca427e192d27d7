"""Key-value stores, as programs see them."""

import gc
import json
import os
import pathlib
import subprocess
import sys

import numpy as onp
import pytest

import headrace as mx
from headrace import _core, autograd, kv, nd, np, npx, plan, sim
from headrace.base import MXNetError

CPUS = [mx.cpu(i) for i in range(4)]
GPUS = [mx.gpu(i) for i in range(4)]
SHAPE = (3, 5)


@pytest.fixture(params=["local", "device", *(f"device {name}" for name in plan.strategies())])
def store(request):
    """A store of each kind that this machine has, and of each strategy."""
    name, _, strategy = request.param.partition(" ")
    return kv.create(name, strategy=strategy or None)


@pytest.fixture
def gpus():
    """Four simulated GPUs on the links of the book's large machine."""
    sim.configure(gpus=4, topology="p3", clock="virtual", memory=0)
    yield GPUS
    mx.waitall()
    sim.repair()
    gc.collect()
    sim.configure(gpus=0, topology="", clock="real")


def filled(value, ctx=None, dtype="float32"):
    return nd.full(SHAPE, value, ctx=ctx or CPUS[0], dtype=dtype)


def numbers(array):
    """The one value that all elements have."""
    values = set(array.asnumpy().ravel().tolist())
    assert len(values) == 1
    return values.pop()


def pulled(store, key):
    out = nd.zeros(SHAPE)
    store.pull(key, out=out)
    return numbers(out)


@pytest.mark.parametrize("keys", [[3, 5, 7], ["b", "c", "d"]])
def test_several_keys_and_devices_at_once(store, keys):
    store.init("a" if isinstance(keys[0], str) else 9, filled(-1))
    store.init(keys, [filled(i) for i in range(3)])
    assert [pulled(store, key) for key in keys] == [0, 1, 2]
    values = [[filled(10 * i + k, ctx) for k, ctx in enumerate(CPUS)] for i in range(3)]
    store.push(keys, values)
    outs = [[filled(0, ctx) for ctx in CPUS] for _ in keys]
    store.pull(keys, out=outs)
    assert [[numbers(out) for out in row] for row in outs] == [[6] * 4, [46] * 4, [86] * 4]
    store.pushpull(keys, values)
    assert [[numbers(value) for value in row] for row in values] == [[6] * 4, [46] * 4, [86] * 4]
    store.pushpull(keys[0], filled(2), out=outs[0])
    assert [numbers(out) for out in outs[0]] == [2] * 4
    store.pull(keys[1:], out=[outs[0][0], outs[1]])
    assert numbers(outs[0][0]) == 46


def test_values_of_all_keys_are_read_before_any_of_them_is_written(store):
    keys = [3, 5, 7]
    store.init(keys, [filled(0)] * 3)
    values = [filled(2, ctx) for ctx in CPUS]
    store.pushpull(keys, [values] * 3)
    assert [numbers(value) for value in values] == [8] * 4
    assert [pulled(store, key) for key in keys] == [8] * 3
    others = [filled(i) for i in range(3)]
    store.pushpull(keys, others, out=others[1:] + others[:1])
    assert [numbers(value) for value in others] == [2, 0, 1]


def test_broadcast_and_what_a_store_says_of_itself():
    store = kv.create("NCCL")
    outs = [filled(0, ctx) for ctx in CPUS]
    store.broadcast("w", filled(4), out=outs)
    assert [numbers(out) for out in outs] == [4] * 4
    with pytest.raises(MXNetError, match="duplicate init of key 'w'"):
        store.broadcast("w", filled(4), out=outs)
    assert (store.type, store.rank, store.num_workers) == ("nccl", 0, 1)
    assert store.is_capable("optimizer")
    assert repr(store) == "<KVStore nccl>"
    with pytest.raises(ValueError, match="Unknown capability: wings"):
        store.is_capable("wings")
    store.barrier()


def test_np_arrays_and_arrays_with_gradients():
    npx.set_np()
    try:
        store = kv.create("device")
        weight = np.ones((2, 2))
        weight.attach_grad()
        store.init(0, weight)
        with autograd.record():
            (weight * 3).sum().backward()
            store.pushpull(0, weight.grad, out=weight)
        assert weight.asnumpy().tolist() == [[3, 3], [3, 3]]
        store.set_reduction(lambda a, b: np.maximum(a, b))
        store.pushpull(0, [np.array([[1, 5], [0, 0]]), np.array([[2, 4], [0, 1]], ctx=CPUS[1])], out=weight)
        assert weight.asnumpy().tolist() == [[2, 5], [0, 1]]
    finally:
        npx.reset_np()


def test_reductions(store):
    store.init(0, filled(0))

    def reduced(*values):
        store.push(0, [filled(value, ctx) for value, ctx in zip(values, CPUS)])
        return pulled(store, 0)

    assert reduced(1, 2, 6) == 9
    for name, expected in (("mean", 3), ("max", 6), ("min", 1), ("sum", 9)):
        store.set_reduction(name)
        assert reduced(1, 2, 6) == expected
    store.set_reduction(lambda a, b: a * b)
    assert reduced(2, 3, 4) == 24
    with pytest.raises(ValueError, match="no reduction 'median'; known are sum, mean, max, min"):
        store.set_reduction("median")
    with pytest.raises(TypeError, match="a name or a function"):
        store.set_reduction(3)
    store.set_reduction(lambda a, b: 1)
    with pytest.raises(TypeError, match="an array is needed"):
        reduced(1, 2)


def test_an_updater_changes_what_is_stored(store):
    seen = []

    def update(key, reduced, stored):
        seen.append((key, type(reduced) is mx.nd.NDArray))
        stored += reduced * 2

    store.init(["x", "y"], [filled(1), filled(1)])
    store._set_updater(update)
    store.push(["x", "y"], [[filled(1, ctx) for ctx in CPUS[:2]], [filled(3)]])
    assert seen == [(b"x", True), (b"y", True)]
    assert pulled(store, "x") == 5
    out = [filled(0, ctx) for ctx in CPUS]
    store.pushpull("y", filled(1), out=out)
    assert [numbers(o) for o in out] == [9] * 4
    store.set_updater(None)
    store.push("x", filled(2))
    assert pulled(store, "x") == 2


def test_errors_of_an_updater_reach_the_caller(store):
    def update(key, reduced, stored):
        raise ZeroDivisionError(key)

    store.init(1, filled(1))
    store.set_updater(update)
    with pytest.raises(ZeroDivisionError):
        store.push(1, filled(1))
    assert pulled(store, 1) == 1


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adagrad"])
def test_an_optimizer_on_the_store_is_the_optimizer(store, optimizer):
    made = mx.optimizer.create(optimizer, learning_rate=0.25)
    store.init([0, 1], [filled(1), filled(2)])
    store.set_optimizer(made)
    reference = mx.optimizer.get_updater(mx.optimizer.create(optimizer, learning_rate=0.25))
    weights = [filled(1), filled(2)]
    for step in range(3):
        gradients = [[filled(step + i, ctx) for ctx in CPUS[:2]] for i in (1, 2)]
        store.push([0, 1], gradients)
        for i in (0, 1):
            reference(i, gradients[i][0] + gradients[i][1].as_in_context(CPUS[0]), weights[i])
    for i in (0, 1):
        out = filled(0)
        store.pull(i, out=out)
        assert out.asnumpy().tolist() == weights[i].asnumpy().tolist()
    with pytest.raises(MXNetError, match="already has an optimizer"):
        store.set_optimizer(made)
    with pytest.raises(TypeError, match="expected an Optimizer, got str"):
        store.set_optimizer("sgd")


def test_optimizer_states_are_saved_and_loaded(tmp_path):
    def trained(steps, states=None):
        store = kv.create("local")
        store.init(0, filled(1))
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
        if states is not None:
            store.load_optimizer_states(states)
        for _ in range(steps):
            store.push(0, filled(1))
        return store

    first = trained(2)
    for dump_optimizer in (False, True):
        file = str(tmp_path / f"states{dump_optimizer}")
        first.save_optimizer_states(file, dump_optimizer=dump_optimizer)
        assert pulled(trained(1, file), 0) == 1 - (0.5 + 0.5 * 0.75)
    for method in ("save_optimizer_states", "load_optimizer_states"):
        with pytest.raises(AssertionError, match="without an optimizer"):
            getattr(kv.create(), method)(str(tmp_path / "none"))
    (tmp_path / "broken").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="broken file"):
        first.load_optimizer_states(str(tmp_path / "broken"))


COMPRESSION = """
import json
import sys
import numpy as onp
import {package} as mx

random = onp.random.RandomState(1)
store = mx.kv.create("device")
store.set_gradient_compression({{"type": "2bit", "threshold": 0.5}})
store.init("w", mx.nd.zeros((5, 7)))
results = []
for _ in range(5):
    values = [mx.nd.array(random.randn(5, 7), ctx=mx.cpu(i)) for i in range(3)]
    out = mx.nd.zeros((5, 7))
    store.push("w", values)
    store.pull("w", out=out)
    results.append(out.asnumpy().tolist())
print(json.dumps(results))
"""


def test_compression_gives_the_numbers_of_mxnet(mxnet_peer):
    done = subprocess.run(
        [sys.executable, "-c", COMPRESSION.format(package="headrace")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == mxnet_peer(COMPRESSION.format(package="mxnet"))


def test_compression_makes_up_for_what_it_leaves_out():
    store = kv.create("local_allreduce_device")
    store.set_gradient_compression({"type": "2bit"})
    store.init(0, filled(8))
    assert pulled(store, 0) == 8
    sums = []
    for _ in range(4):
        value = filled(0.375)
        store.pushpull(0, [value, filled(-1.25, CPUS[1])], out=value)
        sums.append(numbers(value))
    assert sums == [-0.5, 0.0, 0.0, 0.0]
    with pytest.raises(TypeError, match="compression is for float32, got float64"):
        store.init(1, filled(1, dtype="float64"))
        store.push(1, filled(1, dtype="float64"))


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("device", {"type": "1bit"}, "Unknown type for gradient compression 1bit"),
        ("device", {"threshold": 1}, "no type"),
        ("device", {"type": "2bit", "size": 1}, "unknown parameters size"),
        ("device", {"type": "2bit", "threshold": 0}, "threshold must be greater than 0"),
        ("local", {"type": "2bit"}, "not supported for this type of kvstore"),
    ],
)
def test_compression_says_what_it_cannot_do(kind, params, message):
    with pytest.raises(ValueError, match=message):
        kv.create(kind).set_gradient_compression(params)


@pytest.mark.parametrize("kind", [TypeError, MXNetError])
@pytest.mark.parametrize("params", ["2bit", None])
def test_compression_is_described_by_a_dictionary(kind, params):
    with pytest.raises(kind, match=f"expected a dictionary, got {params!r}; give {{'type': '2bit'}}"):
        kv.create("device").set_gradient_compression(params)


def test_what_does_not_fit_is_refused(store):
    store.init(3, filled(1))
    cases = [
        (lambda: store.push(4, filled(1)), MXNetError, "push: key 4 has not been inited"),
        (lambda: store.pull(4, out=filled(1)), MXNetError, "pull: key 4 has not been inited"),
        (lambda: store.init(3, filled(1)), MXNetError, "duplicate init of key 3"),
        (lambda: store.init([5, 5], [filled(1)] * 2), MXNetError, "duplicate init of key 5"),
        (lambda: store.init(5, [filled(1)] * 2), ValueError, "key 5: expected one array, got 2"),
        (lambda: store.init("a", filled(1)), MXNetError, "Mixed key types are not allowed: key 'a'"),
        (lambda: store.push("a", filled(1)), MXNetError, "Mixed key types are not allowed"),
        (
            lambda: store.push(3, nd.ones((2,))),
            ValueError,
            r"stored is shape \(3, 5\) of float32, but array 0 has",
        ),
        (lambda: store.pull(3, out=[filled(1), nd.ones((2,))]), ValueError, "key 3: .* array 1 has shape"),
        (lambda: store.push(3, []), ValueError, "key 3: there are no arrays"),
        (lambda: store.push([3, 3], [filled(1)]), AssertionError, "2 keys, but 1 for them"),
        (lambda: store.push([3], filled(1)), AssertionError, "1 keys, but one object"),
        (lambda: store.push([3, "3"], [filled(1)] * 2), AssertionError, "inconsistent types of keys"),
        (lambda: store.push(3.5, filled(1)), AssertionError, "unexpected type for keys: float"),
        (lambda: store.push(3, "x"), TypeError, "key 3: expected an array, got str"),
        (lambda: store.pull(3), AssertionError, "out is missing"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()
    assert pulled(store, 3) == 1


def test_calls_without_keys_do_nothing(store):
    store.init([], [])
    store.push([], [])
    store.pull([], out=[])
    store.pushpull((), ())
    store.broadcast([], [], out=[])
    store.row_sparse_pull([], out=[], row_ids=[])
    store.set_optimizer(mx.optimizer.SGD())
    store.push([], [])


def test_errors_of_values_are_raised_where_results_are_read(store):
    store.init(0, nd.zeros((2,)))
    bad = nd.take(nd.ones((3,)), nd.array([0, 9]), mode="raise")
    out = nd.zeros((2,))
    store.pushpull(0, [nd.ones((2,), ctx=CPUS[1]), bad], out=out)
    with pytest.raises(IndexError):
        out.wait_to_read()
    store.pushpull(0, [nd.ones((2,), ctx=CPUS[1]), nd.ones((2,))], out=out)
    assert out.asnumpy().tolist() == [2, 2]


def test_create_knows_its_kinds(monkeypatch):
    assert {"local", "device", "nccl", "teststore"} <= set(kv.kinds())
    assert kv.create().type == "local"
    assert mx.kvstore is mx.kv
    for name, message in (
        ("local2", "no kind 'local2'; known are local, .* teststore"),
        ("dist_sync", "but this one is alone; start the program with"),
        ("dist_gpu", "but this one is alone; start the program with"),
        ("p3store_dist", "'dist_sync' is its name$"),
    ):
        with pytest.raises(ValueError, match=message):
            kv.create(name)
    monkeypatch.setenv("DMLC_PS_VAN_TYPE", "p3")
    with pytest.raises(ValueError, match="DMLC_PS_VAN_TYPE=p3 asks for .* 'dist_sync' is its name, without"):
        kv.create("dist_foo")
    with pytest.raises(TypeError, match="must be a string"):
        kv.create(3)
    with pytest.raises(ValueError, match="options of 'device' stores"):
        kv.create("local", strategy="ring")
    with pytest.raises(ValueError, match="no strategy 'magic'"):
        kv.create("device", strategy="magic")
    with pytest.raises(OSError):
        kv.create("device", topology="/no/such/topology.json")


def test_the_environment_declares_a_topology(monkeypatch):
    def run(topology):
        monkeypatch.setenv("HEADRACE_TOPOLOGY", topology)
        program = (
            "from headrace import cpu, kv, nd\n"
            "store = kv.create('device', strategy='ring')\n"
            "store.init(0, nd.zeros((2,)))\n"
            "store.push(0, [nd.ones((2,), ctx=cpu(i)) for i in range(2)])\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        return done.stderr

    assert run("p3") == ""
    assert "topology 'pcie2' has no cpu(1)" in run("pcie2")
    assert "'nowhere' is neither a preset" in run("nowhere")


def test_stores_can_be_registered():
    @kv.KVStoreBase.register
    class Own(kv.KVStoreBase):
        """Another store."""

    assert type(kv.create("OWN")) is Own
    assert kv.kinds()["own"] == "Another store."
    with pytest.raises(NotImplementedError, match="Own has no pushpull"):
        kv.create("own").pushpull(1, filled(1))
    with pytest.raises(ValueError, match="no options of the store 'own'"):
        kv.create("own", strategy="ring")
    with pytest.warns(UserWarning, match="overriding"):
        kv.KVStoreBase.register(type("Own", (kv.KVStoreBase,), {}))
    with pytest.raises(TypeError, match="expected a class"):
        kv.KVStoreBase.register(filled)


def test_the_store_of_a_few_lines():
    store = kv.create("teststore")
    outs = [filled(0, ctx) for ctx in CPUS]
    store.broadcast(1, filled(3), outs)
    assert [numbers(out) for out in outs] == [3] * 4
    store.pushpull(1, outs)
    assert [numbers(out) for out in outs] == [12] * 4
    store.pushpull(1, filled(2), outs[0])
    assert numbers(outs[0]) == 2
    assert not store.is_capable("optimizer")
    assert (store.type, store.rank, store.num_workers) == ("teststore", 0, 1)


@pytest.mark.parametrize("kind", ["local", "device"])
def test_gpus(gpus, kind):
    store = kv.create(kind)
    weights = [filled(0, ctx) for ctx in gpus]
    store.broadcast([0, 1], [filled(1), filled(2, gpus[2])], out=[weights, [filled(0)]])
    assert [numbers(weight) for weight in weights] == [1] * 4
    gradients = [filled(i, ctx) for i, ctx in enumerate(gpus)]
    store.pushpull(0, gradients, out=gradients)
    assert [numbers(gradient) for gradient in gradients] == [6] * 4
    store.push(1, [filled(1), filled(2, gpus[1]), filled(3, gpus[1]), filled(4, gpus[3])])
    outs = [filled(0, ctx) for ctx in (gpus[0], gpus[0], mx.cpu(), gpus[3], mx.cpu(7))]
    store.pull(1, out=outs)
    assert [numbers(out) for out in outs] == [10] * 5
    store.set_reduction("mean")
    store.pushpull(0, gradients, out=outs[:1])
    assert numbers(outs[0]) == 6


def test_the_updater_works_where_the_gradients_are(gpus):
    seen = []

    def update(key, reduced, stored):
        seen.append((reduced.context, stored.context))
        stored -= reduced

    for kind in ("device", "local"):
        store = kv.create(kind)
        store.init(0, filled(9))
        store.set_updater(update)
        store.push(0, [filled(1, ctx) for ctx in gpus])
        assert pulled(store, 0) == 5
    assert seen == [(gpus[0], gpus[0]), (mx.cpu(), mx.cpu())]


def test_compression_shortens_the_way(gpus):
    size = 1 << 20
    plain, compressed = kv.create("device"), kv.create("device")
    compressed.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    seconds = []
    for store in (plain, compressed):
        store.init(0, nd.zeros((size,), ctx=gpus[0]))
        values = [nd.ones((size,), ctx=ctx) for ctx in gpus[:2]]
        for _ in range(2):  # plans, programs and memory are made at the first time
            mx.waitall()
            begin = sim.now()
            store.push(0, values)
            mx.waitall()
            taken = sim.now() - begin
        seconds.append(taken)
    assert pulled_from(compressed, size) == 1.0
    assert seconds[1] < seconds[0]


def pulled_from(store, size):
    out = nd.zeros((size,))
    store.pull(0, out=out)
    return out.asnumpy()[0]


def test_a_declared_topology_must_have_the_devices(gpus):
    store = kv.create("device", topology="pcie2")
    store.init(0, filled(0))
    with pytest.raises(ValueError, match=r"topology 'pcie2' has no gpu\(3\)"):
        store.push(0, [filled(1, gpus[0]), filled(1, gpus[3])])


def seconds_of_pushpull(strategy, size):
    """The time of a second pushpull of so many floats on each GPU; the first makes plans and memory."""
    store = kv.create("device", strategy=strategy)
    store.init(0, nd.zeros((size,), ctx=GPUS[0]))
    values = [nd.ones((size,), ctx=ctx) for ctx in GPUS]
    for _ in range(2):
        mx.waitall()
        begin = sim.now()
        store.pushpull(0, values, out=values)
        mx.waitall()
        taken = sim.now() - begin
    return taken


def predictions(size):
    rows = plan.compare("p3", 4 * size, devices=[f"gpu{i}" for i in range(4)])
    return {row["strategy"]: row for row in rows}, next(row for row in rows if row["best"])


def test_the_planner_chooses(gpus):
    size = 4 << 20
    rows, best = predictions(size)
    taken = seconds_of_pushpull(None, size)
    assert best["sliced"]["seconds"] <= taken < rows["central"]["whole"]["seconds"] / 2


@pytest.mark.parametrize("strategy", ["central", "tree"])
def test_parts_of_an_array_are_sent_and_received_at_once(gpus, strategy):
    size = 4 << 20
    row = predictions(size)[0][strategy]
    assert row["sliced"]["seconds"] < 0.7 * row["whole"]["seconds"]
    taken = seconds_of_pushpull(strategy, size)
    assert row["sliced"]["seconds"] <= taken < 0.8 * row["whole"]["seconds"]


PROGRAM = """
import hashlib
import random
import sys
import headrace as mx
from headrace import kv, nd, plan

choices = random.Random(int(sys.argv[1]))
digest = hashlib.sha256()
kinds = [("local", None), ("device", None)] + [("device", name) for name in plan.strategies()]
kind, strategy = choices.choice(kinds)
store = kv.create(kind, strategy=strategy)
shapes = {key: choices.choice([(3,), (40, 50), (1000, 33)]) for key in range(6)}
contexts = [mx.cpu(i) for i in range(choices.randint(1, 5))]
arrays = {
    key: [nd.array(mx.np.random.normal(size=shape).asnumpy(), ctx=ctx) for ctx in contexts]
    for key, shape in shapes.items()
}
for key in shapes:
    store.init(key, arrays[key][0])
if choices.random() < 0.3:
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
for _ in range(60):
    key = choices.choice(list(shapes))
    values = choices.sample(arrays[key], choices.randint(1, len(contexts)))
    outs = choices.sample(arrays[key], choices.randint(1, len(contexts)))
    match choices.randrange(4):
        case 0:
            store.push(key, values)
        case 1:
            store.pull(key, out=outs)
        case 2:
            store.pushpull(key, values, out=outs)
        case 3:
            for array in outs:
                array *= 0.25
for key in shapes:
    for array in arrays[key]:
        digest.update(array.asnumpy().tobytes())
print(digest.hexdigest())
"""


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_give_the_bits_of_the_serial_engine(seed, monkeypatch):
    def run(**environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, str(seed)], capture_output=True, text=True, check=True
        ).stdout

    threaded = run(HEADRACE_ENGINE="threaded", HEADRACE_WORKERS="4")
    assert threaded == run(HEADRACE_ENGINE="serial")


def test_variables_that_change_nothing_are_named_once():
    code = "from headrace import kv; kv.create('local'); kv.create('device'); kv.create('local')"
    told = {"MXNET_KVSTORE_USETREE": "1", "MXNET_KVSTORE_TREE_BACKTRACK": "0"}
    for job in ({}, {"DMLC_ROLE": "worker", "DMLC_WORKER_ID": "1"}):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DMLC_")}
        command = [sys.executable, "-c", code]
        ended = subprocess.run(command, capture_output=True, text=True, env={**environment, **told, **job})
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr.count("MXNET_KVSTORE_USETREE=1 changes nothing") == (0 if job else 1)
        assert "BACKTRACK" not in ended.stderr


def test_variables_that_change_nothing_are_on_the_page():
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "distributed.md"
    text = page.read_text(encoding="utf-8")
    for name in _core.kvstore.unheeded_variables():
        assert f"| `{name}`" in text or f", `{name}`" in text, name


def test_values_of_one_list_of_devices_are_summed_in_one_order(store):
    random = onp.random.default_rng(3)
    data = [random.normal(size=10_000).astype("float32") for _ in CPUS]
    store.init(0, nd.zeros((10_000,)))
    results = set()
    for _ in range(5):
        values = [nd.array(one, ctx=ctx) for one, ctx in zip(data, CPUS)]
        store.pushpull(0, values, out=values)
        results |= {value.asnumpy().tobytes() for value in values}
    assert len(results) == 1
