"""The timeline of the engine: what ran when, on which thread.

``set_config(filename=...)``, ``set_state('run')``, the work to look at, ``set_state('stop')``, ``dump()``
write a Chrome trace that chrome://tracing and ui.perfetto.dev show: one lane per thread, one bar per task.
``dumps()`` gives a table.
"""

from . import _core
from .base import MXNetError

__all__ = ["set_config", "set_state", "start", "stop", "pause", "resume", "dump", "dumps"]

_OPTIONS = {
    "profile_all": False,
    "profile_symbolic": True,
    "profile_imperative": True,
    "profile_memory": True,
    "profile_api": True,
    "filename": "profile.json",
    "continuous_dump": True,
    "dump_period": 1.0,
    "aggregate_stats": False,
    "profile_process": "worker",
}
_config = dict(_OPTIONS)


def set_config(**kwargs):
    """Sets options: ``filename`` of the timeline and ``aggregate_stats``; the others of MXNet are accepted.

    Raises
    ------
    MXNetError
        For an option that does not exist.
    """
    for name, value in kwargs.items():
        if name not in _OPTIONS:
            raise MXNetError(
                f"profiler.set_config: there is no option {name!r}; known are {', '.join(_OPTIONS)}"
            )
        _config[name] = value


def set_state(state="stop", profile_process="worker"):
    """Starts ('run') or ends ('stop') recording.

    Raises
    ------
    ValueError
        For another state.
    """
    if state == "run":
        _core.trace_start()
    elif state == "stop":
        _core.wait_all()
        _core.trace_stop()
    else:
        raise ValueError(f"profiler.set_state: the state must be 'run' or 'stop', got {state!r}")


def start(profile_process="worker"):
    """Starts recording."""
    set_state("run")


def stop(profile_process="worker"):
    """Ends recording."""
    set_state("stop")


def pause(profile_process="worker"):
    """Stops recording until ``resume``, keeping what was recorded."""
    _core.wait_all()
    _core.trace_stop()


def resume(profile_process="worker"):
    """Goes on recording after ``pause``."""
    _core.trace_resume()


def dump(finished=True, profile_process="worker"):
    """Writes the timeline recorded so far to the configured file; ends recording when ``finished``."""
    _core.wait_all()
    if finished:
        _core.trace_stop()
    _core.save_timeline(_config["filename"])


def dumps(reset=False, format="table", sort_by="total", ascending=False):
    """A table of the recorded tasks by name, with count and times.

    Raises
    ------
    MXNetError
        Unless ``set_config(aggregate_stats=True)`` was called.
    ValueError
        For a format other than ``'table'``.
    """
    if format != "table":
        raise ValueError(f"profiler.dumps: the format must be 'table', got {format!r}; dump() writes JSON")
    if not _config["aggregate_stats"]:
        raise MXNetError("profiler.dumps: call set_config(aggregate_stats=True) first")
    _core.wait_all()
    text = _core.trace_summary()
    if reset:
        _core.trace_start()
    return text
