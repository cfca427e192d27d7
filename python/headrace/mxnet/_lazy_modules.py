"""Modules of the standard library that programs find after `import mxnet`, which imports them for itself."""

from __future__ import annotations

import importlib
import types

_MODULES = {
    "concurrent": ("futures",),
    "http": ("client",),
    "multiprocessing": ("pool", "queues", "managers", "shared_memory"),
    "urllib": ("error", "parse", "request"),
}


def import_when_asked_for() -> None:
    """Has each of them imported where a program first says `package.module`, having imported the package."""
    for package, modules in _MODULES.items():
        _serve(importlib.import_module(package), modules)


def _serve(package: types.ModuleType, modules: tuple[str, ...]) -> None:
    def attribute(name: str) -> types.ModuleType:
        if name in modules:
            return importlib.import_module(f"{package.__name__}.{name}")
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")

    vars(package).setdefault("__getattr__", attribute)  # the language's place for it
