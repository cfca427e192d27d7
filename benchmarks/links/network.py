"""Network: a topology of the planner made of Linux network namespaces.

Each device is a namespace with an address of its own, each switch a bridge, each link a pair of virtual
interfaces whose ends send no faster than the link (`tc`, token buckets), and serve by turns what different
devices send each other, as the planner has it. So a topology is both what is predicted and what is measured.
"""

import contextlib
import itertools
import json
import os
import shutil
import subprocess

PREFIX = "headrace-"  # of the names of namespaces; the process that made one follows
BURST = 4 << 10  # bytes that a link sends at once after a pause
QUEUE = 128 << 10  # bytes that wait in front of a link before it drops some, as a switch does
TURN = 3200  # bytes that a sender has of a link before it is the next one's turn
SEGMENTS = 2  # packets that the kernel moves as one: links mix those of several senders, as cables do

_numbers = itertools.count()


def obstacle():
    """Why this machine makes no such networks, or None."""
    for tool in ("ip", "tc"):
        if not shutil.which(tool):
            return f"there is no `{tool}`, which Debian's package iproute2 has"
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = _name_of_next()
    steps = [
        f"ip netns add {name}",
        f"ip -n {name} link add hr0 type veth peer name hr1",
        f"ip -n {name} link set hr0 gso_max_segs {SEGMENTS}",
        f"ip -n {name} link add hr2 type bridge",
        *(
            f"ip netns exec {name} tc {step}"
            for step in (
                "qdisc add dev hr0 root handle 1: htb",
                f"class add dev hr0 parent 1: classid 1:1 htb rate 100mbit burst {BURST} quantum {TURN}",
                "filter add dev hr0 parent 1: protocol ip u32 match ip src 10.0.0.1 flowid 1:1",
            )
        ),
    ]
    try:
        for step in steps:
            done = subprocess.run(step.split(), capture_output=True, text=True)
            if done.returncode != 0:
                return f"`{step}` says: {(done.stderr or done.stdout).strip()}"
    finally:
        _delete_all([name])
    return None


def _name_of_next():
    return f"{PREFIX}{os.getpid()}-{next(_numbers)}"


def remove_those_left():
    """Removes what processes left behind that were killed."""
    for line in _run("ip", "netns", "list").splitlines():
        name = line.split()[0] if line.strip() else ""
        owner = name.removeprefix(PREFIX).partition("-")[0]
        if name.startswith(PREFIX) and not os.path.exists(f"/proc/{owner}"):
            _delete_all([name])


def _delete_all(names):
    for name in names:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def _run(*words, given=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, input=given)
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(map(str, words))}` says: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Network:
    """The network of a topology, for as long as the `with` block lasts. Its links must be a tree.

    Without `by_turns` links serve first who comes first: who sends more to a full queue has more of the link.
    """

    def __init__(self, topology, by_turns=True):
        spec = json.loads(topology.to_json())
        self.devices = [device["name"] for device in spec["devices"]]
        self._switches = [switch["name"] for switch in spec["switches"]]
        self._links = spec["links"]
        if len(self._links) != len(self.devices) + len(self._switches) - 1:
            raise ValueError(f"{topology!r}: only a tree of links can be made of bridges")
        self._by_turns = by_turns
        self._inside = _name_of_next()  # the namespace with all bridges
        self._names = {device: _name_of_next() for device in self.devices}
        self._ends = {}  # by direction of a link: namespace and interface that sends
        self.addresses = {device: f"10.93.0.{number}" for number, device in enumerate(self.devices, 1)}
        self.address = "10.93.0.254"  # of the first switch, for who directs a job

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self._delete)
            self._make()
            undo.pop_all()
        return self

    def __exit__(self, *_):
        self._delete()

    def _delete(self):
        _delete_all([*self._names.values(), self._inside])

    def _make(self):
        for name in (self._inside, *self._names.values()):
            _run("ip", "netns", "add", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
            # The one that every kernel has; others share a link less evenly.
            setting = "/proc/sys/net/ipv4/tcp_congestion_control"
            _run(*self._inside_of(name), "sh", "-c", f"echo reno > {setting}")
        for number in range(len(self._switches)):
            _run("ip", "-n", self._inside, "link", "add", f"switch{number}", "type", "bridge")
            _run("ip", "-n", self._inside, "link", "set", f"switch{number}", "up")
        _run("ip", "-n", self._inside, "address", "add", f"{self.address}/24", "dev", "switch0")
        for number, link in enumerate(self._links):
            self._add_link(number, link)

    def _add_link(self, number, link):
        ends = [f"link{number}a", f"link{number}b"]
        _run("ip", "-n", self._inside, "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for end, here, there in zip(ends, link["between"], reversed(link["between"])):
            name = self._names.get(here, self._inside)
            if here in self._names:
                _run("ip", "-n", self._inside, "link", "set", end, "netns", name)
                _run("ip", "-n", name, "address", "add", f"{self.addresses[here]}/24", "dev", end)
            else:
                switch = f"switch{self._switches.index(here)}"
                _run("ip", "-n", self._inside, "link", "set", end, "master", switch)
            _run("ip", "-n", name, "link", "set", end, "gso_max_segs", SEGMENTS, "up")
            self._limit(name, end, int(8 * link["bandwidth"] * link["lanes"]))
            self._ends[f"{here}>{there}"] = (name, end)

    def _limit(self, name, end, bits):
        """Has an end of a link send no faster; what two devices send each other has a queue, or all one."""
        pairs = list(itertools.permutations(self.addresses.values(), 2)) if self._by_turns else []
        limits = f"ceil {bits}bit burst {BURST} cburst {BURST}"
        commands = [
            f"qdisc add dev {end} root handle 1: htb default 1",
            f"class add dev {end} parent 1: classid 1:ffff htb rate {bits}bit {limits}",
        ]
        for queue in range(1, len(pairs) + 2):
            share = f"rate {bits // (len(pairs) + 1)}bit {limits} quantum {TURN}"
            commands.append(f"class add dev {end} parent 1:ffff classid 1:{queue:x} htb {share}")
            commands.append(f"qdisc add dev {end} parent 1:{queue:x} bfifo limit {QUEUE}")
        for queue, (source, target) in enumerate(pairs, 2):
            match = f"match ip src {source} match ip dst {target}"
            commands.append(f"filter add dev {end} parent 1: protocol ip u32 {match} flowid 1:{queue:x}")
        _run(*self._inside_of(name), "tc", "-batch", "-", given="\n".join(commands))

    @staticmethod
    def _inside_of(name):
        return ["ip", "netns", "exec", name]

    def command(self, device, command):
        """A command that runs on a device; None: where the bridges are."""
        return [*self._inside_of(self._names[device] if device else self._inside), *map(str, command)]

    def loads(self):
        """By direction of a link: bytes that it has carried since the network was made, headers and all."""
        found = {}
        for direction, (name, end) in self._ends.items():
            shown = _run(*self._inside_of(name), "tc", "-s", "-j", "qdisc", "show", "dev", end)
            found[direction] = next(one["bytes"] for one in json.loads(shown) if one.get("root"))
        return found
