"""Stores of several processes on servers, on one machine, beside those of MXNet 1.9.1.

    python benchmarks/distributed/servers.py [--rounds 5] [--kind dist_sync] [-n 2] [-s 2] [--replicas 2]
                                             [--optimizer adam] [--messages] [--tls]

Both run by turns, so that other work on the machine meets both. Each server of Headrace is two processes with
`--replicas 2`. Servers of `dist_sync` sum, those of `dist_async` update by SGD, or both by the `--optimizer`.
`--messages` keeps arrays out of memory that processes share, as between machines; `--tls` encrypts, as
Headrace does between machines and MXNet cannot. What gRPC alone does here says
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
import time

HERE = pathlib.Path(__file__).resolve()
MXNET = HERE.parents[2] / ".peers/mxnet/bin/python"


def dense(count, elements, times):
    """Pushes and pulls so many arrays at a time."""

    def case(mx, store, first):
        keys = list(range(first, first + count))
        values, outs = ([mx.nd.ones((elements,)) for _ in keys] for _ in range(2))
        store.init(keys, values)

        def run():
            store.push(keys, values)
            store.pull(keys, out=outs)

        return times, run

    return case


def rows(mx, store, first):
    """Pushes 512 rows of a million, and pulls them."""
    shape, count = (1_000_000, 16), 512
    ids = mx.nd.arange(0, shape[0], shape[0] // count)[:count].astype("int64")
    pushed = mx.nd.sparse.row_sparse_array((mx.nd.ones((count, shape[1])), ids), shape=shape)
    out = mx.nd.sparse.zeros("row_sparse", shape)
    store.init(first, mx.nd.ones(shape).tostype("row_sparse"))

    def run():
        store.push(first, pushed)
        store.row_sparse_pull(first, out=out, row_ids=ids)

    return 20, run


CASES = {
    "100 x 1 MB": dense(100, 250_000, 6),
    "one of 64 MB": dense(1, 16_000_000, 10),
    "four numbers": dense(1, 4, 200),
    "512 rows of 1,000,000 x 16": rows,
}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", default="dist_sync", choices=["dist_sync", "dist_async"])
    parser.add_argument("-n", "--workers", type=int, default=2)
    parser.add_argument("-s", "--servers", type=int, default=2)
    parser.add_argument(
        "--replicas", type=int, default=1, help="processes for each of Headrace's servers, 1 or 2"
    )
    parser.add_argument("--optimizer", help="by which servers update, such as adam")
    parser.add_argument("--messages", action="store_true", help="no memory that processes share")
    parser.add_argument("--tls", action="store_true", help="what Headrace's processes say is encrypted")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        return work(options.worker, options)
    measured = {"Headrace": [], **({"MXNet": []} if MXNET.exists() else {})}
    for _ in range(options.rounds):
        for framework, times in measured.items():
            times.append(run_job(framework, options))
    print(
        f"| {options.kind}, push and pull of | {' | '.join(measured)} | MXNet / Headrace |\n|---|---|---|---|"
    )
    for case in CASES:
        medians = [statistics.median(one[case] for one in times) for times in measured.values()]
        ratio = f"{medians[1] / medians[0]:.2f}" if len(medians) > 1 else "-"
        print(f"| {case} | {' | '.join(f'{1e3 * one:.2f} ms' for one in medians)} | {ratio} |")
    return 0


def run_job(framework, options):
    """{case: seconds that worker 0 saw}: the medians of a job."""
    work = [str(HERE), "--worker", framework, "--kind", options.kind]
    work += ["--optimizer", options.optimizer] if options.optimizer else []
    if framework == "MXNet":
        outputs = outputs_of_mxnet([str(MXNET), *work], options)
    else:
        command = [
            sys.executable,
            "-m",
            "headrace.launch",
            "-n",
            str(options.workers),
            "-s",
            str(options.servers),
        ]
        command += ["--replicas", str(options.replicas), *([] if options.tls else ["--plain"])]
        shares = {"HEADRACE_SHARED_MEMORY": str(int(not options.messages))}
        job = subprocess.run(
            [*command, sys.executable, *work],
            env={**os.environ, **shares},
            stdout=subprocess.PIPE,
            text=True,
            timeout=600,
            check=True,
        )
        outputs = [job.stdout]
    lines = [line for output in outputs for line in output.splitlines() if "{" in line]
    return json.loads(lines[0][lines[0].index("{") :])


def outputs_of_mxnet(command, options):
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    environment = {
        **os.environ,
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": str(options.workers),
        "DMLC_NUM_SERVER": str(options.servers),
    }
    roles = ["scheduler", *["server"] * options.servers, *["worker"] * options.workers]
    processes = [
        subprocess.Popen(command, env={**environment, "DMLC_ROLE": role}, stdout=subprocess.PIPE, text=True)
        for role in roles
    ]
    return [process.communicate(timeout=600)[0] for process in processes]


def work(framework, options):
    """What each process of a job runs; servers and schedulers get no further than the import or the store."""
    if framework == "MXNet":
        import mxnet as mx
    else:
        import headrace as mx

    store = mx.kv.create(options.kind)
    rule = options.optimizer or ("sgd" if options.kind == "dist_async" else None)
    if rule:
        store.set_optimizer(mx.optimizer.create(rule, learning_rate=0.1))
    result = {}
    for number, (name, case) in enumerate(CASES.items()):
        times, run = case(mx, store, 1000 * number)
        taken = []
        for _ in range(times):
            store._barrier()
            start = time.perf_counter()
            run()
            mx.nd.waitall()
            taken.append(time.perf_counter() - start)
        result[name] = statistics.median(taken[1:])
    store._barrier()
    if store.rank == 0:
        print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
