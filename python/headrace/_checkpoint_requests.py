"""Checkpoints that the launcher of a job asks for, by a file in their folder.

Worker 0 removes it when it has saved one. A store beside the first one of a program has a folder of its own
within, and is asked, too.
"""

import pathlib

__all__ = ["are_requested", "fulfil", "is_requested", "request", "withdraw"]

_FILE = ".requested"


def request(folder):
    """Asks for a checkpoint of each store that there is."""
    for one in _folders_of(folder):
        one.mkdir(parents=True, exist_ok=True)
        (one / _FILE).touch()


def is_requested(folder):
    """Whether the store of this folder is asked for one."""
    return (pathlib.Path(folder) / _FILE).exists()


def are_requested(folder):
    """Whether one of those that were asked for was not saved yet."""
    return any(map(is_requested, _folders_of(folder)))


def fulfil(folder):
    """The store of this folder has saved one."""
    (pathlib.Path(folder) / _FILE).unlink(missing_ok=True)


def withdraw(folder):
    """Nobody asks any more."""
    for one in _folders_of(folder):
        fulfil(one)


def _folders_of(folder):
    folder = pathlib.Path(folder)
    return [folder, *folder.glob("store-*")]
