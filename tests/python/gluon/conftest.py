"""Fixtures of the Gluon tests."""

import pathlib

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
