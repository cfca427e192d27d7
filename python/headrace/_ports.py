"""Ports for servers that are about to start."""

import contextlib
import itertools
import pathlib
import random
import socket

__all__ = ["free_ports"]

_RANGE_OF_SYSTEM = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 10000


def free_ports(count):
    """So many ports of this machine that nobody uses.

    They are below those that the system gives to outgoing connections, one of which could have a port before
    the server has it; where there are too few below, they are the system's.
    """
    candidates = itertools.chain(_in_any_order(), itertools.repeat(0))
    found = []
    with contextlib.ExitStack() as stack:
        while len(found) < count:
            bound, port = stack.enter_context(socket.socket()), next(candidates)
            try:
                bound.bind(("", port))
            except OSError:
                if port == 0:  # the system has none
                    raise
                continue
            found.append(bound.getsockname()[1])
    return found


def _in_any_order():
    """Some ports of those below the system's."""
    try:
        end = int(_RANGE_OF_SYSTEM.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        end = 32768
    below = range(_FIRST, end)
    return random.SystemRandom().sample(below, min(len(below), 100))
