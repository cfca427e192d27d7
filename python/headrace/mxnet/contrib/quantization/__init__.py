"""Trained networks of float32 as networks that compute with int8 and uint8."""

from .calibration import (
    _collect_layer_histogram,
    _collect_layer_output_min_max,
    _collect_layer_statistics,
    _get_optimal_threshold,
    _get_optimal_thresholds,
    _LayerHistogramCollector,
    _LayerOutputMinMaxCollector,
    _smooth_distribution,
    combine_histogram,
    stats,
)
from .graph import (
    _calibrate_quantized_sym,
    _quantize_symbol,
    calib_graph,
    quantize_graph,
    quantize_model,
    quantize_model_mkldnn,
)
from .net import _as_data_iter, _DataIterWrapper, quantize_net, quantize_net_v2
from .parameters import _load_params, _load_sym, _quantize_params

__all__ = [
    "calib_graph", "combine_histogram", "quantize_graph", "quantize_model", "quantize_model_mkldnn",
    "quantize_net", "quantize_net_v2",
]  # fmt: skip
