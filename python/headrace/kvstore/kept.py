"""What an updater keeps for one key, as arrays and bytes: another server goes on with it."""

import io
import pickle

from .._arrays import NDArray
from ..optimizer.adaptive import AdaGrad
from ..optimizer.contrib import GroupAdaGrad
from ..optimizer.fused import SGD, Adam, ccSGD
from .settings import PLAIN
from .unpickling import unpickled

__all__ = ["keep_for", "kept_for", "leaves_other_rows"]


# By class, as subclasses may do otherwise: whether a rule leaves rows alone that a row_sparse gradient lacks.
LEAVE_OTHER_ROWS = {
    SGD: lambda rule: rule.lazy_update,
    ccSGD: lambda rule: rule.lazy_update,
    Adam: lambda rule: rule.lazy_update,
    AdaGrad: lambda rule: True,
    GroupAdaGrad: lambda rule: True,
}


class _Pickler(pickle.Pickler):
    """Leaves arrays out, and lists them."""

    def __init__(self, file):
        super().__init__(file, protocol=5)
        self.arrays = []

    def persistent_id(self, value):
        if not isinstance(value, NDArray):
            return None
        self.arrays.append(value)
        return len(self.arrays) - 1


def kept_for(updater, index):
    """(arrays, bytes): the state of a parameter, its update count, and the numbers and texts of the optimizer
    and its scheduler, some of which change when it updates.
    """
    optimizer = updater.optimizer
    kept = {
        "states": {index: updater.states[index]} if index in updater.states else {},
        "counts": {
            device: counts[index]
            for device, counts in optimizer._all_index_update_counts.items()
            if index in counts
        },
        "optimizer": _plain(optimizer),
        "scheduler": {} if optimizer.lr_scheduler is None else _plain(optimizer.lr_scheduler),
    }
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(kept)
    return pickler.arrays, file.getvalue()


def keep_for(updater, index, arrays, rest):
    """Has another updater of an equal optimizer go on with what `kept_for` gave, and with these arrays."""
    kept = unpickled(rest, arrays)
    optimizer = updater.optimizer
    updater.states.update(kept["states"])
    updater.states_synced[index] = False
    updater._forget_groups()
    for device, count in kept["counts"].items():
        optimizer._all_index_update_counts.setdefault(device, {})[index] = count
    most = max(optimizer.num_update, kept["optimizer"]["num_update"])  # keys come in any order
    vars(optimizer).update(kept["optimizer"])
    optimizer.num_update = most
    if optimizer.lr_scheduler is not None:
        vars(optimizer.lr_scheduler).update(kept["scheduler"])


def leaves_other_rows(updater):
    """Whether updates by row_sparse gradients change no other rows, of weights and states of one stype."""
    rule = updater.optimizer
    known = LEAVE_OTHER_ROWS.get(type(rule))
    return known is not None and not rule.multi_precision and known(rule)


def _plain(held):
    return {name: value for name, value in vars(held).items() if isinstance(value, PLAIN)}
