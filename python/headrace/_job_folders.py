"""Folders of a job, which its launcher makes or names: of certificates, of timelines, of checkpoints."""

import contextlib
import os
import pathlib
import sys
import tempfile

from ._certificates import make_certificates

__all__ = ["certificates_of", "checkpoints_of", "timelines_of"]


@contextlib.contextmanager
def certificates_of(options):
    """Variables that name certificates of this job, made for it; none where it has others or needs none."""
    if options.certificates:
        yield {"HEADRACE_CERTIFICATES": os.path.abspath(options.certificates)}
        return
    if options.plain or options.mpi or os.environ.get("HEADRACE_CERTIFICATES"):
        yield {}
        return
    # The nodes of a cluster share the folder in which a program is started, but not that of temporary files.
    place = os.getcwd() if options.slurm or options.hosts or options.ray else None
    with contextlib.ExitStack() as until_the_end:
        try:
            made = tempfile.TemporaryDirectory(prefix=".headrace_" if place else "headrace_", dir=place)
            folder = until_the_end.enter_context(made)
            make_certificates(folder)
        except OSError as error:
            raise SystemExit(f"headrace.launch: {error}; --plain does without, on this machine") from None
        yield {"HEADRACE_CERTIFICATES": folder}


@contextlib.contextmanager
def timelines_of(options):
    """Variables that have workers and servers record what they do; afterwards that is one file or page."""
    if not options.timeline:
        yield {}
        return
    output = pathlib.Path(options.timeline).absolute()
    try:
        made = tempfile.TemporaryDirectory(prefix=".headrace_", dir=output.parent)  # which nodes share
    except OSError as error:
        raise SystemExit(f"headrace.launch: --timeline: {error}") from None
    with made as folder:
        yield {"HEADRACE_TIMELINES": folder}
        try:
            _write_timeline(sorted(pathlib.Path(folder).glob("*.json"), key=_order), output)
        except (OSError, ValueError) as error:
            print(f"headrace.launch: no timeline is written: {error}", file=sys.stderr)


def _write_timeline(files, output):
    from .timeline.__main__ import write

    recorded = [file for file in files if file.stat().st_size]
    lacking = ", ".join(file.stem.replace("-", " ") for file in files if file not in recorded)
    if lacking:  # which were ended at once
        print(f"headrace.launch: no timeline of {lacking}, which ended without writing it", file=sys.stderr)
    if not recorded:
        print("headrace.launch: no process has recorded a timeline", file=sys.stderr)
        return
    write([os.fspath(file) for file in recorded], output)
    print(f"headrace.launch: wrote {output}, the timeline of {len(recorded)} processes")


def _order(file):
    """Workers first, by number."""
    role, _, number = file.stem.partition("-")
    return role != "worker", role, int(number)


def checkpoints_of(options):
    """Variables that name where checkpoints are, and how often one is saved."""
    if options.checkpoint is None:
        return {}
    return {
        "HEADRACE_CHECKPOINT": os.path.abspath(options.checkpoint),
        "HEADRACE_CHECKPOINT_SECONDS": str(options.checkpoint_interval),
    }
