"""The program of the workers: `worker.py FOLDER SETTINGS`, settings as `Scenario.settings` gives them."""

import json
import os
import pathlib
import resource
import shutil
import sys
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from chaos.proxies import lead_through
from chaos.training import (
    SIZES,
    THRESHOLD,
    array_of,
    gradient,
    is_sparse,
    optimizer_of,
    rows_of,
    shapes_of,
    zeros,
)

FILE_BYTES = 65_536  # that a file may have while the disk is full


def main(folder, settings):
    place, life = int(os.environ["DMLC_WORKER_ID"]), int(os.environ["HEADRACE_RESTARTS"])
    if settings["link_faults"]:
        lead_through(f"{settings['seed']} {place} {life}", settings["link_faults"])
    from headrace import kv, nd

    store = kv.create(settings["kind"])
    if settings["compressed"]:
        store.set_gradient_compression({"type": "2bit", "threshold": THRESHOLD})
    store.set_optimizer(optimizer_of(settings))
    outs = [zeros(key, shape) for key, shape in enumerate(shapes_of(settings))]
    for key, out in enumerate(outs):
        store.init(key, out)
    rank = store.rank
    states = store.restored_states()
    start = (states or {}).get(rank, {"step": 0})["step"]
    if store.rank == 0 and states is not None and not store.has_joined:
        shutil.copytree(store._checkpoint, folder / f"begin-{life}")
    told = folder / f"{life}-{rank}-{os.getpid()}.json"
    write(told, {"start": start, "has_ended": False})
    place = {"step": start}
    store.keep_state(lambda: place)
    for step in range(start, settings["steps"]):
        place["step"] = step + 1
        if rank == 0:
            limit_files(step in settings["full_disk"])
        if settings["wrong_shapes"] and step % 5 == rank:
            push_wrong_shape(store, nd)
        for key in range(len(outs)):
            store.push(key, array_of(key, gradient(settings, rank, key, step), rows_of(rank, step)))
        if step % 3 == 2:
            pull_all(store, outs, rows=slice(step % 2, None, 2))
        time.sleep(settings["pause"])
    limit_files(False)
    pull_all(store, outs)
    (folder / f"waiting-{rank}").touch()
    while settings["waits"] and not (folder / "woken").exists():
        time.sleep(0.02)
    write(told, {"start": start, "has_ended": True})
    if settings["elastic"]:  # the job ends when nobody is there
        await_others(folder, life, settings["workers"])
    store.barrier()
    if rank == 0:
        pull_all(store, outs)
        numpy.savez(folder / "weights.npz", *[out.asnumpy() for out in outs])
        store.save_optimizer_states(str(folder / "end.states"), dump_optimizer=True)
    store.barrier()


def write(path, told):
    """As a whole, whoever reads it when."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(told))
    partial.rename(path)


def await_others(folder, life, workers):
    """Until a worker of each rank has made its last step: another one may have joined."""
    while not all(
        any(json.loads(path.read_text())["has_ended"] for path in folder.glob(f"{life}-{rank}-*.json"))
        for rank in range(workers)
    ):
        time.sleep(0.02)


def pull_all(store, outs, rows=slice(None)):
    """Of row_sparse arrays those rows."""
    from headrace import nd

    for key, out in enumerate(outs):
        if is_sparse(key):
            store.row_sparse_pull(key, out=out, row_ids=nd.array(numpy.arange(out.shape[0])[rows]))
        else:
            store.pull(key, out=out)
    for out in outs:
        out.wait_to_read()


def push_wrong_shape(store, nd):
    try:
        store.push(0, nd.ones((SIZES[0] + 1,)))
    except ValueError as error:
        assert "key 0" in str(error), error
    else:
        raise AssertionError("a wrong shape was taken")


def limit_files(is_full):
    """Files of this process cannot grow: as when the disk is full, while a checkpoint is written."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES if is_full else most, most))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), json.loads(sys.argv[2]))
