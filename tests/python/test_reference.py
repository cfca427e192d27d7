"""Every public operator and class has an example that runs."""

import doctest
import inspect
import pathlib
import re
import sys

import numpy
import pytest

import headrace as mx
from headrace import autograd, gluon, init, metric, nd, np, npx, sym

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from reference import modules, operators  # noqa: E402
from reference.examples import METHODS, example_of, own_paths  # noqa: E402

OPERATORS = operators.public_operators()
MEMBERS = modules.members()


def needs_example(member):
    """Of classes in Python; those in headrace.mxnet are MXNet's, for programs that use them already."""
    cls = member.value
    is_ours = inspect.isclass(cls) and not member.module.startswith("headrace.mxnet.")
    in_python = is_ours and any(map(inspect.isfunction, vars(cls).values()))
    return in_python and not issubclass(cls, BaseException)


CLASSES = [one for one in MEMBERS if needs_example(one)]
WITH_EXAMPLES = [one for one in MEMBERS if ">>> " in modules.docstring(one.value)]
NAMES = {
    "mx": mx,
    **{module.__name__.rpartition(".")[2]: module for module in (autograd, gluon, metric)},
    "init": init,
    "nd": nd,
    "nn": gluon.nn,
    "np": np,
    "npx": npx,
    "sym": sym,
}
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


class Checker(doctest.OutputChecker):
    """Numbers may differ in their last digits, as processors compute them."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        numbers = [[float(one) for one in NUMBER.findall(text)] for text in (want, got)]
        texts = ["".join(NUMBER.sub("", text).split()) for text in (want, got)]
        return (
            texts[0] == texts[1]
            and len(numbers[0]) == len(numbers[1])
            and numpy.allclose(*numbers, rtol=1e-4, atol=1e-6)
        )


def failures(docstring, name):
    """What goes wrong with the examples of a docstring, as a text."""
    test = doctest.DocTestParser().get_doctest(docstring, dict(NAMES), name, None, 0)
    told = []
    runner = doctest.DocTestRunner(Checker(), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=told.append)
    return "".join(told)


@pytest.fixture
def seeded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mx.random.seed(0)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op["name"])
def test_operators_have_examples(op):
    assert operators.section(op, {}).count("\n>>> ") >= 1


def test_every_operator_is_on_a_page():
    pages = dict(operators.pages(ROOT, {}))
    listed = pages["operators"]
    text = "\n".join(pages.values())
    assert all(name in listed for name in pages if "/" in name)
    for op in OPERATORS:
        assert all(f"headrace.{path}(" in text for path in own_paths(op) if path.split(".")[0] not in METHODS)


def test_examples_show_what_was_computed():
    (op,) = [op for op in OPERATORS if op["name"] == "dot"]
    example = example_of(op)
    assert example.lines[-1].startswith("nd.dot(") and "NDArray" in example.shown


def test_every_public_class_has_an_example():
    assert len(CLASSES) > 150
    assert not [one.path for one in CLASSES if ">>> " not in modules.docstring(one.value)]


@pytest.mark.parametrize("member", WITH_EXAMPLES, ids=lambda member: member.path)
@pytest.mark.usefixtures("seeded")
@pytest.mark.filterwarnings("ignore")
def test_examples_are_true(member):
    assert not failures(modules.docstring(member.value), member.path)
