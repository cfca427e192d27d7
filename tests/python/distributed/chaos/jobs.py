"""Starts jobs, and does to their processes what a scenario says."""

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time

from . import histories
from .etcd import Etcd
from .proxies import processes_of

WORKER = pathlib.Path(__file__).with_name("worker.py")
SECONDS = 240  # that a job may take on a busy machine
RESTARTS = 8


@dataclasses.dataclass
class Fault:
    """What happens to a process when servers have applied so many pushes."""

    # "kill", "stop", "second job", "wake": stopped servers, when others have their place, or "wake leader":
    # the scheduler that was, when another one leads
    what: str
    at: int = 0
    role: str = ""  # also "leader": the scheduler that leads; "etcd": a process of that
    number: int = 0  # of those of its role
    seconds: float = 0.0  # that it is stopped; that a process of etcd is not there, 0: it does not come back


@dataclasses.dataclass
class Scenario:
    """A job, and what happens to it; the seed decides what connections do."""

    seed: int
    kind: str = "dist_sync"
    workers: int = 2
    servers: int = 2
    replicas: int = 1
    schedulers: int = 0  # with etcd; 0: one, without
    stop_at: str = ""  # moment at which a server stops by itself
    steps: int = 12
    shares_memory: bool = True
    seconds_to_save: int = 0  # between checkpoints
    link_faults: int = 0  # of each proxy between a worker and others
    full_disk: tuple = ()  # steps in which no checkpoint can be written
    nan: tuple = ()  # (rank, key, step) of a gradient
    wrong_shapes: bool = False
    faults: tuple = ()
    elastic: bool = False

    def settings(self):
        names = ("seed", "kind", "workers", "steps", "link_faults", "wrong_shapes", "elastic")
        lists = {name: list(getattr(self, name)) for name in ("full_disk", "nan")}
        waits = any(fault.what.startswith("wake") for fault in self.faults)
        return {**{name: getattr(self, name) for name in names}, **lists, "waits": waits}

    @classmethod
    def by_chance(cls, seed):
        chances = random.Random(seed)
        workers, servers, steps = chances.randint(1, 3), chances.randint(1, 2), chances.randint(8, 20)
        replicas, schedulers = chances.randint(1, 2), chances.choice([0, 2, 3])
        pushes = 3 * workers * steps
        faults = []
        roles = ["worker", "server", "scheduler"] + ["leader", "etcd"] * (schedulers > 0)
        for _ in range(chances.randint(0, 3)):
            role = chances.choice(roles)
            of_role = {"worker": workers, "server": servers * replicas, "scheduler": max(schedulers, 1)}
            number = chances.randrange(of_role.get(role, 1))
            what = chances.choice(["kill", "stop", "stop"])
            seconds = chances.uniform(0.1, 2 if role in ("worker", "scheduler") else 6)
            faults.append(Fault(what, chances.randrange(pushes), role, number, seconds))
        return cls(
            seed=seed,
            kind=chances.choice(["dist_sync", "dist_async"]),
            workers=workers,
            servers=servers,
            replicas=replicas,
            schedulers=schedulers,
            steps=steps,
            shares_memory=chances.random() < 0.5,
            link_faults=chances.choice([0, 3, 6]),
            full_disk=tuple(step for step in range(steps) if chances.random() < 0.2),
            nan=(0, 1, steps - 2) if chances.random() < 0.2 else (),
            wrong_shapes=chances.random() < 0.3,
            faults=tuple(sorted(faults, key=lambda one: one.at)),
            elastic=chances.random() < 0.5,
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
        etcd = None
        if scenario.schedulers:
            (folder / "etcd").mkdir()
            etcd = until_the_end.enter_context(Etcd(folder / "etcd"))
        return _run_with(scenario, folder, etcd)


def _run_with(scenario, folder, etcd):
    port = _free_port()
    command = [
        sys.executable,
        "-m",
        "headrace.launch",
        "-n",
        str(scenario.workers),
        "-s",
        str(scenario.servers),
    ]
    command += ["--port", str(port), "--restart", str(RESTARTS), "--plain"]
    command += ["--replicas", str(scenario.replicas)]
    if scenario.elastic:
        command.append("--elastic")
    if etcd:
        command += ["--etcd", etcd.addresses, "--schedulers", str(scenario.schedulers)]
    command += ["--checkpoint", str(folder / "saved"), "--checkpoint-interval", str(scenario.seconds_to_save)]
    command += [sys.executable, str(WORKER), str(folder), json.dumps(scenario.settings())]
    variables = {"HEADRACE_HISTORY": str(folder / "histories")}
    variables["HEADRACE_SHARED_MEMORY"] = str(int(scenario.shares_memory))
    if scenario.stop_at:
        variables["HEADRACE_STOP_AT"] = scenario.stop_at
    with open(folder / "output", "w+") as output:
        job = subprocess.Popen(command, env={**os.environ, **variables}, stdout=output, stderr=output)
        try:
            with_faults = _Faults(scenario, port, folder, etcd)
            deadline = time.monotonic() + SECONDS
            while job.poll() is None and time.monotonic() < deadline:
                with_faults.do_those_due()
                time.sleep(0.02)
        finally:
            job.terminate()
            job.wait()
        output.seek(0)
        return Outcome(
            status=job.returncode,
            output=output.read(),
            lives=len({path.stem.split("-")[0] for path in folder.glob("*-0-*.json")}),
            done=with_faults.done,
            left=sorted(processes_of(port)),
            intruders=with_faults.intruders(),
        )


class _Faults:
    def __init__(self, scenario, port, folder, etcd):
        self._left = list(scenario.faults)
        self._etcd = etcd
        self._former = None  # scheduler that has led, and was stopped
        self._variables = {"DMLC_NUM_WORKER": str(scenario.workers), "DMLC_NUM_SERVER": str(scenario.servers)}
        self._port, self._folder = port, folder
        self._stopped = []  # (when it goes on, function that has it go on)
        self._intruders = []
        self._woken = []  # whose end workers wait for
        self.done = 0

    def do_those_due(self):
        for entry in [one for one in self._stopped if one[0] <= time.monotonic()]:
            self._stopped.remove(entry)
            entry[1]()
        while self._left and self._left[0].at <= self._applied():
            fault = self._left[0]
            if fault.what == "wake":
                if not self._has_succession():
                    return
                self._woken = _stopped_servers(self._port)
                for process in self._woken:
                    _signal(process, signal.SIGCONT)
            elif fault.what == "wake leader":
                if self._leader() in (None, self._former):
                    return
                _signal(self._former, signal.SIGCONT)
            elif fault.what == "second job":
                self._intruders += [self._intruder(role) for role in ("scheduler", "worker")]
            elif not self._hit(fault):
                return  # it is not there, as the job is being started again
            self._left.pop(0)
            self.done += 1
        if self._former and "it leads no more" in (self._folder / "output").read_text():
            (self._folder / "woken").touch()
        if self._woken and not set(self._woken) & set(processes_of(self._port)):
            (self._folder / "woken").touch()

    def intruders(self):
        told = [one.communicate()[1] for one in self._intruders]
        return [(one.returncode, errors) for one, errors in zip(self._intruders, told)]

    def _has_succession(self):
        files = (self._folder / "histories").glob("*-server-*")
        lines = [line.split() for path in files for line in path.read_text().splitlines()]
        return any(line[0] == "serving" and int(line[2]) > 1 for line in lines)

    def _applied(self):
        files = (self._folder / "histories").glob("*-server-*")
        return sum(path.read_text().count("applied ") for path in files)

    def _leader(self):
        """The process of the scheduler that leads; None: none does."""
        there = processes_of(self._port)
        return next((one for one in self._etcd.leaders() if one in there), None)

    def _hit_etcd(self, fault):
        number = fault.number
        if fault.what == "stop":
            self._etcd.signal(number, signal.SIGSTOP)
            goes_on = functools.partial(self._etcd.signal, number, signal.SIGCONT)
        else:
            self._etcd.kill(number)
            goes_on = functools.partial(self._etcd.start, number)
        if fault.seconds:
            self._stopped.append((time.monotonic() + fault.seconds, goes_on))
        return True

    def _hit(self, fault):
        if fault.role == "etcd":
            return self._hit_etcd(fault)
        if fault.role == "leader":
            process = self._leader()
            return process is not None and self._do(fault, process)
        ranks = {}  # of the processes of the role, or their numbers
        for number, variables in processes_of(self._port).items():
            if variables.get("DMLC_ROLE") == fault.role:
                ranks[int(variables.get("DMLC_WORKER_ID", number))] = number
        if len(ranks) <= fault.number:
            return False
        return self._do(fault, ranks[sorted(ranks)[fault.number]])

    def _do(self, fault, process):
        if fault.what == "stop" and fault.role == "leader":
            self._former = process
        if fault.what == "stop" and fault.seconds:
            goes_on = functools.partial(_signal, process, signal.SIGCONT)
            self._stopped.append((time.monotonic() + fault.seconds, goes_on))
        return _signal(process, {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[fault.what])

    def _intruder(self, role):
        code = "from headrace import kv; kv.create('dist_sync')"
        command = ["-m", "headrace.kvstore"] if role == "scheduler" else ["-c", code]
        variables = {**self._variables, "DMLC_ROLE": role, "DMLC_PS_ROOT_URI": "127.0.0.1"}
        variables["DMLC_PS_ROOT_PORT"] = str(self._port)
        return subprocess.Popen(
            [sys.executable, *command],
            env={**os.environ, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )


def _stopped_servers(port):
    servers = [one for one, variables in processes_of(port).items() if variables["DMLC_ROLE"] == "server"]
    return [one for one in servers if pathlib.Path(f"/proc/{one}/stat").read_text().split()[2] == "T"]


def _signal(process, number):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return False
    return True


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
