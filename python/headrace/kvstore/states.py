"""States of an optimizer that lie in several processes, servers or ranks that share updates: those of split
arrays are joined, and cut again.

A layout is the shape of an array with [(owner, begin, end), ...], which elements of it lie in which process.
"""

from .._arrays import NDArray
from ..base import MXNetError
from ..ndarray import concat
from ..optimizer.state_io import dump_states, load_states
from .settings import take_numbers

__all__ = ["check_inited", "cut_states", "joined_states", "restore_states", "set_states", "share_of"]


def check_inited(states, keys, fname):
    """MXNetError: states from the file `fname` belong to something else than one of the `keys` of a store."""
    if unknown := sorted(set(states) - set(keys), key=str):
        raise MXNetError(
            f"kvstore load_optimizer_states: key {unknown[0]!r} of {fname!r} has not been inited; init "
            "all keys first"
        )


def set_states(updater, data):
    """Gives an updater the states of `dump_states`, and its optimizer the update counts of the one among
    them, which is returned; None: there is none.
    """
    states, optimizer = load_states(data)
    updater.set_states(dump_states(states))
    if optimizer is not None:
        updater.optimizer._index_update_count.update(optimizer._index_update_count)
        updater.optimizer.num_update = optimizer.num_update
    return optimizer


def restore_states(updater, data):
    """The same, with the settings and other numbers of that optimizer."""
    optimizer = set_states(updater, data)
    if optimizer is not None:
        take_numbers(updater.optimizer, optimizer)


def joined_states(states, layouts):
    """{index: state} of whole arrays, of a list with such dictionaries of all owners.

    `layouts` is {index: layout}. States that no layout is known for are taken as they are.
    """
    joined = {}
    for of_owner in states:
        for index, state in of_owner.items():
            if index in joined:
                continue
            shape, parts = layouts.get(index, (None, ()))
            if len(parts) < 2:
                joined[index] = state
            else:
                joined[index] = _joined([states[owner][index] for owner, _, _ in parts], shape, parts)
    return joined


def _joined(pieces, shape, parts):
    first = pieces[0]
    if isinstance(first, (tuple, list)):
        return type(first)(_joined(list(place), shape, parts) for place in zip(*pieces))
    if isinstance(first, dict):
        return {name: _joined([piece[name] for piece in pieces], shape, parts) for name in first}
    sizes = [end - begin for _, begin, end in parts]
    if isinstance(first, NDArray) and [piece.size for piece in pieces] == sizes:
        return concat(*(piece.reshape((-1,)) for piece in pieces), dim=0).reshape(shape)
    return first  # a number, the same everywhere


def cut_states(states, layouts, servers):
    """A list with {index: state} of what each of `servers` servers holds, of that of whole arrays.

    KeyError: an index that has no layout.
    """
    cut = [{} for _ in range(servers)]
    for index, state in states.items():
        shape, parts = layouts[index]
        for server, begin, end in parts:
            cut[server][index] = state if len(parts) == 1 else _cut(state, shape, begin, end)
    return cut


def share_of(owner, state, shape, parts):
    """What `owner` holds of the state of a whole array; empty arrays, if it has no part of it."""
    begin, end = next(((begin, end) for one, begin, end in parts if one == owner), (0, 0))
    return _cut(state, shape, begin, end)


def _cut(state, shape, begin, end):
    if isinstance(state, (tuple, list)):
        return type(state)(_cut(part, shape, begin, end) for part in state)
    if isinstance(state, dict):
        return {name: _cut(part, shape, begin, end) for name, part in state.items()}
    if isinstance(state, NDArray) and state.shape == tuple(shape):
        return state.reshape((-1,))[begin:end].copy()
    return state
