"""Ranks whose calls differ (programs/mismatch.py) and what all are told, with servers and under MPI."""

import pytest

every_mismatch = pytest.mark.parametrize(
    ("what", "texts"),
    [
        ("shape", ("init of key 'v'", "shape (2,)", "shape (3,)")),
        ("dtype", ("float32 of shape (2,)", "float64 of shape (2,)")),
        ("call", ("rank 0 calls barrier", "rank 1 calls all_reduce of push of key 'w'")),
    ],
)


def seen_in(job):
    return [line for line in job.stdout.splitlines() if "seen by" in line]


def assert_told_to_all(job, texts):
    """All three ranks of a finished job have seen an error soon that says all this."""
    seen, output = seen_in(job), job.stdout + job.stderr
    assert len(seen) == 3, output
    assert all("soon" in line and all(text in line for text in texts) for line in seen), output
    assert job.returncode == 0, output
