"""Runs a command as one of several processes that mpirun, srun, ssh or Ray has started, for headrace.launch:
`python _rank.py ROLE VARIABLE COMMAND`, where the variable holds the number of the process among these.

Each line that it prints is shown with role and number before it, as one piece; how it failed is said, too: to
the launcher, where that listens on this machine (HEADRACE_LINES), else to who has started this process, which
may mix the pieces of long lines.
`python _rank.py become COMMAND` becomes a command that ends with the launcher. A script of its own, which
imports nothing of the package: every rank runs it.
"""

import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

TOLD = "headrace.launch: "  # begins the line that tells status and fate of one that has failed
LIVE = "headrace.launch live: "  # begins the line that tells how far one is that is not finished
SHOWN = "worker 0"  # of whom that is told: one progress bar is enough
_SECONDS_BETWEEN = 0.05  # states of a line; more are left out
_SECONDS_TO_YIELD = 2  # in which another one, whose failure was told to this one, tells its own first
_BLAME = re.compile(r"\b(?:rank|worker|server) (\d+) (?:has (?:failed|ended|left)|was lost|ended)\b")


def main(role, variable, *command):
    number = os.environ[variable]
    name = f"{role} {number}"
    environment = dict(os.environ)
    launcher = connected(environment.pop("HEADRACE_LINES", None))
    tell = teller(launcher)
    ends_with_input = environment.pop("HEADRACE_ENDS_WITH_INPUT", None)  # which is that of ssh, or of Ray's
    if environment.get("DMLC_ROLE") == "worker":
        environment["DMLC_WORKER_ID"] = number
    add_timeline(environment, role, number)
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL if ends_with_input else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: end_with_parent(signal.SIGKILL),
        )
    except OSError as error:
        tell(f"{TOLD}127 {command[0]} cannot be started: {error}")
        return 127
    asked_to_end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: (asked_to_end.set(), process.terminate()))
    if ends_with_input:
        threading.Thread(target=end_with, args=(process, read_input), daemon=True).start()
    if launcher:
        threading.Thread(target=end_with, args=(process, lambda: launcher.recv(4096)), daemon=True).start()
    if role == "worker":
        end_when_stopped(process, name, lambda status, how: tell(f"{TOLD}{status} {how}"))
    is_told = False  # of another's failure
    for line in lines_of(process.stdout, live_teller(name, tell) if name == SHOWN else None):
        tell(f"[{name}] {line}")
        is_told = is_told or blames_another(line, name)
    code = process.wait()
    if code > 0 and is_told:
        asked_to_end.wait(_SECONDS_TO_YIELD)
    status = code if code >= 0 else 128 - code
    if code > 0:
        tell(f"{TOLD}{status} {name} ended with status {code}")
    if code < 0:
        tell(f"{TOLD}{status} {name} was ended by {name_of_signal(-code)}")
    return status


def blames_another(line, name):
    """Whether a line of the process of that name, such as `worker 0`, says that another one is the cause."""
    own = re.search(r"\d+", name)
    return any(own is None or number != own[0] for number in _BLAME.findall(line))


def name_of_signal(number):
    """SIGKILL and its like; those of real time have numbers alone."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def lines_of(stream, show_live=None):
    """The lines of a stream of bytes as they were in the end, if programs rewrite them by carriage returns.

    `show_live(text)` is called with what is there of a line that is not finished.
    """
    line = bytearray()
    while chunk := stream.read1(1 << 16):
        *ends, begun = chunk.split(b"\n")
        for end in ends:
            yield last_state(line + end)
            line.clear()
        line += begun
        if b"\r" in begun:
            del line[: line.rstrip(b"\r").rfind(b"\r") + 1]
        if show_live and line:
            show_live(last_state(line))
    if line.strip():
        yield last_state(line)


def last_state(line):
    return line.rstrip(b"\r").rpartition(b"\r")[2].decode(errors="replace").rstrip()


def live_teller(name, tell):
    told = time.monotonic() - _SECONDS_BETWEEN

    def tell_live(text):
        nonlocal told
        if time.monotonic() - told >= _SECONDS_BETWEEN:
            told = time.monotonic()
            tell(f"{LIVE}[{name}] {text}")

    return tell_live


def end_when_stopped(process, name, told, environment=os.environ):
    """Ends a process of this environment that has been stopped for half of the time after which nodes of a
    job count as lost, for others wait for it. `told` is called before, with status and fate.
    """
    seconds = environment.get("PS_HEARTBEAT_TIMEOUT", "")
    seconds = int(seconds) / 2 if seconds.isdecimal() else 10

    def watch():
        since = None
        while process.poll() is None:
            since = (since or time.monotonic()) if is_stopped(process.pid) else None
            if since and time.monotonic() - since > seconds:
                told(128 + signal.SIGSTOP, f"{name} had been stopped for {seconds:g} seconds, and was ended")
                process.kill()
                return
            time.sleep(0.2)

    threading.Thread(target=watch, daemon=True).start()


def is_stopped(number):
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"
    except OSError:  # it has ended
        return False


def add_timeline(environment, role, number):
    """Where the launcher wants timelines, in a folder, that of this process is a file with its name."""
    folder = environment.pop("HEADRACE_TIMELINES", None)
    if folder:
        environment["HEADRACE_TIMELINE"] = os.path.join(folder, f"{role}-{number}.json")


def end_with_parent(number):
    """Has the system send this process a signal when its parent ends, however that comes about."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)


def become(*command):
    end_with_parent(signal.SIGTERM)
    os.execvp(command[0], command)


def read_input():
    return os.read(sys.stdin.fileno(), 4096)


def end_with(process, read):
    """Ends a process when there is nothing more to read of who has it started."""
    with contextlib.suppress(ConnectionError):
        while read():
            pass
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()


def connected(address):
    """A socket to the launcher, whose address is given in hexadecimal; None: it is not on this machine."""
    if not address:
        return None
    made = socket.socket(socket.AF_UNIX)
    try:
        made.connect(bytes.fromhex(address))
    except OSError:
        made.close()
        return None
    return made


def teller(launcher):
    """A function that shows a line."""

    def tell(line):
        piece = f"{line}\n".encode()
        with contextlib.suppress(ConnectionError):  # nobody reads it; the command goes on until it is ended
            if launcher:
                launcher.sendall(piece)
            else:
                os.write(sys.stdout.fileno(), piece)

    return tell


if __name__ == "__main__":
    sys.exit(become(*sys.argv[2:]) if sys.argv[1] == "become" else main(*sys.argv[1:]))
