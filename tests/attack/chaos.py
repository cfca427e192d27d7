"""Threads that do everything at once, and a program that ends at a random moment: each program is a process."""

import ast
import os
import re
import signal
import subprocess
import sys

from child import ENVIRONMENT, Attack, Finding, ending

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 60  # seconds: an idle machine needs one or two
ACTIONS = (
    *("forward", "train", "set_data", "hybridize", "save_and_load", "reset_ctx", "fail", "profile", "copies"),
    *("gpus", "random_numbers", "wait", "delete"),
)
# How a program ends: its text, and the exit status that it must have.
ENDS = (("", 0), ("sys.exit(0)", 0), ("sys.exit(3)", 3), ("raise KeyError('the end')", 1), ("os._exit(5)", 5))
BAD_OUTPUT = re.compile(r"terminate called|Fatal Python error|pure virtual|double free|corrupted|AddressSanitizer|leaked")


def run_program(text, status=0, environment=None, limit=LIMIT, command=()):
    """Runs a text with a Python of its own; Finding: it ends in another way than with this status."""
    process = subprocess.Popen(
        [*command, sys.executable, "-X", "faulthandler", "-c", text],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join([HERE, *_path()]), **(environment or {})},
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        raise Finding("hang", f"longer than {limit} s\n{process.communicate()[0][-3000:]}") from None
    bad = BAD_OUTPUT.search(output)
    if process.returncode != status or bad:
        finding = Finding(
            "crash" if process.returncode < 0 or bad else "wrong status",
            f"{ending(process.returncode)}, not {status}\n{output[-3000:]}",
        )
        finding.subject = f"{bad[0] if bad else ''} {ending(process.returncode)}"
        raise finding
    return output


def _path():
    return os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.environ.get("PYTHONPATH") else []


class Chaos(Attack):
    """Threads that forward, train, save, profile, fail and use GPUs, until the program ends at any moment."""

    programs = 14
    limit = 2 * LIMIT
    memory = None

    def program(self, random, number):
        lines = ["from scene import *"]
        for _ in range(random.choice((1, 2, 3, 4))):
            chosen = random.sample(ACTIONS, random.choice((1, 1, 2, 3)))
            daemon = random.random() < 0.6
            lines.append(f"thread([{', '.join(chosen)}], seed={random.randrange(1000)}, daemon={daemon})")
        end, _ = random.choice(ENDS)
        if random.random() < 0.3:
            lines.append("unread()")
        lines.append(f"time.sleep({random.choice((0, 0.01, 0.1, 0.3, 0.8))})")
        return "\n".join([*lines, *filter(None, [end])])

    def subject(self, text):
        return "the end of a program"

    def run(self, text):
        last = ast.unparse(ast.parse(text).body[-1])
        output = run_program(text, status=dict(ENDS).get(last, 0))
        if "unread()" in text and "os._exit" not in text and "take: index 9" not in output:
            raise Finding("silent error", f"an error that nobody read is not told at the end:\n{output}")
        return True


ATTACK = Chaos()
