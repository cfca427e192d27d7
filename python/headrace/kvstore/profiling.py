"""Servers that record themselves: what worker 0 asks of them, and how they do it."""

import contextlib
import json
import os
import signal
import threading

from .. import profiler

__all__ = ["carry_out", "request_for", "timeline_is_written"]


def request_for(server, function, arguments):
    """The body of the command that has a server call a function of `headrace.profiler`."""
    return json.dumps({"server": server, "function": function, "arguments": list(arguments)}).encode()


def carry_out(body):
    """Does what `request_for` says, in the server.

    One that records the timeline of its job goes on with that from beginning to end: it is there, too, when
    worker 0 asks for a file.
    """
    request = json.loads(body)
    function, arguments = request["function"], request["arguments"]
    records_job = bool(os.environ.get("HEADRACE_TIMELINE"))
    if function == "set_config":
        (values,) = arguments
        profiler.use_config({**values, "filename": _own_name(values["filename"], request["server"])})
    elif function == "dump":
        profiler.dump(arguments[0] and not records_job)
    elif not records_job:
        {"set_state": profiler.set_state, "pause": profiler.pause, "resume": profiler.resume}[function](
            *arguments
        )


@contextlib.contextmanager
def timeline_is_written():
    """Within it, and until the process ends, SIGTERM, which ends servers of a job that has failed, has the
    timeline of the job written first. For the thread that handles signals; with any other it does nothing.
    """
    path = os.environ.get("HEADRACE_TIMELINE")
    if not path or threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def end_at_signal():  # in a thread of its own: that which handles signals does not come back to Python
        while signal.SIGTERM not in os.read(reader, 64):
            pass
        try:
            profiler.set_config(filename=path)
            profiler.dump(False)
        finally:
            os._exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(writer)
    threading.Thread(target=end_at_signal, daemon=True).start()
    try:
        yield
    finally:  # the process ends, and writes it then
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _own_name(path, server):
    folder, name = os.path.split(path)
    return os.path.join(folder, f"rank{server}_{name}")
