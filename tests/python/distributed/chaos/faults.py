"""What happens to the processes of a job, and when."""

import contextlib
import dataclasses
import functools
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

from .processes import processes_of


@dataclasses.dataclass
class Fault:
    """What happens to a process when servers have applied so many pushes."""

    # "kill", "stop", "second job", "wake": stopped servers, when others have their place, "wake leader":
    # the scheduler that was, when another one leads; "clock": the wall clock is set; "cut": off from others,
    # what is said meanwhile comes late, or "sever": it is lost. Schedulers are cut off from etcd or, without
    # that, from all nodes; processes of etcd from each other; nodes from schedulers; primaries, by "link",
    # from their backups
    what: str
    at: int = 0
    # also "leader": the scheduler that leads; "primary": of a server; "link": of that to its backup; "etcd":
    # a process of that; "all"
    role: str = ""
    number: int = 0  # of those of its role; of the server
    seconds: float = 0.0  # until it is over; 0: a process does not come back
    hours: float = 0.0  # that a clock is ahead from now on
    direction: str = ""  # of a link that is cut: "requests" or "answers"; empty: both

    @property
    def is_cut(self):
        return self.what in ("cut", "sever")


class Faults:
    """Those of one job. `gates`: by which its nodes reach the schedulers; `crossing`: servers each other."""

    def __init__(self, scenario, port, folder, etcd, gates, crossing):
        self._scenario, self._left = scenario, list(scenario.faults)
        self._etcd, self._gates, self._crossing = etcd, gates, crossing
        self._former = None  # scheduler that has led, and was stopped
        self._port, self._folder = port, folder
        self._passing = []  # (when it is over, function that ends it)
        self._intruders = []
        self._ending = set()  # processes whose end workers wait for
        self.done = 0

    def do_those_due(self):
        for entry in [one for one in self._passing if one[0] <= time.monotonic()]:
            self._passing.remove(entry)
            entry[1]()
        while self._left and self._left[0].at <= self._applied() and self._do(self._left[0]):
            self._left.pop(0)
            self.done += 1
        if self._may_end():
            (self._folder / "woken").touch()

    def intruders(self):
        told = [one.communicate()[1] for one in self._intruders]
        return [(one.returncode, errors) for one, errors in zip(self._intruders, told)]

    def _may_end(self):
        """Whether workers that are through need not wait for what is still to happen."""
        if self._passing or any(fault.what.startswith("wake") for fault in self._left):
            return False
        if any(one.poll() is None for one in self._intruders):
            return False  # they are to find the job
        if self._former and "it leads no more" not in (self._folder / "output").read_text():
            return False
        if self._left and len(list(self._folder.glob("waiting-*"))) < self._scenario.workers:
            return False
        return not self._ending & set(processes_of(self._port))

    def _do(self, fault):
        """False: it cannot be done yet, or whom it is about is not there: the job is being started again."""
        if fault.what == "wake":
            return self._wake()
        if fault.what == "wake leader":
            return self._leader() not in (None, self._former) and _signal(self._former, signal.SIGCONT)
        if fault.what == "second job":
            self._intruders += [self._intruder(role) for role in ("scheduler", "worker")]
            return True
        if fault.role == "etcd":
            self._hit_etcd(fault)
            return True
        if fault.role == "all":
            for one in processes_of(self._port):
                self._set_clock(one, fault.hours)
            return True
        process = self._process_of(fault)
        return process is not None and self._hit(fault, process)

    # --- who is there ---

    def _applied(self):
        files = (self._folder / "histories").glob("*-server-*")
        return sum(path.read_text().count("applied ") for path in files)

    def _leader(self):
        """The process of the scheduler that leads; None: none does, or etcd, which knows, is away."""
        there = processes_of(self._port)
        with contextlib.suppress(OSError):
            return next((one for one in self._etcd.leaders() if one in there), None)
        return None

    def _primaries(self):
        """{server: (epoch, process)} of those that run."""
        found, there = {}, processes_of(self._port)
        for path in (self._folder / "histories").glob("*-server-*"):
            process = int(path.stem.rpartition("-")[2])
            for what, *numbers in map(str.split, path.read_text().splitlines()):
                if what == "serving" and process in there:
                    server, epoch = map(int, numbers)
                    found[server] = max(found.get(server, (0, 0)), (epoch, process))
        return found

    def _process_of(self, fault):
        if fault.role == "leader":
            return self._leader()
        if fault.role in ("primary", "link"):
            return self._primaries().get(fault.number, (0, None))[1]
        ranks = {}  # of the processes of the role, or their numbers
        for number, variables in processes_of(self._port).items():
            if variables.get("DMLC_ROLE") == fault.role:
                ranks[int(variables.get("DMLC_WORKER_ID", number))] = number
        return ranks[sorted(ranks)[fault.number]] if len(ranks) > fault.number else None

    # --- what happens to them ---

    def _later(self, fault, what, *arguments):
        if fault.seconds:
            self._passing.append((time.monotonic() + fault.seconds, functools.partial(what, *arguments)))

    def _wake(self):
        if all(epoch <= 1 for epoch, _ in self._primaries().values()):
            return False
        self._ending.update(_stopped_servers(self._port))
        for process in self._ending:
            _signal(process, signal.SIGCONT)
        return True

    def _hit_etcd(self, fault):
        number = fault.number
        if fault.is_cut:
            self._etcd.cut_off(number, loses=fault.what == "sever")
            self._later(fault, self._etcd.heal, number)
        elif fault.what == "stop":
            self._etcd.signal(number, signal.SIGSTOP)
            self._later(fault, self._etcd.signal, number, signal.SIGCONT)
        else:
            self._etcd.kill(number)
            self._later(fault, self._etcd.start, number)

    def _hit(self, fault, process):
        if fault.is_cut:
            self._cut_off(fault, process)
            return True
        if fault.what == "clock":
            return self._set_clock(process, fault.hours)
        if fault.what == "stop" and fault.role == "leader" and not fault.seconds:  # until "wake leader"
            self._former = process
        if fault.what == "stop":
            self._later(fault, _signal, process, signal.SIGCONT)
        return _signal(process, {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[fault.what])

    def _set_clock(self, process, hours):
        """False: it has ended."""
        path = self._folder / "clocks" / str(process)
        if not path.exists():
            return False
        with path.open("r+b") as file:
            file.write(struct.pack("q", int(hours * 3600e9)))
        return True

    def _cut_off(self, fault, process):
        loses = fault.what == "sever"
        if fault.role == "link":
            self._crossing.cut_off(process, loses, fault.direction)
            self._later(fault, self._crossing.heal, process)
            return
        if fault.role in ("leader", "scheduler") and self._etcd:
            self._etcd.cut_off_client(process, loses)
            self._later(fault, self._etcd.heal_client, process)
            return
        if fault.role == "scheduler":
            process = None  # all nodes are
        for gate in self._gates:
            gate.cut_off(process, loses)
        self._later(fault, self._heal_node, fault, process)

    def _heal_node(self, fault, process):
        for gate in self._gates:
            gate.heal(process)
        if fault.role == "primary" and self._primaries().get(fault.number, (0, None))[1] != process:
            self._ending.add(process)  # another one serves in its place

    def _intruder(self, role):
        code = "from headrace import kv; kv.create('dist_sync')"
        command = ["-m", "headrace.kvstore"] if role == "scheduler" else ["-c", code]
        variables = {
            "DMLC_NUM_WORKER": str(self._scenario.workers),
            "DMLC_NUM_SERVER": str(self._scenario.servers),
            "DMLC_ROLE": role,
            "DMLC_PS_ROOT_URI": "127.0.0.1",
            "DMLC_PS_ROOT_PORT": str(self._port),
        }
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
