"""`python -m headrace.launch -n 4 python train.py`: starts a program as several workers that share stores.

Beside the workers it starts servers, which hold what stores hold, and a scheduler, on this machine; they know
each other by certificates that are made for the job. With --mpi it starts the workers alone, by mpirun, and
they sum among themselves. Each line that a process prints is shown with its name before it. When a process
fails, the others are ended; the status is that of the one that failed first.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from ._certificates import make_certificates
from ._rank import TOLD
from ._shell import run_command

__all__ = ["main"]

_SECONDS_TO_TELL = 10  # that others have to say themselves what they lack when a process has failed
_SECONDS_TO_END = 5  # between asking processes to end and ending them


def main(arguments):
    """Runs a job, again if it fails and may be restarted; gives its exit status."""
    options = _parser().parse_args(arguments)
    if not options.command:
        _parser().error("name a program to run: python -m headrace.launch -n 2 python train.py")
    if options.mpi and options.checkpoint is not None:
        _parser().error("--checkpoint is for jobs with servers; by --mpi there are none")
    with _certificates(options) as certificates:
        restarts = 0
        while True:
            job = Job(options, {**certificates, **_checkpoints(options), "HEADRACE_RESTARTS": str(restarts)})
            status = job.run()
            if status == 0 or job.is_interrupted or restarts == options.restart:
                return status
            restarts += 1
            print(
                f"headrace.launch: starting the job again, {restarts} of {options.restart}", file=sys.stderr
            )


@contextlib.contextmanager
def _certificates(options):
    """Variables that name certificates of this job, made for it; none where it has others or needs none."""
    if options.plain or options.mpi or os.environ.get("HEADRACE_CERTIFICATES"):
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="headrace_") as folder:
        try:
            make_certificates(folder)
        except OSError as error:
            raise SystemExit(f"headrace.launch: {error}; --plain does without, on this machine") from None
        yield {"HEADRACE_CERTIFICATES": folder}


def _checkpoints(options):
    """Variables that name where checkpoints are, and how often one is saved."""
    if options.checkpoint is None:
        return {}
    return {
        "HEADRACE_CHECKPOINT": os.path.abspath(options.checkpoint),
        "HEADRACE_CHECKPOINT_SECONDS": str(options.checkpoint_interval),
    }


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m headrace.launch",
        description=__doc__.partition("\n\n")[2],
        usage="python -m headrace.launch [-n WORKERS] [-s SERVERS | --mpi] [--restart N] "
        "[--checkpoint DIR] COMMAND [ARG...]",
    )
    parser.add_argument("-n", "--num-workers", type=_at_least(1), default=2, help="workers (2)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("-s", "--num-servers", type=_at_least(1), help="servers (1)")
    how.add_argument("--mpi", action="store_true", help="no servers: the workers are started by mpirun")
    parser.add_argument("--port", type=int, default=0, help="of the scheduler; one that is free unless given")
    parser.add_argument(
        "--restart",
        type=_at_least(0),
        default=0,
        metavar="N",
        help="how often a job that fails starts anew (0)",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder where checkpoints of servers are saved, and where the job goes on from",
    )
    parser.add_argument(
        "--checkpoint-interval",
        type=_at_least(0),
        default=300,
        metavar="S",
        help="seconds from one checkpoint to the next (300)",
    )
    parser.add_argument(
        "--plain", action="store_true", help="processes speak without certificates and encryption"
    )
    parser.add_argument("--launcher", choices=["local"], default="local", help="where processes run: here")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program of a worker"
    )
    return parser


def _at_least(least):
    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return number


class Process:
    """A process of a job, in a session of its own, whose lines are shown with its name before them."""

    def __init__(self, name, command, environment):
        self.name = name
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        self._shower = threading.Thread(target=self._show, daemon=True)
        self._shower.start()

    def _show(self):
        for line in self.process.stdout:
            with contextlib.suppress(BrokenPipeError):  # nobody reads it; the job goes on
                self.show(line.decode(errors="replace").rstrip())
                sys.stdout.flush()

    def show(self, line):
        sys.stdout.write(f"[{self.name}] {line}\n")

    def status(self):
        """None while it runs; as a shell gives it."""
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def was_killed(self):
        return (self.process.poll() or 0) < 0

    def end(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def reap(self):
        """Waits for its end and for its last lines. What it has started may hold them back: not for long."""
        self.process.wait()
        self._shower.join(timeout=1)

    def fate(self):
        code = self.process.returncode
        if code >= 0:
            return f"{self.name} ended with status {code}"
        return f"{self.name} was ended by {signal.Signals(-code).name}"


class MpiRun(Process):
    """mpirun, with the ranks that it starts; these name their lines themselves."""

    def __init__(self, options, variables):
        mpirun = shutil.which("mpirun")
        if mpirun is None:
            raise SystemExit(
                "headrace.launch: there is no mpirun; install Open MPI (Debian: apt install openmpi-bin)"
            )
        # More ranks than cores are welcome, and each may use all of them.
        command = [mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(options.num_workers)]
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
        # -I: modules beside the script do not take the places of Python's.
        script = os.fspath(pathlib.Path(__file__).with_name("_rank.py"))
        command += [sys.executable, "-I", script, *options.command]
        self._told = None  # by the first rank that has failed
        super().__init__("mpirun", command, {**os.environ, **variables, "PYTHONUNBUFFERED": "1"})

    def show(self, line):
        if line.startswith("[worker "):
            sys.stdout.write(f"{line}\n")
        elif line.startswith(TOLD):
            self._told = self._told or line.removeprefix(TOLD)
        elif line.strip("-"):
            super().show(line)

    def fate(self):
        return self._told or super().fate()


class Job:
    """The processes of one job."""

    def __init__(self, options, variables):
        self._options = options
        self._variables = variables
        self._workers, self._helpers = [], []
        self.is_interrupted = False

    def run(self):
        previous = signal.signal(signal.SIGTERM, _interrupt)
        try:
            self._start()
            failed = self._await_workers()
            if failed is None:
                failed = self._await_helpers()
            else:
                _await_ends(self._workers, _SECONDS_TO_TELL)
        except KeyboardInterrupt:
            self.is_interrupted, failed = True, None
        finally:
            self._end_all(signal.SIGINT if self.is_interrupted else signal.SIGTERM)
            signal.signal(signal.SIGTERM, previous)
        if self.is_interrupted:
            print("headrace.launch: interrupted; all processes were ended", file=sys.stderr)
            return 128 + signal.SIGINT
        if failed is not None:
            print(f"headrace.launch: {failed.fate()}", file=sys.stderr)
            return failed.status()
        return 0

    def _start(self):
        options = self._options
        if options.mpi:
            self._workers.append(MpiRun(options, self._variables))
            return
        servers = options.num_servers or 1
        environment = {
            **os.environ,
            **self._variables,
            "DMLC_PS_ROOT_URI": "127.0.0.1",
            "DMLC_PS_ROOT_PORT": str(options.port or _free_port()),
            "DMLC_NUM_WORKER": str(options.num_workers),
            "DMLC_NUM_SERVER": str(servers),
            "PYTHONUNBUFFERED": "1",
        }
        serve = [sys.executable, "-m", "headrace.kvstore"]
        self._helpers.append(Process("scheduler", serve, {**environment, "DMLC_ROLE": "scheduler"}))
        for number in range(servers):
            self._helpers.append(Process(f"server {number}", serve, {**environment, "DMLC_ROLE": "server"}))
        for number in range(options.num_workers):
            own = {**environment, "DMLC_ROLE": "worker", "DMLC_WORKER_ID": str(number)}
            try:
                self._workers.append(Process(f"worker {number}", options.command, own))
            except OSError as error:
                raise SystemExit(
                    f"headrace.launch: {options.command[0]} cannot be started: {error}"
                ) from None

    def _await_workers(self):
        """The first process that fails; None: all workers have ended well."""
        everybody = [*self._workers, *self._helpers]
        while any(worker.status() is None for worker in self._workers):
            failed = _cause(everybody)
            if failed is not None:
                return failed
            time.sleep(0.02)
        return _cause(everybody)

    def _await_helpers(self):
        """Servers end by themselves when the workers have, unless no worker has made a store."""
        _await_ends(self._helpers, _SECONDS_TO_END)
        return _cause(self._helpers)

    def _end_all(self, number):
        everybody = [*self._workers, *self._helpers]
        for one in everybody:
            if one.status() is None:
                one.end(number)
        _await_ends(everybody, _SECONDS_TO_END)
        for one in everybody:
            one.end(signal.SIGKILL)  # also what a process has started and left behind
            one.reap()


def _cause(processes):
    """The one that failed, if any: rather one that was killed than one that may have ended for want of it."""
    failed = [one for one in processes if one.status()]
    return next((one for one in failed if one.was_killed()), failed[0] if failed else None)


def _await_ends(processes, seconds):
    """Waits until all of them have ended, at most for so long."""
    deadline = time.monotonic() + seconds
    while any(one.status() is None for one in processes) and time.monotonic() < deadline:
        time.sleep(0.02)


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _interrupt(number, frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    run_command(main, sys.argv[1:])
