"""What programs take from mxnet.gluon.block besides the blocks."""

from .. import gluon
from .._arrays import NDArray
from .._structure import flatten
from ..gluon import *  # noqa: F403
from ..gluon.naming import BlockScope
from ..symbol import Symbol

__all__ = [*gluon.__all__]


class _BlockScope(BlockScope):
    """The scope of a block's names, by MXNet's name."""

    create = BlockScope.name_block  # (prefix, ParameterDict) of a new block


def _flatten(args, inout_str):
    """(flat list of arrays or symbols, format) of nested lists; `inout_str` says in errors what they are.

    The format of an array is 0, of None -1, of a symbol with several outputs their number. ValueError:
    something else is among them.
    """
    flat, formats = flatten(args, lambda value: isinstance(value, (NDArray, Symbol)))
    return flat, _count_outputs(formats, iter(flat))


def _count_outputs(item_format, flat):
    if isinstance(item_format, list):
        return [_count_outputs(one, flat) for one in item_format]
    value = next(flat)
    several = isinstance(value, Symbol) and len(value.list_outputs()) > 1
    return len(value.list_outputs()) if several else item_format


def _regroup(args, fmt):
    """The nested lists of a format, with `args`, a flat list, as their items."""
    return _take(iter(args), fmt)


def _take(args, fmt):
    if isinstance(fmt, list):
        return [_take(args, one) for one in fmt]
    return [next(args) for _ in range(fmt)] if fmt > 0 else next(args)
