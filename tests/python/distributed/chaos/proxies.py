"""Proxies between a worker and the other processes of its job, in threads of the worker."""

import contextlib
import os
import random
import socket
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
    """Has this process reach the scheduler and the servers of its job through proxies. Before it joins."""
    chances = random.Random(seed)
    port, servers = int(os.environ["DMLC_PS_ROOT_PORT"]), int(os.environ["DMLC_NUM_SERVER"])
    while len(ports := _ports_of_servers(int(os.environ.get("CHAOS_PORT", port)))) < servers:
        time.sleep(0.02)
    routes = {of_server: Proxy(of_server, chances, faults) for of_server in ports}
    os.environ["HEADRACE_ROUTES"] = ",".join(
        f"127.0.0.1:{of_server}=127.0.0.1:{proxy.port}" for of_server, proxy in routes.items()
    )
    schedulers = os.environ.get("HEADRACE_SCHEDULERS", "")
    os.environ["HEADRACE_SCHEDULERS"] = ",".join(
        f"127.0.0.1:{Proxy(int(one.rpartition(':')[2]), chances, faults).port}"
        for one in schedulers.split(",")
        if one
    )
    os.environ["DMLC_PS_ROOT_PORT"] = str(Proxy(port, chances, faults).port)


def _ports_of_servers(port):
    """Where the servers of a job listen, in order."""
    servers = [one for one, variables in processes_of(port).items() if variables.get("DMLC_ROLE") == "server"]
    return sorted(set().union(*[ports_of(one, listen=True) for one in servers]))
