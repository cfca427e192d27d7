"""Runs a command as one rank of a job that mpirun has started: `python _rank.py COMMAND`, for
headrace.launch.

Each line that it prints is shown with the number of the rank before it, as one piece; how it failed is said,
too. A script of its own, which imports nothing of the package: every rank runs it.
"""

import os
import signal
import subprocess
import sys

TOLD = "headrace.launch: "  # begins the line that tells how a rank has failed


def main(command):
    name = f"worker {os.environ['OMPI_COMM_WORLD_RANK']}"
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as error:
        tell(f"{TOLD}{command[0]} cannot be started: {error}")
        return 127
    for line in process.stdout:
        tell(f"[{name}] {line.decode(errors='replace').rstrip()}")
    code = process.wait()
    if code > 0:
        tell(f"{TOLD}{name} ended with status {code}")
    if code < 0:
        tell(f"{TOLD}{name} was ended by {signal.Signals(-code).name}")
    return code if code >= 0 else 128 - code


def tell(line):
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
