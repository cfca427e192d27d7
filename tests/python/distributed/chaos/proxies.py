"""Proxies between a worker and the other processes of its job, in a process beside the worker."""

import contextlib
import os
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time

from .processes import ports_of, processes_of

_FORGETTING = 0.1  # seconds for which answers vanish before a connection is cut


class Proxy:
    """Passes bytes to a port of this machine. It spoils its first `faults` connections: cuts them after some
    bytes, has answers vanish before it does so, or passes pieces slowly. The numbers are those of `chances`.
    """

    def __init__(self, target, chances, faults):
        self._target, self._chances, self._left = target, chances, faults
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _ = self._listening.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            fault, most = None, 0
            if self._left > 0:
                self._left -= 1
                fault = self._chances.choice(["cut requests", "cut answers", "forget answers", "slow"])
                most = self._chances.randrange(60_000)
            for direction, source, sink in (("requests", client, server), ("answers", server, client)):
                arguments = (direction, source, sink, fault, most)
                threading.Thread(target=self._pass, args=arguments, daemon=True).start()

    def _pass(self, direction, source, sink, fault, most):
        try:
            passed = 0
            while piece := source.recv(16384):
                passed += len(piece)
                if fault == "slow" and passed < most:
                    time.sleep(0.005)
                if fault == f"cut {direction}" and passed > most:
                    sink.sendall(piece[: len(piece) // 2])
                    break
                if fault == f"forget {direction}" and passed > most:
                    time.sleep(_FORGETTING)  # requests go on meanwhile
                    break
                sink.sendall(piece)
        except OSError:
            pass
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def lead_through(seed, faults):
    """Has this process reach the scheduler and the servers of its job through proxies. Before it joins.

    They are in a process of their own, which ends with this one: what this one says at its end passes them.
    """
    port, servers = int(os.environ["DMLC_PS_ROOT_PORT"]), int(os.environ["DMLC_NUM_SERVER"])
    while len(ports := _ports_of_servers(int(os.environ.get("CHAOS_PORT", port)))) < servers:
        time.sleep(0.02)
    schedulers = [one for one in os.environ.get("HEADRACE_SCHEDULERS", "").split(",") if one]
    of_schedulers = [port, *(int(one.rpartition(":")[2]) for one in schedulers)]
    until_the_end, _ = os.pipe()  # the other end is closed when this process is no more
    process = subprocess.Popen(
        [sys.executable, "-m", "chaos.proxies", seed, str(faults), *map(str, [*ports, *of_schedulers])],
        cwd=pathlib.Path(__file__).parents[1],
        env={"PATH": os.environ["PATH"]},  # nobody takes it for one of the job
        stdin=until_the_end,
        stdout=subprocess.PIPE,
        text=True,
    )
    proxies = list(map(int, process.stdout.readline().split()))
    os.environ["HEADRACE_ROUTES"] = ",".join(
        f"127.0.0.1:{of_server}=127.0.0.1:{proxy}" for of_server, proxy in zip(ports, proxies)
    )
    first, *others = proxies[len(ports) :]
    os.environ["HEADRACE_SCHEDULERS"] = ",".join(f"127.0.0.1:{proxy}" for proxy in others)
    os.environ["DMLC_PS_ROOT_PORT"] = str(first)


def _ports_of_servers(port):
    """Where the servers of a job listen, in order."""
    servers = [one for one, variables in processes_of(port).items() if variables.get("DMLC_ROLE") == "server"]
    return sorted(set().union(*[ports_of(one, listen=True) for one in servers]))


def main(seed, faults, *targets):
    """Proxies to these ports, as long as who has started this process is there."""
    chances = random.Random(seed)
    proxies = [Proxy(int(target), chances, int(faults)) for target in targets]
    print(*[one.port for one in proxies], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
