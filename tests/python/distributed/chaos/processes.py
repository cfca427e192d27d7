"""The processes of a job, as this machine knows them."""

import contextlib
import os
import pathlib

_LISTENS = "0A"


def processes_of(port):
    """{number: environment} of the processes of a job whose scheduler has this port."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended meanwhile, or is another user's
        if f"DMLC_PS_ROOT_PORT={port}".encode() in variables:
            found[int(process.name)] = dict(one.decode().split("=", 1) for one in variables if b"=" in one)
    return found


def ports_of(process, listen=False):
    """Ports of this machine that sockets of a process have; or those of sockets that listen."""
    sockets = set()
    with contextlib.suppress(OSError):  # it has ended meanwhile
        for descriptor in pathlib.Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                sockets.add(os.readlink(descriptor))
    ports = set()
    for name in ("tcp", "tcp6"):
        for fields in map(str.split, pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]):
            if f"socket:[{fields[9]}]" in sockets and (fields[3] == _LISTENS or not listen):
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports
