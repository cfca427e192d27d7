"""The program of the workers: `worker.py FOLDER SETTINGS`, settings as `Scenario.settings` gives them."""

import json
import os
import pathlib
import resource
import shutil
import sys
import time

import numpy

SIZES = (3, 1000, 20_000)  # of the arrays of the keys 0, 1 and 2
RATE = 0.01
FILE_BYTES = 65_536  # that a file may have while the disk is full


def gradient(settings, rank, key, step):
    values = numpy.sin(numpy.arange(SIZES[key]) + 3 * key + 7 * rank + step).astype("float32")
    if [rank, key, step] == settings["nan"]:
        values[0] = numpy.nan
    return values


def main(folder, settings):
    place, life = int(os.environ["DMLC_WORKER_ID"]), int(os.environ["HEADRACE_RESTARTS"])
    if settings["link_faults"]:
        from proxies import lead_through  # beside this program

        lead_through(f"{settings['seed']} {place} {life}", settings["link_faults"])
    from headrace import kv, nd, optimizer

    store = kv.create(settings["kind"])
    store.set_optimizer(optimizer.Adam(learning_rate=RATE))
    for key, size in enumerate(SIZES):
        store.init(key, nd.zeros((size,)))
    rank = store.rank
    states = store.restored_states()
    start = (states or {}).get(rank, {"step": 0})["step"]
    if store.rank == 0 and states is not None and not store.has_joined:
        shutil.copytree(store._checkpoint, folder / f"begin-{life}")
    told = folder / f"{life}-{rank}-{os.getpid()}.json"
    write(told, {"start": start, "has_ended": False})
    place = {"step": start}
    store.keep_state(lambda: place)
    outs = [nd.zeros((size,)) for size in SIZES]
    for step in range(start, settings["steps"]):
        place["step"] = step + 1
        if rank == 0:
            limit_files(step in settings["full_disk"])
        if settings["wrong_shapes"] and step % 5 == rank:
            push_wrong_shape(store, nd)
        for key in range(len(SIZES)):
            store.push(key, nd.array(gradient(settings, rank, key, step)))
        if step % 3 == 2:
            pull_all(store, outs)
    limit_files(False)
    pull_all(store, outs)
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


def pull_all(store, outs):
    for key, out in enumerate(outs):
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
