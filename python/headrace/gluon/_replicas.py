"""Replicas: the arrays of a parameter, one for each context."""

import weakref


class Replicas(list):
    """Tells its parameter when a program puts another array in the place of one: `param._data[0] = array`."""

    def __init__(self, parameter, arrays):
        super().__init__(arrays)
        self._parameter = weakref.ref(parameter)

    def __setitem__(self, place, array):
        super().__setitem__(place, array)
        parameter = self._parameter()
        if parameter is not None:
            parameter._replicas_changed()

    def __reduce_ex__(self, protocol):
        return list, (list(self),)
