"""Quantization of symbols and their parameters."""

import logging
import warnings

import numpy as np

from ....context import Context, cpu
from ....io import DataIter
from ....symbol import calls
from . import calibration
from .parameters import _load_sym, _quantize_params

__all__ = [
    "_calibrate_quantized_sym", "_check_context", "_checked_names", "_quantize_symbol", "calib_graph",
    "quantize_graph", "quantize_model", "quantize_model_mkldnn", "quantize_with",
]  # fmt: skip

_DTYPES = ("int8", "uint8", "auto")
_MODES = ("full", "smart")
_GRANULARITIES = ("tensor-wise", "channel-wise")


def _check_word(what, value, words):
    if value not in words:
        raise ValueError(f"unknown {what} {value} received, expected {', '.join(words[:-1])} or {words[-1]}")


def _checked_names(what, names):
    if names is None:
        return []
    if not isinstance(names, list):
        raise ValueError(
            f"{what} must be a list of strings representing names that will not be quantized, while received "
            f"type {type(names)}"
        )
    return names


def _check_context(ctx):
    if not isinstance(ctx, Context):
        raise ValueError(f"currently only supports single ctx, while received {ctx}")


def _quantize_symbol(sym, ctx, excluded_symbols=None, excluded_operators=None, offline_params=None,
                     quantized_dtype="int8", quantize_mode="smart", quantize_granularity="tensor-wise",
                     fuse=False):  # fmt: skip
    """(the quantized symbol, the names of outputs and variables of `sym` whose ranges it can be told).

    Parameters named in `offline_params` are taken to come quantized, as _quantize_params makes them. With
    `fuse` layers are put together first, and weights have a range for each channel.
    ValueError: an unknown dtype, mode or granularity.
    """
    _check_word("quantized_dtype", quantized_dtype, _DTYPES)
    _check_word("quantize_mode", quantize_mode, _MODES)
    _check_word("quantize_granularity", quantize_granularity, _GRANULARITIES)
    handle, layers = sym._handle.quantized(
        _checked_names("excluded_symbols", excluded_symbols),
        _checked_names("excluded_operators", excluded_operators),
        list(offline_params or ()),
        quantized_dtype,
        quantize_mode == "smart",
        fuse or quantize_granularity == "channel-wise",
        fuse,
    )
    return calls.wrap(handle, sym._is_np), layers


def _calibrate_quantized_sym(qsym, th_dict):
    """The quantized symbol with the ranges {name: (least, largest)}, which it need not find when it runs.
    Of bytes with a sign the larger end counts, whichever of the two it is.

    ValueError: a range that is not two finite numbers.
    """
    if not th_dict:
        return qsym
    ranges = {name: tuple(float(np.reshape(end, ())) for end in ends) for name, ends in th_dict.items()}
    return calls.wrap(qsym._handle.with_ranges(ranges), qsym._is_np)


def quantize_with(sym, arg_params, aux_params, excluded_names, excluded_operators, calib_mode, dtype, mode,
                  granularity, fuse, logger, custom=None, run=None):  # fmt: skip
    """(symbol, arguments, auxiliary states, collector), calibrated by what `run`, a function of the
    collector, shows it; without `run` not calibrated yet.
    """
    if logger:
        logger.info("Quantizing symbol")
    # Layers that were put together have as arguments what were auxiliary states.
    params = {**arg_params, **aux_params} if fuse else arg_params
    qsym, layers = _quantize_symbol(sym, None, excluded_names, excluded_operators, list(params), dtype, mode,
                                    granularity, fuse)  # fmt: skip
    collector = calibration.make_collector(calib_mode, dtype, layers, custom, logger)
    ranges = {}
    if collector is not None and not layers:
        warnings.warn("nothing in the network is quantized, so nothing is calibrated", stacklevel=4)
    elif collector is not None and run is not None:
        run(collector)
        ranges = calibration.ranges_of(collector, calib_mode, dtype, logger)
        qsym = _calibrate_quantized_sym(qsym, ranges)
    if logger:
        logger.info("Quantizing parameters")
    auxiliary = set(qsym.list_auxiliary_states()) if fuse else aux_params.keys()
    states = {name: value for name, value in aux_params.items() if name in auxiliary}
    return qsym, _quantize_params(qsym, params, ranges), states, collector


def quantize_model(sym, arg_params, aux_params, data_names=("data",), label_names=("softmax_label",),
                   ctx=None, excluded_sym_names=None, excluded_op_names=None, calib_mode="entropy",
                   calib_data=None, num_calib_examples=None, quantized_dtype="int8", quantize_mode="smart",
                   quantize_granularity="tensor-wise", logger=None):  # fmt: skip
    """(symbol, arguments, auxiliary states) of a network that computes with bytes.

    `sym` is a Symbol of float32 or its file. Nodes named in `excluded_sym_names` and operators named in
    `excluded_op_names` stay as they are. `calib_mode` says where the ranges of layers come from: 'none':
    each run finds them; 'naive': the least and largest values that `calib_data`, a DataIter, give;
    'entropy': those that lose the least information. Of these `num_calib_examples` are used, None: all.
    `quantized_dtype` is that of data: 'int8', 'uint8', or 'auto', by their ranges. `quantize_mode` 'full'
    quantizes what it can, 'smart' only what lies between convolutions and dense layers; where that is
    nothing, the network stays as it is. `quantize_granularity` 'channel-wise' is for the dense layers of
    `sym.get_backend_symbol("MKLDNN_QUANTIZE")`: each row of their weights gets a range of its own.
    `label_names` changes nothing here: labels are not needed.

    ValueError: words that are unknown, calibration without data or with data without examples, layers or
    parameters that are not finite.

    Examples
    --------
    >>> from headrace.mxnet.contrib import quantization
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weights = {"fc_weight": nd.array([[1, 2, 3], [3, 2, 1]])}
    >>> settings = {"calib_mode": "none", "quantize_mode": "full"}
    >>> small, quantized, _ = quantization.quantize_model(net, weights, {}, **settings)
    >>> quantized["fc_weight_quantize"]
    [[ 42  85 127]
     [127  85  42]]
    <NDArray 2x3 @cpu(0)>
    >>> small.eval(data=nd.array([[1, 0, -1]]), **quantized)[0].round()
    [[-2.  2.]]
    <NDArray 1x2 @cpu(0)>
    """
    return _quantize_model(sym, arg_params, aux_params, data_names, ctx, excluded_sym_names,
                           excluded_op_names, calib_mode, calib_data, num_calib_examples, quantized_dtype,
                           quantize_mode, quantize_granularity, False, logger)  # fmt: skip


def _quantize_model(sym, arg_params, aux_params, data_names, ctx, excluded_names, excluded_operators,
                    calib_mode, calib_data, num_calib_examples, dtype, mode, granularity, fuse,
                    logger):  # fmt: skip
    excluded_names = _checked_names("excluded_sym_names", excluded_names)
    excluded_operators = _checked_names("excluded_op_names", excluded_operators)
    calibration.check_mode(calib_mode, ("none", "naive", "entropy"))
    sym = _load_sym(sym, logger)
    if calib_mode not in (None, "none"):
        _check_context(cpu() if ctx is None else ctx)
        _check_data(calib_data, calib_mode)

    def run(collector):
        params = {**arg_params, **aux_params}
        calibration.collect(sym, params, calib_data, data_names, collector, num_calib_examples, logger)

    made = quantize_with(sym, arg_params, aux_params, excluded_names, excluded_operators, calib_mode, dtype,
                         mode, granularity, fuse, logger, run=run)  # fmt: skip
    return made[:3]


def _check_data(calib_data, calib_mode):
    if calib_data is None:
        raise ValueError(f"calib_data must be provided when calib_mode={calib_mode}")
    if not isinstance(calib_data, DataIter):
        raise ValueError(
            f"calib_data must be of DataIter type when calib_mode={calib_mode}, while received type "
            f"{type(calib_data)}"
        )


def quantize_model_mkldnn(sym, arg_params, aux_params, data_names=("data",), label_names=("softmax_label",),
                          ctx=None, excluded_sym_names=None, excluded_op_names=None, calib_mode="entropy",
                          calib_data=None, num_calib_examples=None, quantized_dtype="int8",
                          quantize_mode="smart", quantize_granularity="tensor-wise",
                          logger=None):  # fmt: skip
    """As quantize_model, of a network on the CPU whose layers were put together where that is faster.

    ValueError: another device, and what quantize_model refuses.

    Examples
    --------
    >>> from headrace.mxnet.contrib import quantization
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weights = {"fc_weight": nd.array([[1, 2, 3], [3, 2, 1]])}
    >>> settings = {"ctx": mx.cpu(), "calib_mode": "none", "quantize_mode": "full"}
    >>> small, quantized, _ = quantization.quantize_model_mkldnn(net, weights, {}, **settings)
    >>> small.eval(data=nd.array([[1, 0, -1]]), **quantized)[0].round()
    [[-2.  2.]]
    <NDArray 1x2 @cpu(0)>
    """
    ctx = cpu() if ctx is None else ctx
    _check_context(ctx)
    if ctx.device_type != "cpu":
        raise ValueError(f"quantize_model_mkldnn works on the CPU alone, while received ctx={ctx}")
    return _quantize_model(sym, arg_params, aux_params, data_names, ctx, excluded_sym_names,
                           excluded_op_names, calib_mode, calib_data, num_calib_examples, quantized_dtype,
                           quantize_mode, quantize_granularity, True, logger)  # fmt: skip


def quantize_graph(sym, arg_params, aux_params, ctx=None, excluded_sym_names=None, excluded_op_names=None,
                   calib_mode="entropy", quantized_dtype="int8", quantize_mode="full",
                   quantize_granularity="tensor-wise", LayerOutputCollector=None, logger=None):  # fmt: skip
    """(symbol, arguments, auxiliary states, collector): as quantize_model, without calibration.

    The collector's `collect` is to be called with the outputs and inputs of the layers of `sym` on
    calibration data, as Executor.set_monitor_callback(collector.collect, monitor_all=True) does; then
    calib_graph takes it. It is None for calib_mode='none', and `LayerOutputCollector` for 'customize': an
    object with `collect` and `min_max_dict`. ValueError: words that are unknown.

    Examples
    --------
    >>> from headrace.mxnet.contrib import quantization
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weights = {"fc_weight": nd.array([[1, 2, 3], [3, 2, 1]])}
    >>> small, quantized, _, collector = quantization.quantize_graph(net, weights, {}, calib_mode="none")
    >>> quantized["fc_weight_quantize"].dtype, collector
    (<class 'numpy.int8'>, None)
    """
    excluded_sym_names = _checked_names("excluded_sym_names", excluded_sym_names)
    _check_context(cpu() if ctx is None else ctx)
    calibration.check_mode(calib_mode)
    made = quantize_with(_load_sym(sym, logger), arg_params, aux_params, excluded_sym_names,
                         excluded_op_names, calib_mode, quantized_dtype, quantize_mode, quantize_granularity,
                         False, logger, LayerOutputCollector)  # fmt: skip
    if logger and made[3] is not None:
        logger.info("Collector created, please use set_monitor_callback to collect calibration information.")
    return made


def calib_graph(qsym, arg_params, aux_params, collector, calib_mode="entropy", quantized_dtype="int8",
                logger=logging):  # fmt: skip
    """(symbol, arguments, auxiliary states) of quantize_graph, calibrated by what its collector has seen.

    `arg_params` are those of the network of float32. ValueError: a mode without calibration, a collector that
    has seen nothing.

    Examples
    --------
    >>> from headrace.mxnet.contrib import quantization
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weights = {"fc_weight": nd.array([[1, 2, 3], [3, 2, 1]])}
    >>> small, _, _, collector = quantization.quantize_graph(net, weights, {}, calib_mode="naive")
    >>> runner = net.bind(mx.cpu(), {"data": nd.array([[1, 0, -1]]), **weights})
    >>> runner.set_monitor_callback(collector.collect, monitor_all=True)
    >>> outputs = runner.forward()
    >>> small, quantized, _ = quantization.calib_graph(small, weights, {}, collector, calib_mode="naive")
    >>> small.attr_dict()["data_quantize"]["max_calib_range"]
    '1.000000'
    """
    calibration.check_mode(calib_mode)
    if calib_mode in (None, "none"):
        raise ValueError("please set calibration mode to naive, entropy or customize.")
    ranges = calibration.ranges_of(collector, calib_mode, quantized_dtype, logger)
    qsym = _calibrate_quantized_sym(qsym, ranges)
    if logger:
        logger.info("Quantizing parameters")
    return qsym, _quantize_params(qsym, arg_params, ranges), aux_params
