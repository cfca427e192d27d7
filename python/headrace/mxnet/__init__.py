"""Runs MXNet programs unchanged: after `install()`, `import mxnet` and its submodules resolve to Headrace.

`python -m headrace.mxnet program.py` does the same for a program that was never edited, and
`%load_ext headrace.mxnet` in a cell of a notebook.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from .. import _generator, _semantics
from ..kvstore.server import serve_if_asked
from . import _alias, _lazy_modules

__all__ = ["install", "load_ipython_extension", "take_name", "top_module"]


def install() -> None:
    """Makes `import mxnet` mean Headrace in this process, and Headrace behave as MXNet 1.9.1 does.

    Every `mxnet.x.y` is the very module `headrace.x.y`, `mxnet.__version__` is "1.9.1", arrays follow the
    legacy rules until `npx.set_np()`, and random numbers come from MXNet's generator. Calling it again
    changes nothing.

    In a server or scheduler of a job (DMLC_ROLE) it takes part in the job, then ends the process.

    Raises RuntimeError if another package named mxnet was imported before.

    Examples
    --------
    >>> from headrace.mxnet import install
    >>> install()
    >>> import mxnet
    >>> mxnet.__version__, mxnet.gluon is gluon
    ('1.9.1', True)
    """
    if _alias.is_installed():
        return
    take_name()
    serve_if_asked()


def take_name() -> None:
    """What `install()` does, but for taking part in a job: for servers, which import optimizers of programs.

    Raises RuntimeError as `install()` does.

    Examples
    --------
    >>> from headrace.mxnet import take_name
    >>> take_name()
    >>> import mxnet
    >>> mxnet.__version__
    '1.9.1'
    """
    if _alias.is_installed():
        return
    _alias.check_not_imported()
    _generator.set_generator("mt19937")
    _semantics.reset_np()
    _lazy_modules.import_when_asked_for()
    top = _alias.make_top_module()
    if "mxnet" in sys.modules:  # the shim, whose import is under way
        sys.modules["mxnet"] = top
    sys.meta_path.insert(0, _alias.Finder(top))


def load_ipython_extension(ipython: Any) -> None:
    """Calls `install()`: what `%load_ext headrace.mxnet` does in Jupyter and IPython.

    Raises RuntimeError as `install()` does; restarting the kernel forgets the other package.

    Examples
    --------
    >>> from headrace.mxnet import load_ipython_extension
    >>> load_ipython_extension(None)  # %load_ext headrace.mxnet
    >>> import mxnet.ndarray
    >>> mxnet.ndarray is nd
    True
    """
    install()


def top_module() -> types.ModuleType:
    """What `import mxnet` gives in this process: headrace itself before `install()`.

    Examples
    --------
    >>> from headrace.mxnet import top_module
    >>> top_module().__name__ in ("headrace", "mxnet")  # "mxnet" after install()
    True
    """
    import headrace

    return _alias.installed_module() or headrace
