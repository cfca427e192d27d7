"""Constant: a parameter that training leaves alone."""

import warnings

from .. import _arrays as arrays
from .. import initializer
from ..ndarray import NDArray
from ._parameter import Parameter

__all__ = ["Constant"]


class Constant(Parameter):
    """A parameter with a fixed value that training leaves alone; its grad_req is always 'null'.

    Examples
    --------
    >>> gluon.Constant("scale", [[1, 2]]).grad_req
    'null'
    """

    def __init__(self, name, value):
        if not isinstance(value, NDArray):
            value = arrays.array(value)
        self.value = value
        super().__init__(
            name, grad_req="null", shape=value.shape, dtype=value.dtype, init=initializer.ConstantValue(value)
        )

    @property
    def grad_req(self):
        return "null"

    @grad_req.setter
    def grad_req(self, req):
        if req != "null":
            warnings.warn(
                f'Constant parameter "{self.name}" does not support grad_req other than "null", '
                f'and new value "{req}" is ignored.',
                stacklevel=2,
            )
