"""`python -m headrace.kvstore`: a server or scheduler of a job, as the environment variable DMLC_ROLE says.

`python -m headrace.launch` starts them on one machine, for several machines so does whatever starts MXNet's.
It needs DMLC_PS_ROOT_URI and DMLC_PS_ROOT_PORT, the address of the scheduler, DMLC_NUM_WORKER and
DMLC_NUM_SERVER.
"""

import sys

from .. import _core
from .._shell import run_command
from ..base import MXNetError
from .server import KVStoreServer


def main(arguments):
    """Takes part in the job; gives the exit status."""
    if arguments or _core.distributed.role() not in ("server", "scheduler"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        KVStoreServer().run()
    except (MXNetError, OSError) as error:
        print(f"headrace.kvstore: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    run_command(main, sys.argv[1:])
