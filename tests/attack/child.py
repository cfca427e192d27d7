"""The child processes in which an attack runs its programs, seen from both sides.

A child announces every program before it runs it, so that a crash or a hang names the program that did it.
"""

import ast
import ctypes
import importlib
import json
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import warnings

START_LIMIT = 120  # seconds for the imports of a child
# malloc fills what it gives with 0xA5 and what it takes back with 0x5A: values that nobody wrote show up.
CANARY = b"\xa5\xa5\xa5\xa5"
ENVIRONMENT = {"MALLOC_PERTURB_": str(0xA5 ^ 0xFF), "PYTHONWARNINGS": "ignore"}

# Texts of C++ and of its binding, which say nothing of the operation to one who called it.
FOREIGN_TEXT = re.compile(
    r"std::|vector::|bad_alloc|bad_variant|bad_function|bad optional|_M_|stoi|stol|int too big"
    r"|incompatible function arguments|nanobind|^$"
)
# What Python says when an object of another kind is given: it names both.
OTHER_KIND = re.compile(r"'[\w.]+' object (has no attribute|does not support)")
OWN_TYPES = (
    *(
        ArithmeticError,
        AssertionError,
        IndexError,
        KeyError,
        MemoryError,
        NotImplementedError,
        OSError,
        OverflowError,
    ),
    *(RuntimeError, StopIteration, TypeError, ValueError),
)


class Finding(Exception):
    """Something that must not happen: `kind` in a few words, `detail` for the reader."""

    def __init__(self, kind, detail):
        super().__init__(kind, detail)
        self.kind, self.detail, self.subject = kind, detail, None


class Attack:
    """Random programs, as text, and how a child runs each. Number and seed determine a program."""

    programs = 1000  # of a short run
    taken = (
        0.01,
        1,
    )  # the share of programs that must run to their end: an attack of nothing but refusals is blunt
    limit = 5  # seconds for one program
    memory = 1 << 30  # bytes of address space beyond those that a child has when it begins
    environment = {}

    @property
    def name(self):
        return type(self).__module__

    def start(self):
        """Is called once, in the child, before memory is limited."""

    def program(self, random, number):
        """The text of a program."""
        raise NotImplementedError

    def subject(self, text):
        """What a program is about: what its last statement calls."""
        return subject(ast.parse(text).body[-1])

    def notes(self):
        """Lines for `--list`: what this machine lacks."""
        return []

    def run(self, text):
        """Runs a program, and tells whether it ran to its end. Finding: it did what no program may do."""
        return execute(text, namespace())


def namespace():
    """The names that programs may use."""
    return dict(vars(importlib.import_module("given")))


def execute(text, names, check=None):
    """Runs a text up to its first error, which `check` judges; whether there was none."""
    for statement in ast.parse(text).body:
        try:
            exec(compile(ast.Module([statement], []), "<program>", "exec"), names)
        except Exception as error:
            try:
                (check or check_error)(error)
            except Finding as finding:
                finding.subject = finding.subject or subject(statement)
                raise
            return False
    return True


def subject(statement):
    """What a statement is about: the function that it calls."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return ast.unparse(calls[0].func if calls else statement)


def check_error(error):
    """Finding: the error has a type that nobody expects, or a text that is not Headrace's."""
    if isinstance(error, Finding):
        raise error
    text = str(error)
    is_own = type(error).__module__.startswith("headrace.")
    is_other_kind = isinstance(error, AttributeError) and OTHER_KIND.match(text)
    is_usual = isinstance(error, OWN_TYPES) and not isinstance(error, RecursionError)
    if not is_own and not is_other_kind and not is_usual:
        raise Finding("foreign error", f"{type(error).__name__}: {text}")
    # Python has no memory for a text when it has none for what was asked.
    if FOREIGN_TEXT.search(text) and (text or type(error) is not MemoryError):
        raise Finding("foreign text", f"{type(error).__name__}: {text}")


# --- in the child ---


def limit_memory(beyond):
    """Limits the address space to `beyond` bytes more than are mapped now."""
    with open("/proc/self/statm") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + beyond, mapped + beyond))


def serve(attack, job, pipe):
    """Runs the programs of a job, and writes to the pipe what happens."""

    def tell(*event):
        os.write(pipe, json.dumps(event).encode() + b"\n")

    warnings.simplefilter("ignore")
    attack.start()
    if attack.memory:
        limit_memory(attack.memory)
    texts = job.get("texts")
    for number in range(job["first"], job["last"]):
        text = texts[number] if texts else attack.program(random.Random(f"{job['seed']}/{number}"), number)
        tell("began", number, text)
        try:
            if attack.run(text):
                tell("taken")
        except Finding as finding:
            tell("found", finding.kind, finding.detail, finding.subject or attack.subject(text))
    tell("ended")


# --- in the parent ---


def events(attack, job):
    """What a child tells of a job: ("began", number, text), and of the program that began last ("taken",) or
    ("found", kind, detail, subject).

    The child's own end is found as well: by a signal, too early, or because a program takes too long.
    """
    reading, writing = os.pipe()
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryDirectory() as folder,
    ):
        given.write(json.dumps(job).encode())
        given.seek(0)
        command = [sys.executable, "-X", "faulthandler", __file__, attack.name, str(writing)]
        child = subprocess.Popen(
            command,
            pass_fds=[writing],
            stdin=given,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={**os.environ, **ENVIRONMENT, **attack.environment},
            start_new_session=True,
        )
        os.close(writing)
        try:
            told = Lines(reading)
            limit = START_LIMIT
            while (line := told.next(limit)) is not None:
                event = json.loads(line)
                if event[0] == "ended":
                    return
                limit = job.get("limit", attack.limit)
                yield tuple(event)
            if told.is_over:
                yield "found", "crash", f"{ending(child.wait())}\n{tail(output)}"
            else:
                os.kill(child.pid, signal.SIGABRT)  # faulthandler shows where
                child.wait()
                yield "found", "hang", f"longer than {limit} s\n{tail(output)}"
        finally:
            os.close(reading)
            child.poll() is None and os.killpg(child.pid, signal.SIGKILL)
            child.wait()


class Lines:
    """The lines that arrive at a pipe; `is_over`: nothing can arrive any more."""

    def __init__(self, pipe):
        self._pipe = pipe
        self._bytes = b""
        self.is_over = False

    def next(self, seconds):
        """The next line; None: the pipe is over, or no line came in so many seconds."""
        while b"\n" not in self._bytes:
            ready, _, _ = select.select([self._pipe], [], [], seconds)
            part = os.read(self._pipe, 1 << 16) if ready else b""
            if not part:
                self.is_over = bool(ready)
                return None
            self._bytes += part
        line, _, self._bytes = self._bytes.partition(b"\n")
        return line


def ending(status):
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def tail(output):
    """The end of what a child printed."""
    output.seek(max(0, output.seek(0, os.SEEK_END) - 3000))
    return output.read().decode(errors="replace")


def main():
    name, pipe = sys.argv[1:]
    job = json.load(sys.stdin)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: not to outlive the parent
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    serve(importlib.import_module(name).ATTACK, job, int(pipe))


if __name__ == "__main__":
    # The module `child`, whose Finding attacks raise, is another one than __main__.
    importlib.import_module("child").main()
