"""Where the files are that MXNet 1.9.1 wrote: a part of them comes with the tests, in tests/interop."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def folder():
    """The folder of all files, `data/interop` of a folder `shared` in or beside the checkout or named by
    HEADRACE_SHARED; where there is none, that of the files that come with the tests.
    """
    named = os.environ.get("HEADRACE_SHARED")
    for shared in [named] if named else [ROOT / "shared", ROOT.parent / "shared"]:
        found = pathlib.Path(shared) / "data" / "interop"
        if found.is_dir():
            return found
    return ROOT / "tests" / "interop"


def network(name):
    """The folder of an exported network. Skips the test where it does not come with the tests."""
    found = folder() / "networks" / name
    if not found.is_dir():
        pytest.skip(f"the files of {name} are only in `shared`; put that folder beside the checkout")
    return found
