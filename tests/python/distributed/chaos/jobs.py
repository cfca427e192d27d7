"""Starts jobs, and does to their processes what a scenario says."""

import contextlib
import dataclasses
import json
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

import headrace
from headrace._ports import free_ports

from . import histories
from .etcd import Etcd
from .faults import Fault, Faults
from .gates import Network
from .processes import processes_of

WORKER = pathlib.Path(__file__).with_name("worker.py")
INSIDE = pathlib.Path(__file__).with_name("inside")  # what processes of jobs with gates import first
# A wall clock that can be set, as CMake builds it beside the Python module.
CLOCK = pathlib.Path(headrace.__file__).parents[2] / "tests" / "libshifted_clock.so"
needs_clock = pytest.mark.skipif(
    not CLOCK.exists(), reason="needs shifted_clock, which CMake builds with tests"
)
# What has servers reach each other through a gate, built likewise.
CROSSED = CLOCK.with_name("libcrossed_links.so")
needs_crossed_links = pytest.mark.skipif(
    not CROSSED.exists(), reason="needs crossed_links, which CMake builds with tests"
)
SECONDS = 240  # that a job may take on a busy machine
RESTARTS = 8


@dataclasses.dataclass
class Scenario:
    """A job, and what happens to it; the seed decides what connections do."""

    seed: int
    kind: str = "dist_sync"
    workers: int = 2
    servers: int = 2
    replicas: int = 1
    schedulers: int = 0  # with etcd; 0: one, without
    etcds: int = 3  # processes of etcd
    stop_at: str = ""  # moment at which a server stops by itself
    steps: int = 12
    pause: float = 0.0  # seconds between steps
    shares_memory: bool = True
    seconds_to_save: int = 0  # between checkpoints
    link_faults: int = 0  # of each proxy between a worker and others
    full_disk: tuple = ()  # steps in which no checkpoint can be written
    nan: tuple = ()  # (rank, key, step) of a gradient
    wrong_shapes: bool = False
    faults: tuple = ()
    elastic: bool = False
    optimizer: str = "adam"
    rows: bool = False  # a key of row_sparse arrays, beside the others
    compressed: bool = False
    tls: bool = False

    def settings(self):
        names = ["seed", "kind", "workers", "steps", "pause", "link_faults", "wrong_shapes", "elastic"]
        names += ["optimizer", "rows", "compressed"]
        lists = {name: list(getattr(self, name)) for name in ("full_disk", "nan")}
        awaited = ("wake", "wake leader", "second job")
        waits = self.has_gates or any(fault.what in awaited for fault in self.faults)
        return {**{name: getattr(self, name) for name in names}, **lists, "waits": waits}

    @property
    def has_gates(self):
        return any(fault.is_cut for fault in self.faults)

    @property
    def has_links(self):
        return any(fault.role == "link" for fault in self.faults)

    @property
    def has_clocks(self):
        return any(fault.what == "clock" for fault in self.faults)

    @classmethod
    def by_chance(cls, seed):
        chances = random.Random(seed)
        workers, servers, steps = chances.randint(1, 3), chances.randint(1, 2), chances.randint(8, 20)
        replicas, schedulers = chances.randint(1, 2), chances.choice([0, 2, 3])
        what = chances.choice(["rows", "compressed", "neither"])
        counts = {"worker": workers, "server": servers * replicas, "scheduler": max(schedulers, 1)}
        if replicas > 1:
            counts["primary"] = servers
            if CROSSED.exists():
                counts["link"] = servers
        if schedulers:
            counts.update({"leader": 1, "etcd": chances.choice([1, 3])})
        pushes = 3 * workers * steps
        faults = [_fault_by_chance(chances, counts, pushes) for _ in range(chances.randint(0, 3))]
        return cls(
            seed=seed,
            kind=chances.choice(["dist_sync", "dist_async"]),
            workers=workers,
            servers=servers,
            replicas=replicas,
            schedulers=schedulers,
            etcds=counts.get("etcd", 0),
            steps=steps,
            pause=chances.choice([0, 0.1]),
            shares_memory=chances.random() < 0.5,
            link_faults=chances.choice([0, 3, 6]),
            full_disk=tuple(step for step in range(steps) if chances.random() < 0.2),
            nan=(0, 1, steps - 2) if what != "compressed" and chances.random() < 0.2 else (),
            wrong_shapes=chances.random() < 0.3,
            faults=tuple(sorted(faults, key=lambda one: one.at)),
            elastic=chances.random() < 0.5,
            optimizer=chances.choice(["adam", "sgd", "adagrad"]),
            rows=what == "rows",
            compressed=what == "compressed",
            tls=chances.random() < 0.2,
        )


def _fault_by_chance(chances, counts, pushes):
    """`counts`: processes by role."""
    role = chances.choice(sorted(counts))
    whats = ["kill", "stop", "stop"] if role != "link" else []
    if CLOCK.exists() and role not in ("etcd", "link"):
        whats.append("clock")
    what = chances.choice([*whats, "cut", "sever"])
    is_short = role in ("worker", "scheduler") and what == "stop"
    return Fault(
        what,
        at=chances.randrange(pushes),
        role=role,
        number=chances.randrange(counts[role]),
        seconds=chances.uniform(0.1, 2 if is_short else 6),
        hours=chances.uniform(-48, 48),
        direction=chances.choice(["", "requests", "answers"]) if role == "link" and what == "cut" else "",
    )


@dataclasses.dataclass
class Outcome:
    """How a job has ended."""

    status: int
    output: str
    lives: int
    done: int  # faults
    left: list  # processes that have outlived it
    intruders: list  # (status, errors) of processes of a second job


def run(scenario, folder):
    """Runs a job in a folder of its own, and checks what it has done. AssertionError: something is wrong."""
    outcome = _run(scenario, folder)
    told = f"{scenario}\n{outcome.output}"
    assert outcome.status == 0, told
    assert not outcome.left, f"processes {outcome.left} were left behind: {told}"
    try:
        histories.check(folder, scenario.settings())
    except AssertionError as error:
        raise AssertionError(f"{error}\n{told}") from error
    return outcome


def _run(scenario, folder):
    (folder / "histories").mkdir(parents=True)
    with contextlib.ExitStack() as until_the_end:
        network = until_the_end.enter_context(Network()) if scenario.has_gates else None
        etcd = None
        if scenario.schedulers:
            (folder / "etcd").mkdir()
            etcd = Etcd(folder / "etcd", scenario.etcds, network=network)
            until_the_end.enter_context(etcd)
        return _run_with(scenario, folder, etcd, network)


def _run_with(scenario, folder, etcd, network):
    port = free_ports(1)[0]
    count = max(scenario.schedulers, 1)
    gates = [network.gate(_Scheduler(port, one)) for one in range(count)] if network else []
    crossing = network.crossing() if scenario.has_links else None
    command = [
        sys.executable,
        "-m",
        "headrace.launch",
        "-n",
        str(scenario.workers),
        "-s",
        str(scenario.servers),
    ]
    command += ["--port", str(port), "--restart", str(RESTARTS)]
    if not scenario.tls:
        command.append("--plain")
    command += ["--replicas", str(scenario.replicas)]
    if scenario.elastic:
        command.append("--elastic")
    if etcd:
        command += ["--etcd", etcd.addresses, "--schedulers", str(scenario.schedulers)]
    command += ["--checkpoint", str(folder / "saved"), "--checkpoint-interval", str(scenario.seconds_to_save)]
    command += [sys.executable, str(WORKER), str(folder), json.dumps(scenario.settings())]
    variables = _variables_of(scenario, folder, gates, crossing)
    with open(folder / "output", "w+") as output:
        job = subprocess.Popen(command, env={**os.environ, **variables}, stdout=output, stderr=output)
        try:
            with_faults = Faults(scenario, port, folder, etcd, gates, crossing)
            deadline = time.monotonic() + SECONDS
            while job.poll() is None and time.monotonic() < deadline:
                with_faults.do_those_due()
                time.sleep(0.02)
        finally:
            job.terminate()
            job.wait()
        intruders = (
            with_faults.intruders()
        )  # which have the job's port, so they end before anybody looks who is left
        output.seek(0)
        return Outcome(
            status=job.returncode,
            output=output.read(),
            lives=len({path.stem.split("-")[0] for path in folder.glob("*-0-*.json")}),
            done=with_faults.done,
            left=sorted(processes_of(port)),
            intruders=intruders,
        )


def _variables_of(scenario, folder, gates, crossing):
    """Those of all processes of a job, beside what its launcher sets."""
    variables = {"HEADRACE_HISTORY": str(folder / "histories")}
    variables["HEADRACE_SHARED_MEMORY"] = str(int(scenario.shares_memory))
    if gates:
        variables["CHAOS_GATES"] = ",".join(str(gate.port) for gate in gates)
        variables["PYTHONPATH"] = os.pathsep.join([str(INSIDE), os.environ.get("PYTHONPATH", "")])
    preloaded = []
    if scenario.has_clocks:
        (folder / "clocks").mkdir()
        variables["CHAOS_CLOCKS"] = str(folder / "clocks")
        preloaded.append(str(CLOCK))
    if crossing:
        variables["CHAOS_CROSSING"] = str(crossing.port)
        preloaded.append(str(CROSSED))
    if preloaded:
        variables["LD_PRELOAD"] = ":".join(preloaded)
    if scenario.stop_at:
        variables["HEADRACE_STOP_AT"] = scenario.stop_at
    return variables


class _Scheduler:
    """Where the one of this number listens, of the job whose first one has this port; None: it is unknown."""

    def __init__(self, port, number):
        self._first, self._number = port, number
        self._own = port if number == 0 else None

    def __call__(self):
        for variables in processes_of(self._first).values() if self._own is None else ():
            if addresses := variables.get("HEADRACE_SCHEDULERS"):
                self._own = int(addresses.split(",")[self._number].rpartition(":")[2])
        return self._own
