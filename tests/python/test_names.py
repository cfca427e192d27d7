"""Functions of the package call only what its modules have, also where no test calls them."""

import ast
import importlib
import pathlib
import types

import pytest

import headrace
from headrace import nd, np

ROOT = pathlib.Path(headrace.__file__).parent
# Folders one by one: those of a package that was built in place are links.
FILES = sorted(
    {path for folder in [ROOT, *filter(pathlib.Path.is_dir, ROOT.iterdir())] for path in folder.rglob("*.py")}
)
# Functions that give a module of the package, so that modules may need each other.
GIVE_MODULES = {"_np", "front_end", "_symbol_module"}


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(["headrace", *(part for part in parts if part != "__init__")])


def called_module(node, module):
    """The module that a call like `_np()` gives, or None."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in GIVE_MODULES:
        return getattr(module, node.func.id)()
    return None


def modules_in(function, module):
    """Names in a function that stand for modules, and what they stand for."""
    assigned, known = set(), {}
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            assigned.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found = called_module(node.value, module)
            if found is not None:
                known[node.targets[0].id] = found
    of_file = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, types.ModuleType) and name not in assigned
    }
    return of_file | known


def missing_names(path):
    module = importlib.import_module(module_of(path))
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        known = modules_in(function, module)
        for node in ast.walk(function):
            names = []
            while isinstance(node, ast.Attribute):
                names.insert(0, node.attr)
                node = node.value
            found = known.get(node.id) if isinstance(node, ast.Name) else called_module(node, module)
            for name in names:
                if not isinstance(found, types.ModuleType):
                    break
                if not hasattr(found, name):
                    yield f"{path.name}, {function.name}: {found.__name__} has no {name}"
                found = getattr(found, name, None)


def test_names_exist():
    files = [path for path in FILES if "_site" not in path.parts and path.name != "__main__.py"]
    assert len(files) > 100
    assert not [missing for path in files for missing in missing_names(path)]


def test_internal_names_are_those_of_registered_operators():
    x = nd.array([1, 4])
    assert nd._internal._plus(x, x).asnumpy().tolist() == [2, 8]
    assert nd._internal._ones(shape=(2,)).shape == (2,)
    mask = np.array([True, False], dtype="bool")
    filled = np._internal.boolean_mask_assign_scalar(np.array([1, 4]), mask, 7)
    assert filled.tolist() == [7, 4]
    for namespace in (nd._internal, np._internal):
        with pytest.raises(AttributeError, match="no operator named|is not in Headrace"):
            namespace.no_such_name()
