"""`python -m headrace.mxnet --check`: programs are read, not run."""

import json
import subprocess
import sys
import textwrap

import pytest

from headrace.mxnet import _names
from headrace.mxnet._uses import uses_in

PROGRAM = """
import mxnet as mx
from mxnet import gluon, nd
from mxnet.gluon import nn as layers, Estimator
from mxnet.metric import *
import numpy as np

raise SystemExit("this must not run")
nd.sofmax(nd.ones((2,)))
ndarray = mx.nd
ndarray.waitall()
layers.BatchNorm(); np.sofmax; Accuracy()

class Net(layers.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.relu(x) + F.no_such_operator(x)

def train(nd, gluon=gluon.NoSuchDefault):
    nd.shadowed, gluon.shadowed, [nd.hidden for nd in (1, 2)]
    other = lambda mx: mx.shadowed
"""


def used(tmp_path, text, name="program.py"):
    path = tmp_path / name
    path.write_text(textwrap.dedent(text))
    return {use.path: use.line for use in uses_in(path)}


def checked(*arguments):
    command = [sys.executable, "-m", "headrace.mxnet", "--check", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def test_names_are_followed_through_imports_aliases_and_scopes(tmp_path):
    uses = used(tmp_path, PROGRAM)
    for path, line in {
        "mxnet.nd.sofmax": 9,
        "mxnet.nd.waitall": 11,
        "mxnet.gluon.nn.BatchNorm": 12,
        "mxnet.metric.Accuracy": 12,
        "mxnet.symbol.no_such_operator": 16,
        "mxnet.gluon.NoSuchDefault": 18,
        "mxnet.gluon.Estimator": 4,
    }.items():
        assert uses[path] == line, path
    assert not any("shadowed" in path or "hidden" in path or "numpy" in path for path in uses)


@pytest.mark.parametrize(
    "statement, path",
    [
        ("import mxnet; mxnet.nd.dot", "mxnet.nd.dot"),
        ("import mxnet.gluon.data as d; d.DataLoader", "mxnet.gluon.data.DataLoader"),
        ("import mxnet.gluon; mxnet.cpu()", "mxnet.cpu"),
        (
            "from mxnet.gluon.data.vision import transforms as t\nt.Compose",
            "mxnet.gluon.data.vision.transforms.Compose",
        ),
        ("import mxnet as mx\n@mx.use_np\ndef f(): pass", "mxnet.use_np"),
        ("import mxnet as mx\nclass A(mx.gluon.Block): pass", "mxnet.gluon.Block"),
        ("import mxnet as mx\nasync def f(x=mx.nd): pass", "mxnet.nd"),
    ],
)
def test_every_way_to_say_a_name(tmp_path, statement, path):
    assert path in used(tmp_path, statement)


def test_the_report_of_a_program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = checked(tmp_path)
    assert done.returncode == 1 and not done.stderr
    first, *lines = done.stdout.splitlines()
    assert first == f"{tmp_path}/program.py: 15 names of MXNet, 4 missing", done.stdout
    assert any("unknown  line 9: mxnet.nd.sofmax" in line and "mxnet.nd.softmax" in line for line in lines)
    assert any(
        "unknown  line 4: mxnet.gluon.Estimator" in line and "contrib.estimator" in line for line in lines
    )
    assert any("differs  line 11: mxnet.nd.waitall: `waitall` raises" in line for line in lines)
    assert any("differs  line 12: mxnet.gluon.nn.BatchNorm" in line for line in lines)


def test_programs_of_which_all_is_there(tmp_path):
    (tmp_path / "a.py").write_text("import mxnet as mx\nmx.nd.ones((2,))\n")
    (tmp_path / "b.py").write_text("import torch\n")
    done = checked(tmp_path / "a.py", tmp_path / "b.py")
    assert done.returncode == 0
    assert done.stdout == f"{tmp_path}/a.py: 2 names of MXNet, none missing\n"


def test_notebooks(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["import mxnet.no_code"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import mxnet as mx\n", "!ls\n"]},
        {"cell_type": "code", "source": "for i in range(2):\n    %time mx.nd.nothing\n    mx.nd.sofmax"},
    ]
    uses = used(tmp_path, json.dumps({"cells": cells}), "notebook.ipynb")
    assert set(uses) == {"mxnet", "mxnet.nd.sofmax"}


def test_what_cannot_be_read(tmp_path):
    (tmp_path / "old.py").write_text("print 'python 2'\n")
    (tmp_path / "no.ipynb").write_text("[]")
    done = checked(tmp_path)
    assert done.returncode == 1
    assert "old.py: cannot be read as Python" in done.stdout and "no.ipynb: cannot be read" in done.stdout
    gone = checked(tmp_path / "gone.py")
    assert gone.returncode == 2 and "can't read" in gone.stderr and "gone.py" in gone.stderr
    assert checked().returncode == 2


def test_the_list_of_names_answers_to_both_names_of_a_module():
    for path in ("mxnet.nd.dot", "mxnet.ndarray.dot", "mxnet.symbol.contrib.foreach", "mxnet.gluon.nn.Dense"):
        assert _names.is_public(path), path
    for path in ("mxnet.nd.sofmax", "mxnet.gluon.nn", "mxnet.nowhere.at_all"):
        assert _names.is_public(path) == (path == "mxnet.gluon.nn"), path
    assert _names.nearest("mxnet.ndarray.sofmax")[0] == "mxnet.ndarray.softmax"
    assert not _names.nearest("mxnet.nowhere.zzzzzz")


def test_what_is_said_of_a_name_that_is_missing():
    assert _names.missing_text("mxnet.nd.dot") == "mxnet.nd.dot is not in Headrace yet"
    assert "no public name of MXNet 1.9.1" in _names.missing_text("mxnet.nd.dott")
