"""Fixtures of the Gluon tests."""

import json
import pathlib
import subprocess

import pytest

from headrace import npx


@pytest.fixture
def np_mode():
    """np arrays and shapes for the duration of a test."""
    npx.set_np()
    yield
    npx.reset_np()


@pytest.fixture
def interop():
    """The folder of files written by MXNet 1.9.1, kept beside the repository."""
    root = pathlib.Path(__file__).resolve().parents[3]
    for folder in (root / "shared", root.parent / "shared"):
        if (folder / "data" / "interop").is_dir():
            return folder / "data" / "interop"
    pytest.skip("the interoperability files are not beside the repository")


@pytest.fixture(scope="session")
def mxnet_peer():
    """Runs a program with MXNet 1.9.1 and gives what it prints, read as JSON; needs `./dev peers`."""
    python = pathlib.Path(__file__).resolve().parents[3] / ".peers" / "mxnet" / "bin" / "python"
    if not python.exists():
        pytest.skip("MXNet is not there: ./dev peers makes its environment")

    def run(program):
        done = subprocess.run(
            [str(python), "-W", "ignore", "-"],
            input=program,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
