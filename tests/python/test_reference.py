"""Every public operator, class and function has an example that runs."""

import doctest
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

from headrace import gluon

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from reference import derived, modules, operators  # noqa: E402
from reference.examples import METHODS, example_of, own_paths  # noqa: E402

OPERATORS = operators.public_operators()
MEMBERS = modules.members()

# Of all other members an example is demanded.
WITHOUT = {
    "headrace.im2rec.main": "the command; docs/data.md shows it",
    "headrace.launch.main": "the command; docs/distributed.md shows it",
}
# Their examples change the process for good, so that it would be of no use for others.
FOR_GOOD = {
    "headrace.distributed.shutdown",
    "headrace.mxnet.contrib.amp.init",
    "headrace.mxnet.contrib.amp.init_trainer",
    "headrace.mxnet.contrib.amp.scale_loss",
    "headrace.mxnet.contrib.amp.unscale",
    "headrace.mxnet.install",
    "headrace.mxnet.load_ipython_extension",
    "headrace.mxnet.take_name",
}
# Every line is skipped: they need data sets that are fetched.
SKIPPED = {
    "headrace.io.MNISTIter",
    *(f"headrace.gluon.data.vision.{name}" for name in ("CIFAR10", "CIFAR100", "FashionMNIST", "MNIST")),
    *(f"headrace.mxnet.test_utils.get_{name}" for name in ("cifar10", "mnist", "mnist_iterator")),
    *(f"headrace.mxnet.test_utils.get_{name}" for name in ("mnist_pkl", "mnist_ubyte")),
}


def needs_example(member):
    """Of networks of the zoo one per family: the docstrings of others say `kwargs` as of that one."""
    if member.module == "headrace.gluon.model_zoo.vision":
        other = re.search(r"`kwargs` as of (\w+)\.", modules.docstring(member.value))
        return not (other and has_example(getattr(gluon.model_zoo.vision, other[1])))
    return member.path not in WITHOUT


def has_example(value):
    return ">>> " in modules.docstring(value)


WITH_EXAMPLES = [one for one in MEMBERS if has_example(one.value)]
DERIVED = [one for one in MEMBERS if not has_example(one.value) and needs_example(one)]
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
    test = doctest.DocTestParser().get_doctest(docstring, dict(derived.NAMES), name, None, 0)
    told = []
    runner = doctest.DocTestRunner(Checker(), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=told.append)
    return "".join(told)


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.iterdir()), "an example left files behind; it has to use tempfile"


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


def test_functions_in_cpp_say_what_they_take():
    (load,) = [one for one in MEMBERS if one.path == "headrace.plan.load"]
    (plan,) = [one for one in MEMBERS if one.path == "headrace.plan.Plan"]
    assert modules.signature(load.value) == "(preset_or_file)"
    assert modules.docstring(load.value).startswith("A topology from the name of a preset or of a file.")
    assert "{py:method} scratch_bytes(device)" in modules.class_text(plan)


def test_functions_of_symbols_have_examples_with_symbols():
    (append,) = [one for one in MEMBERS if one.path == "headrace.sym.numpy.append"]
    text = modules.description(append)
    assert ">>> sym.np.append(a, b, axis=0).eval(a=np.array([[1, 2]]), b=np.array([[3, 4]]))[0]" in text
    assert text.count("Examples\n") == 1 and " np.append(" not in text
    of_symbols = [one for one in MEMBERS if one.module in ("headrace.symbol.numpy", "headrace.symbol.random")]
    assert sum(".eval(" in modules.description(one) for one in of_symbols) > 30


def test_examples_show_what_was_computed():
    (op,) = [op for op in OPERATORS if op["name"] == "dot"]
    example = example_of(op)
    assert example.lines[-1].startswith("nd.dot(") and "NDArray" in example.shown


@pytest.mark.parametrize("member", DERIVED, ids=lambda member: member.path)
@pytest.mark.usefixtures("own_folder")
@pytest.mark.filterwarnings("ignore")
def test_every_public_class_and_function_has_an_example(member):
    assert derived.example(member.path, member.value), (
        f"{member.path} has no example: add a section Examples to its docstring, 1 to 5 lines that show what "
        "it does, or for a class or function written in C++ lines to OF_CORE in tools/reference/derived.py"
    )


def test_exceptions_are_few_and_needed():
    paths = {one.path: one for one in MEMBERS}
    assert {*WITHOUT, *FOR_GOOD, *SKIPPED} <= paths.keys() and derived.OF_CORE.keys() <= paths.keys()
    assert not [path for path in [*WITHOUT, *derived.OF_CORE] if has_example(paths[path].value)]
    assert sum(map(needs_example, MEMBERS)) > 1000


@pytest.mark.parametrize(
    "member", [one for one in WITH_EXAMPLES if one.path not in FOR_GOOD], ids=lambda member: member.path
)
@pytest.mark.usefixtures("own_folder")
@pytest.mark.filterwarnings("ignore")
def test_examples_are_true(member):
    text = modules.docstring(member.value)
    examples = doctest.DocTestParser().get_examples(text)
    assert member.path in SKIPPED or not all(doctest.SKIP in one.options for one in examples)
    for package in re.findall(r">>> import (onnx|pandas|scipy)\b", text):
        pytest.importorskip(package, reason=f"the example needs {package}")
    assert not failures(text, member.path)


def test_examples_that_change_the_process_for_good(tmp_path):
    ran = subprocess.run(
        [sys.executable, __file__, *sorted(FOR_GOOD)], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


if __name__ == "__main__":
    told = [failures(modules.docstring(one.value), one.path) for one in MEMBERS if one.path in sys.argv[1:]]
    sys.exit("".join(told) or None)
