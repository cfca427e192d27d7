"""Small source trees to check, and the tools on the import path."""

import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))


@pytest.fixture
def make_tree(tmp_path: pathlib.Path) -> Callable[[dict[str, str]], pathlib.Path]:
    """Writes files into a new git repository and returns its root."""

    def make(files: dict[str, str]) -> pathlib.Path:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make
