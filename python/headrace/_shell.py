"""What the package's commands, ``python -m headrace.plan`` and its like, have in common."""

import os
import signal
import sys

__all__ = ["run_command"]


def run_command(main, arguments):
    """Ends the process with the status of ``main(arguments)``, an int or None for success.

    When the reader of the output has gone away, as in ``python -m headrace.plan ... | head -3``, it ends
    quietly with the status of a program that this has killed.
    """
    try:
        try:
            status = main(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # What is still in the buffer has to go somewhere when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    sys.exit(status)
