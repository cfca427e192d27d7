"""Carries out a plan of headrace.plan between processes: each device is one, its copies go by TCP.

    python carrier.py FOLDER DEVICE

FOLDER has `plan.json`: the steps, the bytes of the buffer, the devices with values, and where each listens.
"""

import collections
import json
import pathlib
import queue
import socket
import struct
import sys
import threading
import time

import numpy
from rounds import Member

PORT = 7000
NUMBER = struct.Struct("<I")  # of a step, in front of its bytes
TRY_SECONDS = 30


class Carrier:
    """The steps of a plan that one device takes part in. Steps are known here by their numbers."""

    def __init__(self, plan, own):
        self._own, self._bytes = own, plan["bytes"]
        steps = enumerate(plan["steps"])
        self._steps = {number: step for number, step in steps if own in (step["source"], step["target"])}
        self._followers = collections.defaultdict(list)
        for number, step in self._steps.items():
            for before in self._known(step):
                self._followers[before].append(number)
        self._lock = threading.Condition()
        self._outgoing = {}  # by device: steps that are to be sent there, with their bytes
        self.reset(None)
        self._listen(plan["addresses"][own])
        for step in self._steps.values():
            peer = step["target"]
            if self._is_sent(step) and peer not in self._outgoing:
                self._outgoing[peer] = queue.SimpleQueue()
                threading.Thread(target=self._send, args=(peer, plan["addresses"][peer]), daemon=True).start()

    def reset(self, value):
        """Forgets what has happened; the buffer has `value`, or nothing where the device has none."""
        with self._lock:
            self._places = collections.defaultdict(lambda: numpy.empty(self._bytes // 4, "float32"))
            if value is not None:
                self._places[0][:] = value
            self._done, self._started, self._landed = set(), set(), {}
            self._is_running = False

    def run(self):
        """Until all steps are done."""
        with self._lock:
            self._is_running = True
            self._advance(list(self._steps))
            self._lock.wait_for(lambda: len(self._done) == len(self._steps))

    def buffer(self):
        return self._places[0]

    def _is_sent(self, step):
        return step["kind"] == "copy" and step["source"] == self._own

    def _known(self, step):
        """Those before it that this device sees end; the other end of a copy sees to the others."""
        return [before for before in step["after"] if before in self._steps]

    # --- with the lock ---
    def _advance(self, numbers):
        while numbers:
            number = numbers.pop()
            step = self._steps[number]
            if number in self._started or not self._done.issuperset(self._known(step)):
                continue
            if self._is_sent(step):
                self._started.add(number)
                part = self._part(step["source_slot"], step)
                self._outgoing[step["target"]].put((number, NUMBER.pack(number) + part.tobytes()))
                continue
            if step["kind"] == "copy":
                if number not in self._landed:
                    continue
                landed = numpy.frombuffer(self._landed.pop(number), "float32")
                self._part(step["target_slot"], step)[:] = landed
            else:
                self._part(step["target_slot"], step)[:] += self._part(step["source_slot"], step)
            self._started.add(number)
            numbers.extend(self._finish(number))

    def _part(self, slot, step):
        return self._places[slot][step["begin"] // 4 : step["end"] // 4]

    def _finish(self, number):
        self._done.add(number)
        if len(self._done) == len(self._steps):
            self._lock.notify_all()
        return self._followers[number]

    # --- threads ---
    def _listen(self, address):
        server = socket.create_server((address, PORT))

        def accept():
            while True:
                connection, _ = server.accept()
                threading.Thread(target=self._receive, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def _receive(self, connection):
        stream = connection.makefile("rb")
        while head := stream.read(NUMBER.size):
            (number,) = NUMBER.unpack(head)
            step = self._steps[number]
            landed = stream.read(step["end"] - step["begin"])
            with self._lock:
                self._landed[number] = landed
                if self._is_running:
                    self._advance([number])

    def _send(self, peer, address):
        connection = _connect(address)
        while True:
            number, content = self._outgoing[peer].get()
            connection.sendall(content)
            with self._lock:
                self._advance(list(self._finish(number)))


def _connect(address):
    deadline = time.monotonic() + TRY_SECONDS
    while True:
        try:
            connection = socket.create_connection((address, PORT))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def main(folder, device):
    plan = json.loads((pathlib.Path(folder) / "plan.json").read_text())
    devices = plan["devices"]
    rank = plan["members"].index(device)
    value = devices.index(device) + 1 if device in devices else None
    carrier = Carrier(plan, device)
    Member(folder, rank).run(plan["rounds"], carrier.run, lambda: carrier.reset(value))
    if value is not None and (carrier.buffer() != len(devices) * (len(devices) + 1) / 2).any():
        sys.exit(f"{device}: the sum is wrong")


if __name__ == "__main__":
    main(*sys.argv[1:])
