"""Servers and schedulers of a job."""

import contextlib
import json
import pickle
import signal
import sys
import threading

from .. import _core
from ..base import MXNetError
from .commands import GET_SCALE, GET_STATES, PROFILE, RESTORE_STATES, SET_OPTIMIZER, SET_STATES, SETTINGS
from .kept import keep_for, kept_for, leaves_other_rows
from .kvstore import KVStore
from .profiling import carry_out, timeline_is_written
from .sent_optimizers import packed, unpacked
from .settings import settings_of, use_settings
from .states import restore_states, set_states

__all__ = ["KVStoreServer", "serve", "serve_if_asked"]


class _Served:
    """The part of a store that a server holds, as KVStore asks for it."""

    num_workers = 1  # nobody but the server sets its optimizer

    def __init__(self, set_updater):
        self.set_updater = set_updater


class KVStoreServer:
    """A server of a job. `kvstore` is not needed: MXNet's programs give one.

    Examples
    --------
    >>> from headrace.kvstore.server import KVStoreServer
    >>> KVStoreServer().run()  # doctest: +SKIP
    """

    def __init__(self, kvstore=None):
        self.kvstore = kvstore
        self.handle = None
        # By number: the optimizer as it came, the KVStore, and the settings that each worker has set last, by
        # rank; None: those at the beginning.
        self._stores = {}

    def run(self):
        """Serves until no worker is left. MXNetError: the job cannot begin, or has lost its scheduler."""
        with timeline_is_written():
            serve(self._command, self._kept_for, self._keep_for, self._leaves_other_rows)

    def _command(self, number, set_updater, head, body):
        if head == SET_OPTIMIZER:
            self._set_optimizer(number, set_updater, body)
        elif head == SETTINGS:
            self._set_settings(number, json.loads(body))
        elif head == GET_STATES:
            return self._stores[number][1].updater.get_states(dump_optimizer=True)
        elif head == GET_SCALE:
            return repr(float(self._stores[number][1].updater.optimizer.rescale_grad)).encode()
        elif head == SET_STATES:
            set_states(self._stores[number][1].updater, body)
        elif head == RESTORE_STATES:
            self._restore_states(number, body)
        elif head == PROFILE:
            carry_out(body)
        else:
            print(f"server: unknown command ({head}, {body.decode(errors='replace')})", file=sys.stderr)
        return None

    def _kept_for(self, number, key):
        if number not in self._stores:
            return [], b""
        return kept_for(self._stores[number][1].updater, _index_of(key))

    def _keep_for(self, number, key, arrays, rest):
        if rest:
            keep_for(self._stores[number][1].updater, _index_of(key), arrays, rest)

    def _leaves_other_rows(self, number, key):
        return number in self._stores and leaves_other_rows(self._stores[number][1].updater)

    def _set_optimizer(self, number, set_updater, body):
        if number in self._stores:
            first, second = (unpacked(one) for one in (self._stores[number][0], body))
            second.rescale_grad = first.rescale_grad  # each worker has its own batches
            if packed(first) == packed(second):
                return
            raise MXNetError(
                "kvstore set_optimizer: another optimizer was given before, here or by another worker, and "
                "its states would be lost; all workers give one optimizer, once; first came "
                f"{_described(first, second)}, then {_described(second, first)}"
            )
        store = KVStore(_Served(set_updater))
        optimizer = unpacked(body)
        settings = {None: settings_of(optimizer)}
        store.set_optimizer(optimizer)
        self._stores[number] = body, store, settings

    def _set_settings(self, number, settings):
        """Sets what a worker has changed; what the optimizer itself has changed here meanwhile stays."""
        _, store, known = self._stores[number]
        use_settings(store.updater.optimizer, settings, known.get(settings["rank"], known[None]))
        known[settings["rank"]] = settings

    def _restore_states(self, number, body):
        """Of a checkpoint that worker 0 has brought back, and knows the settings of."""
        _, store, known = self._stores[number]
        restore_states(store.updater, body)
        known[0] = settings_of(store.updater.optimizer)


def _described(optimizer, other):
    """Its class, with what is not the same in another one."""
    theirs = vars(other)
    parts = [
        f"{name}={value if isinstance(value, (int, float, str, type(None))) else type(value).__name__}"
        for name, value in vars(optimizer).items()
        if not name.startswith("_") and pickle.dumps(value) != pickle.dumps(theirs.get(name))
    ]
    return f"{type(optimizer).__name__}({', '.join(parts)})"


def _index_of(key):
    return key.decode() if isinstance(key, bytes) else key


def serve(
    command,
    kept_for=lambda number, key: ([], b""),
    keep_for=lambda number, key, arrays, rest: None,
    leaves_other_rows=lambda number, key: False,
):
    """Takes part in the job as a server or scheduler, until no worker is left.

    `command(number, set_updater, head, body)` is called for the commands of workers: `number` is that of the
    store in the order in which programs make them, `set_updater` takes what `_core.kvstore.Store.set_updater`
    does, `head` is a number and `body` bytes; it gives bytes for a worker that asks, or None.
    `kept_for(number, key)` gives what an updater keeps for a key, as (arrays, bytes): where the job has
    replicas another server is told it after each push, and `keep_for(number, key, arrays, bytes)` is called
    there before it serves. It is told rows alone where `leaves_other_rows(number, key)` says that an update
    by row_sparse arrays leaves alone all rows that these lack, in what is stored and in the arrays that are
    kept, if these are all dense or all row_sparse. Keys are numbers or bytes.
    Where handlers of signals are called by this thread, Ctrl-C ends the process.
    MXNetError: the job cannot begin, or has lost its scheduler.
    """
    with _ended_by_ctrl_c():
        _core.distributed.serve(command, kept_for, keep_for, leaves_other_rows)


@contextlib.contextmanager
def _ended_by_ctrl_c():
    """The thread that calls handlers of signals does not come back to Python: none hears Ctrl-C within it."""
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_heard or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def serve_if_asked():
    """Where this process is a server or scheduler of a job: takes part in it, then ends the process."""
    if _core.distributed.role() in ("server", "scheduler"):
        KVStoreServer().run()
        sys.exit(0)
