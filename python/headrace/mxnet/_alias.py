"""The import hook behind `headrace.mxnet.install()`: one module object per module, under both its names."""

from __future__ import annotations

import dis
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import pkgutil
import sys
import types
from collections.abc import Callable
from typing import Any

from ..libinfo import __version__ as MXNET_VERSION
from . import _homes, _names

OWN = pathlib.Path(__file__).parent
SITE = OWN / "_site"  # holds a package `mxnet` that only calls install()

_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def installed_module() -> types.ModuleType | None:
    """What `import mxnet` gives; None before that is Headrace."""
    return next((finder.top for finder in sys.meta_path if isinstance(finder, Finder)), None)


def is_installed() -> bool:
    return installed_module() is not None


def check_not_imported() -> None:
    """Raises RuntimeError when `mxnet` is already something else than the shim in SITE."""
    other = sys.modules.get("mxnet")
    if other is None or SITE in pathlib.Path(getattr(other, "__file__", None) or "/").parents:
        return
    raise RuntimeError(
        f"headrace.mxnet.install: mxnet is already imported from {getattr(other, '__file__', '?')}; "
        "call install() before the first `import mxnet`"
    )


def make_top_module() -> types.ModuleType:
    """Makes the module `mxnet`, the only one that is not Headrace's own: its `__version__` is MXNet's."""
    import headrace

    top = types.ModuleType("mxnet", headrace.__doc__)
    top.__spec__ = importlib.machinery.ModuleSpec("mxnet", None, is_package=True)
    top.__version__ = MXNET_VERSION
    top.__path__ = []  # a package, whose submodules only our finder finds
    top.__file__ = headrace.__file__

    def forward(name: str) -> Any:
        value = _own_module(name) or getattr(headrace, name)
        if isinstance(value, types.ModuleType):
            importlib.import_module(f"mxnet.{name}")
        setattr(top, name, value)
        return value

    top.__getattr__ = forward
    _name_what_is_missing("mxnet", top)
    for loaded, module in list(sys.modules.items()):
        if loaded.startswith("headrace.") and isinstance(module, types.ModuleType):
            _show_as_imported(module)
    top.__dir__ = lambda: sorted({*dir(headrace), *vars(top), *_own_names()})
    return top


def _make_horovod() -> types.ModuleType:
    """A package whose only module is that for MXNet's programs."""
    package = types.ModuleType("horovod", "Of Horovod, what programs written for MXNet use.")
    package.__path__ = []
    return package


_HOROVOD = {
    "horovod": _make_horovod,
    "horovod.mxnet": lambda: importlib.import_module(f"{__package__}._horovod"),
}


class Finder(importlib.abc.MetaPathFinder):
    """Maps `mxnet` to `top`, which nobody sees before it is imported; `mxnet.x.y` to `headrace.mxnet.x.y`
    where there is such a module, else to `headrace.x.y`, or where `_homes` says; `horovod.mxnet` to
    `headrace.mxnet._horovod`.

    Stands first on sys.meta_path, or modules would be loaded twice. Modules of Headrace that are loaded later
    say from then on what MXNet has and they have not.
    """

    def __init__(self, top: types.ModuleType) -> None:
        self.top = top

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname == "mxnet":
            return importlib.machinery.ModuleSpec(fullname, _Loader(self.top, fullname), is_package=True)
        if fullname in _HOROVOD:
            module = _HOROVOD[fullname]()
            return importlib.machinery.ModuleSpec(fullname, _Loader(module, fullname))
        if fullname.startswith("headrace.") and not fullname.rpartition(".")[2].startswith("_"):
            spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
            if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
                spec.loader = _NamingLoader(fullname, spec.loader.path)
            return spec
        if not fullname.startswith("mxnet."):
            return None
        name = fullname[len("mxnet.") :]
        home = _homes.MODULES.get(f"headrace.{name}", f"headrace.{name}")
        module = _own_module(name) or _find_module(home)
        if module is None:
            parent, _, child = fullname.rpartition(".")
            text = f"{fullname} is no module: from {parent} import {child}"
            if not hasattr(sys.modules.get(parent), child):
                text = _names.missing_text(fullname)
            raise ModuleNotFoundError(text, name=fullname)
        sys.modules.pop(fullname, None)  # importlib would load anew what has shown up there meanwhile
        return importlib.machinery.ModuleSpec(fullname, _Loader(module, fullname))


class _Loader(importlib.abc.Loader):
    """Hands out a module that is loaded already.

    The import system gives that module our spec; exec_module puts its own back.
    """

    def __init__(self, module: types.ModuleType, mxnet_name: str) -> None:
        self._module = module
        self._spec = module.__spec__
        self._mxnet_name = mxnet_name

    def create_module(self, spec: Any) -> types.ModuleType:
        return self._module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self._spec
        _name_all_that_is_missing(self._mxnet_name, module)


class _NamingLoader(importlib.machinery.SourceFileLoader):
    """Loads a module of Headrace that says which MXNet name it does not have."""

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        _show_as_imported(module)


def _own_name(module: types.ModuleType) -> str:
    """The name under which Headrace imports the module, whatever its `__name__` says."""
    return getattr(module.__spec__, "name", module.__name__)


def _mxnet_name(module: types.ModuleType) -> str:
    return "mxnet" + _own_name(module).removeprefix(__package__).removeprefix("headrace")


def _show_as_imported(module: types.ModuleType) -> None:
    """Puts the module among the imported ones, where libraries look before they ask what an array is; it says
    from then on what MXNet has and it has not.

    A package says MXNet's name, by which programs tell `mx.nd` from `mx.sym`. Other modules keep theirs, with
    which they compare that of functions and classes; so does the package of this one, which is not `mxnet`.
    """
    name = _mxnet_name(module)
    if not any(part.startswith("_") for part in name.split(".")):
        _name_what_is_missing(name, module)
        if name != "mxnet":
            sys.modules.setdefault(name, module)
        if module.__package__ == _own_name(module) != __package__:
            module.__name__ = name


def _own_names() -> list[str]:
    """The modules that exist for MXNet's sake alone: those beside this one without an underscore."""
    return [name for _, name, _ in pkgutil.iter_modules([str(OWN)]) if not name.startswith("_")]


def _own_module(name: str) -> types.ModuleType | None:
    """The module `headrace.mxnet.name`, or None."""
    return _find_module(f"{__package__}.{name}") if name.partition(".")[0] in _own_names() else None


def _find_module(name: str) -> types.ModuleType | None:
    """The module of that name, or the one its parent shows under that name (`nd` for `ndarray`), or None."""
    parent_name, _, child = name.rpartition(".")
    parent = sys.modules.get(parent_name) or _find_module(parent_name)
    if parent is None:
        return None
    own_name = f"{_own_name(parent)}.{child}"
    if hasattr(parent, "__path__") and importlib.util.find_spec(own_name) is not None:
        return importlib.import_module(own_name)
    value = getattr(parent, child, None)
    return value if isinstance(value, types.ModuleType) else None


class _MissingName(AttributeError):
    """Looks for what may have been meant when somebody reads the text, and not for every `hasattr`."""

    def __init__(self, path: str, module: types.ModuleType) -> None:
        super().__init__(path, name=path.rpartition(".")[2], obj=module)

    def __str__(self) -> str:
        return _names.missing_text(self.args[0])


_MissingName.__module__, _MissingName.__qualname__ = "builtins", "AttributeError"  # what tracebacks show


def _show_homes(module: types.ModuleType) -> None:
    """Makes classes of the module say that they are where MXNet's are; their pickles do not name them."""
    for name, home in _homes.SHOWN.get(_own_name(module), {}).items():
        vars(module)[name].__module__ = home


def _name_all_that_is_missing(mxnet_name: str, module: types.ModuleType) -> None:
    """As `_name_what_is_missing`, for the module and what it brought along."""
    own = _own_name(module)
    for name, loaded in list(sys.modules.items()):
        if f"{name}.".startswith(f"{own}.") and isinstance(loaded, types.ModuleType):
            _name_what_is_missing(mxnet_name + name[len(own) :], loaded)


def _name_what_is_missing(mxnet_name: str, module: types.ModuleType) -> None:
    """Makes the module say which MXNet name it does not have.

    Its own `__getattr__`, if any, is asked first, then the other homes of its names.

    `from mxnet.x import name` drops the text of an AttributeError, so that statement gets an ImportError.
    """
    lookup: Callable[[str], Any] | None = vars(module).get("__getattr__")
    if hasattr(lookup, "mxnet_name"):
        return
    own_name = _own_name(module)
    _show_homes(module)
    homes = _homes.NAMES.get(own_name, ())
    homes = (homes,) if isinstance(homes, str) else homes
    if any(child.startswith(f"{own_name}.") for child in _homes.MODULES):
        vars(module).setdefault("__path__", [])  # a package, whose modules are elsewhere

    def __getattr__(name: str) -> Any:
        if lookup is not None:
            try:
                value = lookup(name)
            except AttributeError:
                pass
            else:
                if isinstance(value, types.ModuleType):  # imported when it was first used
                    _name_all_that_is_missing(f"{mxnet_name}.{name}", value)
                return value
        if f"{own_name}.{name}" in _homes.MODULES:
            return importlib.import_module(_homes.MODULES[f"{own_name}.{name}"])
        # Imports look for `__path__`, when what the other home needs may not be complete yet.
        for home in () if name.startswith("__") else homes:
            if hasattr(importlib.import_module(home), name):
                return getattr(sys.modules[home], name)
        path = f"{mxnet_name}.{name}"
        submodule = f"{own_name}.{name}"
        folders = [] if name.startswith("_") else getattr(module, "__path__", [])
        if folders and importlib.machinery.PathFinder.find_spec(submodule, folders) is not None:
            value = importlib.import_module(submodule)  # MXNet's packages import theirs at once
            _name_all_that_is_missing(path, value)
            return value
        caller = sys._getframe(1)
        if caller.f_code.co_code[caller.f_lasti] == _IMPORT_FROM:
            raise ImportError(_names.missing_text(path), name=mxnet_name)
        raise _MissingName(path, module)

    __getattr__.mxnet_name = mxnet_name
    module.__getattr__ = __getattr__
    if own_name in _homes.STARS:
        module.__all__ = [*module.__all__, *_homes.STARS[own_name]]
