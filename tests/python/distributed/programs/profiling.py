"""Workers that have their servers record themselves: the files are for the test, the rest is asserted.

Keys are inited before the recording and while it pauses, so that no file has that.
"""

import os

import pytest

from headrace import _core, kv, nd, profiler
from headrace.base import MXNetError

with pytest.raises(MXNetError, match="profiler.dump: there is no store with servers to profile"):
    profiler.dump(profile_process="server")
store = kv.create("dist_sync")


def tell(function, *arguments, **options):
    """All workers do; that of worker 0 counts, and what others do later comes later."""
    store.barrier()
    function(*arguments, **options, profile_process="server")
    store.barrier()


def keys(prefix):
    return [f"{prefix}{number}" for number in range(8)]  # each server has some


def init(prefix):
    store.init(keys(prefix), [nd.zeros((4,))] * 8)


def exchange(prefix):
    store.pushpull(keys(prefix), [nd.ones((4,))] * 8, out=[nd.zeros((4,)) for _ in range(8)])
    nd.waitall()  # a barrier does not wait for it


if store.rank == 0 and "HEADRACE_TIMELINE" not in os.environ:
    with pytest.raises(MXNetError, match="(?s)server 0 at .*profiler.dump: nothing was recorded"):
        profiler.dump(profile_process="server")
tell(profiler.set_config, filename=f"run{store.rank}.json", profile_memory=False)
init("a")
tell(profiler.set_state, "run")
exchange("a")
tell(profiler.pause)
init("b")
tell(profiler.resume)
exchange("b")
tell(profiler.set_state, "stop")
tell(profiler.dump)
assert _core.profiler_is_recording() == ("HEADRACE_TIMELINE" in os.environ)
print("done")
