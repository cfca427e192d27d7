"""An etcd of several processes on this machine, which tests kill, stop and start again."""

import base64
import json
import os
import shutil
import ssl
import subprocess
import time
import urllib.request

import pytest

from headrace._ports import free_ports

PROGRAM = shutil.which("etcd")
SECONDS = 60  # that it may take to begin on a busy machine
needs_etcd = pytest.mark.skipif(PROGRAM is None, reason="needs etcd (Debian: apt install etcd-server)")


class Etcd:
    """Ends with the `with` in which it is. The folder is one that is empty. Where a network is given all that
    reach it, the processes themselves among them, do so through gates. By TLS where a folder with ca.pem,
    cert.pem and key.pem is given; then it demands certificates, too.
    """

    def __init__(self, folder, count=3, options=(), network=None, certificates=None):
        ports = iter(free_ports(2 * count))
        self._clients, self._peers = ([next(ports) for _ in range(count)] for _ in range(2))
        self._folder, self._options = folder, list(options)
        self._nodes = [None] * count
        self._to_clients, self._to_peers = (
            [network.gate(port) for port in all_ports] if network else []
            for all_ports in (self._clients, self._peers)
        )
        ports = [gate.port for gate in self._to_clients] or self._clients
        self._scheme, self._tls = "http://", None
        if certificates:
            authority, *own = (str(certificates / name) for name in ("ca.pem", "cert.pem", "key.pem"))
            self._options += ["--trusted-ca-file", authority, "--client-cert-auth"]
            self._options += ["--cert-file", own[0], "--key-file", own[1]]
            self._scheme, self._tls = "https://", ssl.create_default_context(cafile=authority)
            self._tls.load_cert_chain(*own)
        before = self._scheme if certificates else ""
        self.addresses = ",".join(f"{before}127.0.0.1:{port}" for port in ports)

    def __enter__(self):
        for number in range(len(self._nodes)):
            self.start(number)
        deadline = time.monotonic() + SECONDS
        while not self._is_healthy():
            assert time.monotonic() < deadline, [
                one.read_text()[-2000:] for one in self._folder.glob("*.log")
            ]
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        for node in self._nodes:
            node.kill()
            node.wait()

    def start(self, number):
        """Also one that was killed: it goes on with what it had."""
        client = f"{self._scheme}127.0.0.1:{self._clients[number]}"
        peer = f"http://127.0.0.1:{self._peers[number]}"
        others = [f"http://127.0.0.1:{port}" for port in self._ports_of_peers()]
        cluster = ",".join(f"n{one}={address}" for one, address in enumerate(others))
        command = [PROGRAM, "--name", f"n{number}", "--data-dir", str(self._folder / f"n{number}")]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", others[number]]
        command += ["--initial-cluster", cluster, "--logger", "zap", "--log-level", "error", *self._options]
        with open(self._folder / f"n{number}.log", "a") as log:
            self._nodes[number] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_without_options()
            )

    def kill(self, number):
        self._nodes[number].kill()
        self._nodes[number].wait()

    def signal(self, number, what):
        self._nodes[number].send_signal(what)

    def cut_off(self, number, loses=False):
        """From the others; who asks it still can."""
        for gate, process in self._gates_around(number):
            gate.cut_off(process, loses)

    def heal(self, number):
        for gate, process in self._gates_around(number):
            gate.heal(process)

    def cut_off_client(self, process, loses=False):
        """From all of it."""
        for gate in self._to_clients:
            gate.cut_off(process, loses)

    def heal_client(self, process):
        for gate in self._to_clients:
            gate.heal(process)

    def _gates_around(self, number):
        """[(gate, process that passes it)], None: all."""
        own = self._nodes[number].pid
        return [(gate, None if one == number else own) for one, gate in enumerate(self._to_peers)]

    def _ports_of_peers(self):
        return [gate.port for gate in self._to_peers] or self._peers

    def keys(self):
        """{key: value} of all jobs."""
        answer = self._ask("kv/range", {"key": _text(b"/headrace/"), "range_end": _text(b"/headrace0")})
        return {
            base64.b64decode(one["key"]).decode(): base64.b64decode(one.get("value", ""))
            for one in answer.get("kvs", [])
        }

    def leaders(self):
        """The processes of the schedulers that lead jobs: they have left there which ones they are."""
        values = [value for key, value in self.keys().items() if key.endswith("/leader")]
        return [int(value.split()[-2]) for value in values]

    def _ask(self, path, request):
        error = None
        for port in self._clients:
            url = f"{self._scheme}127.0.0.1:{port}/v3/{path}"
            data = json.dumps(request).encode()
            try:
                with urllib.request.urlopen(url, data, timeout=1, context=self._tls) as answer:
                    return json.load(answer)
            except OSError as one:
                error = one
        raise error

    def _is_healthy(self):
        try:
            self._ask("kv/range", {"key": _text(b"x")})
        except OSError:
            return False
        return True


def _text(value):
    return base64.b64encode(value).decode()


def _without_options():
    """The environment without what etcd would take for its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
