"""RemoteKVStore: a store of several workers whose arrays lie on servers."""

import json

from .. import _core, profiler
from .. import optimizer as _optimizer
from ..base import ArrayTypeError, MXNetError
from .commands import GET_SCALE, GET_SETTINGS, PROFILE, SET_OPTIMIZER
from .kvstore import keyed
from .profiling import request_for
from .saving import SavingStore, kind_of
from .sent_optimizers import packed
from .settings import settings_of, use_settings

__all__ = ["RemoteKVStore"]


def _times(value, factor):
    if isinstance(value, (list, tuple)):
        return [_times(one, factor) for one in value]
    return value * factor


class RemoteKVStore(SavingStore):
    """A store that several workers share, whose arrays lie on servers: 'dist_sync', 'dist_async' and so on.

    What the arrays of one push have as their sum goes to the servers. In a synchronous store these sum what
    all workers have pushed for a key, in the order of their ranks, when the last of them has; in an
    asynchronous one every push counts at once. The sum, or the push, takes the place of what is stored, or
    the optimizer of the servers updates that. A pull of a worker knows of all that it has pushed itself.

    Errors of KVStore; MXNetError, too, where a server or a worker that is waited for was lost, naming it.
    """

    follows_optimizer = True  # what changes in the optimizer here reaches the servers

    def __init__(self, store):
        super().__init__(store)
        self._settings = None  # that the servers have
        self._scale = None  # the rescale_grad of the servers, of an asynchronous store
        self._is_asynchronous = self.is_capable(self.ASYNCHRONOUS)
        profiler.set_kvstore_handle(self)

    def set_optimizer(self, optimizer):
        """Makes the servers update what is stored by `optimizer`, which every worker gives alike but for
        `rescale_grad`.

        What is set in it later, such as its learning rate, `rescale_grad` and the factors of parameters,
        counts from the next push on; in a synchronous store those of rank 0 do, in an asynchronous one the
        `rescale_grad` of each worker for its own pushes. In a worker that has joined a running job
        `optimizer` takes the settings that count there. TypeError: not an Optimizer.
        MXNetError: another worker has given another one.
        """
        if not isinstance(optimizer, _optimizer.Optimizer):
            raise ArrayTypeError(
                f"kvstore set_optimizer: expected an Optimizer, got {type(optimizer).__name__}"
            )
        if not type(optimizer).is_elementwise:
            self._store.keep_whole()
        self._store.send_command(SET_OPTIMIZER, packed(optimizer))
        self._optimizer = optimizer
        if self._is_asynchronous:
            self._scale = float(self._store.ask_servers(GET_SCALE, [b""] * self._store.servers)[0])
        if self._store.has_joined:
            self._take_settings()
        self._send_settings()
        self._bring_states_back()

    def set_updater(self, updater):
        """MXNetError, unless `updater` is None: functions of a worker are out of the servers' reach."""
        if updater is not None:
            raise MXNetError(
                f"kvstore set_updater: a '{self.type}' store updates on its servers, which functions of a "
                "worker cannot reach; give an optimizer to set_optimizer"
            )

    def init(self, key, value):
        keys, values = keyed("init", key, value)
        values = [[self._restored_for(one, arrays[0])] for one, arrays in zip(keys, values)]
        self._store.init(keys, values)
        self._inited.update({one: kind_of(arrays[0]) for one, arrays in zip(keys, values)})
        self._bring_states_back()

    def broadcast(self, key, value, out, priority=0):
        self.init(key, value)
        self.pull(key, out, priority)

    def barrier(self):
        self._bring_states_back(at_last=True)  # others may wait for that before they come
        super().barrier()

    _barrier = barrier

    def join(self, key, take_part):
        self._bring_states_back(at_last=True)
        super().join(key, take_part)

    def push(self, key, value, priority=0):
        self._before_push(key)
        super().push(key, self._scaled(value), priority)

    def pushpull(self, key, value, out=None, priority=0):
        self._before_push(key)
        scaled = self._scaled(value)
        super().pushpull(key, scaled, value if out is None and scaled is not value else out, priority)

    def _before_push(self, key):
        self._begin_push(key)
        self._send_settings()

    def _scaled(self, value):
        """What is pushed, times what servers leave out, which multiply by one number for all workers."""
        if self._optimizer is None or not self._is_asynchronous:
            return value
        own = self._optimizer.rescale_grad
        return value if own == self._scale else _times(value, own / self._scale)

    def _settings_now(self):
        settings = settings_of(self._optimizer)
        if self._is_asynchronous:
            settings["plain"].pop("rescale_grad", None)
        return {"rank": self.rank, **settings}

    def _take_settings(self):
        """Those that others have made meanwhile."""
        settings = self._store.ask_servers(GET_SETTINGS, [b""] * self._store.servers)[0]
        if settings:
            use_settings(self._optimizer, json.loads(settings))
            self._settings = self._settings_now()

    def _send_settings(self):
        """Tells the servers what has changed in the optimizer."""
        if self._optimizer is None:
            return
        settings = self._settings_now()
        if settings != self._settings:
            self._store.send_settings(json.dumps(settings).encode())
            self._settings = settings

    def _take_numbers(self, optimizer):
        super()._take_numbers(optimizer)
        self._settings = None  # what was sent before counts no more

    @property
    def has_joined(self):
        """Whether this worker came to a job that was running: keys are inited, and `init` changes nothing."""
        return self._store.has_joined

    def _send_command_to_servers(self, head, body):
        """Has every server call what `serve` was given with the number `head` and the text `body`."""
        self._store.send_command(int(head), body if isinstance(body, bytes) else str(body).encode())

    def _profile_servers(self, function, *arguments):
        """Has each server call a function of `headrace.profiler`, after what was stated here so far; where
        this is not worker 0, nothing.
        """
        if self.rank != 0:
            return
        try:
            _core.wait_all()
        finally:
            bodies = [request_for(server, function, arguments) for server in range(self._store.servers)]
            self._store.ask_servers(PROFILE, bodies)
