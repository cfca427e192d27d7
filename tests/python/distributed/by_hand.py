"""A scheduler that is started by hand, without a launcher: one of two, of a job of two processes."""

import os
import socket
import subprocess
import sys


def run_scheduler(changed, environment=os.environ, seconds=120):
    """The process when it has ended, for which some of its variables were `changed`."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    variables = {
        "DMLC_ROLE": "scheduler",
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": "1",
        "DMLC_NUM_SERVER": "1",
        "HEADRACE_SCHEDULERS": f"127.0.0.1:{port},127.0.0.1:2",
        "HEADRACE_ETCD": "127.0.0.1:1",
        "HEADRACE_JOB": "job",
        "HEADRACE_RETRY_SECONDS": "1",
        **changed,
    }
    return subprocess.run(
        [sys.executable, "-m", "headrace.kvstore"],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
