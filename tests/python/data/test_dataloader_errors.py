"""What happens when a dataset fails, a worker dies or hangs, or the user interrupts."""

import concurrent.futures
import multiprocessing.pool
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from headrace.gluon.data import DataLoader, Dataset
from headrace.gluon.data.dataloader import _MultiWorkerIter

POOLS = [pytest.param(False, id="processes"), pytest.param(True, id="threads")]


class Acting(Dataset):
    """Twenty numbers; `action` is called before number 7 is given."""

    def __init__(self, action):
        self._action = action

    def __len__(self):
        return 20

    def __getitem__(self, idx):
        if idx == 7:
            self._action()
        return idx


class PeculiarError(Exception):
    """Cannot be made again from its arguments."""

    def __init__(self, code, reason):
        super().__init__(f"{code}: {reason}")


def fail_to_read():
    raise OSError(5, "disk gone")


def fail_peculiarly():
    raise PeculiarError(3, "odd")


@pytest.mark.parametrize("thread_pool", POOLS)
def test_an_error_keeps_its_type_and_the_loader_goes_on(thread_pool):
    loader = DataLoader(Acting(fail_to_read), 2, num_workers=2, thread_pool=thread_pool)
    read = []
    with pytest.raises(OSError, match="disk gone") as caught:
        for batch in loader:
            read.extend(batch.asnumpy().tolist())
    assert caught.value.errno == 5
    assert read == [0, 1, 2, 3, 4, 5]
    assert next(iter(loader)).asnumpy().tolist() == [0, 1]


@pytest.mark.parametrize(
    "workers", [{"num_workers": 0}, {"num_workers": 2}, {"num_workers": 2, "thread_pool": True}]
)
def test_a_stop_iteration_of_a_dataset_is_an_error(workers):
    loader = DataLoader(Acting(lambda: next(iter([]))), 2, **workers)
    read = []
    with pytest.raises(RuntimeError, match="dataset.* raised StopIteration") as caught:
        for batch in loader:
            read.extend(batch.asnumpy().tolist())
    assert isinstance(caught.value.__cause__, StopIteration)
    assert read == [0, 1, 2, 3, 4, 5]


def test_a_stop_iteration_in_a_pool_of_a_program_is_an_error():
    def worker_fn(rows, batchify_fn, dataset):
        return next(iter(rows))

    pool = multiprocessing.pool.ThreadPool(1)
    rounds = _MultiWorkerIter(pool, None, [[1], [], [2]], worker_fn=worker_fn, prefetch=1, dataset=())
    assert next(rounds) == 1
    with pytest.raises(RuntimeError, match="dataset.* raised StopIteration"):
        next(rounds)


def test_an_error_brings_the_traceback_of_the_worker():
    with pytest.raises(OSError, match="disk gone") as caught:
        list(DataLoader(Acting(fail_to_read), 2, num_workers=1))
    text = str(caught.value.__cause__)
    assert "in fail_to_read" in text
    assert 'raise OSError(5, "disk gone")' in text


def test_an_error_that_does_not_pickle():
    with pytest.raises(RuntimeError, match="PeculiarError: 3: odd") as caught:
        list(DataLoader(Acting(fail_peculiarly), 2, num_workers=1))
    assert "in fail_peculiarly" in str(caught.value.__cause__)


def test_a_batch_that_does_not_pickle():
    loader = DataLoader(Acting(int), 2, num_workers=1, batchify_fn=lambda items: lambda: items)
    with pytest.raises(Exception, match=r"[Pp]ickle"):
        next(iter(loader))


def end_by(number):
    """Ends the process by a signal, also where it is ignored at the start (nohup, CI)."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: os._exit(3), r"worker \d \(pid \d+\) exited with code 3"),
        (lambda: sys.exit(4), r"worker \d \(pid \d+\) exited with code 4"),
        (
            lambda: end_by(signal.SIGKILL),
            r"worker \d \(pid \d+\) was killed by signal 9 \(SIGKILL\)",
        ),
        (lambda: end_by(signal.SIGTERM), r"was killed by signal 15 \(SIGTERM\)"),
    ],
    ids=["exit", "sys-exit", "kill", "terminate"],
)
def test_a_worker_that_dies(action, message):
    loader = DataLoader(Acting(action), 2, num_workers=2)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=message):
        list(loader)
    assert time.monotonic() - start < 10
    assert next(iter(loader)).asnumpy().tolist() == [0, 1]


def test_a_worker_that_dies_between_rounds():
    loader = DataLoader(Acting(int), 2, num_workers=1)
    assert len(list(loader)) == 10
    (member,) = loader._worker_pool._members
    member.process.kill()
    member.process.join()
    with pytest.raises(RuntimeError, match="SIGKILL"):
        list(loader)
    assert len(list(loader)) == 10


@pytest.mark.parametrize("thread_pool", POOLS)
def test_timeout(thread_pool):
    release = threading.Event()
    loader = DataLoader(
        Acting(lambda: release.wait(30)), 5, num_workers=1, timeout=2, thread_pool=thread_pool
    )
    rounds = iter(loader)
    assert next(rounds).asnumpy().tolist() == [0, 1, 2, 3, 4]
    start = time.monotonic()
    with pytest.raises(multiprocessing.TimeoutError, match=r"worker.* within 2 seconds"):
        next(rounds)
    assert time.monotonic() - start < 10
    release.set()


HANGING = """
import multiprocessing, time
from headrace.gluon.data import DataLoader
class Hanging(list):
    def __getitem__(self, idx):
        time.sleep(3600)
try:
    next(iter(DataLoader(Hanging(range(4)), 2, num_workers=1, timeout=0.2{more})))
except multiprocessing.TimeoutError:
    raise SystemExit(3)
"""


@pytest.mark.parametrize("more", ["", ", thread_pool=True"])
def test_a_program_ends_while_a_worker_hangs(more):
    run = subprocess.run(
        [sys.executable, "-c", HANGING.format(more=more)], stderr=subprocess.PIPE, timeout=60, check=False
    )
    assert (run.returncode, run.stderr) == (3, b"")


def test_a_thread_that_waits_learns_that_another_ended_the_workers():
    release = multiprocessing.get_context("fork").Event()
    loader = DataLoader(Acting(release.wait), 10, num_workers=1)
    rounds = [iter(loader), iter(loader)]
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(next, one) for one in rounds]
        time.sleep(0.1)
        loader._worker_pool.close()
        for one in waiting:
            with pytest.raises(RuntimeError, match="worker processes have ended"):
                one.result()


def test_an_old_round_after_the_workers_died():
    loader = DataLoader(Acting(int), 2, num_workers=1)
    old = iter(loader)
    loader._worker_pool.close()
    with pytest.raises(RuntimeError, match="worker processes have ended"):
        list(old)
    assert len(list(loader)) == 10


# Where SIGINT is ignored at the start (nohup, CI), Python leaves it so.
INTERRUPTED = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from headrace.gluon.data import DataLoader
print("ready", flush=True)
class Slow(list):
    def __getitem__(self, idx):
        time.sleep(0.05)
        return idx
for batch in DataLoader(Slow(range(100000)), 2, num_workers=2{more}):
    print("batch", flush=True)
"""


@pytest.mark.parametrize("more", ["", ", thread_pool=True"])
def test_interrupt(more):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(more=more)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for line in process.stdout:
        if line == "batch\n":
            break
    os.killpg(process.pid, signal.SIGINT)
    start = time.monotonic()
    try:
        _, errors = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert time.monotonic() - start < 10
    assert errors.count("KeyboardInterrupt") == 1
    assert "DataLoader worker" not in errors
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


ORPHANED = """
import os, signal
from headrace.gluon.data import DataLoader
loader = DataLoader(list(range(100)), 2, num_workers=2)
next(iter(loader))
print(*(member.process.pid for member in loader._worker_pool._members), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_when_their_parent_is_killed():
    run = subprocess.run([sys.executable, "-c", ORPHANED], stdout=subprocess.PIPE, text=True, check=False)
    assert run.returncode == -signal.SIGKILL
    pids = [int(word) for word in run.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 15
    while any(is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in pids)


LEAVING = """
import numpy
from headrace import nd
from headrace.gluon.data import ArrayDataset, DataLoader
product = nd.ones((1500, 1500))
for batch in DataLoader(ArrayDataset(numpy.ones((9000, 1500), "float32")), 1500{more}):
    product = nd.dot(product, batch)
raise SystemExit(3)
"""


@pytest.mark.parametrize("more", ["", ", num_workers=1"])
def test_leaving_with_work_queued_on_batches(more):
    run = subprocess.run(
        [sys.executable, "-c", LEAVING.format(more=more)], stderr=subprocess.PIPE, check=False
    )
    assert (run.returncode, run.stderr) == (3, b"")


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
