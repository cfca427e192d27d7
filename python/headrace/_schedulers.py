"""The schedulers of a job as its launcher sees them: one, or several that agree in etcd on who leads."""

import os
import secrets
import socket
import ssl
import sys
import time

from ._ports import free_ports
from ._processes import Process
from ._rank import TOLD

__all__ = ["Scheduler", "Schedulers", "addresses_of_schedulers", "ports_of_schedulers", "reach_etcd"]

_HTTPS = "https://"
_HINT = (
    "check that the certificates of etcd and of ETCDCTL_CERT have not expired (openssl x509 -noout -dates "
    "-in FILE), that ETCDCTL_CACERT has the authority of etcd's, which is made for this host, and that etcd "
    "demands none (ETCDCTL_CERT, ETCDCTL_KEY) or trusts the one that is named"
)
_MOST_REPLACED = 20
_SECONDS_TO_REACH = 5


def ports_of_schedulers(first, count):
    """The ports of so many: the first one's, unless that is 0, and others that are free."""
    return [first, *free_ports(count - 1)] if first else free_ports(count)


def addresses_of_schedulers(host, ports, etcd):
    """Variables that tell all processes of a job where its schedulers are, on this machine.

    `etcd`: addresses of that, or nothing.
    """
    own = {"DMLC_PS_ROOT_URI": host, "DMLC_PS_ROOT_PORT": str(ports[0])}
    if not etcd:
        return own
    name = f"[{host}]" if ":" in host else host
    return {
        **own,
        "HEADRACE_SCHEDULERS": ",".join(f"{name}:{port}" for port in ports),
        "HEADRACE_ETCD": etcd,
        "HEADRACE_JOB": secrets.token_hex(8),
    }


def reach_etcd(addresses):
    """SystemExit, saying what to check: one is no address, or at none an etcd speaks to this process."""
    places = {address: _host_and_port(address) for address in addresses.split(",")}
    tls = _tls() if addresses.startswith(_HTTPS) else None
    deadline = time.monotonic() + _SECONDS_TO_REACH
    while True:
        refused = []
        for address, place in places.items():
            try:
                return _reach(*place, tls)
            except ssl.SSLError as error:
                refused.append(why := f"{address}: {error}")
            except (OSError, ValueError) as error:  # ValueError: a host that no name can be
                why = f"{address}: {error}"
        if len(refused) == len(places):  # another attempt would not change it
            raise SystemExit(f"headrace.launch: etcd and this job do not trust each other ({why}); {_HINT}")
        if time.monotonic() > deadline:
            raise SystemExit(
                f"headrace.launch: etcd cannot be reached ({why}); check that it runs, and that --etcd names "
                "the addresses HOST:PORT at which it serves clients (its --listen-client-urls), with "
                "https:// before each where it does so by TLS"
            )
        time.sleep(0.2)


def _host_and_port(address):
    host, _, port = address.removeprefix(_HTTPS).rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise SystemExit(
            "headrace.launch: --etcd is a list HOST:PORT,... or https://HOST:PORT,... of addresses, got "
            f"{address!r}"
        )
    return host.strip("[]"), int(port)


def _reach(host, port, tls):
    """Raises OSError, or SSLError where one of the two does not trust the other."""
    with socket.create_connection((host, port), timeout=_SECONDS_TO_REACH) as plain:
        if tls:
            with tls.wrap_socket(plain, server_hostname=host) as secret:
                # It begins to speak when it has seen the certificate of this process.
                if not secret.recv(1):
                    raise ConnectionResetError("it has closed the connection")


def _tls():
    """By the variables of etcd's own client. SystemExit: a file cannot be read."""
    files = {name: os.environ.get(f"ETCDCTL_{name}") or None for name in ("CACERT", "CERT", "KEY")}
    try:
        tls = ssl.create_default_context(cafile=files["CACERT"])
        if files["CERT"]:
            tls.load_cert_chain(files["CERT"], files["KEY"])
    except OSError as error:
        named = ", ".join(f"ETCDCTL_{name}={path}" for name, path in files.items() if path)
        raise SystemExit(f"headrace.launch: {error}; {named} are to name files in PEM") from None
    tls.set_alpn_protocols(["h2"])
    return tls


class Scheduler(Process):
    """The scheduler of a job that is not elastic, which tells how many workers have come."""

    present = 0  # workers that have come
    waiting = 0  # these, until the job begins
    told_at = 0.0  # when it said so; of several schedulers the last one knows

    def show(self, line):
        kind, _, number = line.removeprefix(TOLD).partition(" ")
        if not line.startswith(TOLD) or kind not in ("begun", "waiting"):
            return super().show(line)
        self.present = int(number)
        self.waiting = self.present if kind == "waiting" else 0
        self.told_at = time.monotonic()
        return None


class Schedulers:
    """Several schedulers, seen as one process: it fails when there have been too many that failed. `make`: as
    Process, of one of them.
    """

    def __init__(self, make, count, command, environment):
        self._start = lambda number: make(
            f"scheduler {number}", command, {**environment, "HEADRACE_SCHEDULER": str(number)}
        )
        self._present = [self._start(number) for number in range(count)]
        self._all = list(self._present)

    def status(self):
        """None while one of them runs."""
        codes = [one.status() for one in self._present]
        return None if None in codes else max(codes)

    def has_failed(self):
        """Starts others in the place of those that have failed, unless the job is over."""
        is_over = any(one.status() == 0 for one in self._present)
        for number, one in enumerate(self._present):
            if not one.has_failed() or is_over or len(self._all) - len(self._present) >= _MOST_REPLACED:
                continue
            print(f"headrace.launch: {one.fate()[1]}; another one takes its place", file=sys.stderr)
            self._present[number] = self._start(number)
            self._all.append(self._present[number])
        return all(one.has_failed() for one in self._present)

    @property
    def _last(self):
        """The one that has told last how the job goes."""
        return max(self._all, key=lambda one: one.told_at)

    @property
    def present(self):
        return self._last.present

    @property
    def waiting(self):
        return self._last.waiting

    @property
    def is_open(self):
        """Of an elastic job: as the one says that has told of it last."""
        return any(one.is_open for one in self._all)

    @property
    def others(self):
        return self._last.others

    @property
    def had_others(self):
        return any(one.had_others for one in self._all)

    @property
    def asking(self):
        return self._last.asking

    def was_killed(self):
        return self._present[-1].was_killed()

    @property
    def is_told(self):
        return self._present[-1].is_told

    def fate(self):
        return self._present[-1].fate()

    def silence(self):
        for one in self._all:
            one.silence()

    def end(self, number):
        for one in self._all:
            one.end(number)

    def reap(self):
        for one in self._all:
            one.reap()
