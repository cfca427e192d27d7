"""Gates: what processes of this machine say to each other passes them, and they cut some of them off.

They are in the process of the test, so that what happens to a process does not happen to its gates.
"""

import asyncio
import dataclasses
import threading
import weakref

from .processes import ports_of

_SECONDS_TO_LOOK = 0.01


class Network:
    """The gates of one test, in a thread. They end with the `with` in which it is."""

    def __enter__(self):
        self._listening = []
        self.connections = weakref.WeakSet()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def gate(self, target):
        return self._open(Gate, target)

    def crossing(self):
        """The gate between the servers of a job, which come to it by `tests/distributed/crossing`."""
        return self._open(Crossing, None, "0.0.0.0")

    def _open(self, kind, *arguments):
        gate = self.call(kind.open(self, *arguments))
        self._listening.append(gate.listening)
        return gate

    async def _end(self):
        for one in self._listening:
            one.close()
        await asyncio.sleep(_SECONDS_TO_LOOK)  # what was accepted is served, and so will be closed
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.sleep(0)  # each has begun: one that had not would not close what it was given
            for one in others:
                one.cancel()
            await asyncio.gather(*others, return_exceptions=True)
        for one in list(self.connections):
            one.abort()  # one that is closed waits for who reads no more
        await asyncio.sleep(0)  # what was closed is gone


class Gate:
    """Passes bytes from `port` to another port of this machine. `target`: that one, or a function that gives
    it, or None while nobody listens.
    """

    @classmethod
    async def open(cls, network, target, host="127.0.0.1"):
        self = cls()
        self._network = network
        self._target = target if callable(target) else lambda: target
        self._cuts = {}  # by process, None: all: _Cut
        self._connections = set()
        self.listening = await asyncio.start_server(self._serve, host, 0)
        self.port = self.listening.sockets[0].getsockname()[1]
        return self

    def cut_off(self, process=None, loses=False, direction=""):
        """Nothing passes to and from a process, or anybody, until `heal`; with a direction, "requests" or
        "answers", only these do not. What is said meanwhile comes then, late; where it is lost connections
        break at once, and others are refused.
        """
        self._network.call(self._cut_off(process, _Cut(loses, direction)))

    def heal(self, process=None):
        self._network.call(self._heal(process))

    async def _cut_off(self, process, cut):
        self._cuts[process] = cut
        ports = ports_of(process) if process else ()
        for connection in self._connections:
            if process is None or connection.port in ports:
                connection.cuts[process] = cut
                if cut.loses:
                    connection.abort()

    async def _heal(self, process):
        self._cuts.pop(process, None)
        for connection in self._connections:
            connection.cuts.pop(process, None)

    async def _serve(self, reader, writer):
        connection = _Connection(reader, writer)
        connection.cuts = {
            one: cut for one, cut in self._cuts.items() if one is None or connection.port in ports_of(one)
        }
        self._connections.add(connection)
        self._network.connections.add(connection)
        try:
            if any(cut.loses for cut in connection.cuts.values()):
                return
            await connection.passage("requests")
            await connection.reach(self._target_of(writer))
            await connection.pass_all()
        except OSError:
            pass  # one of the two ends is gone
        finally:
            self._connections.discard(connection)
            connection.close()

    def _target_of(self, writer):
        return self._target


class Crossing(Gate):
    """To the port that the address says at which it is reached: 127.HIGH.LOW.1."""

    def _target_of(self, writer):
        _, high, low, _ = map(int, writer.get_extra_info("sockname")[0].split("."))
        return lambda: high << 8 | low


@dataclasses.dataclass
class _Cut:
    loses: bool  # what is said meanwhile
    direction: str  # the one that it is of; empty: both


class _Connection:
    def __init__(self, reader, writer):
        self._ends = [(reader, writer)]
        self.port = writer.get_extra_info("peername")[1]
        self.cuts = {}  # that hold it back

    async def passage(self, direction):
        while any(cut.direction in ("", direction) for cut in self.cuts.values()):
            await asyncio.sleep(_SECONDS_TO_LOOK)

    async def reach(self, target):
        while (port := target()) is None:
            await asyncio.sleep(_SECONDS_TO_LOOK)
        self._ends.append(await asyncio.open_connection("127.0.0.1", port))

    async def pass_all(self):
        """Until one of the ends closes."""
        (client, to_client), (server, to_server) = self._ends
        directions = self._pass("requests", client, to_server), self._pass("answers", server, to_client)
        both = [asyncio.ensure_future(one) for one in directions]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _pass(self, direction, source, sink):
        while piece := await source.read(65536):
            await self.passage(direction)
            sink.write(piece)
            await sink.drain()
        await self.passage(direction)

    def close(self):
        """What has passed arrives."""
        for _, writer in self._ends:
            writer.close()

    def abort(self):
        for _, writer in self._ends:
            writer.transport.abort()
