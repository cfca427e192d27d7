"""Recording what the engine does: timelines, tables, and marks of the program's own.

``set_config(filename='run.json')``, ``set_state('run')``, the work to look at, ``set_state('stop')`` and
``dump()`` write a timeline, of which ``python -m headrace.timeline run.json -o run.html`` makes a page;
``dumps()`` gives a table. ``Domain``, ``Task``, ``Frame``, ``Event``, ``Counter``, ``Marker`` and ``scope``
mark what the program does itself.

With ``profile_process='server'`` the servers of a job record themselves: worker 0 tells them to, and what
other workers say changes nothing, so that all may run the same lines. Each server writes a file of its own,
in its working directory where the name is a relative one: ``'run.json'`` becomes ``rank0_run.json``,
``rank1_run.json`` and so on, by the number of the server.
"""

import warnings

from . import _core
from ._core import Counter, Domain, Event, Frame, Marker, Task
from .base import ArrayValueError, MXNetError

__all__ = [
    "set_config",
    "set_state",
    "start",
    "stop",
    "pause",
    "resume",
    "dump",
    "dumps",
    "scope",
    "Domain",
    "Task",
    "Frame",
    "Event",
    "Counter",
    "Marker",
    "set_kvstore_handle",
    "profiler_set_config",
    "profiler_set_state",
    "dump_profile",
]

# Each in the order of its C++ enumeration.
_FORMATS = ("table", "json")
_SORT_KEYS = ("total", "avg", "min", "max", "count")

profiler_kvstore_handle = None


def set_kvstore_handle(handle):
    """The store whose servers ``profile_process='server'`` means; `kvstore.create` sets each that has some.

    Examples
    --------
    >>> mx.profiler.set_kvstore_handle(mx.kvstore.create("local"))
    >>> mx.profiler.set_state("run", profile_process="server")
    Traceback (most recent call last):
        ...
    headrace.base.MXNetError: profiler.set_state: the store 'local' has no servers to profile; ...
    >>> mx.profiler.set_kvstore_handle(None)
    """
    global profiler_kvstore_handle
    profiler_kvstore_handle = handle


def _boolean(name, value):
    meaning = {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())
    if meaning is None:
        raise MXNetError(f"profiler.set_config: {name} must be True or False, got {value!r}")
    return meaning


def _seconds(name, value):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise MXNetError(f"profiler.set_config: {name} must be a number of seconds, got {value!r}") from None


def _is_of_servers(function, process):
    if process not in ("worker", "server"):
        raise ArrayValueError(
            f"profiler.{function}: profile_process must be 'worker' or 'server', got {process!r}"
        )
    return process == "server"


def _tell_servers(function, *arguments):
    """Has the servers call a function of this module."""
    store = profiler_kvstore_handle
    if not hasattr(store, "_profile_servers"):
        lack = "there is no store with" if store is None else f"the store {store.type!r} has no"
        raise MXNetError(
            f"profiler.{function}: {lack} servers to profile; create a store on servers, such as "
            "'dist_sync', before that, in a worker of a job (`python -m headrace.launch -n 2 -s 1 python "
            "PROGRAM.py`); profile_process='worker' is about this process"
        )
    store._profile_servers(function, *arguments)


# Keyword of set_config: its default and how its value is read.
_OPTIONS = {
    "profile_all": (False, _boolean),
    "profile_symbolic": (True, _boolean),
    "profile_imperative": (True, _boolean),
    "profile_memory": (True, _boolean),
    "profile_api": (True, _boolean),
    "filename": ("profile.json", lambda name, value: str(value)),
    "continuous_dump": (False, _boolean),
    "dump_period": (1.0, _seconds),
    "aggregate_stats": (False, _boolean),
    "profile_process": ("worker", lambda name, value: _is_of_servers("set_config", value)),
}


def set_config(**kwargs):
    """Sets all options; those that are not named get their defaults.

    Parameters
    ----------
    filename : str
        Where ``dump`` writes the timeline. Default ``'profile.json'``.
    profile_all : bool
        Everything below, whatever it says. Default False.
    profile_imperative : bool
        Operations: the tasks of the engine. Default True.
    profile_symbolic : bool
        The steps of compiled graphs. Default True.
    profile_memory : bool
        Live, peak and pooled bytes of every device. Default True.
    profile_api : bool
        Where the program waits for the engine. Default True.
    continuous_dump : bool
        While recording, write the file every ``dump_period`` seconds, and when recording ends. Default False.
    dump_period : float
        Seconds. Default 1.
    aggregate_stats : bool
        Accepted: ``dumps`` has its table in any case.
    profile_process : str
        ``'worker'``: this process, the default. ``'server'``: the servers of its job, and this one as before.

    Raises
    ------
    MXNetError
        For an option that does not exist, or a value that it cannot have; where there are no servers.

    Examples
    --------
    >>> mx.profiler.set_config(profile_memory=False, filename="run.json")
    >>> mx.profiler.set_config(filenam="run.json")
    Traceback (most recent call last):
        ...
    headrace.base.MXNetError: profiler.set_config: there is no option 'filenam'; ...
    >>> mx.profiler.set_config()
    """
    unknown = sorted(set(kwargs) - set(_OPTIONS))
    if unknown:
        raise MXNetError(
            f"profiler.set_config: there is no option {unknown[0]!r}; known are {', '.join(_OPTIONS)}"
        )
    values = {name: read(name, kwargs.get(name, default)) for name, (default, read) in _OPTIONS.items()}
    if values.pop("profile_process"):
        _tell_servers("set_config", values)
    else:
        use_config(values)


def use_config(values):
    """Sets the options of this process; `values` has all of them, as `set_config` reads them."""
    _core.profiler_set_config(
        values["profile_all"],
        values["profile_symbolic"],
        values["profile_imperative"],
        values["profile_memory"],
        values["profile_api"],
        values["filename"],
        values["continuous_dump"],
        values["dump_period"],
    )


def set_state(state="stop", profile_process="worker"):
    """Records ('run'), or waits for the operations stated so far and stops ('stop').

    Each run begins a timeline of its own; the statistics of `dumps` go on from run to run.

    Raises
    ------
    ValueError
        For another state.
    MXNetError
        Where servers are meant and there are none. So it is with the functions below.

    Examples
    --------
    >>> mx.profiler.set_state("run")
    >>> nd.ones((2, 2)).tanh().wait_to_read()
    >>> mx.profiler.set_state("stop")
    >>> "tanh" in mx.profiler.dumps()
    True
    """
    if state not in ("run", "stop"):
        raise ArrayValueError(f"profiler.set_state: the state must be 'run' or 'stop', got {state!r}")
    if _is_of_servers("set_state", profile_process):
        _tell_servers("set_state", state)
    elif state == "run":
        _core.profiler_start()
    else:
        _finish(_core.profiler_stop)


def _finish(end):
    """Waits, interruptibly, and ends whatever happens meanwhile."""
    try:
        _core.wait_all()
    finally:
        end()


def start(profile_process="worker"):
    """Records. `set_state('run')` is the same.

    Examples
    --------
    >>> mx.profiler.start()
    >>> nd.ones((2, 2)).exp().wait_to_read()
    >>> mx.profiler.stop()
    >>> "exp" in mx.profiler.dumps()
    True
    """
    set_state("run", profile_process)


def stop(profile_process="worker"):
    """Waits for the operations stated so far and ends the recording. `set_state('stop')` is the same.

    Examples
    --------
    >>> mx.profiler.start()
    >>> mx.profiler.stop()
    >>> nd.ones((2, 2)).arctan().wait_to_read()  # is not recorded
    >>> "arctan" in mx.profiler.dumps()
    False
    """
    set_state("stop", profile_process)


def pause(profile_process="worker"):
    """Stops recording until ``resume``, keeping what was recorded.

    Examples
    --------
    >>> mx.profiler.start()
    >>> mx.profiler.pause()
    >>> nd.ones((2, 2)).arccosh().wait_to_read()  # is not recorded
    >>> mx.profiler.resume()
    >>> mx.profiler.stop()
    >>> "arccosh" in mx.profiler.dumps()
    False
    """
    if _is_of_servers("pause", profile_process):
        _tell_servers("pause")
    else:
        _finish(_core.profiler_pause)


def resume(profile_process="worker"):
    """Goes on recording after ``pause``.

    Examples
    --------
    >>> mx.profiler.start()
    >>> mx.profiler.pause()
    >>> mx.profiler.resume()
    >>> (nd.ones((2, 2)) / 2).wait_to_read()
    >>> mx.profiler.stop()
    >>> "_div_scalar" in mx.profiler.dumps()
    True
    """
    if _is_of_servers("resume", profile_process):
        _tell_servers("resume")
    else:
        _core.profiler_resume()


def dump(finished=True, profile_process="worker"):
    """Writes the recording to the configured file, as a Chrome trace; ends it when ``finished``.

    Raises
    ------
    MXNetError
        When nothing was ever recorded, or a server cannot write its file.
    OSError
        When the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "profile.json")
    >>> mx.profiler.set_config(filename=str(path))
    >>> mx.profiler.start()
    >>> nd.waitall()
    >>> mx.profiler.dump()
    >>> "traceEvents" in path.read_text()
    True
    >>> mx.profiler.set_config()
    """
    if _is_of_servers("dump", profile_process):
        _tell_servers("dump", bool(finished))
    else:
        _finish(lambda: _core.profiler_dump(bool(finished)))


def dumps(reset=False, format="table", sort_by="total", ascending=False):
    """Count, total, least, most and mean of every name, by category; times in ms, memory in kB (1000 bytes).

    Parameters
    ----------
    reset : bool
        The next call counts from here. The timeline of ``dump`` keeps everything.
    format : str
        ``'table'`` or ``'json'``.
    sort_by : str
        ``'total'``, ``'avg'``, ``'min'``, ``'max'`` or ``'count'``; without a total the maximum counts.
    ascending : bool
        The smallest first.

    Raises
    ------
    ValueError
        For another format or key.

    Examples
    --------
    >>> mx.profiler.start()
    >>> (nd.ones((2, 2)) * 2).wait_to_read()
    >>> mx.profiler.stop()
    >>> "_mul_scalar" in mx.profiler.dumps()
    True
    """
    for name, value, known in (("format", format, _FORMATS), ("sort_by", sort_by, _SORT_KEYS)):
        if value not in known:
            raise ArrayValueError(f"profiler.dumps: {name} must be one of {', '.join(known)}; got {value!r}")
    _core.wait_all()
    return _core.profiler_dumps(
        bool(reset), _FORMATS.index(format), _SORT_KEYS.index(sort_by), bool(ascending)
    )


def scope(name="<unk>:", append_mode=True):
    """A `with` block that is drawn in the lane of its thread, and gives its full name.

    Inside another scope the name goes behind that one's unless ``append_mode`` is false: ``'epoch 1:'`` and
    ``'forward:'`` make ``'epoch 1:forward:'``. A missing colon is added.

    Examples
    --------
    >>> with mx.profiler.scope("epoch 1"), mx.profiler.scope("forward") as name:
    ...     print(name)
    epoch 1:forward:
    """
    return _core.ProfilerScope(name, append_mode)


def _deprecated(old, new):
    warnings.warn(f"profiler.{old}() is deprecated. Please use profiler.{new}() instead", stacklevel=3)


def profiler_set_config(mode="symbolic", filename="profile.json"):
    """Deprecated: ``set_config(profile_<mode>=True, filename=filename)``.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "profile.json")
    >>> mx.profiler.profiler_set_config(mode="all", filename=path)
    >>> mx.profiler.start()
    >>> mx.profiler.dump()
    >>> os.path.exists(path)
    True
    >>> mx.profiler.set_config()
    """
    _deprecated("profiler_set_config", "set_config")
    set_config(**{f"profile_{mode}": True, "filename": filename})


def profiler_set_state(state="stop"):
    """Deprecated: ``set_state(state)``.

    Examples
    --------
    >>> mx.profiler.profiler_set_state("run")
    >>> nd.ones((2, 2)).sinh().wait_to_read()
    >>> mx.profiler.profiler_set_state("stop")
    >>> "sinh" in mx.profiler.dumps()
    True
    """
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile():
    """Deprecated: ``dump()``.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "profile.json")
    >>> mx.profiler.set_config(filename=path)
    >>> mx.profiler.start()
    >>> mx.profiler.dump_profile()
    >>> os.path.exists(path)
    True
    >>> mx.profiler.set_config()
    """
    _deprecated("dump_profile", "dump")
    dump(True)
