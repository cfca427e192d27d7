"""Headrace: an asynchronous deep-learning engine that speaks the language of Apache MXNet 1.9.

``from headrace import np, npx, nd, autograd, gluon`` works as it does with MXNet; ``python -m headrace.mxnet
program.py`` runs an unmodified MXNet program. Modules are loaded when they are first used.
"""

import importlib as _importlib
import os as _os


def _load_core():
    """Loads the compiled module. Meanwhile OpenBLAS, which comes with it, is told to start no threads: it has
    no use for them, since the engine's call it. NumPy's own OpenBLAS reads the variable when that is loaded.
    """
    name = "OPENBLAS_NUM_THREADS"
    before = _os.environ.get(name)
    _os.environ[name] = "1"
    try:
        return _importlib.import_module("._core", __name__)
    finally:
        if before is None:
            del _os.environ[name]
        else:
            _os.environ[name] = before


__version__ = _load_core().__version__
_importlib.import_module("._settings", __name__).warn_of_misspelt()

# Attribute to module. The second group holds MXNet's short names.
_MODULES = {
    name: name
    for name in (
        "array_api",
        "attribute",
        "autograd",
        "base",
        "callback",
        "context",
        "distributed",
        "engine",
        "error",
        "executor",
        "gluon",
        "image",
        "initializer",
        "io",
        "kvstore",
        "libinfo",
        "log",
        "lr_scheduler",
        "memory",
        "metric",
        "model",
        "module",
        "monitor",
        "name",
        "ndarray",
        "numpy",
        "numpy_extension",
        "operator",
        "optimizer",
        "plan",
        "profiler",
        "random",
        "recordio",
        "registry",
        "runtime",
        "sim",
        "symbol",
        "util",
        "visualization",
    )
}
_MODULES.update(nd="ndarray", np="numpy", npx="numpy_extension", init="initializer", sym="symbol")
_MODULES.update(kv="kvstore", mod="module", mon="monitor", rnd="random", viz="visualization", img="image")
_MODULES["np_symbol"] = "symbol.numpy"

# Attribute to (module, name there).
_NAMES = {
    **{
        name: ("context", name)
        for name in ("Context", "cpu", "gpu", "cpu_pinned", "current_context", "num_gpus", "gpu_memory_info")
    },
    **{
        name: ("_semantics", name)
        for name in (
            "is_np_array",
            "is_np_shape",
            "np_array",
            "np_shape",
            "set_np_shape",
            "use_np",
            "use_np_array",
            "use_np_shape",
        )
    },
    "AttrScope": ("attribute", "AttrScope"),
    "MXNetError": ("base", "MXNetError"),
    "waitall": ("engine", "waitall"),
    "memory_report": ("memory", "memory_report"),
}


def __getattr__(name):
    if name in _MODULES:
        value = _importlib.import_module("." + _MODULES[name], __name__)
    elif name in _NAMES:
        module, attribute = _NAMES[name]
        value = getattr(_importlib.import_module("." + module, __name__), attribute)
    else:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_MODULES, *_NAMES})
