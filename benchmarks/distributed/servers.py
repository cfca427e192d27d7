"""Stores of several processes on servers beside those of MXNet 1.9.1: two workers, two servers, one machine.

    python benchmarks/distributed/servers.py [--rounds 5] [--kind dist_sync] [--replicas 2] [--messages]

Both run by turns, so that other work on the machine meets both. 100 arrays of 1 MB are pushed and pulled, and
one of four numbers. Each server of Headrace is two processes with `--replicas 2`. `--messages` keeps arrays
out of memory that processes share, as between machines. What gRPC alone does here says
`build/release/benchmarks/grpc_benchmark`.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve()
MXNET = HERE.parents[2] / ".peers/mxnet/bin/python"
KEYS, ELEMENTS, SMALL = 100, 250_000, 1000
TIMES = 6  # of all keys; 20 of the small one for each


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", default="dist_sync", choices=["dist_sync", "dist_async"])
    parser.add_argument(
        "--replicas", type=int, default=1, help="processes for each of Headrace's servers, 1 or 2"
    )
    parser.add_argument("--messages", action="store_true", help="no memory that processes share")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        return work(options.worker, options.kind)
    measured = {"headrace": [], "mxnet": []}
    for _ in range(options.rounds):
        for framework, times in measured.items():
            if framework == "headrace" or MXNET.exists():
                times.append(run_job(framework, options))
    for number, what in enumerate((f"{KEYS} x 1 MB", "four numbers")):
        medians = {
            name: statistics.median(t[number] for t in times) for name, times in measured.items() if times
        }
        ratio = (
            f", MXNet / Headrace {medians['mxnet'] / medians['headrace']:.2f}" if "mxnet" in medians else ""
        )
        texts = ", ".join(f"{name} {1e3 * seconds:.2f} ms" for name, seconds in medians.items())
        print(f"{options.kind}, push and pull of {what}: {texts}{ratio}")
    return 0


def run_job(framework, options):
    """(seconds of all keys, seconds of the small one) that worker 0 saw: the medians of a job."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    environment = {
        **os.environ,
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": "2",
        "DMLC_NUM_SERVER": "2",
        "HEADRACE_REPLICAS": str(options.replicas),
        "HEADRACE_SHARED_MEMORY": "0" if options.messages else "1",
    }
    python = sys.executable if framework == "headrace" else MXNET
    command = [python, str(HERE), "--worker", framework, "--kind", options.kind]
    processes = [
        subprocess.Popen(
            command,
            env={**environment, "DMLC_ROLE": role, "DMLC_WORKER_ID": str(number)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for role, number in (
            ("scheduler", 0),
            *[("server", 0)] * (2 * (options.replicas if framework == "headrace" else 1)),
            ("worker", 0),
            ("worker", 1),
        )
    ]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    return next(json.loads(output) for output in outputs if output)


def work(framework, kind):
    """What each process of a job runs; servers and schedulers get no further than the import or the store."""
    import time

    if framework == "mxnet":
        import mxnet as mx
    else:
        import headrace as mx

    store = mx.kv.create(kind)
    if kind == "dist_async":
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1))
    keys = list(range(KEYS))
    values, outs = ([mx.nd.ones((ELEMENTS,)) for _ in keys] for _ in range(2))
    value, out = mx.nd.ones((4,)), mx.nd.zeros((4,))
    store.init(keys, values)
    store.init(SMALL, value)

    def seconds(times, keys, values, outs):
        taken = []
        for _ in range(times):
            store._barrier()
            start = time.perf_counter()
            store.push(keys, values)
            store.pull(keys, out=outs)
            mx.nd.waitall()
            taken.append(time.perf_counter() - start)
        return statistics.median(taken[1:])

    result = [seconds(TIMES, keys, values, outs), seconds(20 * TIMES, SMALL, value, out)]
    store._barrier()
    if store.rank == 0:
        print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
