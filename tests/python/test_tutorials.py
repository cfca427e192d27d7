"""Every tutorial of docs/tutorials runs to its end and shows something."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TUTORIALS = sorted(path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.stem != "README")


def test_all_are_listed():
    listed = (ROOT / "docs" / "tutorials" / "README.md").read_text(encoding="utf-8")
    contents = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8").split()
    assert TUTORIALS and all(f"({path.name})" in listed for path in TUTORIALS)
    assert all(f"tutorials/{path.stem}" in contents for path in TUTORIALS)


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_runs(path):
    command = [sys.executable, str(ROOT / "tools" / "tutorials.py"), "run", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    assert "```text" in done.stdout
