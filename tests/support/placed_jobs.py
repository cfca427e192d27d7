"""Jobs of the launcher that others place, in stand-ins for these, and what becomes of their processes."""

import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parents[1] / "python" / "distributed"
SECONDS = 120  # that a job may take on a busy machine


def start(options, command, environment, folder):
    """The launcher at work on `command`, in `folder`."""
    return subprocess.Popen(
        [sys.executable, "-m", "headrace.launch", *options, *command],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(job):
    """(status, output, errors) of a job, which is ended when it takes too long."""
    with job:
        try:
            out, err = job.communicate(timeout=SECONDS)
        finally:
            job.kill()
    return job.returncode, out, err


def program(name, *arguments):
    """The command that runs one of the programs here."""
    return [sys.executable, str(FOLDER / "programs" / f"{name}.py"), *arguments]


def is_running(process):
    """Whether there is a process of this number, a text. One whose end nobody has asked for is over."""
    try:
        status = pathlib.Path("/proc", process, "status").read_text()
    except OSError:
        return False
    return "State:\tZ" not in status
