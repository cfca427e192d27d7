"""Processes of a job on the nodes of a cluster of Ray, for headrace.launch.

Ray places them, ends them with the launcher and carries their lines; what they say to each other does not
pass through it. The package ray is optional, and loaded when a cluster is asked for.
"""

import atexit
import contextlib
import logging
import os
import queue
import signal
import socket
import subprocess
import sys
import threading

from ._processes import Several, command_there
from ._rank import TOLD

__all__ = ["RayCluster"]

_SECONDS_TO_REACH = 10
_SECONDS_TO_LEAVE = 5  # that Ray has to tell of an end, and to let this process go


class RayCluster:
    """A cluster of Ray that this process has joined.

    SystemExit: ray is missing, or no cluster that it can join is at the address.
    """

    def __init__(self, address):
        try:
            import ray
        except ImportError:
            raise SystemExit(
                "headrace.launch: --ray needs the package ray: pip install headrace[ray]"
            ) from None
        self._ray = ray
        try:
            _reach(address)
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
        except (OSError, RuntimeError, ValueError) as error:
            raise SystemExit(
                f"headrace.launch: no cluster of Ray can be joined at {address} ({error}); `ray start "
                "--head` starts one and says where it is, `auto` is the one that runs on this machine"
            ) from None
        # Nodes get the code of what runs there, and need not have it.
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        # The processes of a job share cores, as on one machine: as many are started as told.
        self._place = ray.remote(num_cpus=0, max_concurrency=2)(_Place)

    def nodes(self):
        """The nodes that run, as Ray describes them, in one order; without those that are to run nothing."""
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        working = [node for node in alive if node["Resources"].get("CPU")] or alive
        return sorted(working, key=lambda node: (node["NodeManagerAddress"], node["NodeID"]))

    def process(self, node, role, number, command, environment, asked):
        """A worker or server on this node, a Process. `asked`: as command_there has it."""
        return RayProcess(self, node, role, number, command, environment, asked)

    def start(self, node, *arguments):
        """An actor for a process, a _Place, on this node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        return self._place.options(scheduling_strategy=there).remote(*arguments)

    def get(self, answer):
        return self._ray.get(answer)

    def kill(self, actor):
        self._ray.kill(actor)

    def leave(self):
        """After the last job. A Ray that does not let this process go is not waited for at its end either."""
        leaving = threading.Thread(target=self._ray.shutdown, daemon=True)
        leaving.start()
        leaving.join(_SECONDS_TO_LEAVE)
        if leaving.is_alive():
            atexit.unregister(self._ray.shutdown)

    @property
    def error(self):
        """What `get` raises when a node, or what Ray runs there, is gone."""
        return self._ray.exceptions.RayError


class RayProcess(Several):
    """A worker or server on a node of a cluster of Ray, in the folder of the same name there."""

    def __init__(self, cluster, node, role, number, command, environment, asked):
        # Ray knows at which address nodes reach each other; names of theirs may mean nothing.
        if not environment.get("DMLC_INTERFACE"):
            environment = {"DMLC_NODE_HOST": node["NodeManagerAddress"], **environment}
        given, there = command_there(role, number, command, environment, asked)
        self._there = cluster, node
        super().__init__(f"{role} {number} at {node['NodeManagerAddress']}", there, given)

    def _begin(self, command, environment, stdin):
        return _Remote(self.name, *self._there, command, environment)

    def _lines(self):
        return (line.decode(errors="replace").rstrip() for line in self.process.stdout)

    def end(self, number):
        self.process.end(number)


class _Remote:
    """What a Process needs of a subprocess.Popen, of a process on a node."""

    def __init__(self, name, cluster, node, *arguments):
        self._name, self._cluster = name, cluster
        self._actor = cluster.start(node, *arguments, os.getcwd())
        self._has_ended = threading.Event()
        self.returncode = None
        self.stdout = self._lines()

    def _lines(self):
        """Lines as they come, and how the process ended once all of them are shown."""
        status = None
        try:
            while status is None:
                lines, status = self._cluster.get(self._actor.read.remote())
                yield from lines
        except self._cluster.error as error:
            status = 255
            why = f"its node, or what Ray ran there, has ended ({str(error).splitlines()[0]})"
            yield f"{TOLD}{status} {self._name} was lost: {why}\n".encode()
        self.returncode = status
        self._has_ended.set()

    def poll(self):
        return self.returncode

    def wait(self):
        """For its end, which may never be told of one on a node that is gone: not for long."""
        self._has_ended.wait(_SECONDS_TO_LEAVE)

    def end(self, number):
        if number == signal.SIGKILL:
            self._cluster.kill(self._actor)
        else:
            self._actor.end.remote()


class _Place:
    """What runs on a node: an actor with a process, which ends with it."""

    def __init__(self, command, environment, folder):
        # Ray has each actor use as many cores as it has reserved, and hides devices that it has not.
        inherited = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        if not inherited.get("CUDA_VISIBLE_DEVICES"):
            inherited.pop("CUDA_VISIBLE_DEVICES", None)
        self._process = subprocess.Popen(
            command,
            env={**inherited, **environment},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._lines = queue.Queue(1000)
        threading.Thread(target=self._take_lines, daemon=True).start()

    def _take_lines(self):
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def read(self):
        """(lines, status): waits for some; the status, as a Popen has it, is None while more may come."""
        lines = [self._lines.get()]
        with contextlib.suppress(queue.Empty):
            while lines[-1] is not None:
                lines.append(self._lines.get_nowait())
        if lines[-1] is not None:
            return lines, None
        return lines[:-1], self._process.wait()

    def end(self):
        self._process.stdin.close()


def _reach(address):
    """Ray tries for minutes; OSError: nobody is there."""
    host, separator, port = address.rpartition(":")
    if separator and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=_SECONDS_TO_REACH).close()
