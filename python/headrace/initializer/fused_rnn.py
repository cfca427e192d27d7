"""The initializer of all parameters of a fused recurrent network, as one vector."""

from .base import InitDesc, Initializer, create, register
from .fused_weights import FusedWeights

__all__ = ["FusedRNN"]


@register
class FusedRNN(Initializer):
    """Initializes every gate's weights of a FusedRNNCell with `init`; None: as other parameters.

    The other arguments are those of the cell. The biases of LSTM's forget gates become `forget_bias`.

    Examples
    --------
    >>> rule = init.FusedRNN(init.One(), num_hidden=2, num_layers=1, mode="gru")
    >>> weight = nd.zeros((36,))
    >>> rule(init.InitDesc("gru_parameters", {"__init__": rule.dumps()}), weight)
    >>> weight.sum()
    [24.]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, init, num_hidden, num_layers, mode, bidirectional=False, forget_bias=1.0):
        self._init = None if init is None else create(init)
        self._cell_arguments = (num_hidden, num_layers, mode, bidirectional)
        self._forget_bias = forget_bias
        super().__init__(
            init=None if init is None else self._init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )

    def _init_weight(self, desc, arr):
        for name, part in FusedWeights(*self._cell_arguments).views(arr).items():
            if name.endswith("_f_bias"):
                part[:] = self._forget_bias
            else:
                (self._init or desc.global_init)(InitDesc(name, global_init=desc.global_init), part)
