"""Jobs on a network: stores with servers, ranks of MPI, plans that carriers carry out. Each gives rounds."""

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from rounds import Director

from headrace import plan

HERE = pathlib.Path(__file__).parent
PORT = 6000  # of the scheduler
FRAME = {"payload": 1448, "overhead": 66}  # TCP, IPv4 and Ethernet; `tc` counts no preamble and no gap
END_SECONDS = 30


@dataclasses.dataclass
class Round:
    """Seconds of an exchange, and by direction of a link the bytes that it has carried meanwhile."""

    seconds: float
    loads: dict


def star(processes, megabits):
    """Machines with a process each, on one switch."""
    return machines([1] * processes, megabits)


def machines(processes, megabits, inside=None):
    """Machines with so many processes each: `inside` one megabits a second, `megabits` between them."""
    devices, switches, links = [], [{"name": "network"}], []

    def link(a, b, rate):
        links.append({"between": [a, b], "bandwidth": rate * 1e6 / 8, "frame": FRAME})

    for node, count in enumerate(processes):
        hub = "network"
        if inside is not None:
            hub = f"node{node}/hub"
            switches.append({"name": hub})
            link(hub, "network", megabits)
        for number in range(count):
            devices.append({"name": f"node{node}/cpu{number}"})
            link(devices[-1]["name"], hub, megabits if inside is None else inside)
    spec = {"name": f"{len(processes)} machines", "devices": devices, "switches": switches, "links": links}
    return plan.Topology.from_json(json.dumps(spec))


class _Processes:
    """The processes of a job, ended at the latest with the block."""

    def __init__(self):
        self._processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=END_SECONDS)
                continue
            process.kill()
            process.wait()

    def start(self, command, **environment):
        self._processes.append(
            subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
        )

    def check(self):
        """Raises when one has failed."""
        for process in self._processes:
            if process.poll():
                raise RuntimeError(f"{process.args} ended with status {process.returncode}")

    def await_all(self):
        for process in self._processes:
            process.wait(timeout=END_SECONDS)
        self.check()


def _measure(network, folder, members, processes, rounds):
    director = Director(folder, members, processes.check)
    measured = []
    for number in range(rounds):
        director.await_ready(number)
        before = network.loads()
        seconds = director.run(number)
        loads = {direction: load - before[direction] for direction, load in network.loads().items()}
        measured.append(Round(seconds, loads))
    processes.await_all()
    return measured


def with_servers(network, workers, servers, keys, elements, rounds):
    """Pushes and pulls keys of a `dist_sync` store: workers on the first devices, servers on the next."""
    worker_devices, server_devices = network.devices[:workers], network.devices[workers : workers + servers]
    with tempfile.TemporaryDirectory() as folder, _Processes() as processes:
        environment = {
            "DMLC_PS_ROOT_URI": network.address,
            "DMLC_PS_ROOT_PORT": str(PORT),
            "DMLC_NUM_WORKER": str(workers),
            "DMLC_NUM_SERVER": str(servers),
            "HEADRACE_SHARED_MEMORY": "0",
            "HEADRACE_INSECURE": "1",
        }

        def start(device, role, rank=0):
            command = [sys.executable, HERE / "worker.py", folder, "dist_sync", keys, elements, rounds]
            host = {"DMLC_NODE_HOST": network.addresses[device]} if device else {}
            own = {"DMLC_ROLE": role, "DMLC_WORKER_ID": str(rank), **host}
            processes.start(network.command(device, command), **environment, **own)

        start(None, "scheduler")
        for device in server_devices:
            start(device, "server")
        for rank, device in enumerate(worker_devices):
            start(device, "worker", rank)
        return _measure(network, folder, workers, processes, rounds)


def with_ranks(network, keys, elements, rounds, knows_machines):
    """Pushes and pulls keys of an `mpi` store, one rank on each device, which a stand-in for ssh enters.

    Where ranks do not know their machines each device is one.
    """
    with tempfile.TemporaryDirectory() as folder, _Processes() as processes:
        remote = pathlib.Path(folder) / "remote"
        remote.write_text(_remote_shell(network, knows_machines))
        remote.chmod(0o755)
        only = f"{network.address}/24"
        parameters = {
            "plm_rsh_agent": remote,
            "oob_tcp_if_include": only,
            "btl": "tcp,self",
            "btl_tcp_if_include": only,
            "pml": "ob1",
        }
        hosts = ",".join(network.addresses.values())
        command = ["mpirun", "--allow-run-as-root", "-x", "PYTHONPATH", "--host", hosts]
        command += ["-np", len(network.devices)]
        command += [word for name, value in parameters.items() for word in ("--mca", name, value)]
        command += [sys.executable, HERE / "worker.py", folder, "mpi", keys, elements, rounds]
        processes.start(network.command(None, command), TMPDIR="/tmp")
        return _measure(network, folder, len(network.devices), processes, rounds)


def _remote_shell(network, knows_machines):
    def names(device):
        return device.partition("/")[0] if knows_machines else device.replace("/", "-")

    cases = "\n".join(
        f"{address}) enter='{' '.join(network.command(device, []))}' name={device.replace('/', '-')} "
        f"machine={names(device)};;"
        for device, address in network.addresses.items()
    )
    entered = 'exec $enter unshare --uts env HEADRACE_MACHINE=$machine sh -c "hostname $name; $*"'
    return f"#!/bin/sh\nhost=$1\nshift\ncase $host in\n{cases}\nesac\n{entered}\n"


def with_plan(network, made, rounds):
    """Carries out a plan, each device a process."""
    steps = [step._asdict() for step in plan.steps(made)]
    taking_part = {step[end] for step in steps for end in ("source", "target")}
    members = [device for device in network.devices if device in taking_part]
    with tempfile.TemporaryDirectory() as folder, _Processes() as processes:
        content = {
            "bytes": made.bytes,
            "devices": made.devices,
            "members": members,
            "addresses": network.addresses,
            "steps": steps,
            "rounds": rounds,
        }
        (pathlib.Path(folder) / "plan.json").write_text(json.dumps(content))
        for device in members:
            processes.start(network.command(device, [sys.executable, HERE / "carrier.py", folder, device]))
        return _measure(network, folder, len(members), processes, rounds)
