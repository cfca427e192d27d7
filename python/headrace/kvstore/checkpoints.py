"""Checkpoints of what servers hold: folders that are written as a whole, or are passed over.

    FOLDER/checkpoint-00000003/
        manifest.json     what it is; sizes and SHA-256 of the other files, and a SHA-256 of itself
        weights.params    arrays in the order of the manifest's keys
        optimizer.states  states with the optimizer and its update counts

A checkpoint is written under another name, which begins with a dot, and renamed when all of it is on the
disk.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import time
import warnings

from .._checkpoint_requests import fulfil, is_requested
from ..base import MXNetError

__all__ = ["Clock", "newest_checkpoint", "write_checkpoint"]

_FORMAT = 2
_PAUSE = 10.0  # seconds from a checkpoint that could not be saved to the next that is asked for
_KEPT = 2  # checkpoints; older ones are removed
_MANIFEST = "manifest.json"
_MARK = ".in-use"
_NAME = re.compile(r"checkpoint-(\d{8})")


def write_checkpoint(folder, files, about):
    """Writes a checkpoint, numbered after the newest of `folder`, and removes old ones; gives its path.

    `files` is {name: function that writes a path}, `about` what the manifest says beside. OSError: it cannot
    be written; what was there before still is.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".checkpoint-*"):  # by a process that was ended
        shutil.rmtree(left, ignore_errors=True)
    numbers = _numbers_in(folder)
    name = f"checkpoint-{(numbers[-1] if numbers else 0) + 1:08d}"
    partial = folder / f".{name}"
    try:
        partial.mkdir()
        described = {}
        for file, write in files.items():
            write(str(partial / file))
            described[file] = _description_of(partial / file)
            _sync(partial / file)
        manifest = {"format": _FORMAT, "time": time.time(), **about, "files": described}
        text = json.dumps({**manifest, "sha256": _digest_of(manifest)}, indent=1)
        (partial / _MANIFEST).write_text(text)
        _sync(partial / _MANIFEST)
        _sync(partial)
        os.rename(partial, folder / name)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _sync(folder)
    for number in numbers[: len(numbers) + 1 - _KEPT]:
        shutil.rmtree(folder / f"checkpoint-{number:08d}", ignore_errors=True)
    return folder / name


def newest_checkpoint(folder):
    """(path, manifest) of the newest checkpoint that is whole; None: there is none at all. Warns of others.

    MXNetError: there are some, but none is whole.
    """
    folder = pathlib.Path(folder)
    damaged = []
    for number in reversed(_numbers_in(folder)):
        path = folder / f"checkpoint-{number:08d}"
        try:
            manifest = _checked_manifest(path)
        except (OSError, ValueError) as error:
            damaged.append(f"{path}: {error}")
            continue
        for one in damaged:
            warnings.warn(f"kvstore: a checkpoint is passed over: {one}", stacklevel=2)
        return path, manifest
    if damaged:
        raise MXNetError(
            f"kvstore: the job cannot go on from {folder}, where no checkpoint is whole: "
            f"{'; '.join(damaged)}; bring one back from a copy, or begin anew: remove them, or start the job "
            "with another --checkpoint"
        )
    return None


def _numbers_in(folder):
    if not folder.is_dir():
        return []
    found = (_NAME.fullmatch(entry.name) for entry in folder.iterdir())
    return sorted(int(one[1]) for one in found if one)


def _checked_manifest(path):
    """Raises ValueError or OSError, saying why, for a checkpoint that is not whole."""
    try:
        manifest = json.loads((path / _MANIFEST).read_text())
    except ValueError as error:
        raise ValueError(f"{_MANIFEST} cannot be read ({error})") from None
    if not isinstance(manifest, dict) or manifest.pop("sha256", None) != _digest_of(manifest):
        raise ValueError(f"{_MANIFEST} is damaged")
    if manifest["format"] != _FORMAT:
        raise ValueError(f"it has format {manifest['format']}, this version of Headrace reads {_FORMAT}")
    for file, expected in manifest["files"].items():
        found = _description_of(path / file)
        if found != expected:
            raise ValueError(
                f"{file} is damaged: {found['bytes']} bytes with SHA-256 {found['sha256'][:12]}..., expected "
                f"{expected['bytes']} with {expected['sha256'][:12]}..."
            )
    return manifest


def _sha256(data=b""):
    import hashlib  # brings a library of megabytes, which only jobs with checkpoints need

    return hashlib.sha256(data)


def _digest_of(manifest):
    return _sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _description_of(path):
    digest, size = _sha256(), 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
            size += len(piece)
    return {"bytes": size, "sha256": digest.hexdigest()}


def _sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Clock:
    """Says when a checkpoint is due that nobody asks for, and where it belongs.

    HEADRACE_CHECKPOINT names the folder, HEADRACE_CHECKPOINT_SECONDS the time from one to the next (300).
    `number` is that of the store in the program; each but the first has a folder of its own within. A
    launcher may ask for one sooner. MXNetError: the variable holds no time.
    """

    def __init__(self, number):
        folder = os.environ.get("HEADRACE_CHECKPOINT")
        self.folder = os.path.join(folder, f"store-{number}") if folder and number else folder or None
        text = os.environ.get("HEADRACE_CHECKPOINT_SECONDS") or "300"
        try:
            self._seconds = float(text)
        except ValueError:
            self._seconds = -1.0
        if not self._seconds >= 0:
            raise MXNetError(f"kvstore: HEADRACE_CHECKPOINT_SECONDS is a number of seconds, got {text!r}")
        self._last = time.monotonic()
        self._pause = 0.0
        self._mark = None  # descriptor of a file that is locked as long as this process lives

    def begin(self):
        """Makes the folder, in which others may ask for a checkpoint. Warns if none can be written there, or
        if another process, which would remove the checkpoints of this one, has begun there and not ended.
        """
        try:
            os.makedirs(self.folder, exist_ok=True)
            self._mark = os.open(os.path.join(self.folder, _MARK), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            warnings.warn(
                f"kvstore: checkpoints cannot be saved: {error}; the job goes on, and tries "
                "each time that one is due",
                stacklevel=5,
            )
            return
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(self._mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                warnings.warn(
                    f"kvstore: another process saves checkpoints in {self.folder}, too, and each keeps the "
                    "two newest, whosever they are; give every job a --checkpoint of its own",
                    stacklevel=5,
                )

    def is_due(self):
        if self.folder is None:
            return False
        seconds = time.monotonic() - self._last
        return seconds >= self._seconds or (seconds >= self._pause and is_requested(self.folder))

    def restart(self):
        self._last = time.monotonic()

    def saved(self):
        """One was saved in the folder."""
        self._pause = 0.0
        fulfil(self.folder)

    def failed(self):
        """One could not be saved: who asks waits a while for the next attempt."""
        self._pause = _PAUSE
        self.restart()
