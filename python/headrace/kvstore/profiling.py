"""Servers that record themselves: what worker 0 asks of them, and how they do it."""

import json
import os

from .. import profiler

__all__ = ["carry_out", "request_for"]


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


def _own_name(path, server):
    folder, name = os.path.split(path)
    return os.path.join(folder, f"rank{server}_{name}")
