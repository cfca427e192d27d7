"""Jobs that save checkpoints: `checkpoints.py WHAT FOLDER [STEPS]`."""

import os
import pathlib
import re
import signal
import sys

import numpy

from headrace import kv, nd, optimizer


def killed(folder):
    """Each step takes 1 from every weight. In its first life worker 0 kills a server at step 20 of 40."""
    store = kv.create("dist_sync")
    store.set_optimizer(optimizer.SGD(learning_rate=0.5))
    outs = {key: nd.zeros((4,)) for key in range(6)}
    for key, out in outs.items():
        store.init(key, nd.zeros((4,)))
        store.pull(key, out=out)
    (step,) = {int(-out.asnumpy()[0]) for out in outs.values()}  # all of one step
    if store.rank == 0:
        print(f"begins at step {step}")
    while step < 40:
        for key, out in outs.items():
            store.push(key, nd.ones((4,)))
            store.pull(key, out=out)
        step += 1
        for out in outs.values():
            assert (out.asnumpy() == -step).all(), (step, out.asnumpy())
        if step == 20 and store.rank == 0 and os.environ["HEADRACE_RESTARTS"] == "0":
            os.kill(server_of_this_job(), signal.SIGKILL)


def server_of_this_job():
    port = f"DMLC_PS_ROOT_PORT={os.environ['DMLC_PS_ROOT_PORT']}".encode()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended meanwhile, or is another user's
        if port in variables and b"DMLC_ROLE=server" in variables:
            return int(process.name)
    raise RuntimeError("this job has no server")


def trained(path, steps, rule="adam", kind="dist_sync"):
    """The last `steps` of eight; where they are all, worker 0 saves a checkpoint in the middle. One process
    with a `local` store does what two workers do, and saves none.
    """
    shapes = {"a": (2, 3), "b": (8, 8)}  # the second is split, unless by a rule that needs it whole
    store = kv.create(kind)
    store.set_optimizer(optimizer.create(rule, learning_rate=0.1))
    ranks = [0, 1] if kind == "local" else [store.rank]
    outs = {key: nd.zeros(shape) for key, shape in shapes.items()}
    for key, shape in shapes.items():
        store.init(key, nd.ones(shape))
    outs["rows"] = nd.sparse.zeros("row_sparse", (6, 2))
    store.init("rows", nd.ones((6, 2)).tostype("row_sparse"))
    for step in range(8 - int(steps), 8):
        if step == 4 and int(steps) == 8 and kind != "local" and store.rank == 0 and not os.path.exists(path):
            saved = store.save_checkpoint()
            assert re.fullmatch(r"checkpoint-\d{8}", saved.name) and saved.is_dir()
        for key, shape in shapes.items():
            angles = numpy.arange(numpy.prod(shape)) + step
            store.push(key, [nd.array(numpy.sin(angles + rank).reshape(shape)) for rank in ranks])
            store.pull(key, out=outs[key])
        rows = nd.sparse.row_sparse_array((nd.ones((1, 2)) * step, [step % 6]), shape=(6, 2))
        store.push("rows", [rows for _ in ranks])
        store.row_sparse_pull("rows", out=outs["rows"], row_ids=nd.arange(6))
    if store.rank == 0:
        nd.save(path, [out.tostype("default") for out in outs.values()])
    store.barrier()


def moments(folder):
    store = kv.create("dist_async")
    store.set_optimizer(optimizer.SGD(learning_rate=1.0))
    keys = list(range(6))
    for key in keys:
        store.init(key, nd.zeros((1,)))
    store.barrier()
    if store.rank == 1:
        out = nd.zeros((1,))
        while not (pathlib.Path(folder) / "done").exists():
            for key in keys:
                store.push(key, nd.ones((1,)))
                store.pull(key, out=out)
                out.wait_to_read()
    else:
        seen = set()
        while len(seen) < 20:  # others are served in between
            saved = store.save_checkpoint(folder)
            counts = [-int(one.asscalar()) for one in nd.load(str(saved / "weights.params"))]
            assert counts == sorted(counts, reverse=True) and counts[0] - counts[-1] <= 1, counts
            seen.add(tuple(counts))
        (pathlib.Path(folder) / "done").touch()
        print("all at one moment")
    store.barrier()


def refused(folder):
    store = kv.create("dist_sync")
    store.init(0, nd.zeros((1,)))
    store.barrier()
    expect(AssertionError, "without an optimizer", lambda: store.save_checkpoint(folder))
    store.set_optimizer(optimizer.SGD())
    if store.rank == 1:
        expect(
            ValueError, "worker 0 saves checkpoints, this is worker 1", lambda: store.save_checkpoint(folder)
        )
    else:
        expect(ValueError, "start the job with --checkpoint", store.save_checkpoint)
    store.keep_state(lambda: numpy.ones(2))
    expect(TypeError, "keep_state: what the function gives", lambda: store.push(0, nd.ones((1,))))
    store.keep_state(None)
    store.barrier()


def other(folder):
    """Begins with another shape than the one that was saved."""
    store = kv.create("dist_sync")
    store.set_optimizer(optimizer.Adam())
    call = lambda: store.init("a", nd.ones((3, 2)))  # noqa: E731
    expect(
        RuntimeError,
        r"has an array of shape (2, 3) of float32, default, the program inits an array of shape (3, 2)",
        call,
    )


def expect(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"{text!r} was not raised")


{"killed": killed, "trained": trained, "moments": moments, "refused": refused, "other": other}[sys.argv[1]](
    *sys.argv[2:]
)
