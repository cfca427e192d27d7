"""Every page of the documentation that shows Python runs, from its first cell to its last."""

import os
import pathlib
import subprocess
import sys

import pytest
from cuda_stand_in import environment_with_gpus, needs_stand_in

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted(
    page
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    if "\n```python\n" in page.read_text(encoding="utf-8")
)
WITH_FOUR_GPUS = {"gluon", "kvstore"}
OF_TWO_WORKERS = {"collectives", "distributed", "profiler"}


def environment_of(page):
    if page.stem == "cuda":
        return environment_with_gpus()
    simulated = {"HEADRACE_SIM_GPUS": "4"} if page.stem in WITH_FOUR_GPUS else {}
    return {**os.environ, **simulated}


def command_of(page):
    alone = [sys.executable, str(ROOT / "tools" / "tutorials.py"), "run", str(page)]
    if page.stem not in OF_TWO_WORKERS:
        return alone
    return [sys.executable, "-m", "headrace.launch", "-n", "2", "-s", "1", *alone]


def pages():
    for page in PAGES:
        marks = [pytest.mark.slow, *([needs_stand_in] if page.stem == "cuda" else [])]
        yield pytest.param(page, id=page.stem, marks=marks)


@pytest.mark.parametrize("page", list(pages()))
def test_runs(page, tmp_path):
    done = subprocess.run(
        command_of(page),
        env=environment_of(page),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-4000:]
