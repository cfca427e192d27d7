"""Quantization of Gluon's networks."""

import warnings

from ....context import cpu
from ....gluon import HybridBlock, SymbolBlock
from ....io import DataBatch, DataDesc, DataIter
from ....ndarray import zeros
from ....symbol import var
from . import calibration
from .graph import _check_context, _checked_names, quantize_with

__all__ = ["_as_data_iter", "_DataIterWrapper", "quantize_net", "quantize_net_v2"]


class _DataIterWrapper(DataIter):
    """The batches of something that can be iterated over, such as a DataLoader, as those of a DataIter.

    Data of more than four axes have their first two put together. TypeError: it cannot be iterated over;
    ValueError: it has no batches.
    """

    def __init__(self, calib_data):
        try:
            first = next(iter(calib_data), None)
        except TypeError as error:
            raise TypeError(f"calib_data is not a valid iterator. {error}") from None
        if first is None:
            raise ValueError("calibration: calib_data has no batches; give a loader with some examples")
        arrays = _arrays_of(first)
        super().__init__(len(arrays[0]))
        self._data = calib_data
        names = ["data", *(f"data{i}" for i in range(len(arrays) - 1))]
        if len(arrays) > 2:
            names = [f"data{i}" for i in range(len(arrays))]
        self.provide_data = [DataDesc(name, one.shape) for name, one in zip(names, arrays)]
        self.reset()

    def reset(self):
        self._batches = iter(self._data)

    def next(self):
        return DataBatch(data=_arrays_of(next(self._batches)))


def _arrays_of(batch):
    arrays = list(batch) if isinstance(batch, (list, tuple)) else [batch]
    if len(arrays[0].shape) > 4:
        arrays[0] = arrays[0].reshape((-1, *arrays[0].shape[2:]))
    return arrays


def _as_data_iter(calib_data):
    """(a DataIter, what its batches look like)."""
    data = calib_data if isinstance(calib_data, DataIter) else _DataIterWrapper(calib_data)
    return data, data.provide_data


def _traced(network, shapes):
    """(names of the inputs, symbol) of a block, called on as many arrays of these shapes as it takes."""
    network.hybridize()
    arrays = [zeros(shape) for shape in shapes]
    while True:
        try:
            network(*arrays)
            break
        except TypeError:  # what comes last are labels
            if len(arrays) == 1:
                raise
            del arrays[-1]
    inputs, symbol = network._cached_graph
    return [one.name for one in inputs], symbol


def quantize_net_v2(network, quantized_dtype="auto", quantize_mode="full", quantize_granularity="tensor-wise",
                    exclude_layers=None, exclude_layers_match=None, exclude_operators=None, calib_data=None,
                    data_shapes=None, calib_mode="none", num_calib_examples=None, ctx=None,
                    LayerOutputCollector=None, logger=None):  # fmt: skip
    """A SymbolBlock that computes with bytes what a HybridBlock of float32 computes.

    Its layers are put together first, convolutions with the normalisation, sum and relu behind them; their
    weights have a range for each channel. `exclude_layers` are names of nodes of the block's symbol,
    `exclude_layers_match` parts of such names, `exclude_operators` names of operators. `calib_data` is a
    DataIter or a DataLoader; without one `data_shapes` are needed, a DataDesc for each input. The other
    arguments are those of quantize_model and quantize_graph. The block is hybridized, and called once.

    ValueError: unknown words, calibration without examples, layers or parameters that are not finite.

    Examples
    --------
    >>> from headrace.mxnet.contrib import quantization
    >>> net = nn.Conv2D(4, 3, in_channels=3, activation="relu")
    >>> net.initialize()
    >>> small = quantization.quantize_net_v2(net, data_shapes=[("data", (1, 3, 8, 8))])
    >>> small(nd.ones((1, 3, 8, 8))).shape
    (1, 4, 6, 6)
    """
    ctx = cpu() if ctx is None else ctx
    _check_context(ctx)
    calibration.check_mode(calib_mode)
    if not isinstance(network, HybridBlock):
        raise ValueError(f"quantize_net needs a HybridBlock, got {type(network).__name__}")
    is_calibrated = calib_mode not in (None, "none")
    if calib_data is not None:
        calib_data, described = _as_data_iter(calib_data)
        data_shapes = data_shapes or described
    elif is_calibrated:
        raise ValueError(f"calib_data must be provided when calib_mode={calib_mode}")
    if not data_shapes:
        raise ValueError("data_shapes required")
    if logger:
        logger.info("Trace HybridBlock")
    names, symbol = _traced(network, [DataDesc(*one).shape for one in data_shapes])
    excluded = [*_checked_names("exclude_layers", exclude_layers)]
    nodes = [one.name for one in symbol.get_internals()]
    excluded += [name for part in exclude_layers_match or () for name in nodes if part in name]
    if logger:
        logger.info("These layers have been excluded %s", excluded)
    parameters = {name: one._reduce() for name, one in network.collect_params().items()}
    states = {name: parameters[name] for name in symbol.list_auxiliary_states()}
    arguments = {name: parameters[name] for name in symbol.list_arguments() if name in parameters}

    def run(collector):
        calibration.collect(symbol, parameters, calib_data, names, collector, num_calib_examples, logger)

    qsym, arguments, states, _ = quantize_with(
        symbol, arguments, states, excluded, exclude_operators, calib_mode, quantized_dtype, quantize_mode,
        quantize_granularity, ctx.device_type == "cpu", logger, LayerOutputCollector, run,
    )  # fmt: skip
    block = SymbolBlock(qsym, [var(name) for name in names])
    keyed = {f"arg:{name}": one for name, one in arguments.items()}
    keyed |= {f"aux:{name}": one for name, one in states.items()}
    block.collect_params().load_dict(keyed, ctx=ctx, cast_dtype=True, dtype_source="saved")
    return block


def quantize_net(network, quantized_dtype="auto", quantize_mode="full", exclude_layers=None,
                 exclude_layers_match=None, exclude_operators=None, calib_data=None, data_shapes=None,
                 calib_mode="none", num_calib_examples=None, ctx=None, logger=None):  # fmt: skip
    """quantize_net_v2 without the arguments that came later.

    Examples
    --------
    >>> from headrace.mxnet.contrib import quantization
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize(init.One())
    >>> small = quantization.quantize_net(net, data_shapes=[("data", (1, 3))])
    >>> small(nd.array([[1, 0, 2]])).round()
    [[3. 3.]]
    <NDArray 1x2 @cpu(0)>
    """
    warnings.warn("quantize_net is the older form of quantize_net_v2", DeprecationWarning, stacklevel=2)
    return quantize_net_v2(
        network, quantized_dtype, quantize_mode, "tensor-wise", exclude_layers, exclude_layers_match,
        exclude_operators, calib_data, data_shapes, calib_mode, num_calib_examples, ctx, None, logger,
    )  # fmt: skip
