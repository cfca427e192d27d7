"""Which environment variables are Headrace's, and a word about those that look like one misspelt."""

import os
import warnings
from collections.abc import Iterable

from . import _core

PREFIX = "HEADRACE_"

# Those that describe jobs of several processes (docs/distributed.md); launchers set most of them.
_OF_JOBS = (
    *(
        "AWAITED",
        "CERTIFICATES",
        "CHECKPOINT",
        "CHECKPOINT_SECONDS",
        "ELASTIC",
        "ETCD",
        "HISTORY",
        "INSECURE",
    ),
    *(
        "JOB",
        "JOIN",
        "LAUNCHER",
        "MAX_KEYS",
        "MAX_MESSAGE_MB",
        "MAX_SERVER_MB",
        "MAX_UNANSWERED_MB",
        "REPLICAS",
    ),
    *("RESTARTS", "RETRY_SECONDS", "ROUTES", "SCHEDULER", "SCHEDULERS", "SHARED_MEMORY", "STALL_SECONDS"),
    "STOP_AT",
)
# What a launcher tells the process that starts a rank.
_INTERNAL = ("ENDS_WITH_INPUT", "LINES", "NUMBER", "TASK", "TIMELINES")


def of_library() -> list[tuple[str, str, str]]:
    """Name, default and meaning of each variable that the library itself reads."""
    return _core.config_variables()


def known_names() -> set[str]:
    """All variables that something of Headrace reads, MXNet's among them where they are read as settings."""
    return {PREFIX + name for name in (*_OF_JOBS, *_INTERNAL)} | {name for name, *_ in of_library()}


def misspelt(names: Iterable[str]) -> dict[str, str]:
    """Of the names that begin as Headrace's do, but are none, those that nearly are: name to name.

    Others are left alone: containers and clusters make variables out of the names of services.
    """
    known = known_names()
    unknown = sorted(name for name in names if name.startswith(PREFIX) and name not in known)
    if not unknown:
        return {}
    import difflib

    likely = [name.removeprefix(PREFIX) for name in sorted(known) if name.startswith(PREFIX)]
    found = {name: difflib.get_close_matches(name.removeprefix(PREFIX), likely, 1, 0.75) for name in unknown}
    return {name: PREFIX + near[0] for name, near in found.items() if near}


def warn_of_misspelt() -> None:
    """A UserWarning for each variable of the environment that seems to be a misspelt setting."""
    names = [name for name in os.environ if name.startswith(PREFIX)]
    if not names:
        return
    for name, meant in misspelt(names).items():
        warnings.warn(
            f"the environment variable {name} is no setting of Headrace and changes nothing. "
            f"Did you mean {meant}? `python -m headrace.runtime` lists all of them",
            stacklevel=3,
        )
