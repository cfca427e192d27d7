"""Processes of a job as its launcher sees them: one of this machine, or a command that starts several."""

import contextlib
import functools
import os
import pathlib
import secrets
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from ._rank import LIVE, SHOWN, TOLD, blames_another, end_when_stopped, lines_of, name_of_signal
from ._screen import show_live

__all__ = [
    "MpiRun",
    "Process",
    "Several",
    "SlurmStep",
    "SlurmTask",
    "SshProcess",
    "address_for",
    "allocated_nodes",
    "command_there",
    "hosts_reached",
    "machine_of",
]

# Of the environment, what processes on other machines get: of the job, and where programs are found.
_HANDED_ON = ("DMLC_", "HEADRACE_", "MXNET_", "PS_", "PYTHON", "PATH", "LD_LIBRARY_PATH", "OMP_")
_SECONDS_TO_REACH = 10  # a machine, where it matters whether it is there
_UNHEARD = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
_RANK = os.fspath(pathlib.Path(__file__).with_name("_rank.py"))
_one_shows = threading.Lock()  # lines of several processes, which threads of their own read


class Process:
    """A process of a job, in a session of its own, whose lines are shown with its name before them."""

    def __init__(self, name, command, environment, stdin=None, may_stop=True):
        self.name = name
        self.is_told = False  # of another's failure
        self._is_silent = False
        self._told = None  # (status, how) of the first that has failed, where it is known before the end
        self.process = self._begin(command, environment, stdin)
        if not may_stop:
            end_when_stopped(self.process, name, self._take_fate, environment)
        self._shower = threading.Thread(target=self._show, daemon=True)
        self._shower.start()

    def _begin(self, command, environment, stdin):
        if shutil.which(command[0], path=environment.get("PATH")) is None:
            raise FileNotFoundError(_why_it_does_not_run(command[0]))
        return subprocess.Popen(
            [sys.executable, "-I", _RANK, "become", *command],
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _show(self):
        for line in self._lines():
            self._take_line(line)

    def silence(self):
        """Whatever it says from now on is not shown."""
        self._is_silent = True

    def _take_line(self, line):
        if self._is_silent:
            return
        self.is_told = self.is_told or blames_another(line, self.name)
        with _one_shows:
            try:
                self.show(line)
                sys.stdout.flush()
            except BrokenPipeError:  # nobody reads it; the job goes on
                pass
            except OSError as error:
                _tell_once(f"headrace.launch: what processes say cannot be shown: {error}; the job goes on")

    def _lines(self):
        live = (lambda text: show_live(f"[{self.name}] {text}")) if self.name == SHOWN else None
        return lines_of(self.process.stdout, live)

    def show(self, line):
        sys.stdout.write(f"[{self.name}] {line}\n")

    def _take_fate(self, status, how):
        self._told = self._told or (status, how)

    def status(self):
        """None while it runs; as a shell gives it."""
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def has_failed(self):
        return bool(self.status())

    def was_killed(self):
        return self._told is not None and self._told[0] > 128 or (self.process.poll() or 0) < 0

    def end(self, number):
        """By this signal, which one that is stopped hears, too."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
            os.killpg(self.process.pid, signal.SIGCONT)

    def reap(self):
        """Waits for its end and for its last lines. What it has started may hold them back: not for long."""
        self.process.wait()
        self._shower.join(timeout=1)

    def fate(self):
        """(status, how it came to that) of one that has failed."""
        if self._told:
            return self._told
        code = self.process.returncode
        if code >= 0:
            return self.status(), f"{self.name} ended with status {code}"
        return self.status(), f"{self.name} was ended by {name_of_signal(-code)}"


@functools.cache
def _tell_once(text):
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def _why_it_does_not_run(program):
    if not os.path.isfile(program):
        return "there is no such program to run"
    if program.endswith(".py"):
        return f"it is a file of Python; say `python {program}`"
    return "it is a file that may not be executed, or is not on PATH"


class Several(Process):
    """A command that starts `_rank.py` several times; that names its lines itself, and tells failures."""

    def show(self, line):
        if line.startswith(("[worker ", "[server ")):
            sys.stdout.write(f"{line}\n")
        elif line.startswith(LIVE):
            show_live(line.removeprefix(LIVE))
        elif line.startswith(TOLD):
            status, _, how = line.removeprefix(TOLD).partition(" ")
            self._take_fate(int(status), how)
        elif line.strip("-"):
            super().show(line)


class MpiRun(Several):
    """mpirun, with the ranks that it starts. Those of this machine give their lines to this process: mpirun
    cuts long ones, and mixes the pieces.
    """

    def __init__(self, count, command, environment):
        mpirun = shutil.which("mpirun")
        if mpirun is None:
            raise SystemExit(
                "headrace.launch: there is no mpirun; install Open MPI (Debian: apt install openmpi-bin)"
            )
        # More ranks than cores are welcome, and each may use all of them.
        start = [mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(count)]
        if os.geteuid() == 0:
            start.append("--allow-run-as-root")
        # -I: modules beside the script do not take the places of Python's.
        start += [sys.executable, "-I", _RANK, "worker", "OMPI_COMM_WORLD_RANK", *command]
        self._readers = []
        self._listener = socket.socket(socket.AF_UNIX)
        address = b"\0headrace" + secrets.token_bytes(8)  # of no file
        self._listener.bind(address)
        self._listener.listen(count)
        threading.Thread(target=self._accept, daemon=True).start()
        super().__init__("mpirun", start, {**environment, "HEADRACE_LINES": address.hex()})

    def _accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                rank, _ = self._listener.accept()
                _, user, _ = struct.unpack(
                    "3i", rank.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
                )
                if user == os.getuid():
                    self._readers.append(threading.Thread(target=self._read, args=(rank,), daemon=True))
                    self._readers[-1].start()

    def _read(self, rank):
        with rank.makefile(errors="replace", newline="\n") as lines:
            for line in lines:
                self._take_line(line.rstrip("\n"))

    def reap(self):
        self.process.wait()
        for reader in self._readers:
            reader.join(timeout=1)
        self._listener.close()
        super().reap()


class SlurmStep(Several):
    """srun, with the workers or servers that it starts on the nodes of this allocation, one node after the
    other. SystemExit: there is no allocation, or no srun.
    """

    def __init__(self, role, count, command, environment):
        where = [f"--ntasks={count}", f"--nodes={min(count, len(allocated_nodes()))}"]
        start = [*_srun(where), *_named(role, "SLURM_PROCID"), *command]
        super().__init__(f"srun of {role}s", start, environment)

    def has_failed(self):
        return self._told is not None or super().has_failed()


class SlurmTask(SlurmStep):
    """srun, with one process on the node whose turn it is, so that another one can take its place."""

    def __init__(self, role, number, turn, command, environment):
        nodes, variable = allocated_nodes(), "HEADRACE_TASK"
        where = ["--ntasks=1", "--nodes=1", f"--nodelist={nodes[turn % len(nodes)]}"]
        start = [*_srun(where), *_named(role, variable), *command]
        Several.__init__(self, f"srun of {role} {number}", start, {**environment, variable: str(number)})


def _srun(where):
    return [
        _slurm_command("srun"),
        *where,
        "--overlap",  # servers and workers share the cores
        "--overcommit",
        "--cpu-bind=none",
        "--distribution=cyclic",
        "--input=none",
        "--kill-on-bad-exit=0",  # the others have time to say what they lack
        "--quit-on-interrupt",
        "--export=ALL",
    ]


def _named(role, variable):
    """What comes before a command whose lines have its role and its number, which the variable holds."""
    return [sys.executable, "-I", _RANK, role, variable]


class SshProcess(Several):
    """A worker or server on a machine that is reached by ssh, in the folder of the same name there.

    It ends with the connection. SystemExit: there is no ssh.
    """

    def __init__(self, host, role, number, command, environment, asked):
        ssh = shutil.which("ssh")
        if ssh is None:
            raise SystemExit("headrace.launch: there is no ssh (Debian: apt install openssh-client)")
        given, there = command_there(role, number, command, environment, asked)
        there = ["env", *(f"{name}={value}" for name, value in given.items()), *there]
        line = f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(there)}"
        # -T: no terminal; nobody is there to give a password.
        start = [ssh, "-T", "-o", "BatchMode=yes", _destination(host), line]
        super().__init__(f"{role} {number} at {host}", start, environment, stdin=subprocess.PIPE)


def _destination(host):
    """What ssh calls a machine that --hosts names as [USER@]NAME[:PORT]."""
    return f"ssh://{host}" if host.count(":") == 1 else host  # an address of IPv6 has more of them


def machine_of(host):
    """Its name or address alone."""
    machine = host.rpartition("@")[2]
    return machine.partition(":")[0] if machine.count(":") == 1 else machine


def hosts_reached(hosts):
    """Those of the machines that ssh reaches, in the same order."""
    start = [shutil.which("ssh") or "ssh", "-T", "-o", "BatchMode=yes"]
    asked = {
        host: subprocess.Popen([*start, _destination(host), "true"], **_UNHEARD)
        for host in dict.fromkeys(hosts)
    }
    deadline = time.monotonic() + _SECONDS_TO_REACH
    while any(one.poll() is None for one in asked.values()) and time.monotonic() < deadline:
        time.sleep(0.02)
    for one in asked.values():
        if one.poll() is None:
            one.kill()
            one.wait()
    return [host for host in hosts if asked[host].returncode == 0]


def command_there(role, number, command, environment, asked):
    """(variables, command) of a process on another machine, which ends with its input. `asked`: names of
    variables that go along whatever they are.
    """
    given = {
        name: value for name, value in environment.items() if name.startswith(_HANDED_ON) or name in asked
    }
    given |= {"HEADRACE_NUMBER": str(number), "HEADRACE_ENDS_WITH_INPUT": "1"}
    return given, [sys.executable, "-I", _RANK, role, "HEADRACE_NUMBER", *command]


def address_for(hosts):
    """The address at which these machines, by their names, reach this one.

    SystemExit: the name of one means nothing here.
    """
    others = [host for host in hosts if host.partition(".")[0] != socket.gethostname().partition(".")[0]]
    if not others:
        return "127.0.0.1"
    with socket.socket(type=socket.SOCK_DGRAM) as way:  # connecting it sends nothing
        try:
            way.connect((others[0], 9))
        except OSError as error:
            raise SystemExit(
                f"headrace.launch: the machine {others[0]} has no address here ({error}); name one of this "
                "machine that the others reach in DMLC_PS_ROOT_URI"
            ) from None
        return way.getsockname()[0]


def allocated_nodes():
    """The names of the nodes of this allocation of Slurm. SystemExit: there is none."""
    listed = os.environ.get("SLURM_JOB_NODELIST")
    if not listed:
        raise SystemExit(
            "headrace.launch: --slurm starts processes on the nodes of an allocation, and there is none "
            "(SLURM_JOB_NODELIST); run it by sbatch, or `salloc -N 2 python -m headrace.launch --slurm ...`"
        )
    command = [_slurm_command("scontrol"), "show", "hostnames", listed]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode != 0 or not answer.stdout.split():
        raise SystemExit(f"headrace.launch: {' '.join(command)} failed: {answer.stderr.strip()}")
    return answer.stdout.split()


def _slurm_command(name):
    found = shutil.which(name)
    if found is None:
        raise SystemExit(
            f"headrace.launch: there is no {name}; --slurm needs the commands of Slurm 20.11 or later "
            "(Debian: apt install slurm-client)"
        )
    return found
