"""The public names of MXNet 1.9.1: whether a path is one of them, and which one may have been meant."""

from __future__ import annotations

import difflib
import functools
import importlib
import pathlib
import types

from ..libinfo import __version__ as MXNET_VERSION

_LIST = pathlib.Path(__file__).with_name("names.txt")


@functools.cache
def public_names() -> dict[str, frozenset[str]]:
    """Path of a module (`mxnet.gluon.nn`) to the names that it shows, other modules among them."""
    found: dict[str, set[str]] = {}
    names: set[str] = set()
    for line in _LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("mxnet"):
            names = found.setdefault(line, set())
        elif not line.startswith("#"):
            names.update(line.split())
    return {module: frozenset(names) for module, names in found.items()}


def names_of(module: str) -> frozenset[str]:
    """What MXNet shows in a module, whichever of its names is given; empty: there is no such module."""
    return public_names().get(_canonical(module), frozenset())


def is_public(path: str) -> bool:
    """Whether MXNet shows the name: `mxnet.nd.dot`, `mxnet.ndarray.dot`, `mxnet.gluon`."""
    module, _, name = path.rpartition(".")
    return name in names_of(module)


def nearest(path: str) -> list[str]:
    """Up to three paths that may have been meant: the same name elsewhere, then ones like it beside it."""
    module, _, name = path.rpartition(".")
    same = sorted((f"{other}.{name}" for other, names in public_names().items() if name in names), key=len)
    alike = difflib.get_close_matches(name, sorted(names_of(module)), n=3, cutoff=0.7)
    return [*same, *(f"{module}.{other}" for other in alike)][:3]


def missing_text(path: str) -> str:
    """What to say of a path that Headrace does not have."""
    if is_public(path):
        return f"{path} is not in Headrace yet"
    if not path.startswith("mxnet"):  # of horovod
        return f"{path} is not in Headrace"
    text = f"{path} is not in Headrace, and is no public name of MXNet {MXNET_VERSION}"
    likely = nearest(path)
    return f"{text}. Did you mean {' or '.join(likely)}?" if likely else text


def _canonical(module: str) -> str:
    """The path under which the list has a module: `mxnet.nd.sparse` for `mxnet.ndarray.sparse`."""
    top, *rest = module.split(".")[1:] or [""]
    return ".".join(["mxnet", *filter(None, [_listed_spelling().get(top, top), *rest])])


@functools.cache
def _listed_spelling() -> dict[str, str]:
    """Other names of the modules of `mxnet` to those under which they are listed (`ndarray` to `nd`)."""
    import headrace

    spellings: dict[str, list[str]] = {}
    for name in public_names()["mxnet"]:
        try:
            value = getattr(headrace, name, None) or importlib.import_module(f"{__package__}.{name}")
        except ImportError:
            continue
        if isinstance(value, types.ModuleType):
            spellings.setdefault(value.__name__, []).append(name)
    listed = {name: f"mxnet.{name}" in public_names() for names in spellings.values() for name in names}
    return {
        name: next(other for other in names if listed[other])
        for names in spellings.values()
        for name in names
        if not listed[name] and any(listed[other] for other in names)
    }
