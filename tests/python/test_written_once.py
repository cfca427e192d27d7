"""A function of arrays or symbols has one definition, which both front ends show."""

import ast
import pathlib
import types

import pytest

import headrace
from headrace import nd, np, npx, sym

PACKAGE = pathlib.Path(headrace.__file__).parent

# Why a public function of symbols is another one than the function of arrays with its name.
DIFFERENT = {
    "cond": "a branch of a graph",
    "foreach": "a loop of a graph",
    "full": "MXNet's sym.full has other arguments than nd.full",
    "linspace": "MXNet's sym.linspace has other arguments than np.linspace",
    "load": "reads a graph",
    "multinomial": "MXNet's sym.random.multinomial gives probabilities unless it is told not to",
    "power": "sym.power takes two numbers, too",
    "shuffle": "the node has the name that MXNet gives it",
    "while_loop": "a loop of a graph",
    "zeros": "MXNet's sym.zeros has other arguments than nd.zeros",
}


def public_functions(*folders):
    files = [file for folder in folders for file in (PACKAGE / folder).glob("*.py")]
    nodes = [node for file in files for node in ast.parse(file.read_text()).body]
    return {
        node.name for node in nodes if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


def test_no_function_has_two_definitions():
    arrays, symbols = public_functions("numpy", "ndarray", "numpy_extension"), public_functions("symbol")
    assert len(arrays) > 80 and len(symbols) > 20
    assert arrays & symbols == set(DIFFERENT)


@pytest.mark.parametrize(
    "arrays, symbols",
    [
        (np, sym.np),
        (np.linalg, sym.np.linalg),
        (np.random, sym.np.random),
        (npx.random, sym.npx.random),
        (nd.random, sym.random),
        (nd.contrib, sym.contrib),
    ],
)
def test_symbols_have_the_functions_of_arrays(arrays, symbols):
    shared = [
        name
        for name, function in vars(symbols).items()
        if isinstance(function, types.FunctionType) and hasattr(function, "__wrapped__")
    ]
    assert shared
    for name in shared:
        assert getattr(symbols, name).__wrapped__ is getattr(arrays, name)


def test_a_function_of_arrays_takes_symbols():
    x = sym.var("x").as_np_ndarray()
    for function in (np.where, sym.np.where):
        made = function(x, 1.0, x)
        assert isinstance(made, sym.Symbol) and made.list_arguments() == ["x"]
    assert isinstance(sym.np.full((2,), 3), sym.Symbol)
    assert isinstance(np.full((2,), 3), np.ndarray)


def test_composing_ends_with_the_call():
    with pytest.raises(ValueError, match="both x and y"):
        sym.np.where(sym.var("x").as_np_ndarray(), 1.0)
    assert isinstance(np.zeros((2,)), np.ndarray)


def test_arrays_are_no_part_of_a_graph():
    x = sym.var("x").as_np_ndarray()
    with pytest.raises(TypeError, match="inputs must be symbols, got ndarray; arrays become part of a graph"):
        np.add(x, np.ones((2,)))
