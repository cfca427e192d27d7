"""Fixtures of all Python tests: files of MXNet, and MXNet itself."""

import gc
import json
import os
import pathlib
import random
import subprocess
import sys

import numpy
import pytest

os.environ.setdefault("HEADRACE_CUDA", "0")  # GPUs of the machine are none that tests simulate

import headrace as hr  # noqa: E402
from headrace import registry, sim  # noqa: E402
from headrace.kvstore import KVStoreBase  # noqa: E402
from headrace.name import NameManager  # noqa: E402
from headrace.optimizer import Optimizer  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import recorded  # noqa: E402


def pytest_addoption(parser):
    parser.addoption(
        "--current-gpu", action="store_true", help="gpu(0) is the current context of tests; see DEVELOPERS.md"
    )
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in an order of chance")


def pytest_configure(config):
    if config.getoption("--current-gpu"):
        config.pluginmanager.register(CurrentGpu())


class Generator:
    """A generator of random numbers of a test module, as it was when the module had been imported."""

    def __init__(self, generator):
        self._bits = getattr(generator, "bit_generator", None) or generator._bit_generator
        self._state = self._bits.state

    def begin_again(self):
        self._bits.state = self._state


generators = {}  # by module


def pytest_collection_finish(session):
    kinds = numpy.random.RandomState, numpy.random.Generator
    for module in {item.module for item in session.items}:
        found = [one for one in vars(module).values() if isinstance(one, kinds)]
        generators[module] = [Generator(one) for one in found]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Files in six parts each: what a module makes for its tests is made again after those of others."""
    seed = config.getoption("--shuffle")
    if seed is None:
        return
    chance, by_file, parts = random.Random(seed), {}, []
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    for tests in by_file.values():
        chance.shuffle(tests)
        size = -(-len(tests) // 6)
        parts += [tests[begin : begin + size] for begin in range(0, len(tests), size)]
    chance.shuffle(parts)
    items[:] = [item for part in parts for item in part]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """The random numbers of a test do not depend on which ran before it."""
    for generator in generators[item.module]:
        generator.begin_again()
    random.seed(0)
    numpy.random.seed(0)
    hr.random.seed(0)


class CurrentGpu:
    """Tests make their arrays on gpu(0), all but those that bring devices of their own."""

    def pytest_collection_modifyitems(self, items):
        for item in items:
            if "at" in item.fixturenames:
                item.add_marker(pytest.mark.skip(reason="the fixture 'at' simulates GPUs"))

    @pytest.fixture(autouse=True)
    def current_gpu(self):
        with hr.gpu(0):
            yield


def module_of(klass):
    return getattr(klass, "__module__", "")  # classes of examples that `type` makes have none


@pytest.fixture(autouse=True)
def names():
    """A test numbers blocks and symbols from 0. Names under which it registers classes mean what they meant
    before when it is over.
    """
    tables = [Optimizer.opt_registry, KVStoreBase.kv_registry, *registry._registries.values()]
    before = [dict(table) for table in tables]
    with NameManager():
        yield
    for table, known in zip(tables, before):
        imported = {name: klass for name, klass in table.items() if module_of(klass).startswith("headrace.")}
        table.clear()
        table.update(imported | known)


@pytest.fixture(scope="session")
def interop():
    """The folder of files written by MXNet 1.9.1."""
    return recorded.folder()


@pytest.fixture(scope="session")
def mxnet_peer():
    """Runs a program with MXNet 1.9.1 and gives what it prints, read as JSON; needs `./dev peers`."""
    python = ROOT / ".peers" / "mxnet" / "bin" / "python"
    if not python.exists():
        pytest.skip("MXNet is not there: ./dev peers makes its environment")

    def run(program):
        done = subprocess.run(
            [str(python), "-W", "ignore", "-"],
            input=program,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(params=["cpu", "gpu"])
def at(request):
    """Makes contexts: `at(1)` is cpu(1), another name of the host's memory, or a simulated GPU."""
    if request.param == "gpu":
        sim.configure(gpus=4, topology="", clock="virtual", memory=0)
    yield getattr(hr, request.param)
    hr.waitall()
    request.node.funcargs.clear()  # pytest keeps them longer, arrays of the devices among them
    gc.collect()
    sim.configure(gpus=0, topology="", clock="real")


@pytest.fixture
def on_host():
    """What the test says holds for the host alone, whatever the current context is otherwise."""
    with hr.cpu():
        yield


@pytest.fixture
def mt19937():
    """Random numbers come from MXNet's generator."""
    before = hr.random.generator()
    hr.random.set_generator("mt19937")
    yield
    hr.random.set_generator(before)
