"""MXNet's legacy front end: NDArray and the operators on it.

Functions come from the operator catalogue; ``help(nd.dot)`` shows what one does.
"""

from .._catalogue import add_methods as _add_methods
from .._catalogue import functions as _functions
from .._catalogue import populate as _populate
from . import ndarray
from .ndarray import *  # noqa: F403
from .ndarray import NDArray
from . import _internal, contrib, image, linalg, op, random, sparse
from .numbers import give_numbers as _give_numbers
from .old_images import imdecode
from .parts import histogram, split_v2
from .utils import load, load_frombuffer, save

_add_methods(NDArray, "NDArray")
NDArray.split_v2 = split_v2
_names = _populate(globals(), "nd")
_give_numbers(_functions("nd"))

__all__ = [
    *ndarray.__all__,
    *_names,
    "split_v2",
    "random",
    "linalg",
    "contrib",
    "image",
    "sparse",
    "op",
    "load",
    "load_frombuffer",
    "save",
    "histogram",
    "imdecode",
]
