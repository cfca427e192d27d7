"""Programs with a process of their own, because they are about its begin, its end, or its surroundings."""

import os
import re
import signal
import subprocess
import sys

from child import ENVIRONMENT, Finding, ending

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 60  # seconds: an idle machine needs one or two
BAD_OUTPUT = re.compile(
    r"terminate called|Fatal Python error|pure virtual|double free|corrupted|AddressSanitizer|leaked"
)


def run_program(text, status=0, environment=None, limit=LIMIT, command=()):
    """Runs a text with a Python of its own; Finding: it ends in another way than with this status."""
    process = subprocess.Popen(
        [*command, sys.executable, "-X", "faulthandler", "-c", text],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={
            **os.environ,
            **ENVIRONMENT,
            "PYTHONPATH": os.pathsep.join([HERE, *_path()]),
            **(environment or {}),
        },
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
