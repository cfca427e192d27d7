"""Updater: an optimizer with the states of the parameters that it updates."""

from .._arrays import NDArray
from ..numpy import ndarray as np_ndarray
from .state_io import dump_states, load_states

__all__ = ["Updater", "get_updater"]


class NumberedName(str):
    """A parameter's name that serves as its number, too, where a list is indexed by it.

    So optimizers written for numbers work with stores, which know names. Copies and pickles are plain texts.
    """

    def __new__(cls, name, number):
        made = super().__new__(cls, name)
        made._number = number
        return made

    def __index__(self):
        return self._number

    def __reduce__(self):
        return str, (str.__str__(self),)


def _like(weight, state):
    """`state`, whose arrays are of nd or np as the weight is: files do not tell."""
    if isinstance(state, (tuple, list)):
        return type(state)(_like(weight, part) for part in state)
    convert = "as_np_ndarray" if isinstance(weight, np_ndarray) else "as_nd_ndarray"
    return getattr(state, convert)() if isinstance(state, NDArray) else state


class Updater:
    """Callable `updater(index, grad, weight)`; index, grad and weight may be lists of equal length.

    An index is a number or a name; stores give names as bytes. `states` maps an index to the optimizer's
    state of that parameter; states are made at the first update.
    What is prepared for lists is kept until other list objects come, so the items of a list must not change.

    Examples
    --------
    >>> update = mx.optimizer.Updater(mx.optimizer.SGD(learning_rate=0.5))
    >>> weight = nd.array([1, 2])
    >>> update(0, nd.array([1, 1]), weight)
    >>> weight
    [0.5 1.5]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.states = {}
        self.states_synced = {}
        self._forget_groups()

    def _forget_groups(self):
        self._lists = None
        self._indices, self._groups = (), []
        self._device_id = 0

    @property
    def aggregate_updates(self):
        """Whether lists are updated in one operation per dtype. Subclasses that are called otherwise see
        one parameter at a time.
        """
        return self.optimizer.has_update_group and type(self).__call__ is Updater.__call__

    def __call__(self, index, grad, weight):
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        optimizer = self.optimizer
        lists = self._lists
        if lists is None or lists[0] is not index or lists[1] is not grad or lists[2] is not weight:
            self._prepare(index, grad, weight)
        optimizer._set_current_context(self._device_id)
        if optimizer.has_update_group:
            for group in self._groups:
                optimizer.update_group(group)
        else:
            for i, g, w in zip(self._indices, grad, weight):
                optimizer.update_multi_precision(i, w, g, self.states[i])

    def repeated_updates(self):
        """The operations of the last call on lists, which was the one before it again, as the next will be
        for as long as no attribute of the optimizer or a parameter is set; None otherwise.
        """
        optimizer = self.optimizer
        if not optimizer.has_update_group or not optimizer._repeats():
            return None
        updates = [group.last_update for group in self._groups]
        return updates if all(update is not None and update.is_repeated for update in updates) else None

    def _prepare(self, index, grad, weight):
        self._indices = self._with_numbers([i.decode() if isinstance(i, bytes) else i for i in index])
        states = [self._state(i, w) for i, w in zip(self._indices, weight)]
        by_dtype = {}
        for item in zip(self._indices, weight, grad, states):
            by_dtype.setdefault(item[1]._dtype_name, []).append(item)
        if self.optimizer.has_update_group:
            self._groups = [self.optimizer.make_group(*map(list, zip(*items))) for items in by_dtype.values()]
        self._lists = index, grad, weight
        self._device_id = weight[0].ctx.device_id if weight else 0

    def _with_numbers(self, indices):
        """`indices`, with numbered names for an optimizer that has an update of its own and knows them."""
        if self.optimizer.has_update_group or not any(isinstance(index, str) for index in indices):
            return indices
        numbers = {name: number for number, name in self.optimizer.idx2name.items()}
        return [NumberedName(index, numbers[index]) if index in numbers else index for index in indices]

    def _state(self, index, weight):
        """The state of one parameter, made when missing and moved to the weight's context after loading."""
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        elif not self.states_synced.get(index, False):
            self.states[index] = _like(weight, self.sync_state_context(self.states[index], weight.ctx))
        self.states_synced[index] = True
        return self.states[index]

    def sync_state_context(self, state, context):
        """`state` with all arrays on `context`."""
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(part, context) for part in state)
        return state.as_in_context(context) if hasattr(state, "as_in_context") else state

    def set_states(self, states):
        """Takes the bytes that `get_states` gave; with an optimizer inside, it replaces the present one.

        ValueError: the bytes are no states, or name classes that states never hold.
        """
        self.states, optimizer = load_states(states)
        if optimizer is not None:
            self.optimizer = optimizer
        self.states_synced = dict.fromkeys(self.states, False)
        self._forget_groups()

    def get_states(self, dump_optimizer=False):
        """The states as bytes, with the optimizer when `dump_optimizer`."""
        return dump_states(self.states, self.optimizer if dump_optimizer else None)


def get_updater(optimizer):
    """An Updater of `optimizer`: a function (index, gradient, weight) that changes the weight in place.

    Examples
    --------
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1))
    >>> weight = nd.array([1, 2])
    >>> update(0, nd.array([1, -1]), weight)
    >>> weight
    [0.9 2.1]
    <NDArray 2 @cpu(0)>
    """
    return Updater(optimizer)
