"""Notebooks for MXNet: `%load_ext headrace.mxnet`, `install()` in a cell, and a kernel of their own."""

import json
import subprocess
import sys

import pytest

CELL = "import mxnet as mx; print(mx.__version__, mx.nd.ones((2,)).sum().asscalar())"
KERNEL = ["-m", "headrace.mxnet", "-m", "ipykernel_launcher", "-f", "{connection_file}"]


IPYTHON = f"""
from IPython.testing.globalipapp import start_ipython
shell = start_ipython()
shell.run_cell("%load_ext headrace.mxnet").raise_error()
shell.run_cell({CELL!r}).raise_error()
"""


def output_of(program):
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_the_extension_installs():
    code = f"import headrace.mxnet\nheadrace.mxnet.load_ipython_extension(None)\n{CELL}"
    assert output_of(code) == "1.9.1 2.0\n"


def test_the_extension_in_ipython():
    pytest.importorskip("IPython")
    assert output_of(IPYTHON).endswith("1.9.1 2.0\n")


@pytest.mark.parametrize(
    ("first", "kernel"),
    [
        ("%load_ext headrace.mxnet", False),
        ("import headrace.mxnet; headrace.mxnet.install()", False),
        ("'the kernel does it'", True),
    ],
)
def test_a_notebook_runs(tmp_path, monkeypatch, first, kernel):
    client, formats = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    start = KERNEL if kernel else ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
    folder = tmp_path / "kernels" / "headrace"
    folder.mkdir(parents=True)
    spec = {"argv": [sys.executable, *start], "display_name": "Headrace", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    cells = [formats.v4.new_code_cell(source) for source in (first, CELL)]
    notebook = formats.v4.new_notebook(cells=cells)
    client.NotebookClient(notebook, timeout=120, kernel_name="headrace").execute()
    assert notebook.cells[1].outputs[0].text == "1.9.1 2.0\n"
